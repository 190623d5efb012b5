"""Pairwise least squares: GDM, EGDM and PairwiseRidge beside one another, the paper's claims, and the clock.

A *read* is the time of one float32 `X @ v` in NumPy, all threads; reads and runs take turns, and ratios are medians.

    python benchmarks/least_squares.py                    every part; takes some minutes
    python benchmarks/least_squares.py path sparse        some parts of: agree eigenvalues iterations stream quality
                                                          path sparse
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import replace

import numpy as np
from figures import save, subplots
from letor import NAMES, first_folds, is_here, parts
from made_data import mslr_like
from measuring import seconds_of, seconds_of_a_read

from linrank import RankSVMCV, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.estimators.egdm import EGDM
from linrank.estimators.gdm import GDM
from linrank.estimators.pairwise_ridge import DEFAULT_GAMMAS, PairwiseRidge, PairwiseRidgeCV
from linrank.executors.local import Threads
from linrank.measures import MAP, NDCG
from linrank.objective.least_squares import LeastSquares
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.online.heavy_ball import STREAM_MOMENTUM, StochasticHeavyBall, Stream
from linrank.solvers.heavy_ball import HeavyBall, Rates, power_iteration
from linrank.solvers.normal_equations import GramRidge, NormalEquations
from linrank.solvers.ridge_cg import RidgeCG

RUNS = 7
MOST_STEPS = 10_000


# As `EGDM.partial_fit` cuts them.
DOCUMENTS_A_STEP = 128


def datasets():
    """The real data where it is to be had, and synthetic data that is better conditioned."""
    return first_folds() | {"synthetic, 20,000 x 50": make_ranking(400, 50, 50)[0]}


def independent():
    """Independent features, whose largest eigenvalues lie close together: hard for power iteration."""
    return {"independent, 2,000 x 1,500": make_ranking(100, 20, 1_500, correlation=0.0, skew=False)[0]}


def objective_on(data, gamma, executor):
    return RankingObjective(LeastSquares(), L2(gamma), 1.0, PlacedData.of(data, executor))


def part_agree(_):
    print("\n## All solve the same: largest difference of a weight from PairwiseRidge's, over the largest weight\n")
    print("| data | gamma | EGDM | steps | CG | steps | GDM, momentum 0.9 | steps |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, data in datasets().items():
        X, y, qid = data.features, data.labels, data.qid
        for gamma in (100.0, 10.0):
            exact = PairwiseRidge(gamma, solver="gram").fit(X, y, qid=qid).coef_
            row = f"| {name} | {gamma:g} |"
            for ranker in (EGDM(gamma, tol=1e-20), PairwiseRidge(gamma, solver="cg", tol=1e-20), GDM(gamma, tol=1e-20)):
                fit = ranker.fit(X, y, qid=qid)
                row += f" {np.abs(fit.coef_ - exact).max() / np.abs(exact).max():.0e} | {fit.n_iter_} |"
            print(row, flush=True)


def without_centring(data, gamma, iterations=20, seed=0):
    """Algorithm 1 as it is printed: X'X in place of X'LX."""
    X = np.asarray(data.features, dtype=np.float64)
    v, omega = (u / np.linalg.norm(u) for u in np.random.default_rng(seed).standard_normal((2, X.shape[1])))
    estimates = []
    for _ in range(iterations):
        v = X.T @ (X @ v) + gamma * v
        largest = np.linalg.norm(v)
        v /= largest
        product = X.T @ (X @ omega) + gamma * omega
        estimates.append((largest, omega @ product))
        omega = product - largest * omega
        omega /= np.linalg.norm(omega)
    return np.array(estimates)


def part_eigenvalues(_):
    """Figures 1 and 2 of the paper: the estimates of kappa_1 kappa_n and kappa_1 / kappa_n, iteration by iteration."""
    print("\n## Power iteration: estimate / true value after 20 iterations\n")
    print(
        "| data | gamma | kappa_1 | kappa_n | of kappa_1 | of kappa_n | of the product | of the ratio | not centred |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    made, gammas = datasets() | independent(), (1000.0, 10.0, 0.1)
    figure, axes = subplots(2, len(made))
    for place, (name, data) in enumerate(made.items()):
        for gamma, colour in zip(gammas, ("C0", "C1", "C2"), strict=True):
            with Threads() as executor:
                objective = objective_on(data, gamma, executor)
                values = np.linalg.eigvalsh(NormalEquations.of(objective).gram)
                found = power_iteration(objective.at(np.zeros(data.n_features)), 60, seed=0)
            largest, smallest = values[-1] + gamma, max(values[0], 0.0) + gamma
            ups, downs = np.array(found.estimates).T
            printed = without_centring(data, gamma)[-1]
            steps = np.arange(1, len(ups) + 1)
            axes[0, place].loglog(steps, ups * downs / (largest * smallest), color=colour, label=f"gamma = {gamma:g}")
            axes[1, place].loglog(steps, (ups / downs) / (largest / smallest), color=colour)
            at = min(20, len(ups)) - 1
            print(
                f"| {name} | {gamma:g} | {largest:.3g} | {smallest:.3g} | {ups[at] / largest:.4f} | "
                f"{downs[at] / smallest:.2f} | {ups[at] * downs[at] / (largest * smallest):.2f} | "
                f"{(ups[at] / downs[at]) / (largest / smallest):.3f} | {printed[0] / largest:.2f}, "
                f"{printed[1] / smallest:.2f} |",
                flush=True,
            )
        axes[0, place].set_title(name, fontsize=9)
        for row in axes[:, place]:
            row.axhline(1.0, color="gray", linewidth=0.8, linestyle=":")
            row.axvline(20, color="gray", linewidth=0.8, linestyle=":")
            row.grid(alpha=0.25)
        axes[1, place].set_xlabel("power iterations")
    axes[0, 0].set_ylabel("kappa_1 kappa_n, estimate / true", fontsize=8)
    axes[1, 0].set_ylabel("kappa_1 / kappa_n, estimate / true", fontsize=8)
    axes[0, 0].legend(fontsize=7, frameon=False)
    save(figure, "egdm-eigenvalues")


def as_printed(objective, tolerance=1e-6):
    """Algorithm 2 with the estimates of Algorithm 1 (centred) and no guard: steps, and how high F rose over F(0)."""
    point = objective.at(np.zeros(objective.data.n_features))
    estimates = power_iteration(point, 20, seed=0).estimates[-1]
    rates = Rates.best(*estimates)
    first, highest, velocity = point.value, point.value, np.zeros_like(point.weights)
    for steps in range(1, MOST_STEPS + 1):
        velocity = rates.momentum * velocity - rates.step * point.gradient
        point = objective.at(point.weights + velocity)
        highest = max(highest, point.value)
        if not point.value <= 1e12 * first:
            return None, highest / first
        if point.gradient @ point.gradient <= 2 * objective.penalty.strength * tolerance * point.value:
            return steps, highest / first
    return MOST_STEPS, highest / first


def part_iterations(_):
    """The paper's claim: GDM needs more and more steps as gamma falls, and eGDM does not."""
    gammas = 10.0 ** np.arange(4, -5, -1)
    print(f"\n## Steps until F - min F is certified to be below 1e-6 F, as gamma falls (at most {MOST_STEPS:,})\n")
    print("eGDM's 40 products for its eigenvalues are not counted. *Rise* is the highest F over F(0) on the way.\n")
    print("| data | gamma | kappa_1 / kappa_n | no momentum | GDM, 0.9 | eGDM as printed | rise | EGDM | CG |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    made = datasets() | independent()
    figure, axes = subplots(1, len(made))
    for place, (name, data) in zip(axes[0], made.items(), strict=True):
        curves = {"no momentum": [], "GDM, momentum 0.9": [], "eGDM as printed": [], "EGDM": [], "CG": []}
        for gamma in gammas:
            with Threads() as executor:
                objective = objective_on(data, gamma, executor)
                values = np.linalg.eigvalsh(NormalEquations.of(objective).gram)
                counts = []
                for solver in (HeavyBall(0.0), HeavyBall(0.9), None, HeavyBall(), RidgeCG()):
                    if solver is None:
                        steps, rise = as_printed(objective)
                        counts.append(steps)
                        continue
                    solution = solver.minimize(objective)
                    counts.append(solution.iterations if solution.converged else MOST_STEPS)
            ratio = (values[-1] + gamma) / (max(values[0], 0.0) + gamma)
            for curve, steps in zip(curves.values(), counts, strict=True):
                curve.append(np.nan if steps is None else steps)
            shown = [
                "diverges" if steps is None else f"> {steps:,}" if steps >= MOST_STEPS else f"{steps:,}"
                for steps in counts
            ]
            print(
                f"| {name} | {gamma:g} | {ratio:.1e} | {shown[0]} | {shown[1]} | {shown[2]} | {rise:.3g} | "
                f"**{shown[3]}** | {shown[4]} |",
                flush=True,
            )
        for (label, curve), style in zip(curves.items(), ("v:", "^--", "x--", "o-", "s-"), strict=True):
            place.loglog(gammas, curve, style, label=label, markersize=3.5, linewidth=1.2)
        place.invert_xaxis()
        place.set_title(name, fontsize=9)
        place.set_xlabel("gamma")
        place.grid(alpha=0.25)
    axes[0, 0].set_ylabel("steps to 1e-6")
    axes[0, 0].legend(fontsize=7, frameon=False)
    save(figure, "egdm-iterations")


def blocks_of(data):
    return cut_into_blocks(data, DOCUMENTS_A_STEP * data.features.dtype.itemsize * data.n_features)


def other_stream(data, gamma, passes, step):
    """Weights after each pass of a stochastic gradient whose step is given; a block's gradient is a mean."""
    weights, loss = np.zeros(data.n_features), LeastSquares()
    state = np.zeros(data.n_features)
    after = []
    for _ in range(passes):
        for block in blocks_of(data):
            at = loss.at(block.features.product(weights, np.empty(block.n_documents)), block)
            gradient = block.features.transposed_product(at.slopes, np.zeros(data.n_features)) / block.n_documents
            gradient += gamma / data.n_documents * weights
            weights = weights - step(gradient, state)
        after.append(weights)
    return after


def sgd(rate):
    return lambda gradient, _: rate * gradient


def feature_rates(rate):
    """MinBatSRank's update without its L1 penalty: a learning rate for each feature, by its past gradients."""

    def step(gradient, state):
        state += gradient**2
        return rate * gradient / np.sqrt(1e-12 + state)

    return step


def egdms_own(objective):
    """eGDM's rates for the mean over all documents, used block by block."""
    found = power_iteration(objective.at(np.zeros(objective.data.n_features)), 20, seed=0)
    rates = Rates.best(*(value / objective.data.n_documents for value in (found.largest, found.smallest)))

    def step(gradient, state):
        state *= rates.momentum
        state += rates.step * gradient
        return state

    return step


def our_stream(data, gamma, passes, momentum=STREAM_MOMENTUM, *, averaged=True):
    after = []
    stream = Stream.starting_at(np.zeros(data.n_features))
    for number in range(1, passes + 1):
        # What comes again counts again: gamma beside so many passes is gamma beside one.
        method = StochasticHeavyBall(LeastSquares(), gamma * number, momentum)
        blocks = blocks_of(data)
        method.learn(stream, blocks, range(len(blocks)))
        after.append((stream.weights if averaged else stream.last).copy())
    return after


OURS = {
    "EGDM.partial_fit": {},
    "the same, momentum 0": {"momentum": 0.0},
    "the same, momentum 0.9": {"momentum": 0.9},
    "the same, not averaged": {"averaged": False},
}


def part_stream(_):
    """The paper's open question: eGDM on a stochastic loss, block by block."""
    passes, gamma = 20, 1.0
    print("\n## Streams: (F - min F) / min F after 1, 2, 5 and 20 passes, gamma = 1, blocks of about 128 documents\n")
    print("The rates of the two others are the best of 2^-14 ... 2^4 for the first pass; ours has none to choose.\n")
    print("| data | method | rate | 1 | 2 | 5 | 20 |")
    print("|---|---|---:|---:|---:|---:|---:|")
    made = datasets()
    styles = ("o-", "", "", "", "v:", "^--", "", "s-")
    figure, axes = subplots(1, len(made))
    for place, (name, data) in zip(axes[0], made.items(), strict=True):
        with Threads() as executor:
            objective = objective_on(data, gamma, executor)
            least = GramRidge().minimize(objective).value

            def distance(weights, objective=objective, least=least):
                with np.errstate(over="ignore", invalid="ignore"):
                    return (objective.at(weights).value - least) / least

            lines = {
                label: ("", [distance(weights) for weights in our_stream(data, gamma, passes, **settings)])
                for label, settings in OURS.items()
            }
            for label, make in (("stochastic gradient", sgd), ("a rate for each feature", feature_rates)):
                rates = 2.0 ** np.arange(-14, 5)
                with np.errstate(over="ignore", invalid="ignore"):
                    firsts = [distance(other_stream(data, gamma, 1, make(rate))[0]) for rate in rates]
                    best = rates[np.nanargmin(firsts)]
                    after = other_stream(data, gamma, passes, make(best))
                lines[label] = (f"2^{int(np.log2(best))}", [distance(weights) for weights in after])
            with np.errstate(over="ignore", invalid="ignore"):
                after = other_stream(data, gamma, passes, egdms_own(objective))
                lines["eGDM's rates on blocks"] = ("", [distance(weights) for weights in after])
            whole = []
            HeavyBall(tolerance=1e-300, max_iterations=passes).minimize(
                objective, watch=lambda line, _, whole=whole: whole.append(line.value)
            )
            lines["EGDM, whole gradients"] = ("", [(value - least) / least for value in whole[1 : passes + 1]])
        for (label, (rate, curve)), style in zip(lines.items(), styles, strict=True):
            shown = " | ".join(f"{curve[number - 1]:.1e}" for number in (1, 2, 5, 20))
            print(f"| {name} | {label} | {rate} | {shown} |", flush=True)
            if style:
                place.loglog(np.arange(1, passes + 1), curve, style, label=label, markersize=3, linewidth=1.2)
        place.set_title(name, fontsize=9)
        place.set_xlabel("passes")
        place.grid(alpha=0.25)
    axes[0, 0].set_ylabel("(F - min F) / min F")
    axes[0, 0].legend(fontsize=7, frameon=False)
    save(figure, "egdm-stream")


def part_quality(_):
    print("\n## Quality: five folds, trained and chosen on the training parts, mean over folds ± standard deviation\n")
    print("| data | ranker | chosen by | test NDCG@10 | test MAP | seconds |")
    print("|---|---|---|---:|---:|---:|")
    rankers = (
        ("PairwiseRidgeCV, 50 gammas", "NDCG@10, leaving out each query", PairwiseRidgeCV()),
        ("PairwiseRidgeCV, 50 gammas", "squared error, the same", PairwiseRidgeCV(measure="squared_error")),
        ("RankSVMCV, 26 values of C", "NDCG@10, 5 folds", RankSVMCV()),
    )
    for name in NAMES:
        if not is_here(name):
            continue
        for label, how, ranker in rankers:
            rows = []
            for fold in range(1, 6):
                train, test = parts(name, fold, "train", "test")
                seconds = seconds_of(lambda: ranker.fit(train.features, train.labels, qid=train.qid))  # noqa: B023
                scores = ranker.predict(test.features)
                rows.append(((NDCG @ 10).mean(scores, test), MAP.mean(scores, test), seconds))
            (ndcg, precision, seconds), (spread, other, _) = np.mean(rows, axis=0), np.std(rows, axis=0)
            measured = f"{ndcg:.4f} ± {spread:.3f} | {precision:.4f} ± {other:.3f} | {seconds:.2f}"
            print(f"| {name} | {label} | {how} | {measured} |", flush=True)


def part_path(arguments):
    data = mslr_like(arguments.documents)
    X, y, qid = data.features, data.labels, data.qid
    gammas = np.array(DEFAULT_GAMMAS)
    print(f"\n## Path: {len(gammas)} values of gamma on {data.n_documents:,} x 136 float32, 6,000 queries\n")
    print("| | time | one read | reads |")
    print("|---|---:|---:|---:|")

    with Threads() as executor:
        placed = objective_on(data, 1.0, executor)

    def path(objective=None):
        with Threads() as executor:
            if objective is None:
                objective = objective_on(data, 1.0, executor)
            else:
                objective = replace(objective, data=replace(objective.data, executor=executor))
            return NormalEquations.of(objective).path(gammas)

    for name, work, runs in (
        ("the path", lambda: path(placed), RUNS),
        ("with the cutting of the data into blocks", path, RUNS),
        ("`PairwiseRidge.fit`, with scikit-learn's checks", lambda: PairwiseRidge().fit(X, y, qid=qid), RUNS),
        ("`PairwiseRidgeCV.fit`, NDCG@10 without each query", lambda: PairwiseRidgeCV().fit(X, y, qid=qid), 1),
    ):
        # Outside of any executor, which would hold the read to one thread too.
        reads, times = zip(*((seconds_of_a_read(X), seconds_of(work)) for _ in range(runs)), strict=True)
        shown = f"{np.median(times):.3f} s | {np.median(reads) * 1e3:.1f} ms"
        print(f"| {name} | {shown} | **{np.median(np.divide(times, reads)):.1f}** |", flush=True)


SPARSE = """
import sys, time
import numpy as np
from scipy import sparse
from sklearn.base import clone
from linrank import make_ranking
from linrank.estimators.egdm import EGDM
from linrank.estimators.pairwise_ridge import PairwiseRidge
rows, n_threads = {rows}, {threads}
made, _ = make_ranking(1, rows, 47_000, density=75 / 47_000, levels=2, dtype="float32")
X = made.features
# Rows of length 1, as TF-IDF rows of RCV1 are, and the index types a reader would choose.
X.data /= np.repeat(np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()), np.diff(X.indptr)).astype(np.float32)
X = sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
y = made.labels
del made
ranker = {ranker}
small = sparse.csr_array(X[:1000])
clone(ranker).set_params(gamma=1e3).fit(small, y[:1000], group=[1000])
size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
v, u, transposed = np.ones(X.shape[1]), np.ones(rows), X.T

def kilobytes(field):
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(lines[field].split()[0])

def products():
    started = time.perf_counter()
    X @ v
    transposed @ u
    return time.perf_counter() - started

two = [products() for _ in range(5)]
# From here on: forget the peak of making the data.
open("/proc/self/clear_refs", "w").write("5")
before = kilobytes("VmRSS")
ranker.fit(X, y, group=[rows])
peak = 1 + (kilobytes("VmHWM") - before) * 1024 / size
two += [products() for _ in range(5)]
lines = ranker.history_
first = lines[0].gradient_norm
gap = next(line.number for line in lines if line.gap <= 1e-6)
slope = next((line.number for line in lines if line.gradient_norm <= 1e-6 * first), -1)
steps = np.diff([line.seconds for line in lines])
seconds = lines[gap].seconds
print(X.nnz / rows, size / 1e6, gap, slope, lines[-1].seconds, np.median(steps), np.median(two), peak, lines[gap].value)
"""


def part_sparse(arguments):
    rows = arguments.sparse_rows
    print(f"\n## Sparse: {rows:,} x 47,000 CSR float32, one query, two labels, gamma = 100\n")
    print("*1e-6* is the step at which |gradient|² / (2 gamma) <= 1e-6 F, and |gradient| <= 1e-6 |gradient at 0|.\n")
    print("| solver | threads | MB | steps to 1e-6 | a step | X @ v and X.T @ u, SciPy | ratio | peak memory / data |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for ranker, name in (("EGDM(100.0, tol=1e-12, n_threads=n_threads)", "EGDM"),
                         ('PairwiseRidge(100.0, solver="cg", tol=1e-12, n_threads=n_threads)', "CG")):  # fmt: skip
        for threads in (1, 2):
            script = SPARSE.format(rows=rows, threads=threads, ranker=ranker)
            result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
            _, size, gap, slope, _, step, two, peak, _ = map(float, result.stdout.split())
            print(
                f"| {name} | {threads} | {size:.0f} | {gap:.0f}, {slope:.0f} | {step * 1e3:.0f} ms | "
                f"{two * 1e3:.0f} ms | **{step / two:.2f}** | **{peak:.2f}** |",
                flush=True,
            )


PARTS = {
    "agree": part_agree,
    "eigenvalues": part_eigenvalues,
    "iterations": part_iterations,
    "stream": part_stream,
    "quality": part_quality,
    "path": part_path,
    "sparse": part_sparse,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {' '.join(PARTS)} (all)")
    parser.add_argument("--documents", type=int, default=716_770, help="of the path part")
    parser.add_argument("--sparse-rows", type=int, default=700_000)
    asked = parser.parse_args()
    for part in asked.parts or PARTS:
        PARTS[part](asked)
