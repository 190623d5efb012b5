"""The L1 path against the clock, and the two solvers of the same L1 problem against one another.

python benchmarks/path.py
"""

from __future__ import annotations

import time

import numpy as np
from letor import is_here, parts
from made_data import mslr_like

from linrank import RankSVM, SparseRank, feature_path, make_ranking
from linrank.dataset.scaling import scaled
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L1
from linrank.objective.placement import PlacedData
from linrank.solvers.proximal_newton import ProximalNewton
from linrank.solvers.solution import Journal


def seconds_of(work):
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def small():
    if is_here("MQ2008", "made data of the same size instead"):
        name, (train,) = "MQ2008 Fold1", parts("MQ2008", 1, "train")
    else:
        name, (train, _) = "471 queries of 20, 46 features", make_ranking(471, 20, 46, levels=(0.81, 0.13, 0.06))
    feature_path(train, None, n_steps=5)
    for relaxed in (False, True):
        seconds, path = seconds_of(lambda relaxed=relaxed: feature_path(train, None, relaxed=relaxed))
        what = "with a refit of each set of features" if relaxed else "the path alone"
        print(f"- {name}, {len(path.steps)} values, {what}: {seconds:.2f} s", flush=True)
    print("\n| l1 | RankSVM(penalty='l1') | SparseRank | ratio | difference of the objectives |")
    print("|---:|---:|---:|---:|---:|")
    for l1 in (3000.0, 300.0, 30.0):
        newton, first = seconds_of(
            lambda l1=l1: RankSVM(1 / l1, penalty="l1", tol=1e-9).fit(train.features, train.labels, qid=train.qid)
        )
        gradient, second = seconds_of(
            lambda l1=l1: SparseRank(l1, tol=1e-9, max_iter=10**6).fit(train.features, train.labels, qid=train.qid)
        )
        difference = abs(first.objective_ * l1 - second.objective_) / second.objective_
        print(
            f"| {l1:g} | {newton:.3f} s | {gradient:.3f} s | {gradient / newton:.1f} | {difference:.1e} |", flush=True
        )


def large(rounds=3):
    """The path beside one fit: turn by turn, the least time of each."""
    data = mslr_like()
    rows = {"X": data.features, "y": data.labels, "group": data.queries.sizes}
    RankSVM().fit(**rows)
    feature_path(data, None, n_steps=3)
    ways = {
        "one RankSVM fit": lambda: RankSVM().fit(**rows),
        "the path, with NDCG@10 of each value": lambda: feature_path(data, None, relaxed=False),
        "the path, with a refit of each set of features": lambda: feature_path(data, None),
    }
    least, results = dict.fromkeys(ways, np.inf), {}
    for _ in range(rounds):
        for way, work in ways.items():
            seconds, results[way] = seconds_of(work)
            least[way] = min(least[way], seconds)
    path = results["the path, with NDCG@10 of each value"]
    sizes = [step.n_features for step in path.steps]
    print(
        f"\n716,770 x 136, {len(sizes)} values, up to {max(sizes)} features:\n\n| | seconds | fits |\n|---|---:|---:|"
    )
    for way, seconds in least.items():
        print(f"| {way} | {seconds:.2f} | **{seconds / least['one RankSVM fit']:.1f}** |")
    assert not path.steps[0].weights.any()
    print(f"\nFarthest from a solution to 1e-7: {farthest(data, path):.1e} of the objective", flush=True)


def farthest(data, path):
    """The largest (value - least) / least of some steps, the least from runs that start from the step."""
    worst = 0.0
    with Threads() as executor:
        # Of the features as the path saw them.
        scaling = path.scaling.scaling
        placed = PlacedData.of(scaled(data, scaling), executor)
        for step in path.steps[1::4]:
            weights = step.weights if scaling is None else scaling.unfold(step.weights)
            point = RankingObjective(SquaredHinge(), L1(step.l1), 1.0, placed).at(weights)
            best = ProximalNewton(1e-7).continue_from(point, Journal())[0].value
            worst = max(worst, point.value / best - 1.0)
    return worst


if __name__ == "__main__":
    small()
    large()
