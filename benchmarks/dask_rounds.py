"""RankSVM on Dask workers of this machine: what a round costs beside its work, and what a second worker brings.

The overhead is the median round of a training on next to no data. The weights must have the same bits everywhere.

    python benchmarks/dask_rounds.py
    python benchmarks/dask_rounds.py --documents 100000 --workers 1 2 4
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from made_data import mslr_like

from linrank import DaskExecutor, RankSVM, make_ranking, save_dataset
from linrank.executors.dask import connect


def rounds_of(client, path, **settings):
    """The trained ranker, the seconds, and the rounds with what each took."""
    rounds = []
    executor = DaskExecutor(client, progress=rounds.append)
    started = time.perf_counter()
    ranker = RankSVM(executor=executor, **settings).fit(path)
    return ranker, time.perf_counter() - started, rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=716_770)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tiny, large = Path(folder) / "tiny.linrank", Path(folder) / "large.linrank"
        save_dataset(make_ranking(40, 20, 10)[0], tiny)
        data = mslr_like(given.documents, max(1, given.documents // 119))
        save_dataset(data, large)
        started = time.perf_counter()
        here = RankSVM(C=1e-4, n_threads=1).fit(data)
        print(f"one thread of this process: {time.perf_counter() - started:.2f} s")
        for n_workers in given.workers:
            client = connect(f"local:{n_workers}")
            rounds_of(client, tiny)
            _, _, few = rounds_of(client, tiny)
            overhead = float(np.median([one.seconds for one in few]))
            rounds_of(client, large, C=1e-4)
            ranker, seconds, rounds = rounds_of(client, large, C=1e-4)
            loading = rounds[0].seconds
            same = np.array_equal(ranker.coef_, here.coef_)
            print(
                f"{n_workers} workers: {1e3 * overhead:.1f} ms a round without work; {seconds:.2f} s in {len(rounds)} "
                f"rounds, {loading:.2f} s of it loading, {sum(one.seconds for one in rounds[1:]):.2f} s the other "
                f"rounds; the same bits as here: {same}"
            )
            client.cluster.close(timeout=20)
            client.close()


if __name__ == "__main__":
    main()
