"""linrank evaluate: measure a file of scores."""

from __future__ import annotations

import csv
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from linrank.cli.console import console, counted, dump_json, table, verb_parser
from linrank.cli.data_arguments import add_data_options, is_table, keep_missing, read_data, reading_options
from linrank.cli.inputs import place_to_read
from linrank.cli.outputs import PER_QUERY, STANDARD, check_files
from linrank.errors import naming
from linrank.files import replacing
from linrank.measures import DEFAULT_MEASURES
from linrank.showing import for_spreadsheet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from linrank.arrays import Vector
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.measures import Evaluation

_MEASURES_HELP = """\
measures, as NAME(options)@CUT-OFF:
  ndcg@10             gain 2^y - 1, discount 1/log2(rank + 1)              (Burges, Yahoo, most papers)
  ndcg(letor)@10      the official LETOR and MSLR scripts': ranks 1 and 2 undiscounted, short lists count 0
  ndcg(linear)@10     gain y, discount 1/log2(rank + 1)
  ndcg(trec)@10       as trec_eval: gain y, ties by document id, descending
  dcg@10  meanndcg  map  p@10  recall@10  mrr  wta  err@10  pairwiseaccuracy  kendalltau  auc
options: rel=2 (relevant is a label of at least 2; 1), empty=0|1|skip (queries without a relevant document; 0),
  ties=file|average|worst|docid (documents with equal scores; file; docid is trec_eval's), and
  pairwiseaccuracy(ties=wrong|half|right) (a pair with equal scores; wrong, in LIBLINEAR right).
  Several cut-offs: ndcg@1,3,5,10.
"""


# By trec_eval's own rules, for the files that are its own.
_TREC_MEASURES = "ndcg(trec) ndcg(trec)@10 map(ties=docid) mrr(ties=docid) p(ties=docid)@10 recall(ties=docid)@100"


def parser() -> ArgumentParser:
    made = verb_parser(
        "evaluate",
        "Measure how well scores rank the documents of each query. The same scores can give an NDCG@10 of 0.21 or\n"
        "0.81 by definition, so a measure says which one it is.\n\n"
        "With --qrels the files are TREC runs. As in trec_eval without -c, a mean is over the queries that are judged\n"
        "and in the run; documents that are not judged have the label 0, and relevant ones that the run lacks are\n"
        "missed. Equal scores are ordered as the measure says: by document id, as in trec_eval, with ties=docid.",
        "  linrank evaluate test.txt test.scores\n"
        "  linrank evaluate test.txt test.scores --measures 'ndcg(letor)@10' meanndcg map\n"
        "  linrank evaluate test.txt test.scores --json\n"
        "  linrank evaluate test.txt test.scores --per-query queries.csv\n"
        "  linrank evaluate scored.csv --score bm25 --label grade --qid query\n"
        "  linrank evaluate bm25.run dense.run --qrels qrels.txt\n\n" + _MEASURES_HELP,
    )
    made.add_argument(
        "data", help="judged documents: LETOR / svmlight text, Parquet, CSV, Arrow or .linrank; - for standard input"
    )
    made.add_argument(
        "scores",
        nargs="*",
        help="one score a line, in the order of the data's rows; higher is better; - too. With --qrels, more runs",
    )
    made.add_argument("--score", metavar="COLUMN", help="of a table: the column of scores, in place of a file of them")
    made.add_argument(
        "--qrels", metavar="QRELS", help="judgements of TREC, qid 0 docid label; the files are runs then, gzip or not"
    )
    made.add_argument(
        "--measures",
        nargs="+",
        metavar="MEASURE",
        help=f"({DEFAULT_MEASURES}; with --qrels, as trec_eval: {_TREC_MEASURES})",
    )
    made.add_argument("--json", action="store_true", help="print means and each query's values, a JSON object a file")
    made.add_argument(
        "--per-query",
        metavar="CSV",
        help="write each query's values, ids that a spreadsheet would run with ' before them; '-' prints them instead "
        "of the table",
    )
    add_data_options(made)
    made.checks.append(_what_is_wrong)
    return made


def _what_is_wrong(arguments: Namespace) -> str | None:
    said = reading_options(arguments)
    if arguments.per_query == STANDARD and arguments.json:
        return "--per-query - and --json both print: give --per-query a file, or leave one out"
    if arguments.qrels is not None:
        if arguments.score is not None or said:
            word = "score" if arguments.score is not None else next(iter(said))
            return f"--{word.replace('_', '-')} is for other data: qrels and runs have one form. Leave it out"
        if arguments.scores and arguments.qrels == STANDARD:
            return "--qrels - can be read once, and there are several runs: save it to a file"
        return "--per-query is of one run: name one" if arguments.per_query and arguments.scores else None
    n_wanted = 0 if arguments.score is not None else 1
    if len(arguments.scores) > n_wanted:
        return f"unrecognized arguments: {' '.join(arguments.scores[n_wanted:])}"
    if len(arguments.scores) < n_wanted:
        return "the following arguments are required: scores (or --score COLUMN of a table)"
    if arguments.score is not None and not is_table(arguments, arguments.data):
        return f"--score is a column of a table, and {arguments.data} is none: give a file of scores"
    if arguments.scores and arguments.scores[0].endswith(".json"):
        return f"{arguments.scores[0]} is no file of scores: if it is a model, linrank predict gives its scores"
    return None


def run(arguments: Namespace) -> None:
    from linrank.measures import evaluate, parse_measures

    # Refused before the data is read.
    default = DEFAULT_MEASURES if arguments.qrels is None else _TREC_MEASURES
    measures = parse_measures(" ".join(arguments.measures or [default]))
    printed = arguments.per_query == STANDARD
    inputs = [arguments.data, *arguments.scores, arguments.qrels]
    check_files([(None if printed else arguments.per_query, PER_QUERY)], inputs)
    for number, (name, dataset, scores) in enumerate(_scored(arguments)):
        with naming(arguments.data if arguments.qrels is None else arguments.qrels):
            evaluation = evaluate(scores, dataset, measures)
        if printed:
            csv.writer(sys.stdout, lineterminator="\n").writerows(_per_query_rows(evaluation, dataset))
            return
        if arguments.per_query:
            with replacing(arguments.per_query) as file:
                csv.writer(file, lineterminator="\n").writerows(_per_query_rows(evaluation, dataset))
        if arguments.json:
            dump_json({**name, **evaluation.to_dict()})
            continue
        if arguments.qrels is not None:
            console().print(f"{chr(10) if number else ''}{name['run']}", style="bold")
        show_evaluation(evaluation, dataset)


def _scored(arguments: Namespace) -> Iterator[tuple[dict[str, str], RankingDataset, Vector]]:
    """What to measure: where it came from, the judged documents, and their scores."""
    if arguments.qrels is not None:
        from linrank.reading.trec import read_trec

        for run in (arguments.data, *arguments.scores):
            dataset = read_trec(place_to_read(arguments.qrels), {"score": place_to_read(run)})
            yield {"qrels": arguments.qrels, "run": run}, dataset, dataset.features[:, 0]
        return
    if arguments.score is not None:
        dataset = _judgements(arguments, [arguments.score])
        yield {"data": arguments.data, "score": arguments.score}, dataset, dataset.features[:, 0]
        return
    from linrank.reading.scores import read_scores

    (scores,) = arguments.scores
    keep_missing(arguments)
    dataset = _judgements(arguments, [])
    yield {"data": arguments.data, "scores": scores}, dataset, read_scores(place_to_read(scores), dataset.n_documents)


def _judgements(arguments: Namespace, columns: list[str]) -> RankingDataset:
    """The judged documents; of a table, labels, ids and the columns named are read, and nothing else is looked at."""
    if is_table(arguments, arguments.data):
        arguments = Namespace(**(vars(arguments) | {"features": columns, "weight": None, "query_weight": None}))
    return read_data(arguments.data, arguments)


def show_evaluation(evaluation: Evaluation, dataset: RankingDataset) -> None:
    """Print the mean of each measure with its bootstrap interval."""
    shown = table(None, "measure", "mean", "95 % interval")
    for measure in evaluation.measures:
        low, high = evaluation.interval(measure)
        shown.add_row(str(measure), f"{evaluation.mean[measure]:.4f}", f"{low:.4f} to {high:.4f}")
    out = console()
    out.print(shown)
    out.print(
        f"{counted(dataset.n_queries, 'query', 'queries')}, {counted(dataset.n_documents, 'document')}; "
        "intervals by bootstrap over queries",
        style="dim",
    )


def _per_query_rows(evaluation: Evaluation, dataset: RankingDataset) -> Iterable[list[object]]:
    yield ["qid", *map(str, evaluation.measures)]
    columns = [evaluation.per_query[measure].tolist() for measure in evaluation.measures]
    for query, *values in zip(dataset.queries.ids.tolist(), *columns, strict=True):
        # A query that a measure skips has an empty field.
        yield [for_spreadsheet(query), *("" if value != value else value for value in values)]  # noqa: PLR0124
