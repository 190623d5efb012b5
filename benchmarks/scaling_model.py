"""What an iteration costs on a cluster: the model of docs/scaling.md, its constants measured here, and checks of it.

    a round of N workers takes   a + b N + latency + (bytes out + bytes back) / bandwidth + work / N

`a`, `b` are what Dask takes for a round without work; `work` is what one worker takes for its tasks. Checked against
real worker processes, against real ones whose answers come late, and against a simulation: the same training with many
workers that are computed one after the other, each timed alone, under a clock that adds latency and bandwidth. Then the
model is asked about clusters that are not here.

    python benchmarks/scaling_model.py                          # some minutes
    python benchmarks/scaling_model.py --documents 100000 --workers 1 2
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from made_data import mslr_like

from linrank import DaskExecutor, RankSVM, make_ranking, save_dataset, scan
from linrank.executors.dask import connect, wire_bytes
from linrank.executors.local import Threads
from linrank.objective.stored_shards import shards_on_disk

C = 1e-4
GIGABIT = 1e9 / 8


@dataclass(frozen=True)
class Model:
    """Seconds of a round without work, a + b N; and of what is computed with the data, by one worker, by task."""

    a: float
    b: float
    work: dict[str, float]

    def seconds(self, tasks, n_workers, *, cores=None, latency=0.0, moved=0.0, bandwidth=np.inf):
        """What rounds of these tasks take together; of fewer cores than workers only as many compute at once."""
        at_once = min(n_workers, cores or n_workers)
        rounds = sum(tasks.values())
        computed = sum(count * self.work.get(task, 0.0) for task, count in tasks.items()) / at_once
        return rounds * (self.a + self.b * n_workers + latency) + moved / bandwidth + computed


def trained(client, path, executor=DaskExecutor, **settings):
    """The ranker, its rounds but the first, which load the data, and the seconds of all."""
    rounds = []
    cluster = executor(client, progress=rounds.append, **settings)
    started = time.perf_counter()
    ranker = RankSVM(C=C, executor=cluster).fit(path)
    return ranker, rounds, time.perf_counter() - started


class Late(DaskExecutor):
    """Workers whose answers come late."""

    def __init__(self, client, *, latency, **settings):
        super().__init__(client, **settings)
        self.latency = latency

    def call(self, function, rows, **common):
        # What is kept is no answer: it is told by another task of the same round.
        if function.__name__ in ("_keep", "_some", "_part", "_mixed"):
            return super().call(function, rows, **common)
        return super().call(late, rows, answer=function, seconds=self.latency, given=common)


def late(*row, answer, seconds, given):
    time.sleep(seconds)
    return answer(*row, **given)


class Value:
    """What a function returns on a worker of the simulation; computed when somebody wants to know."""

    def __init__(self, function, row, common, home):
        self.function, self.row, self.common, self.home = function, row, common, home
        self.known = False

    def get(self, cluster):
        if not self.known:
            row = [value.get(cluster) if isinstance(value, Value) else value for value in self.row]
            plain = [value for value in self.row if not isinstance(value, Value)]
            cluster.sent += wire_bytes((self.function, plain, self.common))
            started = time.perf_counter()
            self.value = self.function(*row, **self.common)
            cluster.busy[self.home] += time.perf_counter() - started
            self.known = True
        return self.value


class Simulated:
    """A cluster whose workers are computed one after the other, with a clock that shows what it would have taken."""

    def __init__(self, n_workers, model, latency, bandwidth):
        self.here = Threads(1)
        self.n_workers, self.model, self.latency, self.bandwidth = n_workers, model, latency, bandwidth
        self.clock, self.moved, self.tasks = 0.0, 0, Counter()
        self.sent, self.busy = 0, Counter()

    def __deepcopy__(self, memo):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def begin(self, about):
        pass

    def workers(self):
        return list(range(self.n_workers))

    def start(self, function, rows):
        return [Value(function, row, {}, number * self.n_workers // len(rows)) for number, row in enumerate(rows)]

    def call(self, function, rows, **common):
        return [Value(function, row, common, row[0].home) for row in rows]

    def computed(self, lazy):
        return [None] * len(lazy)

    def fetch(self, handles, task):
        self.sent, self.busy = 0, Counter()
        told = [handle.get(self) for handle in handles]
        moved = self.sent + sum(map(wire_bytes, told))
        if self.tasks or task != "sizes":
            slowest = max(self.busy.values(), default=0.0)
            self.clock += self.model.a + self.model.b * self.n_workers + self.latency
            self.clock += moved / self.bandwidth + slowest
            self.moved += moved
            self.tasks[task] += 1
        return [one for of_group in told for one in of_group]


def simulate(path, n_workers, model, latency, bandwidth):
    import distributed

    worker = SimpleNamespace(state=SimpleNamespace(nthreads=1), memory_manager=SimpleNamespace(memory_limit=None))
    known, distributed.get_worker = distributed.get_worker, lambda: worker
    try:
        cluster = Simulated(n_workers, model, latency, bandwidth)
        RankSVM(C=C, executor=cluster).fit(path)
    finally:
        distributed.get_worker = known
    return cluster


def measured_constants(tiny, large, workers):
    """The model's constants: overheads from rounds on next to no data, work from rounds of one worker."""
    overheads, runs = {}, {}
    for n_workers in workers:
        client = connect(f"local:{n_workers}")
        try:
            trained(client, tiny)
            overheads[n_workers] = float(np.median([one.seconds for one in trained(client, tiny)[1]]))
            trained(client, large)
            runs[n_workers] = trained(client, large)
            if n_workers == workers[0]:
                delayed = {latency: trained(client, large, Late, latency=latency) for latency in (0.02, 0.1)}
        finally:
            client.cluster.close(timeout=20)
            client.close()
    b, a = np.polyfit(list(overheads), list(overheads.values()), 1) if len(overheads) > 1 else (0.0, overheads[1])
    times = {}
    for one in runs[workers[0]][1]:
        times.setdefault(one.task, []).append(one.seconds)
    work = {task: max(0.0, float(np.mean(of_task)) - overheads[workers[0]]) for task, of_task in times.items()}
    # Where the machine is busy, more workers may seem to take less.
    return Model(float(a), max(0.0, float(b)), work), runs, delayed


def predictions(model, n_bytes, tasks):
    """What the model says of clusters that are not here."""
    passes = sum(count for task, count in tasks.items() if "shard" in task)
    per_byte = sum(model.work.get(task, 0.0) * count for task, count in tasks.items() if "shard" in task)
    per_byte /= passes * n_bytes
    rounds = sum(tasks.values())
    print(f"\na pass of one worker reads {1e-9 / per_byte:.2f} GB/s; {passes} passes, {rounds} rounds a training")
    cases = [
        ("10^9 x 500 float32, 100 workers, 10 Gbit/s", 1e9 * 500 * 4, 500, 100, 7450),
        ("the same, sums added by each worker first", 1e9 * 500 * 4, 500, 100, 100),
        ("10^10 rows of 30 numbers, 10^8 features, 1,000 workers, 25 Gbit/s", 1e10 * 30 * 12, 1e8, 1000, 2048),
        ("the same, weights in 1,000 pieces, sums by a tree", 1e10 * 30 * 12, 1e8, 1000, None),
    ]
    for words, size, n_features, n_workers, n_shards in cases:
        bandwidth = (25 if n_features > 1e6 else 10) * GIGABIT
        compute = size * per_byte / n_workers
        if n_shards is None:
            # Every worker sends and receives each piece of a vector once: 2 d numbers through its own link.
            moved, overhead = 2 * 8 * n_features / bandwidth, model.a + 2e-3 * np.log2(n_workers)
        else:
            moved = 8 * n_features * (n_workers + n_shards) / bandwidth
            overhead = model.a + model.b * n_workers
        one = compute + moved + overhead
        print(
            f"{words}: a round {one:,.2f} s = {compute:.2f} computing + {moved:,.2f} sending + {overhead:.2f} Dask; "
            f"{rounds} rounds {one * rounds / 60:,.1f} min"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=716_770)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    given = parser.parse_args()
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        tiny, large = Path(folder) / "tiny.linrank", Path(folder) / "large.linrank"
        save_dataset(make_ranking(40, 20, 10)[0], tiny)
        save_dataset(mslr_like(given.documents, max(1, given.documents // 119)), large)
        n_bytes = scan(large).n_bytes
        model, runs, delayed = measured_constants(tiny, large, given.workers)
        print(f"a round without work: {1e3 * model.a:.1f} ms + {1e3 * model.b:.2f} ms a worker")
        print(f"{n_bytes / 1e9:.2f} GB in {len(shards_on_disk(scan(large)))} shards; {cores} cores\n")
        print("workers  rounds  out MB  back MB  seconds  by the model  ratio")
        for n_workers, (_, rounds, _) in runs.items():
            tasks = Counter(one.task for one in rounds)
            seconds = sum(one.seconds for one in rounds)
            said = model.seconds(tasks, n_workers, cores=cores)
            out, back = (sum(getattr(one, way) for one in rounds) / 1e6 for way in ("sent", "received"))
            print(
                f"{n_workers:7d}  {len(rounds):6d}  {out:6.2f}  {back:7.2f}  {seconds:7.2f}  {said:12.2f}"
                f"  {seconds / said:5.2f}"
            )
        first = given.workers[0]
        print(f"\nanswers that come late, {first} worker: seconds, by the model")
        for latency, (_, rounds, _) in delayed.items():
            tasks = Counter(one.task for one in rounds)
            said = model.seconds(tasks, first, cores=cores, latency=latency)
            print(f"{1e3 * latency:5.0f} ms: {sum(one.seconds for one in rounds):.2f}, {said:.2f}")
        print("\nsimulated: workers, latency, bandwidth: seconds, by the model")
        for n_workers, latency, gigabits in ((4, 1e-3, 10), (16, 1e-3, 10), (32, 1e-3, 1), (32, 0.05, 0.1)):
            cluster = simulate(large, n_workers, model, latency, gigabits * GIGABIT)
            said = model.seconds(
                cluster.tasks, n_workers, latency=latency, moved=cluster.moved, bandwidth=gigabits * GIGABIT
            )
            print(f"{n_workers:4d}, {1e3 * latency:.0f} ms, {gigabits} Gbit/s: {cluster.clock:.2f}, {said:.2f}")
        predictions(model, n_bytes, Counter(one.task for one in runs[first][1]))


if __name__ == "__main__":
    sys.exit(main())
