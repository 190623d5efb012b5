"""linrank info: what is in a data file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from linrank.cli.console import console, counted, dump_json, table, verb_parser
from linrank.cli.data_arguments import add_data_options, keep_missing, read_data

if TYPE_CHECKING:
    from linrank.dataset.summary import DatasetSummary

_MOST_NAMES = 12


def parser() -> ArgumentParser:
    made = verb_parser(
        "info",
        "Say what is in a file of ranking data: queries, documents, features, preference pairs (counted, never\n"
        "listed), the labels, and the features that cannot help a linear ranker: constant, missing or duplicated.",
        "  linrank info train.txt\n"
        "  linrank info train.parquet --label grade --qid query_id\n"
        "  linrank info train.txt.gz --json | jq .n_pairs",
    )
    made.add_argument("data", help="LETOR / svmlight text, Parquet, CSV, Arrow or .linrank")
    made.add_argument("--json", action="store_true", help="print one JSON object, for scripts")
    add_data_options(made)
    return made


def run(arguments: Namespace) -> None:
    keep_missing(arguments)
    summary = read_data(arguments.data, arguments).describe()
    if arguments.json:
        dump_json({"file": arguments.data, **summary.as_dict()})
    else:
        show_summary(arguments.data, summary)


def show_summary(name: str, summary: DatasetSummary) -> None:
    """Print a summary for people."""
    out = console()
    out.print(name, style="bold")
    facts = (
        (counted(summary.n_queries, "query", "queries"), _query_sizes(summary)),
        (counted(summary.n_documents, "document"), ""),
        (
            counted(summary.n_features, "feature"),
            f"{summary.layout} {summary.dtype}, {summary.density:.1%} of the values are not zero",
        ),
        (counted(summary.n_pairs, "pair"), _useless_queries(summary)),
    )
    for fact, remark in facts:
        out.print(f"  {fact:<22}{remark}".rstrip())
    labels = table(None, "label", "documents", "share")
    for label, count in summary.label_histogram.items():
        name = f"{label:g}" if summary.n_levels == len(summary.label_histogram) else f"from {label:.4g}"
        labels.add_row(name, f"{count:,}", f"{count / max(1, summary.n_documents):.1%}")
    out.print(labels)
    if summary.n_levels != len(summary.label_histogram):
        out.print(f"  {summary.n_levels:,} different labels")
    _show_useless_features(summary)


def _query_sizes(summary: DatasetSummary) -> str:
    if summary.smallest_query == summary.largest_query:
        return f"{summary.largest_query:,} documents each"
    return f"{summary.smallest_query:,} to {summary.largest_query:,} documents, median {summary.median_query:g}"


def _useless_queries(summary: DatasetSummary) -> str:
    if not summary.queries_without_pairs:
        return "every query has some"
    has = "has" if summary.queries_without_pairs == 1 else "have"
    return f"{counted(summary.queries_without_pairs, 'query', 'queries')} {has} none: all labels equal"


def _show_useless_features(summary: DatasetSummary) -> None:
    out = console()
    if summary.constant_features:
        out.print(f"  constant, so no use: {_listed(summary.constant_features)}")
    if summary.duplicated_features:
        groups = tuple(" = ".join(group) for group in summary.duplicated_features)
        out.print(f"  the same in every document: {_listed(groups)}")
    if summary.missing_values:
        counts = tuple(f"{name} ({count:,})" for name, count in summary.missing_values.items())
        out.print(f"  missing in some documents: {_listed(counts)}")


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
