"""linrank predict: scores of documents by a model."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from linrank.cli.console import console, counted, verb_parser
from linrank.cli.data_arguments import add_data_options
from linrank.cli.scoring import read_to_score
from linrank.errors import LinrankError


def parser() -> ArgumentParser:
    made = verb_parser(
        "predict",
        "Score documents with a model: one number a line, in the order of the data's rows, higher is better; or a\n"
        "TREC run, in rank order.\n\n"
        "A table needs the columns that have a weight, and no others: no label, and no qid unless the model scales or\n"
        "fills by query. Missing values are filled as they were in training, unless --missing says otherwise.",
        "  linrank predict model.json test.txt test.scores\n"
        "  linrank predict model.json test.txt | head\n"
        "  linrank predict model.json test.txt run.txt --trec --tag my-ranker",
    )
    made.add_argument("model", help="JSON file written by linrank train")
    made.add_argument("data", help="LETOR / svmlight text, Parquet, CSV, Arrow or .linrank")
    made.add_argument("scores", nargs="?", help="file to write, whole or not at all (standard output)")
    made.add_argument("--trec", action="store_true", help="write a TREC run: qid Q0 docid rank score tag")
    made.add_argument("--tag", default="linrank", help="of the TREC run (linrank)")
    add_data_options(made)
    return made


def run(arguments: Namespace) -> None:
    from linrank.model import LinearModel
    from linrank.reading.scores import write_scores
    from linrank.reading.trec import write_run

    if arguments.trec and not arguments.scores:
        raise LinrankError("--trec needs the file to write the run to.")
    for given in (arguments.model, arguments.data):
        if arguments.scores and Path(arguments.scores).resolve() == Path(given).resolve():
            raise LinrankError(
                f"{arguments.scores}: is the {given} itself. Name another file, so that nothing is lost."
            )
    model = LinearModel.load(arguments.model)
    dataset = read_to_score(arguments.data, arguments, model, by_query=arguments.trec)
    scores = model.predict(dataset.features, dataset.queries)
    if arguments.trec:
        write_run(arguments.scores, dataset, scores, tag=arguments.tag)
    elif arguments.scores:
        write_scores(arguments.scores, scores)
    else:
        sys.stdout.writelines(f"{score!r}\n" for score in scores.tolist())
    if arguments.scores:
        console().print(f"{arguments.scores}: scores of {counted(dataset.n_documents, 'document')}")
