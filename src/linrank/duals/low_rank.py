"""Low rank in a trained RankSVM: its dual variables as a matrix a query, and how few singular values hold them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.drawing import draw
from linrank.errors import LinrankError
from linrank.executors.local import Threads
from linrank.model import LinearModel

Matrix: TypeAlias = NDArray[np.float64]
Loss: TypeAlias = Literal["squared_hinge", "hinge"]
RelativeTo: TypeAlias = Literal["documents", "side"]

ENERGIES = (50.0, 80.0, 90.0, 95.0, 99.0, 100.0)
_BINS = 10
# Rankers that minimise the dual of the hinge, and say so by their method only.
_HINGE_METHODS = ("reg-ranksvm", "fac-ranksvm")
# Sums of squares are this exact: a share of the energy that falls short by no more is reached.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class PairMatrix:
    """The dual variables of one query: `values[r, c]` of the pair of documents `rows[r]` above `columns[c]`.

    Rows are the documents with others below them, columns those with others above, both in ascending order of label
    and numbered as in the data; cells that are not a pair are zero.
    """

    rows: Offsets
    columns: Offsets
    values: Matrix


@dataclass(frozen=True, eq=False)
class LowRankAnalysis:
    """The singular values of every query's dual variables; queries without a pair are left out.

    Attributes
    ----------
    query_ids : ndarray of shape (n,)
    documents : ndarray of shape (n,)
        Documents of each query, those without weight not counted.
    pairs : ndarray of shape (n,)
    sides : ndarray of shape (n,)
        The shorter side of each query's matrix, the largest rank it can have.
    singular_values : tuple of ndarray
        Of each query, in descending order.
    source : str
        What the dual variables are.
    """

    query_ids: NDArray[Any]
    documents: Offsets
    pairs: Offsets
    sides: Offsets
    singular_values: tuple[Vector, ...]
    source: str
    _dual: _Dual
    _numbers: Offsets

    def matrix(self, query: int) -> PairMatrix:
        """The dual variables of one of the queries here, computed when asked for."""
        return self._dual.matrix(int(self._numbers[query]))

    @property
    def ranks(self) -> Offsets:
        """The rank of each matrix: its singular values that are more than rounding."""
        longer = [max(self._dual.shape(int(number))) for number in self._numbers]
        return np.array([_rank(values, side) for values, side in zip(self.singular_values, longer, strict=True)])

    def dimensions(self, energy: float) -> Offsets:
        """The least number of singular values that hold so many per cent of the sum of squares, for each query.

        100 is the rank.
        """
        if not 0.0 < energy <= 100.0:
            raise LinrankError(f"energy={energy}; use a percentage above 0 and up to 100.")
        if energy == 100.0:
            return self.ranks
        return np.array([_dimensions(values, energy / 100.0) for values in self.singular_values])

    def shares(self, energy: float, relative_to: RelativeTo = "documents") -> Vector:
        """`dimensions` over the size of each matrix: the paper's Dim_t where the size is the number of documents.

        Relative to the shorter side it is the share of the largest rank possible.
        """
        if relative_to not in ("documents", "side"):
            raise LinrankError(f"relative_to={relative_to!r}; use 'documents' (as the paper) or 'side'.")
        shares: Vector = self.dimensions(energy) / (self.documents if relative_to == "documents" else self.sides)
        return shares

    def energy_table(self, energies: tuple[float, ...] = ENERGIES) -> list[dict[str, float]]:
        """For each percentage of the energy: how many dimensions hold it, and which share of the size, over queries."""
        table = []
        for energy in energies:
            dimensions, of_documents, of_side = (
                self.dimensions(energy),
                self.shares(energy),
                self.shares(energy, "side"),
            )
            table.append(
                {
                    "energy": energy,
                    "dimensions": float(np.mean(dimensions)),
                    "share_of_documents": float(np.mean(of_documents)),
                    "most_of_documents": float(np.max(of_documents)),
                    "share_of_side": float(np.mean(of_side)),
                    "most_of_side": float(np.max(of_side)),
                }
            )
        return table

    def histogram(self, energy: float = 90.0, relative_to: RelativeTo = "documents") -> list[dict[str, float]]:
        """How many queries need 0 to 10 %, 10 to 20 %, … of the size for so much energy: the paper's Figure 2."""
        places = np.ceil(self.shares(energy, relative_to) * _BINS - _ROUNDING).astype(np.int64) - 1
        counts = np.bincount(np.clip(places, 0, _BINS - 1), minlength=_BINS)
        wide = 100.0 / _BINS
        return [
            {"above": place * wide, "up_to": (place + 1) * wide, "queries": int(n)} for place, n in enumerate(counts)
        ]

    def rank_table(self, energy: float = 90.0) -> list[dict[str, Any]]:
        """Each query's documents, pairs, rank and the dimensions of so much energy: the paper's Table 6."""
        ranks, dimensions = self.ranks, self.dimensions(energy)
        return [
            {
                "query": str(self.query_ids[q]),
                "documents": int(self.documents[q]),
                "pairs": int(self.pairs[q]),
                "side": int(self.sides[q]),
                "rank": int(ranks[q]),
                "dimensions": int(dimensions[q]),
            }
            for q in range(len(self.query_ids))
        ]

    def save_picture(
        self,
        out: str | os.PathLike[str],
        energies: tuple[float, ...] = (90.0, 100.0),
        relative_to: RelativeTo = "documents",
    ) -> None:
        """Draw the histogram of each percentage side by side, as .svg, .png or .pdf."""
        of = "documents" if relative_to == "documents" else "largest rank"

        def drawing(figure: Any) -> None:
            panels = figure.subplots(1, len(energies), squeeze=False, sharey=True)[0]
            for axes, energy in zip(panels, energies, strict=True):
                bars = self.histogram(energy, relative_to)
                middles = [bar["up_to"] - 50.0 / _BINS for bar in bars]
                drawn = axes.bar(middles, [bar["queries"] for bar in bars], width=9)
                axes.bar_label(drawn, fontsize=7)
                axes.set(xlabel=f"dimensions, % of {of}", title=f"{energy:g} % of the energy", xlim=(0, 100))
            panels[0].set_ylabel("queries")

        draw(out, drawing, width=3.6 * len(energies), height=3.0)


def low_rank(
    model: Any, data: RankingDataset, *, loss: Loss | None = None, n_threads: int | None = None
) -> LowRankAnalysis:
    """Analyse the dual variables of a trained model (Xu et al., 2018, section 4): are their matrices of low rank?

    The dual variables are those that the weights give: `a_ij = 2 C max(0, 1 - (s_i - s_j))` for the squared hinge; for
    the hinge C where the margin s_i - s_j is below 1, 0 where it is above, and C / 2 at 1 exactly, where the weights do
    not tell. They are multiplied by the weights of documents and query. A `RegRankSVM` trained with `keep_dual=True`
    has kept its own, and a `FacRankSVM` the vectors they are products of: those are taken instead.

    Parameters
    ----------
    model : LinearModel or fitted linear ranker
    data : RankingDataset
        What it was trained on.
    loss : {"squared_hinge", "hinge"}, default=None
        What the model says it was trained with; the squared hinge where it says nothing.
    n_threads : int, default=None
        All processors.

    Returns
    -------
    LowRankAnalysis
    """
    dual = _dual_of(model, data, loss)
    shapes = [dual.shape(q) for q in range(data.n_queries)]
    kept = np.array([q for q, shape in enumerate(shapes) if 0 not in shape], dtype=np.int64)
    if len(kept) == 0:
        raise LinrankError(
            "no query has two documents with different labels and a weight: there is nothing to analyse."
        )
    with Threads(n_threads) as executor:
        found = executor.map(_singular_values, kept.tolist(), dual=dual)
    return LowRankAnalysis(
        data.queries.ids[kept],
        np.array([len(dual.documents(q)) for q in kept]),
        np.array([dual.n_pairs(q) for q in kept]),
        np.array([min(shapes[q]) for q in kept]),
        tuple(found),
        dual.source,
        dual,
        kept,
    )


class _Dual:
    """The dual variables of each query of a dataset, made when asked for."""

    def __init__(self, data: RankingDataset, scores: Vector, C: float, loss: Loss) -> None:
        self._data = data
        self._scores = scores
        self._C = C
        self._loss = loss
        of_pair = "2 C max(0, 1 - margin)" if loss == "squared_hinge" else "C where the margin is below 1"
        self.source = f"{loss}: {of_pair}, C = {C:g}"

    def documents(self, query: int) -> Offsets:
        """The documents of a query that have a weight, in ascending order of label."""
        queries, data = self._data.queries, self._data
        rows = np.arange(queries.starts[query], queries.starts[query + 1])
        rows = rows if queries.order is None else queries.order[rows]
        if data.query_weights is not None and data.query_weights[query] == 0.0:
            return rows[:0]
        if data.document_weights is not None:
            rows = rows[data.document_weights[rows] > 0.0]
        ascending: Offsets = rows[np.argsort(data.labels[rows], kind="stable")]
        return ascending

    def shape(self, query: int) -> tuple[int, int]:
        rows, columns = self._sides(query)
        return len(rows), len(columns)

    def n_pairs(self, query: int) -> int:
        rows, columns = self._sides(query)
        labels = self._data.labels
        return int(np.searchsorted(labels[columns], labels[rows], side="left").sum())

    def matrix(self, query: int) -> PairMatrix:
        rows, columns = self._sides(query)
        data = self._data
        margins = self._scores[rows][:, None] - self._scores[columns]
        if self._loss == "squared_hinge":
            values = 2.0 * self._C * np.maximum(0.0, 1.0 - margins)
        else:
            values = 0.5 * self._C * (1.0 + np.sign(1.0 - margins))
        values *= data.labels[rows][:, None] > data.labels[columns]
        if data.document_weights is not None:
            values *= data.document_weights[rows][:, None] * data.document_weights[columns]
        if data.query_weights is not None:
            values *= data.query_weights[query]
        return PairMatrix(rows, columns, values)

    def _sides(self, query: int) -> tuple[Offsets, Offsets]:
        documents = self.documents(query)
        labels = self._data.labels[documents]
        if len(labels) == 0:
            return documents, documents
        return documents[labels > labels[0]], documents[labels < labels[-1]]


class _KeptDual(_Dual):
    """Dual variables that a ranker has kept."""

    def __init__(self, data: RankingDataset, kept: tuple[Matrix, ...]) -> None:
        super().__init__(data, data.labels, 1.0, "hinge")
        self._kept = kept
        self.source = "the dual variables kept in training"
        shapes = [matrix.shape for matrix in kept if matrix.size]
        if shapes != [shape for q in range(data.n_queries) if 0 not in (shape := self.shape(q))]:
            raise LinrankError("the dual variables that the model has kept are of other data. Pass its training data.")

    def matrix(self, query: int) -> PairMatrix:
        rows, columns = self._sides(query)
        return PairMatrix(rows, columns, self._kept[query])


class _ProductDual(_Dual):
    """Dual variables <v_i, v_j>, by the vectors that a ranker has kept."""

    def __init__(self, data: RankingDataset, vectors: Matrix) -> None:
        super().__init__(data, data.labels, 1.0, "hinge")
        self._vectors = vectors
        self.source = "products of the vectors kept in training"
        if len(vectors) != data.n_documents:
            raise LinrankError(
                f"the model has kept the vectors of {len(vectors)} documents, and the data has {data.n_documents}. "
                "Pass its training data."
            )

    def matrix(self, query: int) -> PairMatrix:
        rows, columns = self._sides(query)
        values = self._vectors[rows] @ self._vectors[columns].T
        return PairMatrix(rows, columns, values * (self._data.labels[rows][:, None] > self._data.labels[columns]))


def _dual_of(model: Any, data: RankingDataset, loss: Loss | None) -> _Dual:
    if loss not in (None, "squared_hinge", "hinge"):
        raise LinrankError(f"loss={loss!r}; use 'squared_hinge' or 'hinge', or None for the model's own.")
    kept = getattr(model, "dual_", None)
    if kept is not None and loss is None:
        return _KeptDual(data, kept)
    vectors = getattr(model, "factors_", None)
    if vectors is not None and loss is None:
        return _ProductDual(data, vectors)
    if not isinstance(model, LinearModel):
        if not hasattr(model, "to_model"):
            raise LinrankError(f"{type(model).__name__} has no weights to analyse. Pass a linear ranker or its model.")
        model = model.to_model()
    if data.feature_names is not None and set(data.feature_names) == set(model.feature_names):
        data = data.with_columns(model.feature_names)
    if loss is None:
        by_hinge = model.parameters.get("loss") == "hinge" or model.method in _HINGE_METHODS
        loss = "hinge" if by_hinge else "squared_hinge"
    scores = model.predict(data.features, data.queries)
    return _Dual(data, scores, float(model.parameters.get("C") or 1.0), loss)


def _singular_values(query: int, *, dual: _Dual) -> Vector:
    return np.asarray(np.linalg.svd(dual.matrix(query).values, compute_uv=False), dtype=np.float64)


def _rank(values: Vector, longer_side: int) -> int:
    return int(np.count_nonzero(values > longer_side * np.finfo(np.float64).eps * values[0]))


def _dimensions(values: Vector, share: float) -> int:
    # Divided first, so that squares of tiny numbers do not vanish.
    held = np.cumsum(np.square(values / values[0])) if values[0] > 0.0 else np.zeros(0)
    return int(np.searchsorted(held, (share - _ROUNDING) * held[-1]) + 1) if len(held) else 0
