"""linrank evaluate: measure a file of scores."""

from __future__ import annotations

import csv
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from linrank.cli.console import console, counted, dump_json, table, verb_parser
from linrank.cli.data_arguments import add_data_options, keep_missing, read_data
from linrank.cli.inputs import place_to_read
from linrank.cli.outputs import PER_QUERY, STANDARD, check_files
from linrank.files import replacing
from linrank.measures import DEFAULT_MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def parser() -> ArgumentParser:
    made = verb_parser(
        "evaluate",
        "Measure how well scores rank the documents of each query. The same scores can give an NDCG@10 of 0.21 or\n"
        "0.81 by definition, so a measure says which one it is.",
        "  linrank evaluate test.txt test.scores\n"
        "  linrank evaluate test.txt test.scores --measures 'ndcg(letor)@10' meanndcg map\n"
        "  linrank evaluate test.txt test.scores --json\n"
        "  linrank evaluate test.txt test.scores --per-query queries.csv\n\n" + _MEASURES_HELP,
    )
    made.add_argument(
        "data", help="judged documents: LETOR / svmlight text, Parquet, CSV, Arrow or .linrank; - for standard input"
    )
    made.add_argument("scores", help="one score a line, in the order of the data's rows; higher is better; - too")
    made.add_argument(
        "--measures", nargs="+", metavar="MEASURE", default=[DEFAULT_MEASURES], help=f"({DEFAULT_MEASURES})"
    )
    made.add_argument("--json", action="store_true", help="print means and intervals as one JSON object")
    made.add_argument(
        "--per-query", metavar="CSV", help="write each query's values; '-' prints them instead of the table"
    )
    add_data_options(made)
    return made


def run(arguments: Namespace) -> None:
    from linrank.measures import evaluate, parse_measures
    from linrank.reading.scores import read_scores

    # Refused before the data is read.
    measures = parse_measures(" ".join(arguments.measures))
    printed = arguments.per_query == STANDARD
    check_files([(None if printed else arguments.per_query, PER_QUERY)], [arguments.data, arguments.scores])
    keep_missing(arguments, arguments.data)
    dataset = read_data(arguments.data, arguments)
    scores = read_scores(place_to_read(arguments.scores), dataset.n_documents)
    evaluation = evaluate(scores, dataset, measures)
    if printed:
        csv.writer(sys.stdout, lineterminator="\n").writerows(_per_query_rows(evaluation, dataset))
        return
    if arguments.per_query:
        with replacing(arguments.per_query) as file:
            csv.writer(file, lineterminator="\n").writerows(_per_query_rows(evaluation, dataset))
    if arguments.json:
        dump_json({"data": arguments.data, "scores": arguments.scores, **evaluation.to_dict()})
    else:
        show_evaluation(evaluation, dataset)


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
        yield [query, *("" if value != value else value for value in values)]  # noqa: PLR0124
