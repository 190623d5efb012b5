"""linrank info: what is in a data file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from linrank.cli.console import console, counted, dump_json, table, verb_parser
from linrank.cli.data_arguments import add_data_options, keep_missing, read_data
from linrank.cli.feature_table import add_worth, feature_worth, show_features
from linrank.cli.outputs import check_files
from linrank.cli.show import add_how_many, check_how_many, is_model, show_model

if TYPE_CHECKING:
    from linrank.dataset.summary import DatasetSummary

_MOST_NAMES = 12


def parser() -> ArgumentParser:
    made = verb_parser(
        "info",
        "Say what is in a file of ranking data: queries, documents, features, preference pairs (counted, never\n"
        "listed), the labels, documents that are there twice or with two labels, features that cannot help a linear\n"
        "ranker, and of each feature its range, how often it is missing and how well it ranks alone. Of a model, the\n"
        "same as linrank show.\n\n"
        "NDCG@10 of a feature alone is in its better direction, ties averaged over and missing values last.",
        "  linrank info train.txt\n"
        "  linrank info Fold1/*.txt\n"
        "  linrank info train.parquet --label grade --qid query_id --all\n"
        "  linrank info train.txt.gz --json | jq .n_pairs",
    )
    made.add_argument(
        "data",
        nargs="+",
        metavar="data",
        help="LETOR / svmlight text, Parquet, CSV, Arrow or .linrank; - for standard input; or a model",
    )
    add_how_many(made, "features")
    made.add_argument("--json", action="store_true", help="print one JSON object a file, with everything")
    add_data_options(made)
    return made


def run(arguments: Namespace) -> None:
    check_how_many(arguments)
    check_files([], arguments.data)
    for number, data in enumerate(arguments.data):
        if number and not arguments.json:
            console().print()
        _describe(data, Namespace(**vars(arguments)))


def _describe(data: str, arguments: Namespace) -> None:
    if is_model(data):
        from linrank.model import LinearModel

        show_model(data, LinearModel.load(data), arguments)
        return
    keep_missing(arguments)
    dataset = read_data(data, arguments)
    summary, (worth, why_not) = dataset.describe(), feature_worth(dataset)
    if arguments.json:
        record = {"file": data, **summary.as_dict(), **({"left_out": why_not} if why_not else {})}
        dump_json(add_worth(record, worth))
    else:
        show_summary(data, summary)
        show_features(summary, worth, None if arguments.all else arguments.top)
        if why_not:
            console().print(f"  {why_not}")


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
    if not summary.label_histogram:
        out.print("  no labels\n")
    for label, count in summary.label_histogram.items():
        name = f"{label:g}" if summary.n_levels == len(summary.label_histogram) else f"from {label:.4g}"
        labels.add_row(name, f"{count:,}", f"{count / max(1, summary.n_documents):.1%}")
    if summary.label_histogram:
        out.print(labels)
    if summary.n_levels != len(summary.label_histogram):
        out.print(f"  {summary.n_levels:,} different labels")
    _show_repeats(summary)
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


def _show_repeats(summary: DatasetSummary) -> None:
    kinds = (
        (summary.repeated_rows, "the features of an earlier one of their query"),
        (summary.repeated_documents, "the id of an earlier one of their query"),
    )
    for repeats, what in kinds:
        if repeats is None or not repeats.repeated:
            continue
        line = f"  {counted(repeats.repeated, 'document')} with {what}"
        if repeats.contradictory:
            examples = "; ".join(
                f"query {query}{'' if docid is None else f', {docid}'}: {first:g} and {other:g}"
                for query, docid, first, other in repeats.examples
            )
            more = ", …" if repeats.contradictory > len(repeats.examples) else ""
            line += f", {repeats.contradictory:,} of them with another label ({examples}{more})"
        console().print(line)


def _show_useless_features(summary: DatasetSummary) -> None:
    out = console()
    if summary.constant_features:
        out.print(f"  constant, so no use: {_listed(summary.constant_features)}")
    if summary.duplicated_features:
        factors = summary.duplicate_factors
        same = tuple(
            f"{name} = {'' if factors[name] == 1 else f'{factors[name]:.6g} x '}{first}"
            for first, *others in summary.duplicated_features
            for name in others
        )
        out.print(f"  the same twice, up to a constant in each query: {_listed(same)}")
    if summary.missing_values:
        counts = tuple(f"{name} ({count:,})" for name, count in summary.missing_values.items())
        out.print(f"  missing in some documents: {_listed(counts)}")


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
