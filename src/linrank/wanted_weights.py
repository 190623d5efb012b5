"""What a user wants of the weights beside a good order: bounds, signs, and weights to start from and keep near to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.applied_scaling import Scaling, folds
from linrank.errors import LinrankError, fault_of_size
from linrank.model import LinearModel
from linrank.objective.penalties import Bounds, WeightPenalty

_SIGNS = {"non-negative": (0.0, np.inf), "+": (0.0, np.inf), "non-positive": (-np.inf, 0.0), "-": (-np.inf, 0.0)}


def with_wanted(penalty: WeightPenalty, bounds: Any, prior: Any, names: Sequence[str]) -> WeightPenalty:
    """The penalty with bounds, and with its parabolas about the prior in place of zero."""
    if prior is not None:
        if np.any(penalty.thresholds) or not np.all(np.asarray(penalty.strengths) > 0.0):
            raise LinrankError("prior pulls weights by the penalty w.w / 2, which is not there. Use penalty='l2'.")
        penalty = replace(penalty, centres=weights_by_name(prior, names))
    return penalty if bounds is None else penalty + bounds_by_name(bounds, names)


def bounds_by_name(bounds: Any, names: Sequence[str]) -> WeightPenalty:
    """Bounds from a word such as "non-negative", (lower, upper), or {feature: word or interval} by name or number."""
    if isinstance(bounds, Mapping):
        lower, upper = np.full(len(names), -np.inf), np.full(len(names), np.inf)
        for feature, wanted in bounds.items():
            place = _place("bounds", feature, names)
            lower[place], upper[place] = _interval(wanted, f"bounds[{feature!r}]")
        _check_sizes("bounds", lower, upper)
        return Bounds(lower, upper)
    low, high = _interval(bounds, "bounds")
    for side in (low, high):
        if np.ndim(side) and np.shape(side) != (len(names),):
            raise LinrankError(f"bounds of shape {np.shape(side)} for {len(names)} features; pass one number each.")
    _check_sizes("bounds", low, high)
    return Bounds(low, high)


def weights_by_name(prior: Any, names: Sequence[str]) -> Vector:
    """Raw weights from a model, from {feature: weight} (0 for the others), or from an array."""
    if isinstance(prior, LinearModel):
        prior = dict(zip(prior.feature_names, prior.raw_weights().tolist(), strict=True))
        prior = {name: weight for name, weight in prior.items() if weight != 0.0}
    if isinstance(prior, Mapping):
        weights = np.zeros(len(names))
        for feature, weight in prior.items():
            weights[_place("prior", feature, names)] = weight
    else:
        weights = np.array(prior, dtype=np.float64)
        if weights.shape != (len(names),):
            raise LinrankError(f"prior has shape {weights.shape}, but there are {len(names)} features. Pass one each.")
    if not np.isfinite(weights).all():
        raise LinrankError(f"prior: the weight of {names[int(np.argmin(np.isfinite(weights)))]!r} is not a number.")
    _check_sizes("prior", weights)
    return weights


def _check_sizes(setting: str, *weights: Any) -> None:
    """Refuse weights that nothing can be computed with; those next to zero do no harm."""
    sizes = np.concatenate([np.abs(np.ravel(each)) for each in weights])
    largest = float(sizes[np.isfinite(sizes)].max(initial=1.0))
    if remedy := fault_of_size(largest):
        raise LinrankError(f"{setting}: a weight of {largest:g}; {remedy}")


def _place(setting: str, feature: Any, names: Sequence[str]) -> int:
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < len(names):
        if str(feature) in names:
            # Features without names are called by their numbers from 1, and columns are counted from 0.
            raise LinrankError(
                f"{setting}: {feature} may be column {feature} from 0, or the feature named '{feature}'. Use names."
            )
        return int(feature)
    some = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    raise LinrankError(
        f"{setting}: there is no feature {feature!r}; use a number from 0 to {len(names) - 1}, or {some}."
    )


def _interval(wanted: Any, where: str) -> tuple[Any, Any]:
    if isinstance(wanted, str):
        if wanted not in _SIGNS:
            raise LinrankError(f"{where}={wanted!r}; use 'non-negative', 'non-positive', or (lower, upper).")
        return _SIGNS[wanted]
    try:
        low, high = wanted
        low = -np.inf if low is None else np.asarray(low, dtype=np.float64)[()]
        high = np.inf if high is None else np.asarray(high, dtype=np.float64)[()]
    except (TypeError, ValueError):
        raise LinrankError(f"{where}={wanted!r}; use 'non-negative', 'non-positive', or (lower, upper).") from None
    if np.any(np.isnan(low)) or np.any(np.isnan(high)) or np.any(np.asarray(low) > np.asarray(high)):
        raise LinrankError(f"{where}={wanted!r}; the lower bound must be a number, and not above the upper one.")
    return low, high


def in_scaled_units(bounds: Any, prior: Any, scaling: Scaling | None, names: Sequence[str]) -> tuple[Any, Any]:
    """Bounds and a prior of raw weights as those of the weights of scaled features."""
    if scaling is None:
        return bounds, prior
    if not folds(scaling):
        return _of_transformed(bounds, prior, scaling, names), None
    if bounds is not None and not isinstance(bounds, str):
        raw = bounds_by_name(bounds, names)
        sides = (np.broadcast_to(side, len(names)) for side in (raw.lower, raw.upper))
        bounds = tuple(scaling.unfold(np.array(side, dtype=np.float64)) for side in sides)
    return bounds, None if prior is None else scaling.unfold(weights_by_name(prior, names))


def _of_transformed(bounds: Any, prior: Any, scaling: Scaling, names: Sequence[str]) -> Any:
    """Signs alone, which a change of features that keeps their order keeps; other bounds and priors are refused."""
    if prior is not None:
        scaling.unfold(weights_by_name(prior, names))
    if bounds is not None and not isinstance(bounds, str):
        raw = bounds_by_name(bounds, names)
        if not all(np.isin(side, (-np.inf, 0.0, np.inf)).all() for side in (raw.lower, raw.upper)):
            raise LinrankError(
                f"bounds are of weights on raw features, and after {scaling.kind} there are none. Use signs, or train "
                "without it."
            )
        bounds = (raw.lower, raw.upper)
    return bounds
