"""What features go through before they have weights: a scaling, a transform or both, by the names that a user gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from linrank.dataset.fitted_transforms import KNOTS, RARE, TransformKind, fit_transform
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import ScalingChoice, Through, choose_scaling, one_after_the_other
from linrank.dataset.skewness import skewed_features
from linrank.errors import LinrankError

TRANSFORMS = ("none", *get_args(TransformKind), "auto")
"""What a user may ask for; "rank-gauss:128" has so many knots."""


_UNWEIGHTED = "fitted to all documents alike, whatever they weigh"


@dataclass(frozen=True)
class AskedTransform:
    """A transform by its name, and the knots of its curves."""

    kind: str
    knots: int = KNOTS

    @classmethod
    def named(cls, name: str | None) -> AskedTransform:
        """What a name such as "signed-log" or "rank-gauss:32" asks for; refused where that is nothing."""
        kind, colon, number = (name or "none").partition(":")
        if kind not in TRANSFORMS or (colon and kind != "rank-gauss"):
            raise LinrankError(f"unknown transform {name!r}; use one of {', '.join(TRANSFORMS)}, or rank-gauss:KNOTS.")
        if colon and not (number.isascii() and number.isdigit() and 2 <= int(number[:6]) <= 10_000):
            raise LinrankError(f"transform {name!r}: use from 2 to 10,000 knots, such as rank-gauss:{KNOTS}.")
        return cls(kind, int(number) if colon else KNOTS)


def choose_transform(
    transform: str | None, scaling: str, dataset: RankingDataset, through: Through = one_after_the_other
) -> ScalingChoice:
    """Fit the transform and the scaling that are asked for to the training data, as one value; `through` reads it.

    With transform "auto", features go through "rank-gauss" where many of them have long tails, and otherwise through
    none. A scaling other than "auto" follows the transform, and is part of it.
    """
    asked = AskedTransform.named(transform)
    kind, why = asked.kind, ""
    if kind == "auto":
        found = skewed_features(dataset, through)
        kind, why = ("rank-gauss" if found.many else "none"), f"auto: {found}"
    if kind == "none":
        choice = choose_scaling(scaling, dataset, through)
        return ScalingChoice(choice.scaling, _joined(choice.why, f"no transform, {why}" if why else ""))
    if scaling == "query":
        raise LinrankError(
            f"scaling 'query' and transform {asked.kind!r} are both given: a transform is of all queries together. "
            "Leave out one of them."
        )
    fitted = fit_transform(kind, dataset, through, knots=asked.knots, scaling=scaling)  # type: ignore[arg-type]
    return ScalingChoice(
        fitted, _joined(_said(asked, kind, scaling), why, _UNWEIGHTED if _has_weights(dataset) else "")
    )


def _has_weights(dataset: RankingDataset) -> bool:
    if isinstance(dataset, RankingDataset):
        return dataset.document_weights is not None
    return bool(dataset.weighs_documents)


def _joined(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))


def _said(asked: AskedTransform, kind: str, scaling: str) -> str:
    how = f"curves of {asked.knots} knots at most" if kind == "rank-gauss" else "in units of each feature's median size"
    if scaling == "auto" and kind == "signed-log":
        scaling = f"standard, or max-abs where {RARE:.0%} are 0"
    return f"{how}, then {scaling}" if scaling not in ("auto", "none") else how
