"""linrank check: what would change if a new model went live, and whether it may."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from linrank.cli.console import dump_json, verb_parser
from linrank.cli.data_arguments import add_data_options, is_table, keep_missing, read_data
from linrank.cli.inputs import file_to_read
from linrank.cli.outputs import check_files
from linrank.errors import naming

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.model import LinearModel

WORSE = 3
"""The exit code where the new model does not pass."""


def parser() -> ArgumentParser:
    made = verb_parser(
        "check",
        "Say what would change if a new model took the place of an old one, on judged documents: the measure of both,\n"
        "with a bootstrap interval of the difference over queries; queries won and lost; the queries and documents\n"
        "that move most; features that are no longer used; what float32 does to the order in a search engine.\n\n"
        "Models are linrank's own, or any that linrank import reads. Columns are found by name. Missing values are\n"
        "filled as each model does, unless --missing says how.\n\n"
        f"The exit code is {WORSE} where the new model does not pass: where the whole 95 % interval of the difference\n"
        "lies below 0, or with --at-least D where the difference is less than D. It is 0 where it passes.",
        "  linrank check live.json new.json --data judged.txt\n"
        "  linrank check solr-model.json new.json --data judged.csv --measure map\n"
        "  linrank check live.json new.json --data judged.txt --at-least -0.005 && ./deploy",
    )
    made.add_argument("old", help="the model that is live: linrank's, or one that linrank import reads; - too")
    made.add_argument("new", help="the model that would take its place")
    made.add_argument(
        "--data", required=True, metavar="DATA", help="judged documents: LETOR text, Parquet, CSV, Arrow or .linrank"
    )
    made.add_argument("--measure", default="ndcg@10", help="what decides (ndcg@10); linrank evaluate --help lists them")
    made.add_argument(
        "--at-least",
        type=float,
        metavar="D",
        help="pass where the new mean is higher by D; negative: where it is lower by no more (pass unless the interval "
        "lies below 0)",
    )
    made.add_argument("--movers", type=int, default=5, metavar="N", help="queries and documents to name (5)")
    made.add_argument("--seed", type=int, default=0, help="of the bootstrap (0)")
    made.add_argument("--json", action="store_true", help="print one JSON object")
    add_data_options(made)
    return made


def run(arguments: Namespace) -> int:
    from linrank.checking.check import check
    from linrank.importing.import_model import import_model

    check_files([], [arguments.old, arguments.new, arguments.data])
    with file_to_read(arguments.old) as place:
        old = import_model(place)
    with file_to_read(arguments.new) as place:
        new = import_model(place)
    data = _read(arguments, (old, new))
    with naming(arguments.data):
        done = check(
            old,
            new,
            data,
            measure=arguments.measure,
            at_least=arguments.at_least,
            n_movers=arguments.movers,
            random_state=arguments.seed,
        )
    if arguments.json:
        dump_json({"old_model": arguments.old, "new_model": arguments.new, "data": arguments.data, **done.to_dict()})
    else:
        sys.stdout.write(f"{done}\n")
    return 0 if done.passed else WORSE


def _read(arguments: Namespace, models: tuple[LinearModel, ...]) -> RankingDataset:
    """The judged documents; of a table, only the columns that a model has a weight for."""
    keep_missing(arguments)
    if is_table(arguments, arguments.data) and arguments.features is None:
        used = [
            name
            for model in models
            for name, is_used in zip(model.feature_names, model.used.tolist(), strict=True)
            if is_used
        ]
        arguments.features = list(dict.fromkeys(used)) or None
    return read_data(arguments.data, arguments)
