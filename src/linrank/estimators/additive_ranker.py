"""AdditiveRanker: each feature through a curve of its own, trained exactly as RankSVM trains weights."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.binned_features import MOST_KNOTS, BinnedFeatures
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.features import Features, scores_of
from linrank.dataset.query_blocks import BLOCK_BYTES, cut_into_blocks
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.shape_basis import Matrix, ShapeBasis
from linrank.errors import LinrankError
from linrank.estimators.choosing import best_strength
from linrank.estimators.conventions import check_trained
from linrank.estimators.declaring import fixed, with_settings
from linrank.estimators.rank_svm import RankSVM
from linrank.estimators.settings import check_count, check_not_negative
from linrank.estimators.watching import watcher
from linrank.executors.local import Threads
from linrank.measures import parse_measure
from linrank.memory import memory_bytes
from linrank.model import LinearModel
from linrank.objective.group_l1 import GroupL1
from linrank.objective.penalties import L2, Bounds, Penalty
from linrank.objective.placement import PlacedData
from linrank.solvers.solution import Solution
from linrank.strict_json import strict_json
from linrank.wanted_weights import bounds_by_name

# What is chosen among, the most flexible first; the last is the straight line.
SMOOTHINGS = (0.1, 1.0, 10.0, 100.0, math.inf)
# Of so many bytes a block: its columns written out, for the Hessian of a sample, are some twenty times as many.
_BLOCK_BYTES = BLOCK_BYTES // 4


@dataclass(frozen=True, eq=False)
class _Coded:
    """The training data as bins, and the columns that a smoothing makes of them."""

    basis: ShapeBasis
    codes: NDArray[np.uint32]
    smoothing: float
    at_knots: Matrix
    starts: Offsets

    @classmethod
    def of(cls, dataset: RankingDataset, n_knots: int, directions: Vector) -> _Coded:
        basis, codes = ShapeBasis.fitted(_dense(dataset), _row_weights(dataset), n_knots, directions)
        return cls(basis, codes, math.inf, *basis.columns(math.inf))

    def with_smoothing(self, smoothing: float) -> _Coded:
        at_knots, starts = self.basis.columns(smoothing)
        return replace(self, smoothing=smoothing, at_knots=at_knots, starts=starts)

    def features(self) -> Features:
        return cast(Features, BinnedFeatures(self.codes, self.at_knots, self.starts))

    def weights_from(self, other: _Coded, weights: Vector) -> Vector:
        """The weights of these columns for the curves that others have, or for those nearest to them."""
        own = np.zeros(len(self.at_knots))
        if math.isfinite(self.smoothing) and math.isfinite(other.smoothing):
            own[:] = weights * math.sqrt(self.smoothing / other.smoothing)
        own[self.starts[:-1]] = weights[other.starts[:-1]]
        return own

    def groups(self) -> NDArray[np.int64]:
        """The feature of each column."""
        return np.repeat(np.arange(self.basis.n_features), np.diff(self.starts))


@with_settings
class AdditiveRanker(RankSVM):
    """RankSVM on curves: score(x) = f_1(x_1) + f_2(x_2) + …, each f_j linear between knots and constant beyond them.

    Minimises {formula}; or another `loss`. A curve is a straight line in the normal scores of its feature, which is
    what rank-gauss makes of it, plus what bends it: `slope` is that of the line, and `bending` the sum of its squared
    changes of slope at the knots, each divided by the distance of the knots beside it. As `smoothing` grows the curves
    become lines, and the ranker the linear one on transformed features. Knots are values of the feature, chosen by
    their ranks: units make no difference. The minimum is exact and certified as RankSVM's is, on features that are
    coded in 32 bits.

    Where features bend little and queries are few, lines are as good. So `smoothing="auto"` keeps shapes only where
    held-out queries say so: of 0.1, 1, 10, 100 and lines it takes the plainest that is within one standard error
    of the best, by `measure` on the last set of `eval_set` or, without one, by `cv` folds of whole queries.

    Parameters
    ----------
    C : float
        Weight of the loss, which is a sum over pairs.
    smoothing : float or {"auto", "line"}
        How much a bend costs; "line" allows none.
    n_knots : int
        Of each curve, at most; from 2 to 16.
    group_l1 : float
        More than 0 adds `group_l1 * sum over features of sqrt(number of its columns) * sqrt(slope^2 + smoothing *
        bending)`, by which whole features leave.
    monotone : text or dict
        Which way curves go: "+" for all to rise and "-" to fall, or {feature: "+" or "-"} by name or number, or
        the same as JSON, by name. Such a curve is smoothed by the sum over segments of (slope - least slope)^2 *
        length in the place of its bending.
    cv : int
        Folds of whole queries, where there is no `eval_set`.
    one_se : bool
        False takes the smoothing with the best mean.
    random_state : int
        Seed of the folds.
    measure : str
        What smoothing is chosen by.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        How much each curve moves scores: its standard deviation over the training data, 0 for a feature that left.
    transform_ : FeatureShapes
        The curves divided by `coef_`: a document's score is `coef_ . transform_.apply(x)`.
    smoothing_ : float or "line"
        The one that was chosen, or given.
    mean_measure_, standard_error_ : dict
        Of each smoothing that was tried, over held-out queries.
    remarks_ : tuple of str
        What must be known of the choice.

    Examples
    --------
    >>> from linrank import AdditiveRanker, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = AdditiveRanker(C=0.01, smoothing=1.0).fit(data)
    >>> knots, values = model.curves_["1"]
    >>> len(knots)
    12
    """

    method = "additive"
    chooses = True
    reads_files = False

    _: KW_ONLY
    smoothing: float | str = "auto"
    n_knots: int = 12
    group_l1: float = 0.0
    monotone: str | Mapping[Any, str] | None = None
    cv: int = 5
    one_se: bool = True
    random_state: int = 0
    penalty: str = fixed("l2")
    l1_ratio: float = fixed(0.5)
    bounds: Any = fixed(None)
    prior: Any = fixed(None)
    patience: int | None = fixed(None)
    warm_start: bool = fixed(False)
    executor: Any = fixed(None)
    # Curves go by ranks: a transform before them would change nothing but where their lines are straight.
    transforms: str | None = fixed(None)

    @property
    def shapes_features(self) -> bool:
        return True

    @property
    def objective(self) -> str:
        return super().objective + (f", + {self.group_l1:g} * group L1" if self.group_l1 else "")

    @property
    def curves_(self) -> Mapping[str, tuple[Vector, Vector]]:
        """The knots of each feature's curve and its values there, by name: the score is their sum."""
        check_trained(self)
        curves = zip(self.transform_.curves(), self.coef_.tolist(), strict=True)
        return {name: (knots, size * values) for name, ((knots, values), size) in zip(self._names, curves, strict=True)}

    @property
    def choices_(self) -> dict[str, Any]:
        """The smoothing, by name."""
        return {"smoothing": self.smoothing_}

    def on_shaped(self, parameters: Mapping[str, Any]) -> Any:  # noqa: ARG002 - one signature for all
        """Not to be had: curves are what it learns."""
        raise LinrankError("curves are learnt with their weights, and have no weights without them.")

    def to_model(self, **extra: Any) -> LinearModel:
        """The curves as the scaling of a `LinearModel` whose weights are `coef_`; `extra` overrides its fields."""
        model = super().to_model(**extra)
        return replace(model, parameters={**model.parameters, **self.choices_})

    def _check(self) -> None:
        if self._asked() is not None and not self._asked() > 0.0:  # type: ignore[operator]
            raise LinrankError(f"smoothing={self.smoothing}; use a positive number, 'line' for no shapes, or 'auto'.")
        check_count("n_knots", self.n_knots, 2)
        if self.n_knots > MOST_KNOTS:
            raise LinrankError(f"n_knots={self.n_knots}; at most {MOST_KNOTS} can be told apart in a code.")
        check_not_negative("group_l1", self.group_l1, "it is the strength of a penalty.")
        if self.group_l1 and self.monotone is not None:
            raise LinrankError("group_l1 and monotone cannot be had together: leave one of them out.")
        super()._check()

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:
        directions = self._directions()
        self.mean_measure_: dict[Any, float] = {}
        self.standard_error_: dict[Any, float] = {}
        self.remarks_: tuple[str, ...] = ()
        with self._executor() as executor:
            asked = self._asked()
            smoothing = self._chosen(dataset, validation, directions, executor) if asked is None else asked
            coded = _Coded.of(dataset, self.n_knots, directions).with_smoothing(smoothing)
            solution = self._solved(dataset, coded, executor, None, watcher(self.progress))
        self.smoothing_ = _named(smoothing)
        self.transform_, sizes = coded.basis.shapes(coded.at_knots, coded.starts, solution.weights)
        measure = parse_measure(self.measure)
        scored = [measure.mean(_scores(self.transform_, sizes, data.features), data) for data in validation]
        self.eval_history_ = [scored] if scored else []
        self._finish(replace(solution, weights=sizes))

    def _asked(self) -> float | None:
        """The smoothing that is asked for, infinity for lines; None where held-out queries are to choose."""
        if self.smoothing == "auto":
            return None
        try:
            # (On a command line numbers are text.)
            return math.inf if self.smoothing == "line" else float(self.smoothing)
        except ValueError:
            raise LinrankError(f"smoothing={self.smoothing!r}; use a positive number, 'line' or 'auto'.") from None

    def _directions(self) -> Vector:
        """1 for curves that must rise, -1 for those that must fall, 0 for others."""
        if self.monotone is None:
            return np.zeros(self.n_features_in_)
        ways = _from_text(self.monotone)
        for way in ways.values() if isinstance(ways, Mapping) else [ways]:
            if not (isinstance(way, str) and way in ("+", "-")):
                raise LinrankError(f"monotone={self.monotone!r}; use '+' or '-', or {{feature: '+' or '-'}}.")
        try:
            bounds = bounds_by_name(ways, self._names)
        except LinrankError as error:
            raise LinrankError(str(error).replace("bounds", "monotone")) from None
        return np.isfinite(bounds.lower) * np.ones(self.n_features_in_) - np.isfinite(bounds.upper)

    def _solved(
        self, dataset: RankingDataset, coded: _Coded, executor: Threads, start: Vector | None, watch: Any = None
    ) -> Solution:
        self._coded = coded
        try:
            solution: Solution = self._solve(self._objective(dataset, executor), start, watch)
        finally:
            del self._coded
        return solution

    def _placed(self, dataset: RankingDataset, executor: Threads) -> PlacedData:
        blocks = cut_into_blocks(dataset, _BLOCK_BYTES, self._coded.features())
        return PlacedData.of_blocks(blocks, len(self._coded.at_knots), executor)

    def _penalty(self) -> Penalty:
        if self.group_l1:
            return GroupL1(self._coded.groups(), self.group_l1, ridge=1.0)
        lower, upper = self._coded.basis.bounds(self._coded.starts)
        return L2() if self.monotone is None else L2() + Bounds(lower, upper)

    def _chosen(
        self, dataset: RankingDataset, validation: list[RankingDataset], directions: Vector, executor: Threads
    ) -> float:
        """The plainest smoothing within one standard error of the best, or the best, on queries held out."""
        if not validation and dataset.n_queries < 2:
            warnings.warn(
                "there is one query only, so that shapes cannot be validated: curves are straight lines. Pass qid, "
                "eval_set or a smoothing.",
                UserWarning,
                stacklevel=4,
            )
            return math.inf
        parts = [(dataset, validation[-1])] if validation else self._folds(dataset)
        measured = [np.array(list(self._measured(*part, directions, executor))) for part in parts]
        measures = np.concatenate(measured, axis=1)
        chosen = best_strength(np.array(SMOOTHINGS), measures, one_se=self.one_se, plainest_last=True)
        names = [_named(smoothing) for smoothing in SMOOTHINGS]
        self.mean_measure_ = dict(zip(names, chosen.means.tolist(), strict=True))
        self.standard_error_ = dict(zip(names, chosen.errors.tolist(), strict=True))
        if np.isnan(chosen.means).any():
            return math.inf
        kept, line = names[chosen.number], chosen.means[-1]
        said = f"{self.measure} {chosen.means[chosen.number]:.4f} on held-out queries"
        best = f"the best of {len(names)} smoothings has {chosen.means.max():.4f}"
        self.remarks_ = (
            f"no shapes: lines have {said}, and {best}"
            if kept == "line"
            else f"shapes with smoothing {kept:g} have {said}, lines {line:.4f}; {best}",
        )
        return SMOOTHINGS[chosen.number]

    def _folds(self, dataset: RankingDataset) -> Iterator[tuple[RankingDataset, RankingDataset]]:
        return dataset.folds(min(self.cv, dataset.n_queries), self.random_state)

    def _measured(
        self, train: RankingDataset, test: RankingDataset, directions: Vector, executor: Threads
    ) -> list[Vector]:
        """The measure of each held-out query for each smoothing, trained from the plainest on."""
        measure = parse_measure(self.measure)
        coded, weights = _Coded.of(train, self.n_knots, directions), np.zeros(0)
        measures: list[Vector] = []
        for smoothing in reversed(SMOOTHINGS):
            last, coded = coded, coded.with_smoothing(smoothing)
            start = coded.weights_from(last, weights) if measures else None
            solution = self._solved(train, coded, executor, start)
            if solution.interrupted:
                raise KeyboardInterrupt
            weights = solution.weights
            shapes, sizes = coded.basis.shapes(coded.at_knots, coded.starts, weights)
            measures.append(measure.per_query(_scores(shapes, sizes, test.features), test))
        return measures[::-1]


def _from_text(monotone: Any) -> Any:
    """A dictionary that was given as JSON, as on a command line; all else as it is."""
    if not (isinstance(monotone, str) and monotone.startswith("{")):
        return monotone
    try:
        return strict_json(monotone)
    except ValueError as error:
        raise LinrankError(f'monotone={monotone!r} is no JSON: {error}. Use {{"feature": "+"}}.') from None


def _named(smoothing: float) -> Any:
    """As JSON has it, which knows no infinity."""
    return float(smoothing) if math.isfinite(smoothing) else "line"


def _scores(shapes: FeatureShapes, sizes: Vector, rows: Any) -> Vector:
    return scores_of(shapes.apply(rows), sizes)


def _row_weights(dataset: RankingDataset) -> Vector | None:
    """What each document counts where values are counted; None where all count alike."""
    documents, queries = dataset.document_weights, dataset.query_weights
    if queries is None:
        return documents
    of_rows = queries[dataset.queries.of_rows()]
    weights: Vector = of_rows if documents is None else documents * of_rows
    return weights if weights.any() else None


def _dense(dataset: RankingDataset) -> NDArray[Any]:
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
