"""The options by which a verb is told what the weights may be, in units of the raw features."""

from __future__ import annotations

from argparse import Namespace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from linrank.cli.inputs import lines_of, place_to_read, words_of
from linrank.errors import DataFormatError, LinrankError
from linrank.strict_json import finite_from_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from linrank.dataset.applied_scaling import Scaling

# What says that there is no lower bound, and no upper one.
_NO_BOUND = ({"-inf", "*"}, {"inf", "+inf", "*"})


def add_wanted_options(parser: Any, *, prior: bool = True) -> None:
    """Add bounds and, where weights can be pulled, a prior."""
    group = parser.add_argument_group("what the weights may be")
    group.add_argument("--non-negative", action="store_true", help="no weight below zero")
    group.add_argument(
        "--bounds",
        metavar="FILE",
        help="lines of 'feature +', 'feature -' or 'feature LOWER UPPER' (* for none), of the raw features' weights",
    )
    if prior:
        group.add_argument(
            "--prior", metavar="MODEL", help="keep near the weights of this model: the penalty is |w - prior|^2 / 2"
        )


def files_of(arguments: Namespace) -> list[str | None]:
    """What these options read."""
    return [arguments.bounds, getattr(arguments, "prior", None)]


def wanted_settings(arguments: Namespace, names: Sequence[str], scaling: Scaling | None = None) -> dict[str, Any]:
    """The settings of an estimator on features that are scaled so; none where nothing is asked for."""
    from linrank.model import LinearModel
    from linrank.wanted_weights import in_scaled_units

    if arguments.non_negative and arguments.bounds:
        raise LinrankError("--non-negative and --bounds are both given. Put the signs into the file of bounds.")
    bounds: Any = "non-negative" if arguments.non_negative else None
    if arguments.bounds:
        bounds = read_bounds(arguments.bounds, names)
    prior = getattr(arguments, "prior", None)
    if prior is not None:
        prior = LinearModel.load(place_to_read(prior))
    bounds, prior = in_scaled_units(bounds, prior, scaling, names)
    return {name: value for name, value in (("bounds", bounds), ("prior", prior)) if value is not None}


def said_of(arguments: Namespace) -> str | None:
    """What a model remembers of these options."""
    said = ["non-negative"] if arguments.non_negative else []
    said += [f"within the bounds of {arguments.bounds}"] if arguments.bounds else []
    said += [f"near those of {arguments.prior}"] if getattr(arguments, "prior", None) else []
    return ", ".join(said) or None


def read_bounds(file: str, names: Sequence[str]) -> dict[str, Any]:
    """The bounds of each feature that a file names."""
    bounds: dict[str, Any] = {}
    for number, line in enumerate(lines_of(file, "'feature +' and the like"), start=1):
        words = words_of(line.partition("#")[0])
        if not words:
            continue
        signed = words[-1] in ("+", "-")
        feature = " ".join(words[: -1 if signed else -2])
        if len(words) < (2 if signed else 3):
            raise DataFormatError(
                file, number, f"{line[:60]!r} is not 'feature +', 'feature -' or 'feature LOWER UPPER'."
            )
        if feature not in names:
            near = get_close_matches(feature, names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise DataFormatError(file, number, f"there is no feature {feature!r} in the data.{hint}")
        if feature in bounds:
            raise DataFormatError(file, number, f"{feature!r} is there twice. Keep one line a feature.")
        bounds[feature] = words[-1] if signed else _bounds(file, number, words[-2:])
        low, high = (None, None) if signed else bounds[feature]
        if low is not None and high is not None and low > high:
            raise DataFormatError(file, number, f"the lower bound {low:g} is above the upper one, {high:g}.")
    if not bounds:
        raise DataFormatError(file, None, "holds no bounds. Write lines of 'feature +', 'feature -' or 'feature 0 1'.")
    return bounds


def _bounds(file: str, number: int, words: list[str]) -> tuple[float | None, ...]:
    """The lower bound and the upper one."""
    bounds = []
    for word, which, none in zip(words, ("lower", "upper"), _NO_BOUND, strict=True):
        bound = None if word in none else finite_from_text(word)
        if bound is None and word not in none:
            raise DataFormatError(file, number, f"{word[:40]!r} is no {which} bound; use a number, or * for none.")
        bounds.append(bound)
    return tuple(bounds)
