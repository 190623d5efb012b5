"""PairwiseRidge: pairwise least squares solved exactly; with gamma chosen by leaving out each query in turn."""

from __future__ import annotations

import warnings
from abc import ABCMeta
from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.dataset.queries import Queries
from linrank.dataset.query_blocks import QueryBlock
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.choosing import best_strength
from linrank.estimators.declaring import fixed, with_settings
from linrank.estimators.minimizing_ranker import MinimizingRanker, how_far
from linrank.estimators.settings import check_choice, check_positive
from linrank.estimators.watching import watcher
from linrank.measures import Judgements, Measure, parse_measure
from linrank.model import LinearModel
from linrank.objective.least_squares import Centring, LeastSquares
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L2, Penalty
from linrank.objective.placed_blocks import Shard
from linrank.objective.placement import PlacedData
from linrank.objective.registry import LOSSES
from linrank.solvers.normal_equations import GramRidge, LeftOut, NormalEquations, wants_matrix
from linrank.solvers.solution import Journal, Solution

# Unless told, the matrix is formed for up to so many features, where it costs no more multiplications than this many a
# value of the data: conjugate gradients would take about as long. A small problem is solved at once either way.
_FEATURES_AT_ONCE = 3_000
_MULTIPLICATIONS_A_VALUE = 8_000
_SMALL = 1e9

DEFAULT_GAMMAS: tuple[float, ...] = tuple(np.logspace(-3, 7, 50).tolist())
SQUARED_ERROR = "squared_error"


@with_settings
class LeastSquaresRanker(MinimizingRanker, metaclass=ABCMeta):
    """Least squares over the pairs of a query: |L (X w - y)|² / 2, L taking off the query's mean, plus gamma w.w / 2.

    Parameters
    ----------
    gamma : float
        Strength of the penalty, beside a sum over documents: it grows with the data.
    pair_weight : {"document", "pair"}
        Whether the pairs of a query are divided by its number of documents, or all pairs count alike.
    tol : float
        Stop where |gradient|^2 / (2 gamma), a bound on what is left, is at most this times the objective.
    """

    gamma: float = 1.0
    _: KW_ONLY
    pair_weight: str = "document"
    tol: float = 1e-6
    max_iter: int = 10_000
    warm_start: bool = False

    def _check(self) -> None:
        check_gamma("gamma", self.gamma)
        check_choice("pair_weight", self.pair_weight, ("document", "pair"))
        super()._check()

    @property
    def objective(self) -> str:
        named = "least_squares" if self.pair_weight == "document" else "least_squares_of_pairs"
        return super().objective.replace(LOSSES["least_squares"].formula, LOSSES[named].formula)

    def _loss(self) -> LeastSquares:
        return LeastSquares(self.pair_weight)  # type: ignore[arg-type]

    def _penalty(self) -> Penalty:
        return self._with_wanted(L2(float(self.gamma)))

    def _remedy(self, solution: Solution) -> str:
        return f"{how_far(solution)}. Put the features on one scale, or raise max_iter, gamma or tol."


def check_gamma(name: str, gamma: float) -> None:
    """Refuse a strength that does not make the solution unique."""
    check_positive(name, gamma, "it is what makes the solution unique.")


@with_settings
class PairwiseRidge(LeastSquaresRanker):
    """Pairwise least squares, solved exactly.

    Minimises {formula}. O(l n^2) for l documents with n features, in one pass; with conjugate gradients O(l n) a step.

    Parameters
    ----------
    solver : {"gram", "cg"}, or any of RankSVM's
        "gram": the matrix of features x features, and its Cholesky factors. "cg": conjugate gradients, preconditioned
        with the diagonal, for many features. Unless given, whichever takes less time; with bounds, proximal Newton.
    tol : float
        For "cg": stop where |gradient|^2 / (2 gamma), a bound on what is left, is at most this times the objective.
    max_iter : int
        For "cg".
    warm_start : bool
        For "cg": start from the last `coef_`.

    Examples
    --------
    >>> from linrank import PairwiseRidge, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = PairwiseRidge(gamma=10.0).fit(data.features, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "ridge"

    _: KW_ONLY
    solver: str | None = None
    bounds: Any = None
    prior: Any = None

    def _usual(self, objective: RankingObjective) -> tuple[str, ...]:
        return ("gram" if _matrix_pays(objective.data) else "cg",)


def _matrix_pays(data: PlacedData) -> bool:
    n, documents = data.n_features, data.n_documents
    # Eight bytes a value are about right for all forms of features.
    values = data.n_bytes / 8
    multiplications = documents * n**2 + n**3 / 3
    return n <= _FEATURES_AT_ONCE and multiplications <= max(_SMALL, _MULTIPLICATIONS_A_VALUE * values)


@with_settings
class PairwiseRidgeCV(PairwiseRidge):
    """PairwiseRidge for every gamma of a path, and the best gamma by leaving out each query in turn.

    Minimises the same objective as `PairwiseRidge`. One pass over the data gives the normal equations, one
    eigendecomposition the weights for every gamma, and a second pass the scores of each query by the weights of all
    others, in closed form: nothing is fitted again.

    Parameters
    ----------
    gammas : sequence of float, default=50 values from 10^-3 to 10^7
        To choose from.
    measure : str
        What gamma is chosen by, on the left-out scores: a measure of ranking, or "squared_error" for the objective's
        own loss (with a minus, so that higher is better).
    one_se : bool
        Choose the largest gamma within one standard error of the best, by the differences query by query: a plainer
        model.

    Attributes
    ----------
    gamma_ : float
        The gamma chosen.
    gammas_ : ndarray
        In ascending order.
    measures_ : ndarray of shape (n_gammas, n_queries)
        The measure of each left-out query for each gamma (NaN where the measure skips it).
    mean_measure_, standard_error_ : ndarray of shape (n_gammas,)
        Over queries.
    coef_path_ : ndarray of shape (n_gammas, n_features)
        The weights of all queries for each gamma.
    """

    gammas: Sequence[float] = DEFAULT_GAMMAS
    _: KW_ONLY
    measure: str = "ndcg@10"
    one_se: bool = False
    gamma: float = fixed(1.0)
    solver: str | None = fixed(None)
    bounds: Any = fixed(None)
    prior: Any = fixed(None)
    tol: float = fixed(1e-6)
    max_iter: int = fixed(10_000)
    warm_start: bool = fixed(False)

    def _check(self) -> None:
        super()._check()
        gammas = np.asarray(self.gammas, dtype=np.float64)
        if gammas.ndim != 1 or len(gammas) == 0:
            raise LinrankError(f"gammas={self.gammas}; use one or more positive numbers.")
        for gamma in gammas:
            check_gamma("gammas", gamma)
        if self.measure != SQUARED_ERROR:
            parse_measure(self.measure)

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:  # noqa: ARG002
        gammas = np.sort(np.asarray(self.gammas, dtype=np.float64))
        measure = None if self.measure == SQUARED_ERROR else parse_measure(self.measure)
        if reason := wants_matrix(dataset.n_features, "choose gamma by GridSearchCV with QueryKFold"):
            raise LinrankError(reason)
        with self._executor() as executor:
            objective = self._objective(dataset, executor).with_penalty(L2(float(gammas[0])))
            equations = NormalEquations.of(objective)
            self.coef_path_ = equations.path(gammas)
            left_out = LeftOut(equations, gammas, self.coef_path_, self.pair_weight == "pair")
            self.measures_ = self._leave_out_each(objective.data, left_out, measure)
            chosen = best_strength(gammas, self.measures_, one_se=self.one_se, plainest_last=True)
            self.gammas_, self.gamma_ = gammas, float(gammas[chosen.number])
            self.mean_measure_, self.standard_error_ = chosen.means, chosen.errors
            objective, journal = objective.with_penalty(L2(self.gamma_)), Journal(watcher(self.progress))
            weights = self.coef_path_[chosen.number]
            solution = journal.until_ctrl_c(lambda: GramRidge().finish(objective, equations, lambda: weights, journal))
        self._finish(solution)

    def to_model(self, **extra: Any) -> LinearModel:
        """The trained weights as a `LinearModel`, with the gamma that was chosen."""
        model = super().to_model(**extra)
        return replace(model, parameters={**model.parameters, "gamma": self.gamma_})

    def _leave_out_each(self, data: PlacedData, left_out: LeftOut, measure: Measure | None) -> NDArray[np.float64]:
        if data.n_queries < 2:
            warnings.warn(
                "there is one query only, so none can be left out: the gamma nearest to 1 is used. Pass qid.",
                UserWarning,
                stacklevel=3,
            )
            return np.zeros((len(left_out.gammas), 0))
        measured: dict[int, NDArray[np.float64]] = {}
        for of_shard in data.tell(_measure_shard, left_out=left_out, measure=measure):
            measured.update(of_shard)
        return np.concatenate([measured[first_row] for first_row in sorted(measured)], axis=1)


# Tasks: module-level functions whose inputs are arguments, so that they can travel to another process.


def _measure_shard(shard: Shard, *, left_out: LeftOut, measure: Measure | None) -> dict[int, NDArray[np.float64]]:
    """The measure of each left-out query for each gamma, block by block."""
    measured = {}
    for placed in shard:
        values = [_measured(placed.block, scores, left_out.by_pair, measure) for scores in left_out.scores(placed)]
        measured[placed.block.first_row] = np.concatenate(values)
    return measured


def _measured(
    block: QueryBlock, scores: NDArray[np.float64], by_pair: bool, measure: Measure | None
) -> NDArray[np.float64]:
    """The measure, or minus the loss, of each query for each column of scores."""
    n_columns = scores.shape[1]
    if measure is None:
        curvature = Centring(block, by_pair)
        errors = curvature.centred_rows(scores - block.labels[:, None], curvature.roots(), np.empty_like(scores))
        return -0.5 * np.add.reduceat(errors**2, block.query_starts[:-1]).T
    # All columns at once, as if each were queries of its own.
    sizes = np.tile(np.diff(block.query_starts), n_columns)
    judged = Judgements(np.tile(block.labels, n_columns), Queries.from_sizes(sizes, int(sizes.sum())))
    return measure.per_query(scores.T.ravel(), judged, n_threads=1).reshape(n_columns, block.n_queries)
