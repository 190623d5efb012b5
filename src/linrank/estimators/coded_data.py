"""The training data of curves and products: bins of each feature, and the columns that are made of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.binned_features import BinnedFeatures
from linrank.dataset.feature_products import FeatureProducts
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.features import DenseFeatures, Features, scores_of
from linrank.dataset.promising_pairs import promising_pairs
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.shape_basis import Matrix, ShapeBasis
from linrank.dataset.with_products import WithProducts
from linrank.errors import LinrankError
from linrank.memory import memory_bytes


class Learnt(NamedTuple):
    """What weights of columns mean: the curves with variance 1, how large each is, and the products beside them."""

    shapes: FeatureShapes
    sizes: Vector
    products: FeatureProducts | None

    def scores(self, rows: Any) -> Vector:
        """Of rows, as they are given."""
        scores = scores_of(self.shapes.apply(rows), self.sizes)
        return scores if self.products is None else scores + self.products.scores(rows)


@dataclass(frozen=True, eq=False)
class CodedData:
    """The training data as bins, the columns that a smoothing makes of them, and products of two features' lines.

    Attributes
    ----------
    basis, codes : the knots of each feature, and where values lie among them
    row_weights : what each document counts where values are counted; None where all count alike
    smoothing, at_knots, starts : the columns, by what each is at the knots of its feature
    pairs : the two features of each product
    products : l_a l_b of each, a column a product, in float32
    """

    basis: ShapeBasis
    codes: NDArray[np.uint32]
    row_weights: Vector | None
    smoothing: float
    at_knots: Matrix
    starts: Offsets
    pairs: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    products: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, dataset: RankingDataset, n_knots: int, directions: Vector) -> CodedData:
        row_weights = _row_weights(dataset)
        basis, codes = ShapeBasis.fitted(_dense(dataset), row_weights, n_knots, directions)
        return cls(basis, codes, row_weights, math.inf, *basis.columns(math.inf))

    def with_smoothing(self, smoothing: float) -> CodedData:
        at_knots, starts = self.basis.columns(smoothing)
        return replace(self, smoothing=smoothing, at_knots=at_knots, starts=starts)

    def with_pairs(self, pairs: NDArray[np.int64]) -> CodedData:
        """The same with the products of some pairs of features."""
        products = np.empty((len(self.codes), len(pairs)), dtype=np.float32)
        lines = self._lines
        for place, pair in enumerate(pairs):
            # (Each product by itself: lines of all features may be many times as large.)
            one, other = lines.to_dense(pair).T
            np.multiply(one, other, out=products[:, place], casting="same_kind")
        return replace(self, pairs=pairs, products=products if len(pairs) else None)

    @property
    def n_pairs(self) -> int:
        """How many products of two features there could be: those whose curve must rise or fall are in none."""
        return math.comb(len(self._free), 2)

    @property
    def _free(self) -> Offsets:
        return np.flatnonzero(self.basis.directions == 0)

    @property
    def n_columns(self) -> int:
        return len(self.at_knots) + len(self.pairs)

    def features(self) -> Features:
        binned = BinnedFeatures(self.codes, self.at_knots, self.starts)
        made = binned if self.products is None else WithProducts(binned, DenseFeatures(self.products))
        return cast(Features, made)

    def weights_from(self, other: CodedData, weights: Vector) -> Vector:
        """The weights of these columns for the curves that others have, or for those nearest to them.

        Products have theirs where they are the first of these, too.
        """
        own, n_curves = np.zeros(self.n_columns), len(self.at_knots)
        if math.isfinite(self.smoothing) and math.isfinite(other.smoothing):
            own[:n_curves] = weights[:n_curves] * math.sqrt(self.smoothing / other.smoothing)
        own[self.starts[:-1]] = weights[other.starts[:-1]]
        n_known = min(len(other.pairs), len(self.pairs))
        own[n_curves : n_curves + n_known] = weights[len(other.at_knots) :][:n_known]
        return own

    def groups(self) -> NDArray[np.int64]:
        """The feature of each column; a product is a group of its own."""
        of_curves = np.repeat(np.arange(self.basis.n_features), np.diff(self.starts))
        return np.concatenate([of_curves, self.basis.n_features + np.arange(len(self.pairs))])

    def bounds(self) -> tuple[Vector, Vector]:
        """The least and the largest weight of each column."""
        lower, upper = self.basis.bounds(self.starts)
        free = np.full(len(self.pairs), np.inf)
        return np.append(lower, -free), np.append(upper, free)

    def promising_pairs(self, slopes: Vector, most: int) -> NDArray[np.int64]:
        """At most so many pairs of features whose product would lower a loss, by its slope in each document's score."""
        free = self._free
        weights = np.ones(len(slopes)) if self.row_weights is None else self.row_weights
        lines = self._lines
        pairs = promising_pairs(lambda rows: lines.rows(rows.start, rows.stop).to_dense(free), slopes, weights, most)
        return free[pairs]

    def learnt(self, weights: Vector) -> Learnt:
        """What weights of these columns are the curves and products of; products of weight 0 are left out."""
        shapes, sizes = self.basis.shapes(self.at_knots, self.starts, weights[: len(self.at_knots)])
        of_products = weights[len(self.at_knots) :]
        kept = np.flatnonzero(of_products)
        if len(kept) == 0:
            return Learnt(shapes, sizes, None)
        lines = self._lines
        curves = [
            (knots := self.basis.knots[feature], lines.at_knots[feature, : len(knots)])
            for feature in np.unique(self.pairs[kept]).tolist()
        ]
        products = FeatureProducts(of_products[kept], self.pairs[kept], FeatureShapes.of("additive", curves))
        return Learnt(shapes, sizes, products)

    @property
    def _lines(self) -> BinnedFeatures:
        """The line of each feature, a column each."""
        return BinnedFeatures(self.codes, *self.basis.columns(math.inf))


def _row_weights(dataset: RankingDataset) -> Vector | None:
    """What each document counts where values are counted; None where all count alike."""
    documents, queries = dataset.document_weights, dataset.query_weights
    if queries is None:
        return documents
    of_rows = queries[dataset.queries.of_rows()]
    weights: Vector = of_rows if documents is None else documents * of_rows
    return weights if weights.any() else None


def _dense(dataset: RankingDataset) -> NDArray[np.float64]:
    """The rows with their zeros: every value has a code, whether it is 0 or not."""
    if not dataset.is_sparse:
        return np.asarray(dataset.features)
    n_bytes = dataset.n_documents * dataset.n_features * (dataset.features.dtype.itemsize + 4)
    if n_bytes > 0.5 * memory_bytes():
        raise LinrankError(
            f"{dataset.n_documents} sparse documents with {dataset.n_features} features: AdditiveRanker has a code for "
            f"zeros too, and would take {n_bytes / 1e9:.0f} GB. Use RankSVM, or leave out features that are rare."
        )
    return np.asarray(dataset.features.toarray())
