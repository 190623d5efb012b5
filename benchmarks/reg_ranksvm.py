"""RegRankSVM on OHSUMED and MQ2008, beside RankSVM and the numbers of Xu et al. (2018).

    python benchmarks/reg_ranksvm.py                         every part; takes some minutes
    python benchmarks/reg_ranksvm.py quality curves          some parts of: quality sensitivity analysis curves large

NDCG is LETOR's, as in the paper. Parameters are chosen on the validation part, by MAP or by NDCG@10.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from itertools import pairwise, product

import numpy as np
from figures import save, subplots
from letor import NAMES, is_here, parts

from linrank import RankSVM, make_ranking
from linrank.duals import nuclear_dual
from linrank.duals.low_rank import low_rank
from linrank.estimators.reg_rank_svm import RegRankSVM
from linrank.measures import MAP, evaluate, paired_t_test, parse_measures

MEASURES = [MAP, *parse_measures("ndcg(letor)@1 ndcg(letor)@3 ndcg(letor)@5")]
CHOSEN_BY = parse_measures("map ndcg(letor)@10")
CS = [2.0**p for p in range(-14, 5, 2)]
GRIDS = {
    "RankSVM": [(RankSVM, {"C": C}) for C in CS],
    "RankSVM, hinge": [(RankSVM, {"C": C, "loss": "hinge"}) for C in CS],
    "RegRankSVM": [
        (RegRankSVM, {"C": C, "nuclear": nuclear})
        for C, nuclear in product([1e-4, 1e-3, 1e-2, 1e-1], [3.0, 10.0, 30.0, 100.0])
    ],
    "RegRankSVM, default settings": [(RegRankSVM, {})],
}
# Tables 2 and 4.
PUBLISHED = {
    "OHSUMED": {
        "RSVM, published": ("0.4427", "0.5289", "0.4553", "0.4392"),
        "Reg-RSVM, published": ("0.4480 ± 0.063", "0.5553 ± 0.063", "0.4946 ± 0.089", "0.4723 ± 0.072"),
    },
    "MQ2008": {
        "RSVM, published": ("0.4713", "0.3686", "0.4277", "0.4730"),
        "Reg-RSVM, published": ("0.4755 ± 0.039", "0.3690 ± 0.034", "0.4315 ± 0.034", "0.4719 ± 0.060"),
    },
}
# Table 8, MAP on the test part of OHSUMED's first fold: rows gamma, columns lambda.
COUPLINGS, NUCLEARS = (0.1, 0.5, 1.0, 5.0, 10.0), (0.1, 0.5, 1.0, 5.0, 10.0, 50.0)
TABLE_8 = (
    (0.3530, 0.3472, 0.3491, 0.3461, 0.3417),
    (0.3523, 0.3416, 0.3478, 0.3461, 0.3419),
    (0.3489, 0.3543, 0.3491, 0.3465, 0.3418),
    (0.3507, 0.3540, 0.3468, 0.3458, 0.3416),
    (0.3566, 0.3525, 0.3490, 0.3465, 0.3414),
    (0.3523, 0.3512, 0.3483, 0.3459, 0.3418),
)
# Table 6: query, documents, pairs, and the ranks of Reg-RSVM and RSVM.
TABLE_6 = (("49", 109, 420, 5, 8), ("45", 205, 7482, 6, 92), ("35", 320, 27153, 15, 234))


def fit(make, settings, data, **more):
    return make(**settings, **more).fit(data.features, data.labels, qid=data.qid)


def means(model, data):
    found = evaluate(model.predict(data.features), data, MEASURES).mean
    return [found[measure] for measure in MEASURES]


def table(*columns):
    print("| " + " | ".join(columns) + " |")
    print("|---|" + "---:|" * (len(columns) - 1), flush=True)


def row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def quality():
    """Tables 2 and 4: five folds, parameters by validation."""
    for name in NAMES:
        print(f"\n## {name}: five folds, mean ± standard deviation over folds; one thread\n")
        table("method", "chosen by", *map(str, MEASURES), "seconds a fit", "seconds a fold")
        data = [parts(name, fold, "train", "vali", "test") for fold in range(1, 6)]
        by_query = {}
        for method, grid in GRIDS.items():
            fit(*grid[0], data[0][0])
            fits, seconds = [], []
            for train, _, _ in data:
                started = time.perf_counter()
                fits.append([fit(make, settings, train, n_threads=1) for make, settings in grid])
                seconds.append(time.perf_counter() - started)
            clock = (f"{np.mean(seconds) / len(grid):.2f}", f"{np.mean(seconds):.1f}")
            for rule in CHOSEN_BY if len(grid) > 1 else [""]:
                best = [chosen(models, vali, rule) for models, (_, vali, _) in zip(fits, data, strict=True)]
                tested = list(zip(best, (test for _, _, test in data), strict=True))
                by_query[method, rule] = [
                    np.concatenate([measure.per_query(model.predict(test.features), test) for model, test in tested])
                    for measure in MEASURES
                ]
                spread = zip(*_spread([means(model, test) for model, test in tested]), strict=True)
                row(method, rule, *(f"{mean:.4f} ± {far:.3f}" for mean, far in spread), *clock)
        for method, cells in PUBLISHED[name].items():
            row(f"*{method}*", "", *cells, "", "")
        print("\nRegRankSVM less RankSVM, paired t-test over all test queries:\n")
        table("against", "chosen by", *map(str, MEASURES))
        for other, rule in product(("RankSVM", "RankSVM, hinge"), CHOSEN_BY):
            tests = map(paired_t_test, by_query["RegRankSVM", rule], by_query[other, rule])
            row(other, rule, *(f"{test.difference:+.4f}, p = {test.p_value:.2f}" for test in tests))


def chosen(models, vali, rule):
    return models[0] if not rule else max(models, key=lambda model: rule.mean(model.predict(vali.features), vali))


def _spread(rows):
    return np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)


def sensitivity(C=0.1):
    """Table 8: nuclear (gamma) against coupling (lambda), C at the lower end of the paper's range."""
    train, test = parts("OHSUMED", 1, "train", "test")
    print(f"\n## MAP on the test part of OHSUMED Fold1, C = {C:g}; in parentheses the paper's Table 8\n")
    table("nuclear \\ coupling", *map(str, COUPLINGS))
    for nuclear, published in zip(NUCLEARS, TABLE_8, strict=True):
        settings = [{"C": C, "nuclear": nuclear, "coupling": coupling} for coupling in COUPLINGS]
        found = [means(fit(RegRankSVM, setting, train), test)[0] for setting in settings]
        row(nuclear, *(f"{own:.4f} ({other:.4f})" for own, other in zip(found, published, strict=True)))
    plain = {loss: fit(RankSVM, {"C": C, "loss": loss}, train) for loss in ("squared_hinge", "hinge")}
    print("\nRankSVM:", ", ".join(f"{loss} {means(model, test)[0]:.4f}" for loss, model in plain.items()))


def analysis():
    """Section 4, Figure 2 and Table 6."""
    for name in NAMES:
        (train,) = parts(name, 1, "train")
        for loss in ("squared_hinge", "hinge"):
            found = low_rank(fit(RankSVM, {"C": 0.001, "loss": loss}, train), train)
            print(f"\n## {name} Fold1, {len(found.ranks)} queries with pairs. {found.source}\n")
            table("energy", "dimensions", "% of documents: mean", "most", "% of the shorter side: mean", "most")
            for line in found.energy_table():
                shares = (f"{100 * line[key]:.1f}" for key in list(line)[2:])
                row(f"{line['energy']:g} %", f"{line['dimensions']:.2f}", *shares)
            print(f"\nQueries by the share of their documents, in tenths: 90 % of the energy {_counts(found, 90.0)}, ")
            print(f"100 % {_counts(found, 100.0)}.")
        if name == "OHSUMED":
            _ranks(train)


def _counts(found, energy):
    return [bar["queries"] for bar in found.histogram(energy)]


def _ranks(train):
    """Table 6, with the paper's parameters that gave it the best MAP, and with ours."""
    ranks = {}
    for loss in ("squared_hinge", "hinge"):
        lines = low_rank(fit(RankSVM, {"C": 0.1, "loss": loss}, train), train).rank_table()
        ranks[f"RankSVM, {loss}"] = {line["query"]: line["rank"] for line in lines}
    sides = {line["query"]: line["side"] for line in lines}
    for settings in ({}, {"C": 1.0, "nuclear": 10.0, "coupling": 0.1}, {"C": 1.0, "nuclear": 1.0, "coupling": 1.0}):
        model = fit(RegRankSVM, settings, train)
        name = ", ".join(f"{key}={value:g}" for key, value in settings.items()) or "default settings"
        ranks[f"RegRankSVM, {name}"] = dict(zip(train.queries.ids.tolist(), model.ranks_.tolist(), strict=True))
    print("\nRanks of three queries:\n")
    table("query", "documents / pairs", "shorter side", *ranks, "*Reg-RSVM, published*", "*RSVM, published*")
    for query, documents, pairs, reg, svm in TABLE_6:
        row(query, f"{documents} / {pairs}", sides[query], *(found[query] for found in ranks.values()), reg, svm)


def curves():
    """Figure 4: the objective against rounds and against time, beside the paper's steps."""
    (train,) = parts("OHSUMED", 1, "train")
    cases = ({"C": 0.001, "nuclear": 30.0, "coupling": 1000.0}, {"C": 1.0, "nuclear": 10.0, "coupling": 1.0})
    figure, axes = subplots(len(cases), 2)
    print("\n## OHSUMED Fold1: until f is within a share of its least value\n")
    table("settings", "steps", "1e-2", "1e-3", "1e-4", "at the end")
    for places, settings in zip(axes, cases, strict=True):
        fit(RegRankSVM, {**settings, "max_seconds": 0.0}, train)
        least = fit(RegRankSVM, {**settings, "tol": 1e-6}, train).objective_
        limits = {**settings, "tol": 1e-5, "max_seconds": 20.0}
        ours, plain = fit(RegRankSVM, limits, train), without_momentum(limits, train)
        runs = {
            "RegRankSVM": [(line.seconds, line.value) for line in ours.history_],
            "without momentum": [(line.seconds, line.value) for line in plain.history_],
            "projected gradient, 10 steps a round": list(as_published(train, **settings, steps=10)),
        }
        for (name, run), style in zip(runs.items(), ("o-", "-", "--"), strict=True):
            seconds, values = np.array(run).T
            far = np.maximum((values - least) / abs(least), 1e-8)
            places[0].loglog(np.arange(1, len(far) + 1), far, style, label=name, markersize=3)
            places[1].loglog(np.maximum(seconds, 1e-3), far, style, label=name, markersize=3)
            reached = [np.flatnonzero(far <= goal) for goal in (1e-2, 1e-3, 1e-4)]
            cells = [f"{seconds[at[0]]:.2f} s, {at[0] + 1} rounds" if len(at) else "-" for at in reached]
            end = f"{far[-1]:.0e} after {seconds[-1]:.1f} s"
            row(", ".join(f"{key}={value:g}" for key, value in settings.items()), name, *cells, end)
        places[0].set_ylabel("(f - min f) / |min f|")
        places[0].set_title("C = {C:g}, nuclear = {nuclear:g}, coupling = {coupling:g}".format(**settings), fontsize=9)
        for place in places:
            place.grid(alpha=0.25)
    for place, says in zip(axes[-1], ("rounds", "seconds"), strict=True):
        place.set_xlabel(says)
    axes[0, 0].legend(fontsize=7, frameon=False, loc="lower left")
    save(figure, "reg-ranksvm-curves")


def without_momentum(settings, data):
    accelerated = nuclear_dual.kernels.look_ahead
    nuclear_dual.kernels.look_ahead = lambda anchors, settled, _: accelerated(anchors, settled, 0.0)
    model = fit(RegRankSVM, settings, data)
    nuclear_dual.kernels.look_ahead = accelerated
    return model


def as_published(data, C, nuclear, coupling, steps, max_seconds=20.0):
    """Algorithm 2 of the paper, signs mended, from alpha = 0: so many projected gradient steps, then the step in A.

    The step is the longest that is safe everywhere, 1 / (the largest eigenvalue of M + 2 coupling).
    """
    features = np.asarray(data.features, dtype=np.float64)
    queries = []
    for start, stop in pairwise(data.queries.starts.tolist()):
        rows = np.arange(start, stop)
        labels = data.labels[start:stop]
        higher, lower = rows[labels > labels.min()], rows[labels < labels.max()]
        if len(higher):
            queries.append((higher, lower, data.labels[higher][:, None] > data.labels[lower]))
    alphas = [np.zeros(pairs.shape) for _, _, pairs in queries]
    matrices = [np.zeros(pairs.shape) for _, _, pairs in queries]

    def weights_of(of_pairs):
        sums = np.zeros(len(features))
        for (higher, lower, _), values in zip(queries, of_pairs, strict=True):
            sums[higher] += values.sum(axis=1)
            sums[lower] -= values.sum(axis=0)
        return sums @ features

    def margins(weights):
        scores = features @ weights
        return [np.where(pairs, scores[higher][:, None] - scores[lower], 0.0) for higher, lower, pairs in queries]

    # Power iteration on M's twin, the features' own matrix.
    direction = np.ones(features.shape[1])
    for _ in range(30):
        direction = weights_of(margins(direction / np.linalg.norm(direction)))
    rate = 1.0 / (1.05 * np.linalg.norm(direction) + 2.0 * coupling)
    started = time.perf_counter()
    while time.perf_counter() - started < max_seconds:
        for _ in range(steps):
            weights = weights_of(alphas)
            for place, far in enumerate(margins(weights)):
                slope = far - 1.0 + 2.0 * coupling * (alphas[place] - matrices[place])
                alphas[place] = np.clip(alphas[place] - rate * slope, 0.0, C) * queries[place][2]
        shrunk = [nuclear_dual.shrink(alpha, nuclear / (2.0 * coupling)) for alpha in alphas]
        matrices = [found.matrix for found in shrunk]
        weights = weights_of(alphas)
        value = 0.5 * weights @ weights - sum(alpha.sum() for alpha in alphas)
        value += nuclear * sum(found.norm for found in shrunk)
        value += coupling * sum(np.sum((a - b) ** 2) for a, b in zip(alphas, matrices, strict=True))
        yield time.perf_counter() - started, value


def large():
    """Large queries: only the singular values that are kept, from the last basis, and all of them; and memory."""
    print("\n## One query of two labels; one thread\n")
    table("rows x columns", "near the last basis", "all kept ones", "ratio", "rounds", "f apart by", "bytes a cell")
    whole = nuclear_dual.shrink
    for size in (1400, 2400, 4000):
        data, _ = make_ranking(1, size, 20, levels=(0.6, 0.4))
        n_higher = int(np.count_nonzero(data.labels))
        settings = {"C": 1e-4, "nuclear": 30.0, "tol": 1e-4, "n_threads": 1}
        fit(RegRankSVM, {**settings, "max_seconds": 0.0}, data)
        quick = fit(RegRankSVM, settings, data)
        nuclear_dual.shrink = lambda matrix, threshold, _: whole(matrix, threshold)
        slow = fit(RegRankSVM, settings, data)
        nuclear_dual.shrink = whole
        seconds = [model.history_[-1].seconds for model in (quick, slow)]
        row(
            f"{n_higher} x {size - n_higher}",
            *(f"{each:.2f} s" for each in seconds),
            f"{seconds[1] / seconds[0]:.1f}",
            f"{len(quick.history_)} and {len(slow.history_)}",
            f"{abs(quick.objective_ - slow.objective_) / abs(slow.objective_):.1e}",
            f"{peak_bytes(settings, data) / (n_higher * (size - n_higher)):.0f}",
        )


def peak_bytes(settings, data):
    """The most memory that a fit has had at once."""
    tracemalloc.start()
    fit(RegRankSVM, settings, data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


PARTS = {made.__name__: made for made in (quality, sensitivity, analysis, curves, large)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), choices=PARTS)
    for asked in parser.parse_args().parts:
        if asked == "large" or all(is_here(name, f"{asked} is left out") for name in NAMES):
            PARTS[asked]()
