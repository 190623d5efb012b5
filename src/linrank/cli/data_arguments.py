"""The options by which every verb is told how to read its data."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset

_FOR_TEXT = ("zero_based", "n_features", "layout", "one_query")
_FOR_TABLES = ("label", "qid", "docid", "weight", "query_weight", "features", "delimiter")


def add_data_options(parser: ArgumentParser) -> None:
    """Add how to read: the same words for every verb."""
    reading = parser.add_argument_group("how the data is read")
    reading.add_argument(
        "--format", choices=("svmlight", "linrank", "parquet", "csv", "arrow"), help="what the file is (by its ending)"
    )
    reading.add_argument(
        "--missing",
        type=missing_rule,
        metavar="RULE",
        help="NULL or NaN features: error, keep (to look at, not to train on), query_min (the feature's least value in "
        "the query, 0 where it has none; LETOR's own min files differ), or a number to fill in (error; where they are "
        "only looked at, keep; where a model scores, as it was trained)",
    )
    reading.add_argument("--dtype", choices=("float32", "float64"), help="how features are held in memory (float64)")
    text = parser.add_argument_group("svmlight / LETOR text")
    text.add_argument("--zero-based", action="store_true", default=None, help="feature ids start at 0 (1)")
    text.add_argument("--n-features", type=int, metavar="N", help="number of features (the largest id)")
    text.add_argument("--one-query", action="store_true", default=None, help="lines have no qid: all are one query")
    text.add_argument("--layout", choices=("dense", "sparse"), help="(by density)")
    tables = parser.add_argument_group("tables: Parquet, CSV, Arrow")
    tables.add_argument("--label", metavar="COLUMN", help="column of labels (label)")
    tables.add_argument("--qid", metavar="COLUMN", help="column of query ids (qid)")
    tables.add_argument("--docid", metavar="COLUMN", help="column of document ids (none)")
    tables.add_argument("--weight", metavar="COLUMN", help="column of document weights (none)")
    tables.add_argument("--query-weight", metavar="COLUMN", help="column of query weights, one a query (none)")
    tables.add_argument(
        "--features", metavar="COLUMNS", type=_names, help="feature columns, separated by commas (all others)"
    )
    tables.add_argument("--delimiter", metavar="CHAR", help="of a CSV file (, and a tab for .tsv)")


def read_data(path: str, arguments: Namespace) -> RankingDataset:
    """Read the file a verb was given, or standard input for `-`, with a progress bar if it takes a while."""
    from linrank.cli.console import progress_bar
    from linrank.cli.inputs import file_to_read, place_to_read
    from linrank.reading.read import format_of, read

    options = reading_options(arguments)
    options.pop("format", None)
    if (arguments.format or format_of(path)) != "svmlight":
        with file_to_read(path) as place:
            return read(place, format=arguments.format, **options)
    with progress_bar("reading") as progress:
        return read(place_to_read(path), format=arguments.format, progress=progress, **options)


def read_complete(path: str, arguments: Namespace) -> RankingDataset:
    """Read a file to learn or to choose from: missing values that were kept are refused before any work."""
    from linrank.dataset.features import refuse_missing
    from linrank.errors import naming

    data = read_data(path, arguments)
    with naming(path):
        refuse_missing(data.features, data.names)
    return data


def reading_options(arguments: Namespace) -> dict[str, Any]:
    """What was said about how to read, as options of `read`."""
    words = ("format", "missing", "dtype", *_FOR_TEXT, *_FOR_TABLES)
    return {word: value for word in words if (value := getattr(arguments, word, None)) is not None}


def is_table(arguments: Namespace, path: str) -> bool:
    """Whether a file is read by the names of its columns."""
    from linrank.reading.read import format_of

    return (arguments.format or format_of(path)) in ("csv", "parquet", "arrow")


def keep_missing(arguments: Namespace) -> None:
    """Where features are only looked at, or not used at all, missing ones need not be filled."""
    if arguments.missing is None:
        arguments.missing = "keep"


def missing_rule(text: str) -> str | float:
    if text in ("error", "keep", "query_min"):
        return text
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is none of error, keep, query_min or a number") from None


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
