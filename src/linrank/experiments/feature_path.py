"""feature_path: quality against the number of features, and the model at any point of the curve."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.applied_scaling import folded
from linrank.dataset.features import scores_of
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.repeats import without_repeated_columns
from linrank.dataset.scaling import ScalingChoice, choose_scaling, scaling_named
from linrank.dataset.stored_dataset import StoredDataset
from linrank.errors import LinrankError, fault_of_size
from linrank.executors.local import Threads
from linrank.experiments.path_fits import PathSettings
from linrank.experiments.path_views import draw_path, path_frame, path_html
from linrank.measures import Measure, bootstrap_interval, parse_measure, within_one_standard_error
from linrank.model import LinearModel, utc_now
from linrank.objective.objective import EvaluatedPoint
from linrank.objective.placed_blocks import Shard
from linrank.objective.shard_tasks import ShardState
from linrank.reading.partitions import PartitionedDataset
from linrank.reading.scan import scan

REFIT = "; then, on the features chosen, w.w / 2 + the sum over pairs"
FORMULA = "sum over pairs of max(0, 1 - w.(x_i - x_j))^2 + l1 * sum_j cost_j |w_j|"


@dataclass(frozen=True, eq=False, repr=False)
class FeatureStep:
    """One point of the curve: the weights, and how well they rank."""

    l1: float
    weights: Vector
    """Of the raw features, whatever the scaling they were chosen under."""
    cost: float
    train: float
    """The measure on the training queries."""
    held_out: Vector | None
    """The measure of each held-out query, where there were any."""

    @property
    def n_features(self) -> int:
        return int(np.count_nonzero(self.weights))

    @property
    def mean(self) -> float:
        """The mean over held-out queries, or on the training queries where there were none."""
        return self.train if self.held_out is None else float(np.nanmean(self.held_out))

    def is_near(self, best: FeatureStep) -> bool:
        """Whether it is within one standard error of the best, by the differences over the same held-out queries."""
        if self.held_out is None or best.held_out is None:
            return self.mean >= best.mean
        return within_one_standard_error(self.held_out, best.held_out)

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Bootstrap interval of the mean over held-out queries."""
        if self.held_out is None:
            return None
        values = self.held_out[~np.isnan(self.held_out)]
        low, high = bootstrap_interval(values, level=level)
        return low, high

    def __repr__(self) -> str:
        return f"FeatureStep({self.n_features} of {len(self.weights)} features, mean {self.mean:.4f}, l1 {self.l1:.6g})"


@dataclass(frozen=True, eq=False, repr=False)
class FeaturePath:
    """The curve, from no features to many.

    Attributes
    ----------
    steps : tuple of FeatureStep
        One for each value of the penalty, the strongest first.
    feature_names : tuple of str
    measure : Measure
    costs : ndarray
        Of each feature; 1 unless told.
    scaling : ScalingChoice
        What the features were scaled by while they were chosen, fitted on the training data.
    repeated : dict
        Features that get no weight, since another, whose name is given, says the same: it is equal up to a factor and a
        constant within each query. Of such features the cheapest may get a weight, the first of equally cheap ones.
    relaxed : bool
        Whether the weights of each set of features are those of a refit without shrinkage.
    """

    steps: tuple[FeatureStep, ...]
    feature_names: tuple[str, ...]
    measure: Measure
    costs: Vector
    scaling: ScalingChoice
    repeated: Mapping[str, str] = field(default_factory=dict)
    relaxed: bool = True

    def by_size(self) -> list[FeatureStep]:
        """The best step of each number of features, the fewest first."""
        best: dict[int, FeatureStep] = {}
        for step in self.steps:
            if step.n_features not in best or step.mean > best[step.n_features].mean:
                best[step.n_features] = step
        return [best[size] for size in sorted(best) if size > 0]

    def select_features(
        self, max_features: int | None = None, *, max_cost: float | None = None, one_se: bool = False
    ) -> FeatureStep:
        """The best step within a budget; with `one_se`, the cheapest within one standard error of the best."""
        allowed = [
            step
            for step in self.by_size()
            if (max_features is None or step.n_features <= max_features) and (max_cost is None or step.cost <= max_cost)
        ]
        if not self.by_size():
            raise LinrankError(
                "no model of the path has a feature. Raise max_features, if it is small; or else no feature differs "
                "between documents of one query that have different labels: look at the data with `linrank info`."
            )
        if not allowed:
            least = min(self.by_size(), key=lambda step: step.cost)
            raise LinrankError(
                f"no model fits the budget; the smallest has {least.n_features} features at a cost of {least.cost:g}."
            )
        best = max(allowed, key=lambda step: step.mean)
        if one_se:
            best = min((step for step in allowed if step.is_near(best)), key=lambda step: step.cost)
        return best

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row for each number of features: quality, interval, cost and which they are."""
        return path_frame(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw quality against number of features with matplotlib, on `ax` or new axes, which are returned."""
        return draw_path(self, ax)

    def __repr__(self) -> str:
        steps = self.by_size()
        if not steps:
            return f"FeaturePath(no feature of {len(self.feature_names)} has a weight)"
        best, near = self.select_features(), self.select_features(one_se=True)
        return (
            f"FeaturePath({self.measure} {best.mean:.4f} with {best.n_features} of {len(self.feature_names)} features, "
            f"{near.mean:.4f} with {near.n_features}; from {steps[0].n_features} to {steps[-1].n_features} features)"
        )

    def _repr_html_(self) -> str:
        return path_html(self)

    def to_model(self, step: FeatureStep) -> LinearModel:
        """A step as a model; features with no weight stay in it, with weight 0."""
        scaling = self.scaling.scaling
        return LinearModel(
            step.weights if scaling is None else scaling.unfold(step.weights),
            self.feature_names,
            scaling,
            "feature-path",
            FORMULA + (REFIT if self.relaxed else ""),
            {"l1": step.l1, "relaxed": self.relaxed},
            {
                "scaling": str(self.scaling),
                "features_used": step.n_features,
                "cost": step.cost,
                str(self.measure): step.mean,
            },
            trained_at=utc_now(),
        )


def feature_path(
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    max_features: int | None = None,
    cv: int | Sequence[tuple[RankingDataset, RankingDataset]] | None = None,
    eval_set: tuple[Any, Any] | RankingDataset | None = None,
    eval_qid: Any = None,
    costs: Sequence[float] | None = None,
    relaxed: bool = True,
    measure: str | Measure = "ndcg@10",
    n_steps: int = 50,
    smallest: float = 1e-3,
    penalty: str = "l1",
    l1_ratio: float = 1.0,
    tol: float = 1e-3,
    scaling: str = "standard",
    bounds: Any = None,
    random_state: int = 0,
    n_threads: int | None = None,
    executor: Any = None,
) -> FeaturePath:
    """Train a sparse ranker for every strength of the L1 penalty: quality against number of features.

    Minimises `sum over pairs of max(0, 1 - w.(x_i - x_j))² + l1 sum_j cost_j |w_j|` for `n_steps` values of l1, from
    the largest that leaves any feature (computed, not guessed) down to `smallest` of it, each start warm. The features
    are standardised first, so that their units do not decide which are chosen; the weights are those of the raw ones.

    Parameters
    ----------
    X, y, qid, group : as for `RankSVM.fit`: arrays, or a RankingDataset alone; or what `linrank.scan` returns or the
        path of a .linrank file, which is not loaded: features that say the same are then not looked for, and there is
        no `cv`
    max_features : stop the path where a model has more
    cv : number of folds of whole queries to measure each step on queries it was not trained on; or the folds, each a
        dataset to train on and one to measure on
    eval_set, eval_qid : held-out data (X, y) and its query ids, or a RankingDataset, in place of `cv`; columns with
        names are found by them
    costs : what each feature costs in the engine, such as milliseconds; the penalty is weighted by it
    relaxed : refit each set of features without shrinkage (RankSVM with C = 1)
    measure : what the curve shows
    n_steps, smallest : the values of l1
    penalty : "l1", or "mcp": a concave penalty that does not shrink large weights, from each L1 solution on
    l1_ratio : below 1, an elastic net: `l1 (l1_ratio |w|_1 + (1 - l1_ratio) w.w / 2)`
    tol : relative duality gap of each step
    scaling : "standard"; "max-abs", "min-max", "auto" as for `linrank train`; or "none": a feature in large units then
        needs a small weight, and is chosen first. Fitted on the training part alone
    bounds : what each weight may be, as for `RankSVM`, such as "non-negative"; of the raw features
    random_state : seed of the folds
    executor : DaskExecutor
        Who trains: threads of this process unless told. The path is the same to the last bit; the data is a .linrank
        file, which the workers read.

    Returns
    -------
    FeaturePath
    """
    dataset = _to_train_on(X, y, qid, group)
    prices = _checked_costs(costs, dataset.n_features)
    _check_settings(n_steps, smallest, l1_ratio, cv, eval_set)
    repeated: Mapping[str, str] = {}
    if isinstance(dataset, StoredDataset):
        _check_file(dataset, cv)
    else:
        dataset.check_complete()
        dataset, repeated = without_repeated_columns(dataset, prices)
    if penalty not in ("l1", "mcp"):
        raise LinrankError(f"penalty={penalty!r}; use 'l1', with l1_ratio below 1 for an elastic net, or 'mcp'.")
    if penalty == "mcp" and (costs is not None or l1_ratio < 1 or bounds is not None):
        raise LinrankError("penalty='mcp' takes neither costs, nor l1_ratio, nor bounds; use penalty='l1' with them.")
    if scaling == "query":
        raise LinrankError(
            "scaling='query' cannot be folded into weights of raw features; use 'standard' or 'max-abs'."
        )
    chosen = parse_measure(measure) if isinstance(measure, str) else measure
    shares = np.geomspace(1.0, smallest, n_steps)
    if executor is not None:
        # By which a log of its rounds is known.
        said = [n_steps, smallest, penalty, l1_ratio, tol, scaling, relaxed, max_features]
        said += [prices.tolist(), repr(bounds)]
        executor.about = {"method": "feature-path", "settings": said}
    with Threads(n_threads) if executor is None else executor as who:
        how = PathSettings(shares, prices, relaxed, penalty, l1_ratio, tol, max_features, bounds, who)
        choice = choose_scaling(scaling, dataset)
        steps: list[FeatureStep] = []
        last: EvaluatedPoint | None = None
        for l1, point in how.fits(dataset, choice.scaling):
            if last is None or point.weights is not last.weights:
                last, weights = point, folded(point.weights, choice.scaling)
                train = chosen.mean(_scores_at(point, dataset), dataset, n_threads=how.n_threads)
            steps.append(FeatureStep(l1, weights, float(prices[weights != 0].sum()), train, None))
        held_out = _held_out(dataset, how, chosen, cv, eval_set, eval_qid, scaling, random_state)
    if held_out is not None:
        steps = [replace(step, held_out=values) for step, values in zip(steps, held_out, strict=False)]
    return FeaturePath(tuple(steps), dataset.names, chosen, prices, choice, repeated, relaxed)


def stability(
    dataset: RankingDataset, max_features: int, *, n_resamples: int = 50, random_state: int = 0, **settings: Any
) -> Vector:
    """How often each feature is among the first `max_features` when queries are drawn again with replacement.

    A share of `n_resamples` for each feature; `settings` are those of `feature_path`.
    """
    counts = np.zeros(dataset.n_features)
    rng, order = np.random.default_rng(random_state), dataset.queries.drawn(random_state)
    n_queries = dataset.n_queries
    for _ in range(n_resamples):
        # Drawing queries again is weighing them by how often they came: no copy of the data.
        drawn = np.bincount(order[rng.integers(0, n_queries, size=n_queries)], minlength=n_queries).astype(np.float64)
        weighted = replace(dataset, query_weights=drawn)
        path = feature_path(weighted, None, max_features=max_features, relaxed=False, **settings)
        fitting = [step for step in path.steps if step.n_features <= max_features]
        counts += fitting[-1].weights != 0
    return counts / n_resamples


def _to_train_on(X: Any, y: Any, qid: Any, group: Any) -> Any:
    if isinstance(X, str | os.PathLike):
        X = scan(X)
    if isinstance(X, RankingDataset):
        return X
    if isinstance(X, PartitionedDataset):
        raise LinrankError(
            f"{X.source}: a path takes a .linrank file, and no folder of Parquet files. Convert it first."
        )
    if isinstance(X, StoredDataset):
        if any(given is not None for given in (y, qid, group)):
            raise LinrankError("a StoredDataset brings its own labels and queries: pass nothing beside it.")
        return X
    return RankingDataset.from_arrays(X, y, qid=qid, group=group)


def _check_file(dataset: StoredDataset, cv: object) -> None:
    dataset.require_labels()
    if cv is not None:
        raise LinrankError(
            f"{dataset.source}: cv=… would copy data that is not loaded. Hold out queries in a file of their own, "
            "eval_set=…, or load the data: linrank.read in Python, neither --memory nor --dask on the command line."
        )


def _scores_at(point: EvaluatedPoint, dataset: RankingDataset | StoredDataset) -> Vector:
    """The scores that a point was evaluated at, in the order of the dataset's rows."""
    data = point.objective.data
    grouped = np.empty(data.n_documents)
    for of_shard in data.tell(_scores_of_rows, point.states):
        for first_row, scores in of_shard:
            grouped[first_row:][: len(scores)] = scores
    # In a file that is read block after block, each query's rows stand together.
    return grouped if isinstance(dataset, StoredDataset) else dataset.queries.ungrouped(grouped)


def _scores_of_rows(shard: Shard, state: ShardState) -> list[tuple[int, Vector]]:
    return [(placed.block.first_row, state.scores[number]) for number, placed in enumerate(shard.judged())]


def _held_out(
    dataset: RankingDataset,
    how: PathSettings,
    measure: Measure,
    cv: int | Sequence[tuple[RankingDataset, RankingDataset]] | None,
    eval_set: tuple[Any, Any] | RankingDataset | None,
    eval_qid: Any,
    scaling: str,
    random_state: int,
) -> NDArray[np.float64] | None:
    """The measure of each held-out query at each step; the last step of a path that ended early stands for the rest."""
    if eval_set is not None:
        given = (
            eval_set if isinstance(eval_set, RankingDataset) else RankingDataset.from_arrays(*eval_set, qid=eval_qid)
        )
        pairs = [(dataset, given.with_columns(dataset.names, "the eval_set"))]
    elif cv is not None:
        pairs = (
            list(dataset.folds(cv, random_state))
            if isinstance(cv, int)
            else [(without_repeated_columns(train, how.costs)[0], test) for train, test in cv]
        )
    else:
        return None
    # A fold's path may have more features at the same share: it is not cut short by the budget.
    unlimited = replace(how, max_features=None)
    parts = []
    for train, test in pairs:
        fitted = scaling_named(scaling, train)
        scores = (scores_of(test.features, folded(point.weights, fitted)) for _, point in unlimited.fits(train, fitted))
        parts.append(np.array([measure.per_query(of_step, test, n_threads=how.n_threads) for of_step in scores]))
    return np.concatenate(parts, axis=1)


def _checked_costs(costs: Sequence[float] | None, n_features: int) -> Vector:
    if costs is None:
        return np.ones(n_features)
    prices = np.asarray(costs, dtype=np.float64)
    if prices.shape != (n_features,):
        raise LinrankError(f"costs has shape {prices.shape}; pass one number a feature, {n_features} in all.")
    for place, price in enumerate(prices.tolist()):
        if not 0.0 < price < np.inf:
            raise LinrankError(f"costs[{place}] is {price}; a cost is a positive number, such as milliseconds.")
        if remedy := fault_of_size(price):
            raise LinrankError(f"costs[{place}] is {price:g}; {remedy}")
    return prices


def _check_settings(n_steps: int, smallest: float, l1_ratio: float, cv: object, eval_set: object) -> None:
    if n_steps < 2 or not 0 < smallest < 1:
        raise LinrankError(f"n_steps={n_steps}, smallest={smallest}: use at least 2 steps, down to a share below 1.")
    if not 0 < l1_ratio <= 1:
        raise LinrankError(f"l1_ratio={l1_ratio}; use above 0, up to 1 for L1 alone.")
    if remedy := fault_of_size(l1_ratio):
        raise LinrankError(f"l1_ratio={l1_ratio:g}; {remedy}")
    if cv is not None and eval_set is not None:
        raise LinrankError("pass either cv= or eval_set=, not both.")
