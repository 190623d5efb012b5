"""RankSVM against the clock, in reads of the feature matrix.

A *read* is the time of one float32 `X @ v` in NumPy, all threads, in the same run: what the memory allows. Solvers are
compared at equal objective values: the time at which each is within 1e-6 of the best value known.

    python benchmarks/ranksvm.py                    every part; takes some minutes
    python benchmarks/ranksvm.py dense path         some parts of: right dense levels sparse path bounds scale
                                                    cold
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from letor import is_here, parts
from scipy import sparse

from linrank import RankingDataset, RankSVM, make_ranking
from linrank.executors.local import Threads
from linrank.measures import PairwiseAccuracy
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.regularization_path import regularization_path
from linrank.solvers.tron import TRON

CLOSE = 1e-6
MSLR_SHARES = (0.515, 0.325, 0.134, 0.019, 0.008)


def mslr_like(n_documents=716_770, n_queries=6_000, noise=0.5, n_features=136):
    """Documents, queries and label shares of one MSLR-WEB30K training part."""
    each, more = divmod(n_documents, n_queries)
    made, _ = make_ranking(1, n_documents, n_features, levels=MSLR_SHARES, noise=noise, dtype="float32")
    return RankingDataset.from_arrays(made.features, made.labels, group=[each + 1] * more + [each] * (n_queries - more))


def many_levels(noise=0.5):
    """743,736 documents in 1,017 queries, every label different: 271 million pairs."""
    each, more = divmod(743_736, 1_017)
    made, _ = make_ranking(1, 743_736, 46, levels=None, noise=noise, dtype="float32")
    return RankingDataset.from_arrays(made.features, made.labels, group=[each + 1] * more + [each] * (1_017 - more))


def seconds_of_a_read(X):
    vector = np.ones(X.shape[1], dtype=np.float32)
    times = []
    for _ in range(15):
        started = time.perf_counter()
        X @ vector
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def objective_on(data, C, executor):
    return RankingObjective(SquaredHinge(), L2(), C, PlacedData.of(data, executor))


def active_share(data, scores):
    """The share of preference pairs with a margin below 1, counted in a few queries."""
    active = total = 0
    for query in range(0, data.n_queries, max(1, data.n_queries // 50)):
        rows = slice(data.queries.starts[query], data.queries.starts[query + 1])
        better = data.labels[rows, None] > data.labels[None, rows]
        active += np.count_nonzero(better & (scores[rows, None] - scores[None, rows] < 1))
        total += np.count_nonzero(better)
    return active / max(1, total)


def seconds_until_close(solution, least):
    """When a solver was first within 1e-6 of the least value."""
    return next((line.seconds for line in solution.history if line.value <= least * (1 + CLOSE)), None)


def speed(name, data, C=1.0, with_tron=True):
    """Time of Newton-CG and TRON to within 1e-6 of the least value, in reads."""
    with Threads() as executor:
        placed = objective_on(data, C, executor)
        best = NewtonCG(1e-13).minimize(placed)
        runs = []
        for _ in range(3):
            started = time.perf_counter()
            solution = NewtonCG().minimize(objective_on(data, C, executor))
            runs.append((time.perf_counter() - started, solution))
        seconds, solution = sorted(runs, key=lambda run: run[0])[1]
        tron = TRON(1e-9, max_seconds=120).minimize(placed) if with_tron else None
    reading = seconds_of_a_read(data.features)
    gap = (solution.value - best.value) / best.value
    active = active_share(data, np.asarray(data.features @ solution.weights))
    row = f"| {name} | {active:.0%} | {seconds:.2f} s | {reading * 1e3:.1f} ms | **{seconds / reading:.0f}** "
    row += f"| {gap:.1e} | {solution.inner_iterations + solution.iterations} |"
    if tron is not None:
        until = seconds_until_close(tron, best.value)
        row += f" {'> 120 s' if until is None else f'{until / reading:.0f}'} |"
    print(row, flush=True)


def part_right(_):
    print("\n## Right: MQ2008 Fold1, C = 1 and C = 2^7\n")
    if not is_here("MQ2008"):
        return
    train, test = parts("MQ2008", 1, "train", "test")
    fit = RankSVM(1.0, tol=1e-12).fit(train.features, train.labels, qid=train.qid)
    print(f"minimum {fit.objective_:.11f}, known 29566.52284637665; certified gap {fit.gap_:.1e}")
    fit = RankSVM(2.0**7).fit(train.features, train.labels, qid=train.qid)
    print(f"test pairwise accuracy {PairwiseAccuracy.mean(fit.predict(test.features), test):.1%}, published 82.7%")


HEADER = """
| data | active pairs | NewtonCG | one read | reads | (f - best)/best | passes | TRON, reads |
|---|---:|---:|---:|---:|---:|---:|---:|"""


def part_dense(arguments):
    print(f"\n## Dense: {arguments.documents:,} x 136 float32, 6,000 queries, 5 levels, C = 1")
    print(HEADER)
    for noise in (2.0, 0.5, 0.2):
        speed(f"noise {noise}", mslr_like(arguments.documents, noise=noise))


def part_levels(_):
    print("\n## Many levels: 743,736 x 46 float32, 1,017 queries, every label different, C = 1")
    print(HEADER)
    for noise in (2.0, 0.5, 0.08):
        speed(f"noise {noise}", many_levels(noise))


class ScipyFeatures:
    """Products by SciPy, one thread: what the public implementation's loops cost."""

    def __init__(self, matrix):
        self.matrix, self.transposed = matrix, sparse.csr_array(matrix).T
        self.n_rows, self.n_features = matrix.shape
        self.n_bytes = matrix.data.nbytes + matrix.indices.nbytes

    def rows(self, start, stop):
        return ScipyFeatures(self.matrix[start:stop])

    def product(self, weights, scores):
        scores[:] = self.matrix @ weights
        return scores

    def transposed_product(self, slopes, total):
        total += self.transposed @ slopes
        return total


def mildly_skewed(data):
    """The same rows with features whose frequency falls as 1 / sqrt(j) in place of Zipf's 1 / j."""
    rng = np.random.default_rng(0)
    matrix = data.features.copy()
    matrix.indices = (rng.random(matrix.nnz) ** 2 * matrix.shape[1]).astype(matrix.indices.dtype)
    matrix.has_sorted_indices = matrix.has_canonical_format = False
    matrix.sum_duplicates()
    utility = matrix @ rng.standard_normal(matrix.shape[1])
    noisy = utility / utility.std() + 0.5 * rng.standard_normal(len(utility))
    labels = np.searchsorted(np.quantile(noisy, np.linspace(0, 1, 5_001)[1:-1]), noisy)
    return RankingDataset.from_arrays(matrix, labels, group=[len(labels)])


def part_sparse(_):
    print("\n## Sparse: one query, 200,000 x 1,000,000 CSR, 23 non-zeros a row, 5,000 labels\n")
    print(
        "| features | C | NewtonCG, all threads | TRON, SciPy products, 1 thread | ratio | (f - best)/best | CG steps |"
    )
    print("|---|---|---:|---:|---:|---:|---:|")
    words, _ = make_ranking(1, 200_000, 1_000_000, density=23e-6, levels=5_000, noise=0.5)
    for name, data, C in (
        ("Zipf", words, 1e-6),
        ("mild", mildly_skewed(words), 1e-6),
        ("mild", mildly_skewed(words), 1e-5),
    ):
        with Threads() as executor:
            objective = objective_on(data, C, executor)
            best = NewtonCG(1e-13).minimize(objective)
            started = time.perf_counter()
            ours = NewtonCG().minimize(objective_on(data, C, executor))
            seconds = time.perf_counter() - started
        with Threads(1) as executor:
            import dataclasses

            placed = PlacedData.of(data, executor)
            (query,) = placed.shards[0]
            plain = dataclasses.replace(query, chunks=[ScipyFeatures(data.features)], bounds=(0, data.n_documents))
            placed = dataclasses.replace(placed, shards=[(plain,)])
            theirs = TRON(1e-9, max_seconds=300).minimize(RankingObjective(SquaredHinge(), L2(), C, placed))
        until = seconds_until_close(theirs, best.value)
        shown, ratio = ("> 300 s", "") if until is None else (f"{until:.2f} s", f"{until / seconds:.1f}")
        gap = (ours.value - best.value) / best.value
        print(
            f"| {name} | {C:g} | {seconds:.2f} s | {shown} | **{ratio}** | {gap:.1e} | "
            f"{ours.inner_iterations} and {theirs.inner_iterations} |",
            flush=True,
        )


def part_path(arguments):
    print(f"\n## Path: 26 values of C, 2^-15 to 2^10, on {arguments.documents:,} x 136\n")
    for noise in (2.0, 0.2):
        data = mslr_like(arguments.documents, noise=noise)
        with Threads() as executor:
            objective = objective_on(data, 1.0, executor)
            NewtonCG().minimize(objective)
            started = time.perf_counter()
            NewtonCG().minimize(objective)
            one = time.perf_counter() - started
            started = time.perf_counter()
            steps = list(regularization_path(objective))
            path = time.perf_counter() - started
        products = sum(step.solution.inner_iterations for step in steps)
        print(
            f"noise {noise}: one fit {one:.2f} s, path {path:.2f} s, ratio **{path / one:.1f}**, "
            f"{products} Hessian products",
            flush=True,
        )


def part_bounds(arguments):
    """Fits within bounds beside one without, each to its default tolerance: for bounds, a certified gap."""
    print(
        f"\n## Bounds and a prior: {arguments.documents:,} x 136, ratio to the fit without, the median of three runs\n"
    )
    print("| C | non-negative | bounds that do not bind | prior |\n|---|---|---|---|")
    data = mslr_like(arguments.documents)
    wanted = {
        "non-negative": {"bounds": "non-negative"},
        "free": {"bounds": (-1e6, 1e6)},
        "prior": {"prior": np.ones(136)},
    }
    for C in (1.0, 1e-4):
        times = {name: [] for name in ("plain", *wanted)}
        for _ in range(3):
            for name, settings in (("plain", {}), *wanted.items()):
                started = time.perf_counter()
                RankSVM(C, **settings).fit(data)
                times[name].append(time.perf_counter() - started)
        plain = np.median(times.pop("plain"))
        print(f"| {C:g} | " + " | ".join(f"{np.median(of) / plain:.2f}" for of in times.values()) + " |", flush=True)


SCALE = """
import sys, time
import numpy as np
sys.path.insert(0, {here!r})
from linrank import RankSVM, RankingDataset, make_ranking
from ranksvm import MSLR_SHARES
rows = {rows}
made, _ = make_ranking(1, min(rows, 500_000), 136, levels=MSLR_SHARES, dtype="float32")
times = rows // made.n_documents
X = np.empty((rows, 136), dtype=np.float32)
for part in range(times):
    X[part * made.n_documents:(part + 1) * made.n_documents] = made.features
y = np.tile(made.labels, times)
qid = np.repeat(np.arange(rows // 100), 100)
small = slice(0, 1000)
RankSVM().fit(X[small], y[small], qid=qid[small])
del made

def kilobytes(field):
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(lines[field].split()[0])

# From here on: forget the peak of making the data.
open("/proc/self/clear_refs", "w").write("5")
before = kilobytes("VmRSS")
started = time.perf_counter()
RankSVM().fit(X, y, qid=qid)
seconds = time.perf_counter() - started
print(seconds, 1 + (kilobytes("VmHWM") - before) * 1024 / X.nbytes)
"""


def part_scale(arguments):
    print("\n## Scale: time and peak memory against documents (x 136 float32, queries of 100)\n")
    print("| documents | seconds | microseconds a document | peak memory / features |")
    print("|---:|---:|---:|---:|")
    sizes, seconds = [10_000, 100_000, 1_000_000, 3_000_000, 10_000_000], []
    sizes = [size for size in sizes if size <= arguments.largest]
    for rows in sizes:
        script = SCALE.format(rows=rows, here=str(Path(__file__).parent))
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        taken, memory = map(float, result.stdout.split())
        seconds.append(taken)
        print(f"| {rows:,} | {taken:.3f} | {taken / rows * 1e6:.2f} | {memory:.2f} |", flush=True)
    _plot_scale(sizes, seconds)


def _plot_scale(sizes, seconds):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
    axes.loglog(sizes, seconds, "o-", label="RankSVM.fit")
    axes.loglog(sizes, np.array(sizes) * seconds[-1] / sizes[-1], ":", color="gray", label="linear")
    axes.set(xlabel="documents (x 136 features)", ylabel="seconds", title="Training time grows linearly")
    axes.legend(frameon=False)
    out = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "scale.svg"
    out.parent.mkdir(exist_ok=True)
    figure.savefig(out)


COLD = """
import time; started = time.perf_counter()
import numpy as np
from linrank import RankSVM
rng = np.random.default_rng(0)
X, y, qid = rng.random((9219, 45)), rng.integers(0, 3, 9219), np.arange(9219) // 146
RankSVM().fit(X, y, qid=qid)
first = time.perf_counter() - started
started = time.perf_counter()
RankSVM().fit(X, y, qid=qid)
print(first, time.perf_counter() - started)
"""


def part_cold(_):
    print("\n## Cold start: 9,219 x 45, 63 queries (an OHSUMED fold's size), seconds in all\n")
    with tempfile.TemporaryDirectory() as cache:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        for name in ("first fit ever, compiling", "new process, warm cache"):
            started = time.perf_counter()
            result = subprocess.run(
                [sys.executable, "-c", COLD],
                capture_output=True,
                text=True,
                check=True,
                env={**environment, "NUMBA_CACHE_DIR": cache},
            )
            whole = time.perf_counter() - started
            inside, again = map(float, result.stdout.split())
            print(
                f"- {name}: {whole:.2f} s for the process ({inside:.2f} s from the first import); "
                f"a second fit {again:.3f} s"
            )


PARTS = {
    "right": part_right,
    "dense": part_dense,
    "levels": part_levels,
    "sparse": part_sparse,
    "path": part_path,
    "bounds": part_bounds,
    "scale": part_scale,
    "cold": part_cold,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {' '.join(PARTS)} (all)")
    parser.add_argument("--documents", type=int, default=716_770)
    parser.add_argument("--largest", type=int, default=10_000_000, help="of the scale part")
    asked = parser.parse_args()
    for part in asked.parts or PARTS:
        PARTS[part](asked)
