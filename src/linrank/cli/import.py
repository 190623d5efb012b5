# ruff: noqa: N999 - a verb's file is called as the verb, and nothing imports it by an import statement
"""linrank import: a linear model of another program as a model of linrank's."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linrank.cli.console import console, counted, dump_json, verb_parser
from linrank.cli.data_arguments import add_data_options, keep_missing, read_data
from linrank.cli.feature_names import read_names
from linrank.cli.inputs import file_to_read
from linrank.cli.outputs import MODEL, STANDARD, check_files, place_of
from linrank.importing.registry import FORMS

if TYPE_CHECKING:
    from linrank.model import LinearModel

_NAMED = 5


def parser() -> ArgumentParser:
    width = max(map(len, FORMS))
    forms = "\n".join(f"  {name:<{width}}  {form.says}" for name, form in FORMS.items())
    made = verb_parser(
        "import",
        "Read a linear model of another program, and write it as a model of linrank's: to show, to explain, to score\n"
        "with, to export elsewhere, to compare with a new one (linrank check). What the file normalises is folded\n"
        "into the weights, constants are left out, and a missing value counts as 0, as it does there. The form is\n"
        f"known by the content. Models that are not weighted sums, such as trees, are refused.\n\nforms:\n{forms}",
        "  linrank import solr-model.json model.json\n"
        "  curl -s localhost:9200/_ltr/_model/m1 | linrank import - model.json\n"
        '  linrank import ranklib.txt model.json --names names.json      # ["title_bm25", "age", …]\n'
        "  linrank import liblinear.model model.json --data train.csv    # its columns, in order",
    )
    made.add_argument("file", help="model file of another program; - for standard input")
    made.add_argument(
        "model", nargs="?", help="JSON file to write, - for standard output (the file's name with .model.json)"
    )
    made.add_argument(
        "--from", dest="form", choices=tuple(FORMS), metavar="FORM", help="one of those above (by content)"
    )
    made.add_argument(
        "--names",
        metavar="FILE",
        help='what to call the features: JSON {"name in the file": "name"} for some or all, or where they are only '
        'numbered ["name of 1", "name of 2", …]',
    )
    made.add_argument("--data", metavar="DATA", help="where features are only numbered: data whose columns they are")
    made.add_argument("--json", action="store_true", help="print what was read as one JSON object")
    add_data_options(made)
    made.checks.append(
        lambda given: "--names and --data both name the features: give one" if given.names and given.data else None
    )
    return made


def run(arguments: Namespace) -> None:
    from linrank.importing.import_model import import_model

    out = arguments.model or _default_out(arguments.file)
    check_files([(out, MODEL)], [arguments.file, arguments.names, arguments.data])
    names = _names(arguments)
    with file_to_read(arguments.file) as place:
        model = import_model(place, form=arguments.form, names=names)
    if arguments.file == STANDARD and "imported_from" in model.training:
        # Where it was copied to says nothing.
        model = replace(model, training={**model.training, "imported_from": "standard input"})
    with place_of(out) as place:
        model.save(place)
    _tell(model, arguments, out)


def _names(arguments: Namespace) -> Any:
    if arguments.data is not None:
        keep_missing(arguments)
        return read_data(arguments.data, arguments)
    return None if arguments.names is None else read_names(arguments.names, in_order=True)


def _tell(model: LinearModel, arguments: Namespace, out: str) -> None:
    weights = model.named_weights()
    if arguments.json:
        dump_json(
            {
                "file": None if out == STANDARD else out,
                "method": model.method,
                "weights": dict(zip(model.feature_names, model.weights.tolist(), strict=True)),
                "training": dict(model.training),
            }
        )
        return
    print_ = console().print
    print_(f"{arguments.file}: {model.method or 'a model'}, {weights.n_used:,} of {counted(len(weights), 'feature')}")
    print_(f"largest weights: {weights.first(_NAMED)}")
    if "shift" in model.training:
        print_(f"left out: the constant {model.training['shift']:g}, which changes no order")
    if out != STANDARD:
        print_(f"{out}: the model; linrank show {out} prints all of it")


def _default_out(file: str) -> str:
    name = "stdin" if file == STANDARD else Path(file).name
    for known in (".json", ".txt", ".csv", ".model"):
        name = name.removesuffix(known)
    return f"{name}.model.json"
