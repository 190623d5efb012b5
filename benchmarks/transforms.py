"""What a transform costs a training, and what it buys.

    python benchmarks/transforms.py cost                      700,029 documents of 136 raw features, in memory
    python benchmarks/transforms.py cost --scan               the same from a file, block after block
    python benchmarks/transforms.py cost --documents 100000
    python benchmarks/transforms.py quality                   MSLR's sample, MQ2008 and OHSUMED: five folds, some seeds

*Cost* is of a whole training: fitting the scaling or the transform, applying it, and RankSVM; as a ratio to that on
standardised features, in turns, by the processors' time and by the clock. *Quality* is NDCG@10 of test queries: queries
are dealt into five parts, in each fold three to train on, one to choose C on, one to test on; nothing else is chosen.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from letor import is_here, parts
from made_data import mslr_drawn_again

from linrank import LambdaRank, RankingDataset, RankSVM, RankSVMCV, make_ranking, save_dataset, scan
from linrank.dataset.scaling import scaled
from linrank.dataset.transform_choice import choose_transform
from linrank.measures import NDCG

WAYS = {"standard": ("none", "standard"), "rank-gauss": ("rank-gauss", "auto"), "signed-log": ("signed-log", "auto")}

# Of RankSVM's C, a sum over pairs.
STRENGTHS = 2.0 ** np.arange(-18, -3, 2)


def cost(arguments):
    with tempfile.TemporaryDirectory() as folder:
        if arguments.scan:
            # By another process, whose memory is not this one's.
            path = str(Path(folder) / "data.linrank")
            subprocess.run([sys.executable, __file__, "write", path, str(arguments.documents)], check=True)
            data = None
        else:
            data = mslr_drawn_again(arguments.documents, standardised=False)
        times = {way: [] for way in WAYS}
        for turn in range(arguments.turns + 1):
            for way in WAYS:
                told = in_another_process(path, way, arguments) if arguments.scan else trained(data, way, arguments.C)
                if turn:
                    times[way].append(told[:-1])
                    print(way, *(f"{number:.2f}" for number in told[:-1]), told[-1], flush=True)
    print("\nmedian of the ratios to standard: processors, clock, and that of fitting and applying alone")
    for way in list(WAYS)[1:]:
        ratios = [
            statistics.median(a[k] / b[k] for a, b in zip(times[way], times["standard"], strict=True)) for k in (0, 1)
        ]
        passes = [
            statistics.median(a[0] / a[3] / (b[0] / b[3]) for a, b in zip(times[way], times["standard"], strict=True))
        ]
        print(f"{way:<12}", *(f"{ratio:.2f}" for ratio in ratios), f"  a pass {passes[0]:.2f}")


def in_another_process(path, way, arguments):
    """Of a training from a file: what one holds is not there when the next begins."""
    words = [sys.executable, __file__, "once", path, way, str(arguments.C), arguments.memory]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def once(arguments):
    # What is loaded and compiled is so before.
    small, _ = make_ranking(20, 50, 136, dtype="float32")
    trained(small, arguments.way, 1e-4)
    print(json.dumps(trained(scan(arguments.file, memory=arguments.memory), arguments.way, arguments.C)))


def write(arguments):
    save_dataset(mslr_drawn_again(arguments.documents, standardised=False), arguments.file)


def trained(data, way, C):
    """Seconds of processors and of the clock of a training, those before the solver, its passes, and iterations."""
    clock, processors = time.perf_counter(), time.process_time()
    choice = choose_transform(*WAYS[way], data).scaling
    seen = scaled(data, choice)
    before = time.perf_counter() - clock
    ranker = RankSVM(C=C).fit(seen)
    solution = ranker.solution_
    passes = 2 * solution.iterations + solution.inner_iterations + 1
    return time.process_time() - processors, time.perf_counter() - clock, before, passes, solution.iterations


def quality(arguments):
    sets = {"MSLR-WEB10K-sample": 1, "MQ2008": 1, "OHSUMED": 1}
    for name in arguments.data or sets:
        if not is_here(name, "left out"):
            continue
        whole = joined(parts(name, 1, "train", "vali", "test"))
        for ranker in arguments.rankers:
            print(f"\n{name}: {whole.n_queries} queries, {ranker}", flush=True)
            found = {way: [] for way in arguments.ways}
            for seed in range(arguments.seeds):
                for way in arguments.ways:
                    found[way].append(np.concatenate(list(test_values(whole, way, ranker, seed))))
            for way, values in found.items():
                means = np.mean(values, axis=0)
                first = np.mean(found[arguments.ways[0]], axis=0)
                error = np.std(means - first, ddof=1) / np.sqrt(len(means))
                print(f"  {way:<24} {means.mean():.4f}  {(means - first).mean():+.4f} ± {error:.4f}", flush=True)


def joined(sets):
    """All queries of some sets."""
    labels, qid = (np.concatenate([np.asarray(getattr(one, name)) for one in sets]) for name in ("labels", "qid"))
    return RankingDataset.from_arrays(np.vstack([np.asarray(one.features) for one in sets]), labels, qid=qid)


def test_values(whole, way, ranker, seed):
    """NDCG@10 of each query when it was in the test part, in the order of the queries."""
    part_of = np.random.default_rng(seed).permutation(np.arange(whole.n_queries) % 5)
    values = np.empty(whole.n_queries)
    for fold in range(5):
        test, vali = np.flatnonzero(part_of == fold), np.flatnonzero(part_of == (fold + 1) % 5)
        train = np.flatnonzero((part_of != fold) & (part_of != (fold + 1) % 5))
        train, vali, tested = (whole.subset(queries) for queries in (train, vali, test))
        choice = chosen(way, train)
        train, vali, seen = (scaled(one, choice) for one in (train, vali, tested))
        values[test] = (NDCG @ 10).per_query(fitted(ranker, train, vali).predict(seen), tested)
    yield np.nan_to_num(values)


def chosen(way, train):
    """A way is a name of WAYS, TRANSFORM, or TRANSFORM+SCALING."""
    transform, _, scaling = way.partition("+")
    return choose_transform(*WAYS.get(way, (transform, scaling or "auto")), train).scaling


def fitted(ranker, train, vali):
    if ranker == "ranksvm":
        return RankSVMCV(STRENGTHS).fit(train, eval_set=vali)
    tried = [LambdaRank(C=C, patience=10).fit(train, eval_set=vali) for C in (1e-3, 1e-2, 1e-1)]
    return max(tried, key=lambda one: (NDCG @ 10).mean(one.predict(vali), vali))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    costs = verbs.add_parser("cost")
    costs.add_argument("--documents", type=int, default=700_029)
    costs.add_argument("--turns", type=int, default=3)
    costs.add_argument("-C", type=float, default=1e-4)
    costs.add_argument("--scan", action="store_true")
    costs.add_argument("--memory", default="450MB")
    costs.set_defaults(run=cost)
    writes = verbs.add_parser("write")
    writes.add_argument("file")
    writes.add_argument("documents", type=int)
    writes.set_defaults(run=write)
    onces = verbs.add_parser("once")
    for name, kind in (("file", str), ("way", str), ("C", float), ("memory", str)):
        onces.add_argument(name, type=kind)
    onces.set_defaults(run=once)
    qualities = verbs.add_parser("quality")
    qualities.add_argument("--data", nargs="*")
    qualities.add_argument("--seeds", type=int, default=4)
    qualities.add_argument("--rankers", nargs="*", default=["ranksvm"])
    qualities.add_argument("--ways", nargs="*", default=[*WAYS, "auto"])
    qualities.set_defaults(run=quality)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
