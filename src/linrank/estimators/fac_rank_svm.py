"""FacRankSVM: the hinge RankSVM's dual, with multipliers of low rank."""

from __future__ import annotations

from dataclasses import KW_ONLY, field, replace
from typing import Any

import numpy as np

from linrank.arrays import Offsets, Vector
from linrank.dataset.applied_scaling import ColumnScaling
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import scaled
from linrank.duals.factored_dual import FactoredDual, FactoredObjective, FactoredSolution
from linrank.estimators.conventions import drawn_seed
from linrank.estimators.declaring import fixed, with_settings
from linrank.estimators.minimizing_ranker import MinimizingRanker
from linrank.estimators.settings import check_count, check_positive
from linrank.executors.local import Threads
from linrank.objective.least_squares import Centring
from linrank.solvers.solution import Iteration, Solution, Watch

# Features whose spreads within queries all lie between these are left as they are: LETOR's do.
_LEAST_SPREAD, _LARGEST_SPREAD = 1 / 16, 64.0


@with_settings
class FacRankSVM(MinimizingRanker):
    """Factorized Ranking SVM: a vector a document, and a product of two for each pair (Xu et al., 2018).

    Minimises {formula}. The vectors v have `rank` numbers each. Without the factors, and with any a_ij from 0 to C,
    that is the dual of RankSVM's `w.w / 2 + C sum max(0, 1 - w.(x_i - x_j))`. O(l rank) an epoch for l documents; no
    pair is listed. The objective is not convex: what is found is a point that no small step improves.

    Where features are in very different units that point may rank no better than chance, or take thousands of epochs.
    So where the spread within queries of any feature is beyond 1/16 to 64, each is divided by the power of two next to
    its spread, `units_`; the formula is then that of the divided features, and `coef_` is for features as they are.

    Parameters
    ----------
    rank : int
        The paper's K, the length of the vectors. It costs time and changes little.
    C : float
        The largest multiplier of a pair. The larger it is, the more epochs are needed.
    tol : float
        Stop where an epoch lowers the objective by at most this share of it.
    max_iter : int
        Epochs; each visits every query once and costs four or five reads of the features.
    random_state : int, RandomState or None
        Seeds the vectors to start from and the order in which queries are visited. Both are drawn by what is in the
        rows, so they do not depend on the order of the rows.

    Attributes
    ----------
    units_ : ndarray of shape (n_features,)
        What each feature was divided by; 1 where their units will do.
    objective_ : float
        The formula above, which is negative; as far below zero as the hinge objective is above, at the best.
    gap_ : float
        `objective_` plus the hinge objective at `coef_ * units_`: a certified bound on what either is above its least
        value, low rank or not. It does not go to zero: the rest is what the low rank costs.
    factors_ : ndarray of shape (n_documents, rank), or None
        The vectors v, a row for each row of the training data, documents' and queries' weights in them. None where
        `patience` has kept weights of an earlier epoch than the last.
    ranks_ : ndarray of shape (n_queries,), or None
        The rank of each query's vectors, and so of its matrix of products v_i.v_j; queries in order of first
        appearance.
    history_ : tuple of Iteration
        Their `gap` is the share of the objective by which the epoch lowered it.
    eval_history_ : list of list of float
        The `measure` on each set of `eval_set`, iteration by iteration.

    Examples
    --------
    >>> from linrank import FacRankSVM, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = FacRankSVM(rank=5, C=0.001).fit(data.features, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    watches = True
    at_no_tolerance = "take all of max_iter epochs"
    method = "fac-ranksvm"
    reads_files = False

    rank: int = 5
    C: float = 1e-3
    _: KW_ONLY
    tol: float = 1e-4
    max_iter: int = 200
    max_seconds: float | None = None
    patience: int | None = None
    measure: str = "ndcg@10"
    random_state: Any = 0
    n_threads: int | None = fixed(None)
    solution_: FactoredSolution = field(init=False)

    def _check(self) -> None:
        check_count("rank", self.rank)
        check_positive("C", self.C, "it is the largest multiplier of a pair.")
        super()._check()

    def _objective(self, dataset: RankingDataset, executor: Threads) -> FactoredObjective:  # noqa: ARG002 - one thread
        self.units_ = _units(dataset)
        if (self.units_ != 1.0).any():
            # Powers of two round nothing.
            dataset = scaled(dataset, ColumnScaling("standard", np.zeros_like(self.units_), self.units_))
        return FactoredObjective.of(dataset, float(self.C), int(self.rank))

    @property
    def ranks_(self) -> Offsets | None:
        if self.factors_ is None:
            return None
        of_queries = np.split(self._queries.grouped(self.factors_), self._queries.starts[1:-1])
        return np.array([np.linalg.matrix_rank(vectors) for vectors in of_queries])

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:
        # None of an earlier fit's, should this one be interrupted.
        self.factors_ = None
        super()._train(dataset, validation)
        self._queries, vectors = dataset.queries, self.solution_.vectors
        if vectors is not None:
            rows = slice(None) if dataset.queries.order is None else dataset.queries.order
            self.factors_ = np.empty_like(vectors)
            self.factors_[rows] = vectors

    def _solve(
        self,
        objective: FactoredObjective,
        start: Vector | None,  # noqa: ARG002 - a start would be of vectors, not of weights
        watch: Watch | None,
    ) -> FactoredSolution:
        seed = drawn_seed(self.random_state)
        units = self.units_
        folding = None if watch is None else lambda line, weights: watch(line, weights / units)
        solution = FactoredDual(**self._limits(), seed=seed).minimize(objective, watch=folding)
        # Of a training that was interrupted the vectors are not known.
        vectors = getattr(solution, "vectors", None)
        return FactoredSolution(**{**vars(solution), "weights": solution.weights / units, "vectors": vectors})

    def _at_best(  # type: ignore[override]
        self, solution: FactoredSolution, line: Iteration, weights: Vector, objective: FactoredObjective
    ) -> FactoredSolution:
        gap = objective.gap(weights * self.units_, line.value)
        return replace(solution.at(line, weights), certified_gap=gap, vectors=None)

    def _remedy(self, solution: Solution) -> str:
        return (
            f"the last epoch lowered the objective by {solution.history[-1].gap:.1e} of it. "
            "Lower C, or raise max_iter or tol."
        )


def _units(dataset: RankingDataset) -> Vector:
    """What to divide each feature by: the power of two next to its spread within queries, or 1 where all will do."""
    squares, mass = np.zeros(dataset.n_features), 0.0
    for block in cut_into_blocks(dataset):
        within = Centring(block, by_pair=False)
        squares += within.hessian_diagonal()
        mass += float(block.query_weights @ within.masses())
    spreads = np.sqrt(squares / (mass or 1.0))
    varying = spreads[spreads > 0.0]
    if ((varying >= _LEAST_SPREAD) & (varying <= _LARGEST_SPREAD)).all():
        return np.ones(dataset.n_features)
    return np.exp2(np.round(np.log2(np.where(spreads > 0.0, spreads, 1.0))))
