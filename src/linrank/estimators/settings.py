"""Refusing settings that cannot work, before any work: each message names the setting, its value and the remedy."""

from __future__ import annotations

from dataclasses import Field, fields, is_dataclass
from typing import Any

import numpy as np

from linrank.errors import LinrankError, fault_of_size

# Solvers go by these, and compute nothing with them.
_LIMITS = ("tol", "max_seconds")


def settings_of(kind: Any) -> dict[str, Field[Any]]:
    """The settings that a class of rankers declares, with their types and defaults; none where it does not."""
    return {setting.name: setting for setting in fields(kind) if setting.init} if is_dataclass(kind) else {}


def check_kinds(ranker: Any) -> None:
    """Refuse text where a number belongs, such as C="1", and numbers so large or small that none comes of them.

    Text would be compared with numbers somewhere inside.
    """
    for name, setting in settings_of(ranker).items():
        wanted = str(setting.type)
        may_be_text = "str" in wanted or ("Any" in wanted and not isinstance(setting.default, int | float))
        if isinstance(getattr(ranker, name, None), str) and not may_be_text:
            kind = "true or false" if "bool" in wanted else "a number"
            raise LinrankError(f"{name}={getattr(ranker, name)!r} is text; use {kind}.")
        if "float" in wanted and "Mapping" not in wanted and name not in _LIMITS:
            _check_sizes(name, getattr(ranker, name, None))


def _check_sizes(name: str, value: Any) -> None:
    """Refuse a number, or one of several, with which nothing can be computed."""
    for number in np.ravel(value):
        if isinstance(number, int | float | np.integer | np.floating) and (remedy := fault_of_size(float(number))):
            raise LinrankError(f"{name}={number:g}; {remedy}")


def check_choice(name: str, value: Any, known: Any) -> None:
    """Refuse a setting that is none of the known ones."""
    if value not in known:
        raise LinrankError(f"{name}={value!r}; use one of {', '.join(repr(word) for word in known)}.")


def check_positive(name: str, value: float, remedy: str) -> None:
    """Refuse a setting that is not a positive number."""
    if not (np.isfinite(value) and value > 0):
        raise LinrankError(f"{name}={value}; use a positive number{_joined(remedy)}")


def check_not_negative(name: str, value: float, remedy: str) -> None:
    """Refuse a setting that is neither 0 nor a positive number."""
    if not (np.isfinite(value) and value >= 0):
        raise LinrankError(f"{name}={value}; use 0 or a positive number{_joined(remedy)}")


def check_count(name: str, value: float, least: int = 1) -> None:
    """Refuse a number of something that is not whole, or too small."""
    if not (value >= least and value == int(value)):
        raise LinrankError(f"{name}={value}; use a whole number, at least {least}.")


def check_limits(ranker: Any, *, all_iterations: str = "") -> None:
    """Refuse a `tol`, `max_iter` or `max_seconds` that no solver can keep to; each only where the ranker has it.

    Where `tol` may be 0, `all_iterations` says what that means.
    """
    tol = getattr(ranker, "tol", None)
    if tol is not None and not (tol > 0 or (tol == 0 and all_iterations)):
        zero = f", or 0 to {all_iterations}" if all_iterations else ""
        raise LinrankError(f"tol={tol}; use a positive number, such as 1e-4{zero}.")
    if getattr(ranker, "max_iter", None) is not None:
        check_count("max_iter", ranker.max_iter)
    if getattr(ranker, "max_seconds", None) is not None:
        check_positive("max_seconds", ranker.max_seconds, "or None for as long as it takes.")


def _joined(remedy: str) -> str:
    return f", {remedy}" if remedy.startswith("or ") else f": {remedy}"
