"""linrank export: a model as a search engine, a database or another program takes it."""

from __future__ import annotations

import inspect
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linrank.cli.console import console, counted, dump_json, verb_parser
from linrank.cli.data_arguments import add_data_options
from linrank.cli.feature_names import read_names
from linrank.cli.inputs import place_to_read
from linrank.cli.outputs import STANDARD, VECTORS, check_files, unchanged, vectors_of
from linrank.cli.settings_given import each_once, setting_given
from linrank.errors import LinrankError
from linrank.exporting.registry import TARGETS

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.exporting.export import Export
    from linrank.model import LinearModel

_NAMED = 20


def parser() -> ArgumentParser:
    width = max(map(len, TARGETS))
    targets = "\n".join(f"  {name:<{width}}  {says}" for name, (_, _, says) in TARGETS.items())
    made = verb_parser(
        "export",
        "Write a model as another program takes it: scaling is folded into the weights, and features of weight 0 are\n"
        "left out and named, since they are no longer needed. Beside the file go test vectors: inputs, and the scores\n"
        "that the target must give them. What a target cannot express is refused.\n\n"
        f"targets (linrank export --to TARGET --settings says what can be set of one):\n{targets}",
        "  linrank export model.json --to solr --set model=m1 --set store=products\n"
        "  linrank export model.json --to opensearch --data judged.txt   # and what float32 does to the order\n"
        "  linrank export model.json --to sql --set table=products   # an expression to ORDER BY",
    )
    made.add_argument("model", nargs="?", help="JSON file written by linrank train; - for standard input")
    made.add_argument("--to", required=True, choices=tuple(TARGETS), metavar="TARGET", help="one of those above")
    made.add_argument(
        "--out", metavar="FILE", help="file to write, - for standard output (the model's name with the target's ending)"
    )
    made.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the target; several times"
    )
    made.add_argument("--settings", action="store_true", help="say what can be set of the target, and end")
    made.add_argument(
        "--names", metavar="FILE", help="what the target calls the features: JSON {feature: name}, for some or all"
    )
    made.add_argument(
        "--shift", type=float, default=0.0, metavar="S", help="add a constant to every score; it changes no order (0)"
    )
    made.add_argument(
        "--data", metavar="DATA", help="documents on which to compare the target's order with the model's"
    )
    made.add_argument(
        "--transformed",
        action="store_true",
        help="the target's features went through the model's transform when they were indexed: write weights of these",
    )
    made.add_argument("--json", action="store_true", help="print what was done as one JSON object")
    add_data_options(made)
    made.checks.append(
        lambda given: (
            None if given.model or given.settings else "give a model file to export: linrank export MODEL --to TARGET"
        )
    )
    return made


def run(arguments: Namespace) -> None:
    from linrank.exporting.registry import engine_class, engine_named

    class_ = engine_class(arguments.to)
    if arguments.settings:
        sys.stdout.write(_settings_in_words(arguments.to, class_))
        return
    known = {field.name: field for field in fields(class_)}
    engine = engine_named(arguments.to, **each_once(setting_given(text, known) for text in arguments.set))
    out = arguments.out or _default_out(arguments.model, class_.ending)
    beside = [] if out == STANDARD else [(vectors_of(out), VECTORS)]
    check_files([(out, unchanged(out, "export")), *beside], [arguments.model, arguments.names, arguments.data])
    _export(arguments, engine, out)


def _export(arguments: Namespace, engine: Any, out: str) -> None:
    from linrank.cli.streams import output_for_what_is_made
    from linrank.exporting.export import export
    from linrank.model import LinearModel

    model = LinearModel.load(place_to_read(arguments.model))
    names = None if arguments.names is None else read_names(arguments.names)
    data = None
    if arguments.data is not None:
        from linrank.cli.scoring import read_to_score

        data = read_to_score(arguments.data, arguments, model, by_query=True)
    if arguments.transformed:
        model, data = _after_its_transform(model, data)
    made = export(model, engine, names=names, shift=arguments.shift, data=data)
    if out == STANDARD:
        if isinstance(made.content, bytes):
            raise LinrankError(f"what {engine.title} takes is not text: name a file (--out).")
        output_for_what_is_made().write(made.content)
    else:
        made.save(out)
    if arguments.json:
        dump_json(_record(made, out) | {"transformed": arguments.transformed})
    else:
        _show(made, out, model, transformed=arguments.transformed)


def _after_its_transform(model: LinearModel, data: RankingDataset | None) -> tuple[LinearModel, RankingDataset | None]:
    """The model of features that went through its transform, and data as it then is."""
    from linrank.dataset.feature_shapes import FeatureShapes
    from linrank.dataset.signed_log import SignedLog

    transform = model.scaling
    if not isinstance(transform, FeatureShapes | SignedLog):
        raise LinrankError("--transformed: the features of this model go through no transform. Leave it out.")
    if data is not None:
        data = replace(data, features=transform.apply(data.features))
    return replace(model, scaling=None), data


def _settings_in_words(target: str, class_: type[Any]) -> str:
    """What the target's own text says of its settings, and what each is unless set."""
    says = inspect.cleandoc(class_.__doc__ or "")
    defaults = ", ".join(f"{field.name}={field.default}" for field in fields(class_))
    return f"{target}: {says}\n\nunless set: {defaults}\n" if defaults else f"{target}: {says}\n"


def _show(made: Export, out: str, model: LinearModel, *, transformed: bool) -> None:
    print_ = console().print
    ranking, engine = made.ranking, made.engine
    where = "standard output" if out == STANDARD else out
    print_(f"{where}: {counted(len(ranking), 'weight')} for {engine.title}, which computes {engine.arithmetic.says}")
    if out != STANDARD:
        print_(f"{vectors_of(out)}: {counted(len(made.vectors.scores), 'document')} with the scores they must have")
    else:
        print_("no test vectors, which go beside a file: name one (--out)")
    if ranking.unused:
        shown = ", ".join(ranking.unused[:_NAMED])
        more = f" and {len(ranking.unused) - _NAMED} more (--json has all)" if len(ranking.unused) > _NAMED else ""
        print_(f"no longer needed, {len(ranking.unused)} of {counted(model.n_features, 'feature')}: {shown}{more}")
    for note in made.notes:
        print_(f"note: {note}")
    if transformed:
        print_("note: these weigh features as the model transforms them (linrank show --json), and not raw ones")
    if made.order_changes is not None:
        print_(f"order: {made.order_changes}")
    commands = made.commands(out)
    if commands:
        print_(f"\n{commands}")


def _record(made: Export, out: str) -> dict[str, Any]:
    changes = made.order_changes
    return {
        "target": made.engine.name,
        "file": None if out == STANDARD else out,
        "vectors": None if out == STANDARD else str(vectors_of(out)),
        "arithmetic": made.engine.arithmetic.says,
        "weights": made.ranking.weight_of,
        "shift": made.ranking.shift,
        "missing": made.ranking.missing,
        "unused": list(made.ranking.unused),
        "notes": list(made.notes),
        "order": None if changes is None else asdict(changes),
        "commands": made.commands(out),
    }


def _default_out(model: str, ending: str) -> str:
    name = "stdin" if model == STANDARD else Path(model).name
    for known in (".json", ".model"):
        name = name.removesuffix(known)
    return f"{name}.{ending}"
