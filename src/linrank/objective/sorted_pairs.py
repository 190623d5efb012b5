"""A block in order of score: what every sum over its pairs is computed from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Indices, Offsets, Vector
from linrank.dataset.query_blocks import QueryBlock
from linrank.errors import LinrankError
from linrank.objective import pair_kernels as kernels
from linrank.objective.structures.eight_way_tree import EightWayTree
from linrank.objective.structures.structure import Structure, Sweeps
from linrank.ordering import order_ascending

Pairs: TypeAlias = Literal["all", "adjacent"]
Moments: TypeAlias = NDArray[np.complex128]
Sweep: TypeAlias = Callable[[], NDArray[Any]]
Both: TypeAlias = Callable[[Sweep, Sweep], tuple[NDArray[Any], NDArray[Any]]]

# No loss looks at pairs whose scores are farther apart than this in the right order.
WIDEST_MARGIN = 1.0


def one_after_the_other(first: Sweep, second: Sweep) -> tuple[NDArray[Any], NDArray[Any]]:
    """How two independent sweeps run where nothing else is free."""
    return first(), second()


@dataclass(frozen=True, slots=True)
class PairSums:
    """Which pairs count, and how their sums are computed.

    `pairs` is "all" or "adjacent" (only pairs of neighbouring levels); `structure` is what sums are kept in; `both`
    runs the two sweeps, perhaps side by side.
    """

    pairs: Pairs = "all"
    structure: Structure = field(default_factory=EightWayTree)
    both: Both = field(default=one_after_the_other, repr=False)

    def __post_init__(self) -> None:
        if self.pairs == "adjacent" and not isinstance(self.structure, EightWayTree):
            raise LinrankError(
                "pairs='adjacent' are summed by one running sum a label alone. Leave out sums, or use pairs='all'."
            )


@dataclass(frozen=True, slots=True)
class SortedPairs:
    """A block's documents in ascending order of score within each query."""

    block: QueryBlock
    over: PairSums
    rows: Indices
    levels: Indices
    weights: Vector
    scores: Vector
    centred: Vector
    """The scores, measured from a zero that the partners of a pair share."""

    @classmethod
    def of(cls, scores: Vector, block: QueryBlock, over: PairSums) -> SortedPairs:
        n = len(scores)
        order = np.empty(n, dtype=np.int64)
        made = cls(block, over, np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n), np.empty(n), np.empty(n))
        order_ascending(scores, block.query_starts, order, made.scores)
        kernels.bring_in_order(
            order, block.levels, block.document_weights, block.query_starts, made.rows, made.levels, made.weights
        )
        kernels.centre_scores(made.scores, made.levels, block.query_starts, WIDEST_MARGIN, made.centred)
        return made

    def some(self, positions: Offsets, starts: Offsets) -> SortedPairs:
        """Those at some positions, which ascend; each query has those from its start up to the next one's."""
        return SortedPairs(
            replace(self.block, query_starts=starts), self.over, self.rows[positions], self.levels[positions],
            self.weights[positions], self.scores[positions], self.centred[positions],
        )  # fmt: skip

    def within(self, margin: float) -> PairsWithin:
        """The pairs whose difference of scores is below the margin."""
        ends, begins = np.empty(len(self.rows), np.int32), np.empty(len(self.rows), np.int32)
        kernels.find_bounds(self.scores, self.block.query_starts, margin, ends, begins)
        return PairsWithin(self, margin, ends, begins, self.over.structure.sweeps(self, ends, begins))


@dataclass(frozen=True, slots=True)
class PairsWithin:
    """The pairs of a higher and a lower document with `s_higher - s_lower < margin`."""

    documents: SortedPairs
    margin: float
    ends: Indices
    begins: Indices
    sweeps: Sweeps

    def among(self, positions: Offsets) -> PairsWithin:
        """The same pairs without the documents at all other positions, which have no partner.

        They are in no sum of anybody's, so the sums have the same bits.
        """
        before = np.zeros(len(self.ends) + 1, np.int32)
        before[positions + 1] = 1
        np.cumsum(before, out=before)
        documents = self.documents.some(positions, before[self.documents.block.query_starts].astype(np.int64))
        ends, begins = before[self.ends[positions]], before[self.begins[positions]]
        return PairsWithin(
            documents, self.margin, ends, begins, documents.over.structure.sweeps(documents, ends, begins)
        )

    def alone(self, rows: Offsets) -> PairsWithin:
        """The same for who has only some rows, all of these documents' among them; they ascend."""
        places = np.searchsorted(rows, self.documents.rows).astype(np.int32)
        return replace(self, documents=replace(self.documents, rows=places))

    def sums(self, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Sums of values over each document's higher partners, and over its lower ones; all in sorted order."""
        return self.documents.over.both(lambda: self.sweeps.higher(values), lambda: self.sweeps.lower(values))

    def moments(self) -> tuple[Moments, Moments]:
        """Of each document's higher partners, and of its lower ones: weight + i x weighted sum of scores."""
        documents = self.documents
        packed = np.empty(len(documents.rows), dtype=np.complex128)
        packed.real = documents.weights
        np.multiply(documents.weights, documents.centred, out=packed.imag)
        return self.sums(packed)
