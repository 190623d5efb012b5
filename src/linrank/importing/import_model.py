"""import_model: a linear model of another program becomes a LinearModel."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.exporting.solr import Solr
from linrank.importing.form import ForeignWeights, Given
from linrank.importing.registry import form_named, form_of
from linrank.model import FORMAT, LinearModel

# Numbers of features that a file may leave out, as weights of 0, whatever the number of those in it.
_MOST_NUMBERED = 1_000_000


def import_model(
    path: str | os.PathLike[str],
    *,
    form: str | None = None,
    names: Mapping[str, str] | Sequence[str] | RankingDataset | None = None,
) -> LinearModel:
    """Read a linear model of Solr, Elasticsearch, OpenSearch, RankLib or LIBLINEAR, or weights as JSON or CSV.

    Parameters
    ----------
    path : file
        Also one of linrank's own, which is returned as it is. Nothing in it is executed, and everything is checked.
    form : "solr", "ltr-plugin", "ranklib", "liblinear", "json" or "csv"
        By the content, unless given.
    names : what to call the features
        A mapping from names or numbers in the file to names, for some or all; or, where the file only numbers them
        (RankLib, LIBLINEAR), all names in order, or data whose columns are these.

    Returns
    -------
    LinearModel
        With weights on features as they are given: what the file normalises is folded into them, and constants, which
        change no order, are left out. Features that are numbers are called "1", "2" …, as those of svmlight text. A
        missing value counts as 0, as it does there.
    """
    source = os.fspath(path)
    given = Given.read_from(source)
    if form is None and given.is_json and isinstance(given.document, dict) and given.document.get("format") == FORMAT:
        if names is not None:
            raise LinrankError(f"{source}: is a model of linrank's, which has its names. Leave names out.")
        return LinearModel.load(source)
    kind = form_of(given) if form is None else form_named(form)
    read = kind.read(given)
    shift = read.weight_of.pop(Solr.constant, None)
    weight_of = _renamed(source, _numbered(source, read), names)
    if not weight_of:
        raise given.wrong("has no weights. Name the file of a linear model.")
    facts = {**read.facts} if shift is None else {**read.facts, "shift": shift}
    return LinearModel(
        np.array(list(weight_of.values())),
        tuple(weight_of),
        method=f"imported from {kind.name}",
        training={"imported_from": source, "form": kind.name, "file_sha256": given.sha256, **facts},
        missing=0.0,
    )


def _numbered(source: str, read: ForeignWeights) -> dict[str, float]:
    """The weights; where features are only numbered, of all up to the largest number, in order.

    Data without names is taken by position, so that no number may be left out.
    """
    weight_of = read.weight_of
    if not all(name.isascii() and name.isdecimal() and name[0] != "0" for name in weight_of):
        return weight_of
    largest = max(map(int, (name for name in weight_of if len(name) <= 18)), default=0)
    if any(len(name) > 18 for name in weight_of) or largest > max(_MOST_NUMBERED, len(weight_of)):
        number = max(weight_of, key=lambda name: (len(name), name))
        raise LinrankError(
            f"{source}: feature {number[:40]} has a weight, among {len(weight_of):,} in all. Numbers go up to "
            f"{_MOST_NUMBERED:,}, or to as many as there are weights. Restore the file."
        )
    return {str(number): weight_of.get(str(number), 0.0) for number in range(1, largest + 1)}


def _renamed(
    source: str, weight_of: dict[str, float], names: Mapping[str, str] | Sequence[str] | RankingDataset | None
) -> dict[str, float]:
    if names is None:
        return weight_of
    if isinstance(names, Mapping):
        for name in names:
            if name not in weight_of:
                there = ", ".join(list(weight_of)[:8]) + (", …" if len(weight_of) > 8 else "")
                raise LinrankError(f"{source}: has no feature {name!r} to rename; it has {there}.")
        called = [names.get(name, name) for name in weight_of]
        weights = list(weight_of.values())
    else:
        called = list(names.names if isinstance(names, RankingDataset) else names)
        weights = _in_places(source, weight_of, len(called))
    if not all(isinstance(name, str) for name in called):
        raise LinrankError("names of features must be texts.")
    renamed = dict(zip(called, weights, strict=True))
    if len(renamed) < len(called):
        twice = next(name for name in called if called.count(name) > 1)
        raise LinrankError(f"{source}: two features would be called {twice!r}. Rename one.")
    return renamed


def _in_places(source: str, weight_of: dict[str, float], n_names: int) -> list[float]:
    """The weights of numbered features, and 0 for the last names, which have none."""
    numbers = [str(number) for number in range(1, len(weight_of) + 1)]
    if list(weight_of) != numbers:
        name = next(name for name, number in zip(weight_of, numbers, strict=True) if name != number)
        raise LinrankError(
            f"{source}: has names of its own, such as {name!r}. Give {{name: new name}} to rename some of them."
        )
    if len(numbers) > n_names:
        raise LinrankError(f"{source}: has {len(numbers):,} features, and {n_names:,} names are given. Give all names.")
    return [*weight_of.values(), *[0.0] * (n_names - len(numbers))]
