"""Rankers pickled by another version of linrank: what has changed since is told, and not guessed."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import fields, is_dataclass
from typing import Any

from linrank._version import __version__
from linrank.errors import LinrankError

_KEY = "_linrank_version"


class PickledByAnotherVersionWarning(UserWarning):
    """A ranker that was pickled by another version of linrank, and how its settings differ from those of this one."""


def with_version(state: dict[str, Any]) -> dict[str, Any]:
    """What is pickled of a ranker, and by which version."""
    return {**state, _KEY: __version__}


def of_this_version(ranker: Any, pickled: dict[str, Any]) -> dict[str, Any]:
    """What a ranker of this version has of what was pickled; where that was by another version, what changed is told.

    Settings that there were not have their default, and those that there are no longer are left out.

    Raises
    ------
    LinrankError
        Where a setting that the other version had not has no default.
    """
    state = dict(pickled)
    version = state.pop(_KEY, None)
    if version == __version__:
        return state
    writer = "a linrank that did not yet note its version" if version is None else f"linrank {version}"
    name = type(ranker).__name__
    defaults = {key: parameter.default for key, parameter in inspect.signature(type(ranker)).parameters.items()}
    new = [setting for setting in defaults if setting not in state]
    without = [setting for setting in new if defaults[setting] is inspect.Parameter.empty]
    if without:
        raise LinrankError(
            f"{name} was pickled by {writer}, without {', '.join(without)}, which it needs in {__version__}. "
            "Unpickle it there, and keep its weights: ranker.to_model().save('model.json')."
        )
    known = {*defaults, *(field.name for field in (fields(ranker) if is_dataclass(ranker) else ()))}
    gone = [name for name in state if name not in known and not (name.startswith("_") or name.endswith("_"))]
    said = [f"{setting} is new, and {defaults[setting]!r}" for setting in new]
    said += [f"{setting}={state.pop(setting)!r} is no longer a setting" for setting in gone]
    changed = "; ".join(said) or "its settings are the same"
    warnings.warn(
        f"{name} was pickled by {writer}, and this is {__version__}: {changed}. What it learnt may not mean the same: "
        "train it again, or keep weights in model files, which every version reads.",
        PickledByAnotherVersionWarning,
        stacklevel=3,
    )
    return {**state, **{setting: defaults[setting] for setting in new}}
