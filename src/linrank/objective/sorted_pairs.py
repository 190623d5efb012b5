"""A block in order of score: what every sum over its pairs is computed from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Indices, Vector
from linrank.dataset.query_blocks import QueryBlock
from linrank.objective import pair_kernels as kernels
from linrank.ordering import order_ascending

Pairs: TypeAlias = Literal["all", "adjacent"]
Moments: TypeAlias = NDArray[np.complex128]
Sweep: TypeAlias = Callable[[], NDArray[Any]]
Both: TypeAlias = Callable[[Sweep, Sweep], tuple[NDArray[Any], NDArray[Any]]]

# Up to this many levels one running sum a level is quicker than the tree; measured by benchmarks/levels.py.
DIRECT_UP_TO = 3
# No loss looks at pairs whose scores are farther apart than this in the right order.
WIDEST_MARGIN = 1.0


def one_after_the_other(first: Sweep, second: Sweep) -> tuple[NDArray[Any], NDArray[Any]]:
    """How two independent sweeps run where nothing else is free."""
    return first(), second()


@dataclass(frozen=True, slots=True)
class PairSums:
    """Which pairs count, and how their sums are computed.

    `pairs` is "all" or "adjacent" (only pairs of neighbouring levels); queries of at most `direct_up_to` levels are
    summed by direct count, others by a selection tree; `both` runs the two sweeps, perhaps side by side.
    """

    pairs: Pairs = "all"
    direct_up_to: int = DIRECT_UP_TO
    both: Both = field(default=one_after_the_other, repr=False)


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

    def within(self, margin: float) -> PairsWithin:
        """The pairs whose difference of scores is below the margin."""
        ends, begins = np.empty(len(self.rows), np.int32), np.empty(len(self.rows), np.int32)
        kernels.find_bounds(self.scores, self.block.query_starts, margin, ends, begins)
        return PairsWithin(self, margin, ends, begins)


@dataclass(frozen=True, slots=True)
class PairsWithin:
    """The pairs of a higher and a lower document with `s_higher - s_lower < margin`."""

    documents: SortedPairs
    margin: float
    ends: Indices
    begins: Indices

    def sums(self, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Sums of values over each document's higher partners, and over its lower ones; all in sorted order."""
        return self.documents.over.both(
            lambda: self._sweep(kernels.sum_higher, self.ends, values),
            lambda: self._sweep(kernels.sum_lower, self.begins, values),
        )

    def _sweep(self, kernel: Callable[..., None], bounds: Indices, values: NDArray[Any]) -> NDArray[Any]:
        block, over = self.documents.block, self.documents.over
        direct, tree = kernels.room_for_levels(block.most_levels, values.dtype.type)
        sums = np.empty_like(values)
        kernel(
            values, self.documents.levels, bounds, block.query_starts, block.level_counts, over.pairs == "adjacent",
            over.direct_up_to, direct, tree, sums,
        )  # fmt: skip
        return sums

    def moments(self) -> tuple[Moments, Moments]:
        """Of each document's higher partners, and of its lower ones: weight + i x weighted sum of scores."""
        documents = self.documents
        packed = np.empty(len(documents.rows), dtype=np.complex128)
        packed.real = documents.weights
        np.multiply(documents.weights, documents.centred, out=packed.imag)
        return self.sums(packed)
