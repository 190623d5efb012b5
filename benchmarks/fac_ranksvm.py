"""FacRankSVM: an epoch in reads of the matrix, quality beside RankSVM, what rank, C and seed change, learning curves.

A *read* is the time of one float32 `X @ v` in NumPy, all threads; reads and epochs take turns, and ratios are medians.
FacRankSVM itself uses one thread. NDCG is the standard one (gain 2^y - 1); MAP counts labels of 1 and more as relevant.
Published figures are those of Xu et al. (2018), Tables 2, 4 and 7.

    python benchmarks/fac_ranksvm.py                    every part; takes some minutes
    python benchmarks/fac_ranksvm.py epoch quality      some parts of: epoch quality sensitivity curves
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import pairwise

import numpy as np
from figures import save, subplots
from letor import NAMES, is_here, parts
from made_data import mslr_like
from measuring import seconds_of_a_read

from linrank import RankSVM, make_ranking
from linrank.duals import factored_dual_kernels as kernels
from linrank.duals.factored_dual import FactoredDual, FactoredObjective, mark_documents, random_start
from linrank.estimators.fac_rank_svm import FacRankSVM
from linrank.measures import MAP, NDCG, evaluate

RUNS = 7
MEASURES = [MAP, NDCG @ 1, NDCG @ 3, NDCG @ 5]
SELECT = NDCG @ 10
PUBLISHED = {
    ("OHSUMED", "RSVM"): (0.4427, 0.5289, 0.4553, 0.4392),
    ("OHSUMED", "Fac-RSVM"): (0.4518, 0.5671, 0.5113, 0.4889),
    ("MQ2008", "RSVM"): (0.4713, 0.3686, 0.4277, 0.4730),
    ("MQ2008", "Fac-RSVM"): (0.4723, 0.3690, 0.4361, 0.4764),
}
GRIDS = {
    "RankSVM, squared hinge": [RankSVM(2.0**p) for p in range(-22, 5, 2)],
    "RankSVM, hinge": [RankSVM(2.0**p, loss="hinge") for p in range(-22, 5, 2)],
    "FacRankSVM": [FacRankSVM(5, 2.0**p) for p in range(-22, 5, 2)],
    "FacRankSVM, C from 1e-4 to 1e-2": [FacRankSVM(5, C) for C in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)],
    "FacRankSVM, defaults": [FacRankSVM()],
    "FacRankSVM, patience 10": [FacRankSVM(patience=10)],
    "FacRankSVM, patience 10, C = 1": [FacRankSVM(5, 1.0, patience=10)],
}


def folds(name):
    for number in range(1, 6):
        yield tuple(parts(name, number, "train", "vali", "test"))


def trained(ranker, train, vali):
    """A ranker trained, and the seconds it took."""
    watched = {} if getattr(ranker, "patience", None) is None else {
        "eval_set": [(vali.features, vali.labels)], "eval_qid": [vali.qid],
    }  # fmt: skip
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(train.features, train.labels, qid=train.qid, **watched)
    return ranker, time.perf_counter() - started


def measured(weights, data):
    means = evaluate(data.features @ weights, data, MEASURES).mean
    return [means[measure] for measure in MEASURES]


def spread(rows):
    rows = np.asarray(rows)
    cells = zip(rows.mean(0), rows.std(0, ddof=1), strict=True)
    return " | ".join(f"{mean:.4f} ± {deviation:.3f}" for mean, deviation in cells)


# An epoch


def part_epoch():
    print("\n## One epoch, in reads of the matrix\n")
    print("| data | rank | epoch | one read | reads | start and marks, reads | gap, reads |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    dense = mslr_like()
    for rank in (1, 5, 20):
        epoch_of(f"{dense.n_documents:,} x {dense.n_features} float32, 5 levels", dense, rank)
    levels, _ = make_ranking(1_000, 700, 136, levels=None, dtype="float32")
    epoch_of("700,000 x 136 float32, all labels different", levels, 5)
    words, _ = make_ranking(2_000, 100, 1_000_000, density=23e-6, levels=5, dtype="float32")
    objective = FactoredObjective.of(words, 1e-3, 5)
    seconds = [line.seconds for line in FactoredDual(0.0, max_iterations=RUNS).minimize(objective).history]
    speed = words.features.nnz / np.median(np.diff(seconds)) / 1e6
    print(f"\nSparse, 200,000 x 1,000,000 with 23 values a row, rank 5: {speed:.0f} million values a second.")


def epoch_of(name, data, rank):
    """Epochs from the start on, each followed by a read."""
    X, reads = data.features, []
    objective = FactoredObjective.of(data, 1e-3, rank)
    FactoredDual(0.0, max_iterations=1).minimize(objective)
    started = time.perf_counter()
    start = random_start(objective, mark_documents(objective.data.features, 0))
    begun = time.perf_counter() - started
    times = []

    def watch(*_):
        times.append(time.perf_counter())
        reads.append(seconds_of_a_read(X))
        times.append(time.perf_counter())

    solution = FactoredDual(0.0, max_iterations=RUNS).minimize(objective, start, watch=watch)
    epochs = np.array([b - a for a, b in pairwise(times)])[1::2]
    started = time.perf_counter()
    objective.gap(solution.weights, solution.value)
    gap = time.perf_counter() - started
    one = np.median(reads)
    ratio = np.median(epochs / np.array(reads[1:]))
    print(
        f"| {name} | {rank} | {np.median(epochs) * 1e3:.0f} ms | {one * 1e3:.1f} ms | **{ratio:.1f}** "
        f"| {begun / one:.0f} | {gap / one:.0f} |",
        flush=True,
    )


# Quality


def part_quality():
    for name in ("OHSUMED", "MQ2008"):
        print(f"\n## {name}: mean of five test parts ± standard deviation, {SELECT} chosen on validation parts\n")
        print("| method | " + " | ".join(map(str, MEASURES)) + " | seconds of one fit | C chosen |")
        print("|---|" + "---:|" * (len(MEASURES) + 1) + "---|")
        data = list(folds(name))
        for method, grid in GRIDS.items():
            trained(grid[0], *data[0][:2])
            rows, seconds, chosen = [], [], []
            for train, vali, test in data:
                tried = []
                for ranker in grid:
                    _, taken = trained(ranker, train, vali)
                    tried.append((SELECT.mean(vali.features @ ranker.coef_, vali), ranker.coef_, ranker.C))
                    seconds.append(taken)
                _, weights, C = max(tried, key=lambda one: one[0])
                rows.append(measured(weights, test))
                chosen.append(f"{C:.0e}")
            print(f"| {method} | {spread(rows)} | {np.mean(seconds):.3f} | {', '.join(chosen)} |", flush=True)
        for (of, method), means in PUBLISHED.items():
            if of == name:
                print(f"| *{method}, published* | " + " | ".join(f"{mean:.4f}" for mean in means) + " | | |")


# Sensitivity


def part_sensitivity():
    data = list(folds("OHSUMED"))
    print("\n## OHSUMED: what rank, C and the seed change, test measures; the paper's Table 7 is of Fold1\n")
    print("| settings | Fold1: MAP | ndcg@1 | ndcg@3 | ndcg@5 | five folds: MAP | epochs | objective / hinge dual |")
    print("|---|" + "---:|" * 7)
    settings = [{"rank": rank} for rank in (1, 3, 5, 10, 20)]
    settings += [{"C": 10.0**power} for power in (-5, -4, -3, -2, -1, 0)]
    settings += [{"random_state": seed} for seed in range(1, 6)]
    settings += [{"tol": tol} for tol in (1e-3, 1e-5, 1e-6)]
    least = {}
    for given in settings:
        C = given.get("C", FacRankSVM().C)
        if C not in least:
            least[C] = trained(RankSVM(C, loss="hinge", tol=1e-5), *data[0][:2])[0]
        rankers = [trained(FacRankSVM(**given), train, vali)[0] for train, vali, _ in data]
        rows = [measured(ranker.coef_, test) for ranker, (_, _, test) in zip(rankers, data, strict=True)]
        hinge = least[C].objective_ - least[C].gap_
        first = " | ".join(f"{mean:.4f}" for mean in rows[0])
        said = ", ".join(f"{key}={value:g}" for key, value in given.items())
        print(
            f"| {said} | {first} | {np.mean(rows, 0)[0]:.4f} | {np.mean([ranker.n_iter_ for ranker in rankers]):.0f} "
            f"| {-rankers[0].objective_ / hinge:.3f} |",
            flush=True,
        )
    print("\n| paper, Table 7 | MAP | ndcg@1 | ndcg@3 | ndcg@5 |\n|---|---:|---:|---:|---:|")
    for rank, means in {
        1: (0.3472, 0.3939, 0.4250, 0.3962), 3: (0.3475, 0.4242, 0.4236, 0.3877), 5: (0.3486, 0.4242, 0.4127, 0.3860),
        10: (0.3481, 0.4242, 0.4127, 0.3801), 20: (0.3476, 0.4242, 0.4127, 0.3877),
    }.items():  # fmt: skip
        print(f"| K = {rank} | " + " | ".join(f"{mean:.4f}" for mean in means) + " |")
    show_ranks(data[0][0])


def show_ranks(train):
    """How many singular values a query's matrix of multipliers has, the paper's Table 6, and how many make 90 %."""
    print("\n| OHSUMED Fold1 | rank of a query's multipliers, mean | most | for 90 % of the energy, mean |")
    print("|---|---:|---:|---:|")
    for rank in (1, 5, 20):
        objective = FactoredObjective.of(train, FacRankSVM().C, rank)
        data = objective.data
        point = random_start(objective, mark_documents(data.features, 0))
        FactoredDual(1e-6).minimize(objective, point)
        found = []
        for a, b in pairwise(data.query_starts.tolist()):
            above = data.levels[a:b, None] > data.levels[a:b]
            values = np.linalg.svd(above * (point.factors[a:b] @ point.factors[a:b].T), compute_uv=False)
            if values[0] > 0.0:
                energy = np.cumsum(values**2) / np.sum(values**2)
                found.append((np.count_nonzero(values > 1e-3 * values[0]), 1 + np.searchsorted(energy, 0.9)))
        numbers = np.array(found)
        print(f"| rank={rank} | {numbers[:, 0].mean():.1f} | {numbers[:, 0].max()} | {numbers[:, 1].mean():.1f} |")


# Learning curves


def all_at_once(objective, epochs):
    """Projected gradient steps in all vectors together, halved until the objective falls: what is not done, and why."""
    data = objective.data
    point = random_start(objective, mark_documents(data.features, 0))
    gradient = np.empty_like(point.factors)
    longest = int(np.diff(data.query_starts).max())
    columns, tables = (
        np.empty((kernels.ROWS_OF_COLUMNS, longest)),
        np.empty((kernels.TABLES, data.most_levels + 1, objective.rank)),
    )
    rate, history = None, [(0.0, point.value)]
    started = time.perf_counter()
    for _ in range(epochs):
        scores = data.features.product(point.weights, np.empty(data.n_documents))
        for query, (a, b) in enumerate(pairwise(data.query_starts.tolist())):
            columns[0, : b - a] = scores[a:b]
            kernels.gradient_of_query(
                point.factors[a:b], data.document_weights[a:b], data.levels[a:b], data.level_counts[query], columns,
                tables, gradient[a:b],
            )  # fmt: skip
        rate = 2.0 * rate if rate else 1.0 / np.abs(gradient).max()
        while True:
            trial = objective.at(np.clip(point.factors - rate * gradient, 0.0, 1.0))
            if trial.value < point.value or rate * np.abs(gradient).max() < 1e-12:
                break
            rate /= 2.0
        point = trial
        history.append((time.perf_counter() - started, point.value))
    return np.array(history)


def part_curves():
    """Figure 4: distance from the least value of the hinge RankSVM's dual, by epoch and by time, OHSUMED Fold1."""
    train, vali, _ = next(folds("OHSUMED"))
    Cs = (1e-4, 1e-3, 1e-2)
    FactoredDual(0.0, max_iterations=1).minimize(FactoredObjective.of(train, 1.0, 5))
    figure, axes = subplots(2, len(Cs))
    for column, C in enumerate(Cs):
        best, _ = trained(RankSVM(C, loss="hinge", tol=1e-6, max_iter=1000), train, vali)
        least = best.objective_ - best.gap_
        objective = FactoredObjective.of(train, C, 5)
        ours = FactoredDual(0.0, max_iterations=300).minimize(objective).history
        ranksvm = trained(RankSVM(C, loss="hinge", tol=1e-5), train, vali)[0].history_
        lines = {
            "FacRankSVM, dual": np.array([(line.seconds, 1.0 + line.value / least) for line in ours]),
            "all queries at once, dual": all_at_once(objective, 300) * (1.0, 1.0 / least) + (0.0, 1.0),
            "RankSVM (hinge), primal": np.array([(line.seconds, line.value / least - 1.0) for line in ranksvm]),
        }
        for (name, points), style in zip(lines.items(), ("-", ":", "o--"), strict=True):
            shown = np.maximum(points[:, 1], 1e-6)
            axes[0, column].plot(np.arange(len(points)) + 1, shown, style, label=name, markersize=3, linewidth=1.2)
            axes[1, column].plot(np.maximum(points[:, 0], 1e-4), shown, style, markersize=3, linewidth=1.2)
        axes[0, column].set_title(f"C = {C:g}", fontsize=9)
        axes[0, column].set_xlabel("epoch or iteration, from 1")
        axes[1, column].set_xlabel("seconds")
        for place in axes[:, column]:
            place.set(xscale="log", yscale="log", ylim=(1e-5, 2.0))
            place.grid(alpha=0.25)
    for row in axes:
        row[0].set_ylabel("relative distance")
    axes[0, 0].legend(fontsize=7, frameon=False)
    save(figure, "fac-ranksvm-curves")


PARTS = {"epoch": part_epoch, "quality": part_quality, "sensitivity": part_sensitivity, "curves": part_curves}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {' '.join(PARTS)} (all)")
    for asked in parser.parse_args().parts or PARTS:
        if asked == "epoch" or all(is_here(name, f"{asked} is left out") for name in NAMES):
            PARTS[asked]()
