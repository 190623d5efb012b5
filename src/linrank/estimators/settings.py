"""Refusing settings that cannot work, before any work: each message names the setting, its value and the remedy."""

from __future__ import annotations

from dataclasses import Field, fields, is_dataclass
from typing import Any

import numpy as np

from linrank.errors import LinrankError


def settings_of(kind: Any) -> dict[str, Field[Any]]:
    """The settings that a class of rankers declares, with their types and defaults; none where it does not."""
    return {setting.name: setting for setting in fields(kind) if setting.init} if is_dataclass(kind) else {}


def check_kinds(ranker: Any) -> None:
    """Refuse text where a number belongs, such as C="1": it would be compared with numbers somewhere inside."""
    for name, setting in settings_of(ranker).items():
        wanted = str(setting.type)
        may_be_text = "str" in wanted or ("Any" in wanted and not isinstance(setting.default, int | float))
        if isinstance(getattr(ranker, name, None), str) and not may_be_text:
            kind = "true or false" if "bool" in wanted else "a number"
            raise LinrankError(f"{name}={getattr(ranker, name)!r} is text; use {kind}.")


def check_choice(name: str, value: Any, known: Any) -> None:
    """Refuse a setting that is none of the known ones."""
    if value not in known:
        raise LinrankError(f"{name}={value!r}; use one of {', '.join(repr(word) for word in known)}.")


def check_positive(name: str, value: float, remedy: str) -> None:
    """Refuse a setting that is not a positive number."""
    if not (np.isfinite(value) and value > 0):
        raise LinrankError(f"{name}={value}; use a positive number{_joined(remedy)}")


# The certificate of a gradient has its square, and squares of larger numbers leave float64.
_LARGEST_STRENGTH = 1e100


def check_strength(C: float, remedy: str) -> None:
    """Refuse a C that is not a positive number, or so large that nothing can be computed with it."""
    check_positive("C", C, remedy)
    if float(C) > _LARGEST_STRENGTH:
        raise LinrankError(f"C={C:g}; use at most {_LARGEST_STRENGTH:g}: beyond, numbers leave float64.")


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
