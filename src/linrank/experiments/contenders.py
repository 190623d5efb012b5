"""What is compared: methods of the catalogue by name, or a user's own estimators as objects."""

from __future__ import annotations

import hashlib
import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linrank.errors import LinrankError
from linrank.estimators.catalogue import METHODS, contender_names
from linrank.estimators.searching import Tried, beyond, edges_of, widens
from linrank.estimators.settings import check_kinds
from linrank.experiments.checked import Checked, check_file_name


@dataclass(frozen=True)
class Contender:
    """A ranker, its fixed settings, and the settings to choose among on the validation part.

    `method` is a name of the catalogue. A user's own estimator has none: it is the object `own`, with
    fit(X, y, qid=…) and predict(X), and nothing that is written to a file can stand for it.
    """

    name: str
    method: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    what: str = ""
    """A line that says what it minimises, for readers."""
    own: Any = None
    widens: tuple[str, ...] = ()
    """The settings whose values go on beyond an end of the grid while the choice is there."""

    def make(self, **chosen: Any) -> Any:
        """The estimator, not trained, with the fixed settings and some chosen ones."""
        given = {**self.settings, **chosen}
        if self.method is not None:
            method = METHODS[self.method]
            return method.load()(**{**method.settings, **given})
        if self.own is None:
            raise LinrankError(
                f"{self.name!r} was compared as an object, which no file holds. Pass it again: "
                f"linrank.Comparison.open(folder, {{{self.name!r}: estimator}})."
            )
        if not hasattr(self.own, "get_params"):
            return deepcopy(self.own)
        from sklearn.base import clone

        return clone(self.own).set_params(**given)

    def candidates(self) -> Iterator[dict[str, Any]]:
        """Every combination of the grid, the last setting changing fastest."""
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))

    def beyond(
        self, chosen: Mapping[str, Any], tried: Sequence[Tried], asked: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any] | None:
        """What to try next, beyond an end of the grid that the choice is at; None where there is nothing more."""
        for edge in edges_of(chosen, tried):
            if edge.setting in self.widens:
                value = beyond(edge, self.grid[edge.setting], (one[edge.setting] for one in asked))
                further = {**chosen, edge.setting: value}
                # What was refused is not asked for again.
                if value is not None and further not in asked:
                    return further
        return None

    def check(self) -> None:
        """Refuse what the ranker does not have, before any work."""
        check_file_name(self.name, "a ranker")
        if self.method is not None and self.method not in METHODS:
            raise LinrankError(f"there is no method {self.method!r}; there are {', '.join(METHODS)}.")
        made = self.make()
        for needed in ("fit", "predict"):
            if not callable(getattr(made, needed, None)):
                raise LinrankError(f"{self.name!r} is a {type(made).__name__}, which has no {needed}. Pass a ranker.")
        known = parameters_of(made)
        for name in (*self.settings, *self.grid):
            if name not in known:
                raise LinrankError(f"{self.name} has no setting {name!r}; it has {', '.join(known) or 'none'}.")
        for name, values in dict[str, Any](self.grid).items():
            if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or not len(values):
                raise LinrankError(f"{self.name}: choose {name} among a list of values, such as [0.1, 1.0].")
            for value in values:
                if value is not None and not isinstance(value, str | bool | int | float | np.generic):
                    raise LinrankError(
                        f"{self.name}: {name} cannot be chosen among {type(value).__name__}s, only among numbers and "
                        "text, which results can tell. Pass each as a ranker of its own."
                    )
                if self.method is not None:
                    self._check_kind(name, value)

    def _check_kind(self, setting: str, value: Any) -> None:
        try:
            check_kinds(self.make(**{setting: value}))
        except LinrankError as error:
            raise LinrankError(f"{self.name}: {error}") from None

    def record(self) -> dict[str, Any]:
        """Everything its results depend on; of an own estimator words that tell it from others, and name no code."""
        return {
            "name": self.name,
            "method": self.method,
            "settings": as_plain(self.settings),
            "grid": as_plain(self.grid),
            "widens": list(self.widens),
            "own": None if self.own is None else _told(self.own),
        }

    @classmethod
    def from_record(cls, record: Checked, own: Mapping[str, Any]) -> Contender:
        """The contender that `record` told of, an own one taken from those passed again."""
        name = record.field("name").file_name("a ranker")
        method = record.field("method").optional_text()
        what = record.field("what").text()
        grid = {setting: values.plain_list() for setting, values in record.field("grid").items()}
        settings = record.field("settings").plain_items()
        if method is not None and method not in METHODS:
            record.field("method").refuse(f"is {method!r}, which is no method of linrank")
        if record.field("own").value is not None:
            for part in ("class", "source"):
                record.field("own").field(part).text()
            for _, told in record.field("own").field("settings").items():  # noqa: PERF102 - no dictionary
                told.text()
        widening = tuple(record.field("widens").texts())
        for setting in widening:
            if not widens(grid.get(setting, ())):
                record.field("widens").refuse(f"names {setting!r}, whose values do not go on")
        return cls(name, method, settings, grid, what, own.get(name) if method is None else None, widening)


def contender(name: str, **settings: Any) -> Contender:
    """A method of the catalogue as a contender, with more fixed settings."""
    if name not in METHODS:
        raise LinrankError(f"there is no method {name!r}; there are {', '.join(METHODS)}.")
    method = METHODS[name]
    grid = {setting: values for setting, values in method.grid.items() if setting not in settings}
    return Contender(name, name, settings, grid, method.says, widens=_widening(grid))


def contenders_of(rankers: str | Sequence[str] | Mapping[str, Any]) -> tuple[Contender, ...]:
    """What `compare` is given: names of the catalogue, or names of the user's choice with what they stand for.

    That is an estimator, a name of the catalogue, or either with a grid: `(RankSVM(), {"C": [0.1, 1.0]})`.
    """
    if not isinstance(rankers, Mapping):
        names = rankers if isinstance(rankers, str) else ",".join(rankers)
        return tuple(contender(name) for name in contender_names(names))
    return tuple(_named(str(name), given) for name, given in rankers.items())


def _named(name: str, given: Any) -> Contender:
    ranker, grid = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    if grid is not None and not isinstance(grid, Mapping):
        raise LinrankError(f"{name!r}: pass (ranker, grid), the grid as a dictionary such as {{'C': [0.1, 1.0]}}.")
    if isinstance(ranker, str):
        known = contender(ranker)
        own_values = grid or {}
        widening = tuple(setting for setting in known.widens if setting not in own_values)
        return Contender(name, ranker, {}, {**known.grid, **own_values}, known.what, widens=widening)
    if isinstance(ranker, type):
        raise LinrankError(f"{name!r} is a class; pass an object, {ranker.__name__}(…).")
    return Contender(name, None, {}, grid or {}, str(getattr(ranker, "objective", "")), ranker)


def _widening(grid: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
    """The settings of a method's own grid that go on by themselves; values that a user lists are all there are."""
    return tuple(setting for setting, values in grid.items() if widens(values))


def parameters_of(ranker: Any) -> dict[str, Any]:
    """The settings of an estimator; none for one that does not tell."""
    return dict(ranker.get_params(deep=True)) if hasattr(ranker, "get_params") else {}


def as_plain(value: Any) -> Any:
    """Lists, dictionaries, numbers and text, as JSON has them; the words that describe it, of anything else."""
    if isinstance(value, Mapping):
        return {str(name): as_plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [as_plain(inner) for inner in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, str | bool | int | float) else repr(value)


def _told(own: Any) -> dict[str, Any]:
    """What tells an own estimator from another: its class, the text of that, and its settings."""
    kind = type(own)
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        source = ""
    return {
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "source": hashlib.sha256(source.encode()).hexdigest(),
        "settings": {name: repr(value) for name, value in sorted(parameters_of(own).items())},
    }
