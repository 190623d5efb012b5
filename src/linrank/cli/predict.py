"""linrank predict: scores of documents by a model."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from linrank.cli.cluster import add_dask_option, executor_at
from linrank.cli.console import console, counted, verb_parser
from linrank.cli.data_arguments import add_data_options
from linrank.cli.inputs import place_to_read
from linrank.cli.outputs import RUN, SCORES, STANDARD, check_files, place_of
from linrank.cli.scoring import open_to_score, read_to_score
from linrank.errors import naming


def parser() -> ArgumentParser:
    made = verb_parser(
        "predict",
        "Score documents with a model: one number a line, in the order of the data's rows, higher is better; or a\n"
        "TREC run, in rank order.\n\n"
        "A table needs the columns that have a weight, and no others: no label, and no qid unless the model scales or\n"
        "fills by query. Missing values are filled as they were in training, unless --missing says otherwise.",
        "  linrank predict model.json test.txt test.scores\n"
        "  linrank predict model.json test.txt | head\n"
        "  linrank predict model.json test.txt run.txt --trec --tag my-ranker\n"
        "  linrank predict model.json huge.linrank huge.scores --dask tcp://10.0.0.1:8786",
    )
    made.add_argument("model", help="JSON file written by linrank train")
    made.add_argument("data", help="LETOR / svmlight text, Parquet, CSV, Arrow or .linrank; - for standard input")
    made.add_argument(
        "scores", nargs="?", default=STANDARD, help="file to write, whole or not at all (-, standard output)"
    )
    made.add_argument("--trec", action="store_true", help="write a TREC run: qid Q0 docid rank score tag")
    made.add_argument("--tag", default="linrank", help="of the TREC run (linrank)")
    add_dask_option(made, "score a .linrank file or Parquet on")
    add_data_options(made)
    return made


def run(arguments: Namespace) -> None:
    from linrank.model import LinearModel
    from linrank.reading.scores import write_scores
    from linrank.reading.trec import write_run

    check_files([(arguments.scores, RUN if arguments.trec else SCORES)], [arguments.model, arguments.data])
    model = LinearModel.load(place_to_read(arguments.model))
    if arguments.dask is None:
        dataset = read_to_score(arguments.data, arguments, model, by_query=arguments.trec)
        with naming(arguments.data):
            scores = model.predict(dataset.features, dataset.queries)
    else:
        dataset = open_to_score(arguments.data, arguments, model)
        with executor_at(arguments.dask) as executor:
            scores = model.predict(dataset, executor=executor)
    with place_of(arguments.scores) as place:
        if arguments.trec:
            write_run(place, dataset, scores, tag=arguments.tag)
        else:
            write_scores(place, scores)
    if arguments.scores != STANDARD:
        console().print(f"{arguments.scores}: scores of {counted(dataset.n_documents, 'document')}")
