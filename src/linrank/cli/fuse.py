"""linrank fuse: the weights of hybrid search, learnt under the engine's own rules."""

from __future__ import annotations

import inspect
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linrank.cli.console import console, dump_json, verb_parser
from linrank.cli.outputs import PAGE, STANDARD, VECTORS, Kind, check_files, unchanged, vectors_of
from linrank.cli.settings_given import each_once, setting_given
from linrank.errors import LinrankError
from linrank.fusing.registry import ENGINES, REFUSED, engine_class, engine_named

if TYPE_CHECKING:
    from linrank.fusing.fusion import Fusion

# Each method, and the sentence the help says about it.
METHODS = {
    "auto": "what is best on held-out queries of pairwise, ndcg and search",
    "pairwise": "trained exactly on all pairs of a better and a worse document",
    "ndcg": "the same, a pair weighing what it changes of NDCG",
    "search": "the best of the grid, then small steps while the measure rises",
    "grid": "the best weights in steps of 0.1",
    "rrf": "reciprocal ranks, k chosen; no weights",
    "rrf60": "reciprocal ranks, k = 60; no weights",
    "equal": "equal weights; of scores that are not normalised, in units of each leg's spread",
}


def parser() -> ArgumentParser:
    engines = _listed({name: says for name, (_, _, says) in ENGINES.items()})
    made = verb_parser(
        "fuse",
        "Learn the weights of hybrid search from runs of its legs and judged queries, by the engine's own rules: each\n"
        "leg normalised as the engine does, over the hits that come back, documents that a leg missed counted as\n"
        "there, and weights within its bounds. Says whether they are worth deploying, by queries that were held out,\n"
        "beside each leg alone, equal weights, reciprocal ranks and the grid; and writes what the engine is given.\n\n"
        f"engines (linrank fuse --to ENGINE --settings says what can be set of one):\n{engines}\n\n"
        f"methods (--method):\n{_listed(METHODS)}",
        "  linrank fuse qrels.txt bm25.run dense.run title.run --to opensearch --page fusion.html\n"
        "  linrank fuse judged.csv bm25=runs/a.txt dense=runs/b.txt --to qdrant --signals products.csv\n"
        "  linrank fuse qrels.txt hits.csv --to elasticsearch --set normaliser=l2_norm --depth 50\n"
        "  linrank fuse qrels.txt bm25.run dense.run --to opensearch --method rrf   # reciprocal ranks, k chosen",
    )
    made.add_argument("qrels", nargs="?", help="judgements: TREC qrels, CSV (query, docid, rating), JSON or Parquet")
    made.add_argument(
        "runs",
        nargs="*",
        metavar="run",
        help="a leg: a TREC run, a table (.csv, .parquet: query, document, score, and leg where it has several), or "
        "saved responses (.jsonl); NAME=FILE names it",
    )
    made.add_argument("--to", default="opensearch", metavar="ENGINE", help="one of those above (opensearch)")
    made.add_argument("--out", metavar="FILE", help="configuration to write, - for standard output (fusion.ENDING)")
    made.add_argument("--page", metavar="HTML", help="one page to look at, without network (none)")
    made.add_argument("--method", choices=tuple(METHODS), default="auto", help="one of those above (auto)")
    made.add_argument("--depth", type=int, default=100, metavar="N", help="hits of each leg that are fused (100)")
    made.add_argument(
        "--unjudged",
        choices=("irrelevant", "left-out", "condensed"),
        default="irrelevant",
        help="what candidates that nobody judged are (irrelevant); left-out: not trained on; condensed: nor measured",
    )
    made.add_argument("--measure", default="ndcg@10", help="what decides (ndcg@10); linrank evaluate --help lists them")
    made.add_argument("--signals", metavar="FILE", help="table of documents and numbers, such as popularity (none)")
    made.add_argument("--by", metavar="COLUMN", help="weights for each class of queries, if they differ (none)")
    made.add_argument("--queries", metavar="FILE", help="table of queries that has the column of --by")
    made.add_argument("--cv", type=int, default=5, metavar="N", help="folds of whole queries (5)")
    made.add_argument("--resamples", type=int, default=100, metavar="N", help="of queries, for intervals (100)")
    made.add_argument("--seed", type=int, default=0, help="of folds and resamples (0)")
    made.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the engine; several times"
    )
    made.add_argument("--settings", action="store_true", help="say what can be set of the engine, and end")
    made.add_argument("--json", action="store_true", help="print what was found as one JSON object")
    made.checks.append(_check)
    return made


def _listed(says_of: Mapping[str, str]) -> str:
    width = max(map(len, says_of))
    return "\n".join(f"  {name:<{width}}  {says}" for name, says in says_of.items())


def _check(arguments: Namespace) -> str | None:
    if arguments.to not in REFUSED:
        try:
            engine_class(arguments.to)
        except LinrankError as error:
            return f"argument --to: {error}"
    if not arguments.settings and (arguments.qrels is None or not arguments.runs):
        return "give judgements and at least one run: linrank fuse QRELS RUN…"
    if (arguments.by is None) != (arguments.queries is None):
        return "--by COLUMN and --queries FILE go together"
    return None


def run(arguments: Namespace) -> None:
    class_ = engine_class(arguments.to)
    known = {field.name: field for field in fields(class_)}
    if arguments.settings:
        says = inspect.cleandoc(class_.__doc__ or "")
        first = {"normaliser": next(iter(class_.normalisers))}
        defaults = ", ".join(f"{field.name}={field.default or first.get(field.name, '')}" for field in known.values())
        sys.stdout.write(f"{arguments.to}: {says}\n\nunless set: {defaults}\n")
        return
    engine = engine_named(arguments.to, **each_once(setting_given(text, known) for text in arguments.set))
    runs: dict[str, str] = {}
    for file, name in map(_named, arguments.runs):
        if file in runs:
            raise LinrankError(f"{file}: is given twice. A leg is asked once; leave one out.")
        runs[file] = name
    out = arguments.out or f"fusion.{class_.ending}"
    outputs: list[tuple[str | Path | None, Kind]] = [(out, unchanged(out, "fuse")), (arguments.page, PAGE)]
    if out != STANDARD:
        outputs.append((vectors_of(out), VECTORS))
    check_files(outputs, [arguments.qrels, *runs, arguments.signals, arguments.queries])
    _fuse(arguments, engine, runs, out)


def _fuse(arguments: Namespace, engine: Any, runs: dict[str, str], out: str) -> None:
    from linrank.cli.streams import output_for_what_is_made
    from linrank.fusing.fuse import fuse

    made = fuse(
        _legs(runs),
        arguments.qrels,
        engine,
        method=arguments.method,
        depth=arguments.depth,
        unjudged=arguments.unjudged,
        measure=arguments.measure,
        signals=arguments.signals,
        by=arguments.by,
        queries=arguments.queries,
        n_folds=arguments.cv,
        n_resamples=arguments.resamples,
        random_state=arguments.seed,
    )
    written: list[str] = []
    outdated: list[str] = []
    if out == STANDARD:
        output_for_what_is_made().write(made.configuration.content)
    else:
        outdated = made.outdated(out)
        written = made.save(out)
    if arguments.page is not None:
        made.page(arguments.page)
    if arguments.json:
        dump_json(
            {
                **made.to_dict(),
                "files": written,
                "outdated": outdated,
                "page": arguments.page,
                "commands": _commands(made, out),
            }
        )
    else:
        _show(made, out, written, outdated, arguments.page)


def _show(made: Fusion, out: str, written: list[str], outdated: list[str], page: str | None) -> None:
    print_ = console().print
    print_(f"{made}\n")
    if out != STANDARD:
        print_(f"{out}: for {made.engine.title}; beside it {', '.join(file for file in written if file != out)}")
        for file in (file for file in made.files(out) if file not in written):
            new = f"{file}.new"
            differs = (
                f", but was written for other legs, weights or depth: {new} goes with these" if new in written else ""
            )
            print_(f"{file}: changed since it was written, and left as it is{differs}")
        for file in outdated:
            print_(f"{file}: of an earlier run's classes, {_what_became_of(file)}")
    if page is not None:
        print_(f"{page}: one page to look at")
    commands = _commands(made, out)
    if commands:
        print_(f"\n{commands}")


def _what_became_of(outdated: str) -> str:
    return "and changed since: left as it is, and out of date" if Path(outdated).exists() else "removed"


def _commands(made: Fusion, out: str) -> str:
    """What to type to install the file and to use it; they name files."""
    if out != STANDARD:
        return made.commands(out)
    return f"# --out FILE writes what goes beside it too, and says the commands for {made.engine.title}"


def _named(text: str) -> tuple[str, str]:
    """FILE and the name it is given, "" where it has its own: NAME=FILE, where no file is called so."""
    name, equals, file = text.partition("=")
    if equals and name and file and not Path(text).exists():
        return file, name
    return text, ""


def _legs(runs: dict[str, str]) -> Any:
    """Files that read_legs names itself where none is named, else by name."""
    if not any(runs.values()):
        return list(runs)
    if not all(runs.values()):
        unnamed = next(file for file, name in runs.items() if not name)
        raise LinrankError(f"{unnamed}: some runs have a name and this one has none. Name all of them: NAME=FILE.")
    if len(set(runs.values())) < len(runs):
        raise LinrankError("two runs have the same name. Name them apart: NAME=FILE.")
    return {name: file for file, name in runs.items()}
