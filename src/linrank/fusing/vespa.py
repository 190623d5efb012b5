"""Vespa: a rank profile over the legs' own rank features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linrank.errors import LinrankError
from linrank.exporting.engine import check
from linrank.exporting.vespa import Vespa as VespaExport
from linrank.exporting.weighted_sum import WeightedSum
from linrank.fusing.engine import Configuration, Deployed, FusionEngine, Limits
from linrank.fusing.normalisers import AsGiven, Normaliser

_COMPUTED = (
    "Vespa computes every leg for every candidate; where a run lacks a document, the leg's least score of the query "
    "stood for it in training"
)


@dataclass(frozen=True)
class Vespa(FusionEngine):
    """A rank profile; legs are called what Vespa calls them: 'bm25(text)=bm25.run', 'closeness(field,e)=dense.run'.

    Parameters
    ----------
    normaliser : "none"; rank features are weighed as they are
    profile : its name
    """

    name: ClassVar[str] = "vespa"
    title: ClassVar[str] = "Vespa"
    ending: ClassVar[str] = "profile"
    limits: ClassVar[Limits] = Limits(non_negative=False, signals=True)
    normalisers: ClassVar[Mapping[str, Normaliser]] = {"none": AsGiven()}
    precision: ClassVar[type[np.floating[Any]]] = np.float64
    # Every feature is computed for every candidate: where a run lacks it, its score is below all that are there.
    missing: ClassVar[str] = "least"
    has_rrf: ClassVar[bool] = False

    profile: str = "hybrid"

    def write(self, deployed: Deployed) -> Configuration:
        names = (*deployed.legs, *(f"attribute({name})" for name in deployed.signals))
        target = VespaExport(profile=self.profile)
        ranking = WeightedSum(names, np.array(deployed.weights), tuple(range(len(names))))
        try:
            check(target, ranking)
        except LinrankError as error:
            raise LinrankError(
                f"{error} A leg's name is its rank feature: 'bm25(title)=bm25.run', 'closeness(field,v)=dense.run'."
            ) from None
        return Configuration(
            target.write(ranking),
            {},
            (
                f"rank features, of Vespa or functions of yours, are called {', '.join(deployed.legs)} there",
                _COMPUTED,
                *target.notes(ranking),
            ),
        )
