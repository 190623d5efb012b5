"""Data for a model to score: what the model needs of it, and nothing that it does not."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from linrank.cli.console import counted
from linrank.cli.data_arguments import is_table, read_data, reading_options
from linrank.cli.outputs import STANDARD
from linrank.errors import LinrankError, naming

_NAMED = 8

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.model import LinearModel


def read_to_score(path: str, arguments: Namespace, model: LinearModel, *, by_query: bool) -> RankingDataset:
    """Read documents for a model to score, and fill what is missing as in training, unless told otherwise.

    A table needs the columns that have a weight. Labels are optional, and so are query ids where neither the caller
    (`by_query`), nor the model's scaling, nor the rule for missing values goes by query.
    """
    from linrank.dataset.features import refuse_missing
    from linrank.reading.missing import filled

    rule = model.missing if arguments.missing is None else arguments.missing
    if arguments.missing is not None and rule != model.missing:
        _say(f"--missing {rule}, where the model was trained with {model.missing}: scores may mean something else.")
    by_query = by_query or rule == "query_min" or (model.scaling is not None and model.scaling.kind == "query")
    data = read_data(path, _only_needed(path, arguments, model, by_query))
    if data.feature_names is None:
        _say_whose_numbers(path, model)
    needed = model.used
    data = data.with_columns(model.feature_names, path, needed=needed)
    # Nothing has a score that lacks a value, so keeping such values is refusing them.
    refuses = rule in ("error", "keep")
    data, n_filled = filled(data, "keep" if refuses else rule, needed)
    if refuses:
        with naming(path):
            refuse_missing(data.features, data.names)
    elif n_filled:
        as_trained = ", as in training" if rule == model.missing else ""
        _say(f"{counted(n_filled, 'missing value')} filled: {rule}{as_trained}.")
    return data


def open_to_score(path: str, arguments: Namespace, model: LinearModel) -> Any:
    """Open documents to be scored where they are: a .linrank file, or Parquet."""
    from linrank.reading.convert import form_of
    from linrank.reading.scan import scan

    if path == STANDARD:
        raise LinrankError("--dask: workers read files by their path, and not standard input. Save it to a file.")
    if arguments.trec:
        raise LinrankError(
            "--dask: a TREC run names documents by their ids, which are not read from data that is not loaded. Leave "
            "out --trec, or --dask."
        )
    form = form_of(path, arguments.format)
    if form == "parquet":
        rule = model.missing if arguments.missing is None else arguments.missing
        by_query = rule == "query_min" or (model.scaling is not None and model.scaling.kind == "query")
        as_table = Namespace(**(vars(arguments) | {"format": form}))
        options = reading_options(_only_needed(path, as_table, model, by_query))
        return scan(path, **(options | {"missing": "error" if rule == "keep" else rule}))
    said = [f"--{word.replace('_', '-')}" for word in reading_options(arguments) if word != "format"]
    if said:
        raise LinrankError(f"{path}: {said[0]} says how other files are read. Give it to linrank convert.")
    stored = scan(path, format=form)
    if stored.feature_names is None:
        _say_whose_numbers(path, model)
    return stored


def _only_needed(path: str, arguments: Namespace, model: LinearModel, by_query: bool) -> Namespace:
    """The same arguments, asking for less."""
    from linrank.reading.column_roles import IfThere
    from linrank.reading.read import format_of

    form = arguments.format or format_of(path)
    changed: dict[str, Any] = {"missing": "keep"}
    if form == "svmlight" and not by_query:
        changed["one_query"] = True
    if is_table(arguments, path):
        used = [name for name, is_used in zip(model.feature_names, model.used.tolist(), strict=True) if is_used]
        changed["features"] = arguments.features or used or None
        changed["label"] = arguments.label or IfThere("label")
        if not by_query:
            changed["qid"] = arguments.qid or IfThere("qid")
    return Namespace(**(vars(arguments) | changed))


def _say_whose_numbers(path: str, model: LinearModel) -> None:
    """Of data whose columns have no names: by which of the model's they are taken, unless it only numbers them too."""
    numbered = [f"{number} {name}" for number, name in enumerate(model.feature_names, 1) if name != str(number)]
    if numbered:
        shown = ", ".join(numbered[:_NAMED]) + (", …" if len(numbered) > _NAMED else "")
        _say(f"{path}: has no names of features, which are taken by position: {shown}.")


def _say(text: str) -> None:
    # Not on standard output, which may be the scores.
    sys.stderr.write(f"{text}\n")
