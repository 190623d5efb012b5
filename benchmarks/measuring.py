"""What the benchmarks measure with: turns, reads, whole commands with their peak memory, passes over the features.

Others may use the machine, so what is compared takes turns, and ratios are medians over the turns.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PROCESSORS = "of processors"
# In a turn.
READS = 15
LIBLINEAR = os.environ.get("LINRANK_LIBLINEAR")
# Started through a small process of its own: a process has its first peak from the one that started it.
LAUNCHER = """
import json, os, sys, time
quiet = os.open(os.devnull, os.O_RDONLY)
started = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, quiet, 0)])
_, status, used = os.wait4(child, 0)
seconds = time.perf_counter() - started
told = [os.waitstatus_to_exitcode(status), seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000]
os.write(int(os.environ["TOLD"]), json.dumps(told).encode())
"""


@dataclass(frozen=True)
class Figures:
    """What was found of a row. Ratios mean the same on every machine, and the less the better."""

    seconds: float
    ratios: dict[str, float]
    # Megabytes.
    peak: float | None = None
    # The seconds of others, by their names.
    beside: dict[str, float] = field(default_factory=dict)
    # The least value of the objective that is known.
    least: float | None = None
    # In place of the seconds, where a speed or no time is what is claimed.
    said: str = ""


@dataclass(frozen=True)
class Row:
    """One claim: `measure(known)` is told the least value of the objective that is known, or None."""

    name: str
    work: str
    measure: object
    # The data by its name in made_data.MADE.
    data: str | None = None


def seconds_of(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def seconds_of_a_read(X):
    """The time of one `X @ v` in the features' own type, in NumPy with all threads: what the memory allows."""
    vector = np.ones(X.shape[1], dtype=X.dtype)
    return statistics.median(seconds_of(lambda: X @ vector) for _ in range(READS))


def reads(X):
    """So many reads, one after another."""
    for _ in range(READS):
        X @ np.ones(X.shape[1], dtype=X.dtype)


class Turns:
    """Several works that take turns: so many rounds, or fewer once `enough` seconds have passed.

    Of each, the seconds by the clock and those of all processors, which other work on the machine changes far less. A
    work is done and looked at from outside, unless it tells the two itself.
    """

    def __init__(self, works, rounds=5, enough=30.0):
        self.seconds = {name: [] for name in works}
        started = time.perf_counter()
        for _ in range(rounds):
            for name, work in works.items():
                begun = time.perf_counter(), time.process_time()
                told = work()
                here = time.perf_counter() - begun[0], time.process_time() - begun[1]
                self.seconds[name].append(told if isinstance(told, tuple) else here)
            if time.perf_counter() - started > enough:
                break

    def least(self, name):
        return min(clock for clock, _ in self.seconds[name])

    def ratio(self, name, to, kind=0):
        both = zip(self.seconds[name], self.seconds[to], strict=True)
        return statistics.median(ours[kind] / theirs[kind] for ours, theirs in both)

    def ratios(self, name, to, unit, times=1.0):
        """The ratio by the clock and by the processors, so many times, under the name of the unit."""
        return {unit: times * self.ratio(name, to), f"{unit} {PROCESSORS}": times * self.ratio(name, to, kind=1)}


@dataclass(frozen=True)
class Run:
    """A command that was run: its seconds by the clock and of all processors, its peak in megabytes, what it said."""

    seconds: float
    processor_seconds: float
    peak: float
    output: str

    @property
    def times(self):
        return self.seconds, self.processor_seconds


def run(*command, **environment):
    """Run a command in a process of its own, kernels cached on disk as with users."""
    told, tells = os.pipe()
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept.update(environment, TOLD=str(tells))
    with os.fdopen(told) as answer:
        launched = [sys.executable, "-I", "-S", "-c", LAUNCHER, *map(str, command)]
        result = subprocess.run(launched, env=kept, pass_fds=[tells], capture_output=True, text=True, check=False)
        os.close(tells)
        code, *figures = json.loads(answer.read())
    if code:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{result.stdout}\n{result.stderr}")
    return Run(*figures, result.stdout)


def peak_megabytes():
    """The most memory that this process had: not ru_maxrss, which it has from the one that started it."""
    told = Path("/proc/self/status").read_text(encoding="ascii")
    return int(told.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def peak_from_here():
    """The same, of what this process has now: the peak so far is forgotten."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak_megabytes()


def linrank(*words, **environment):
    return run(sys.executable, "-m", "linrank", *words, **environment)


def start():
    """A new process of Python that imports NumPy: whole commands are measured in the times of these."""
    return run(sys.executable, "-c", "import numpy").times


@contextmanager
def counted(n_documents):
    """Counts of the rows that products and copies of features go over, as multiples of the data."""
    from linrank.dataset.features import DenseFeatures, SparseFeatures

    tally = dict.fromkeys(("product", "transposed_product", "to_dense"), 0)
    kinds = (DenseFeatures, SparseFeatures)
    plain = {(kind, name): getattr(kind, name) for kind in kinds for name in tally}

    def counting(name, method):
        def counts(self, *given):
            # (Threads may count at once: the lock of the interpreter makes this a count to a few rows.)
            tally[name] += self.n_rows / n_documents
            return method(self, *given)

        return counts

    try:
        for (kind, name), method in plain.items():
            setattr(kind, name, counting(name, method))
        yield tally
    finally:
        for (kind, name), method in plain.items():
            setattr(kind, name, method)


def passes_of(work, n_documents):
    """What a training returns, and how often it went over the features.

    A value with its gradient, or a Hessian product, is one pass.
    """
    with counted(n_documents) as tally:
        result = work()
    return result, max(tally["product"], tally["transposed_product"]) + tally["to_dense"]


def above(value, least):
    """How far an objective is above the least that is known, as a share of it."""
    return (value - least) / abs(least)


def objective_at(data, C, weights):
    """The squared hinge's objective on a dataset."""
    from linrank.executors.local import Threads
    from linrank.objective.objective import RankingObjective
    from linrank.objective.pair_losses import SquaredHinge
    from linrank.objective.penalties import L2
    from linrank.objective.placement import PlacedData

    with Threads() as executor:
        return RankingObjective(SquaredHinge(), L2(), C, PlacedData.of(data, executor)).at(weights).value


def liblinear(text, C, n_features):
    """LIBLINEAR's ranksvm on a file: the run of the whole command, the seconds of its training, and its weights."""
    model = Path(f"{text}.liblinear")
    # With any tolerance it stops at the first point: the time it takes then is that of reading and writing.
    idle = run(LIBLINEAR, "-s", 8, "-c", C, "-e", 1e30, text, model)
    whole = run(LIBLINEAR, "-s", 8, "-c", C, text, model)
    found = np.array(model.read_text(encoding="ascii").partition("\nw\n")[2].split(), dtype=float)
    model.unlink()
    return whole, whole.seconds - idle.seconds, np.append(found, np.zeros(n_features - len(found)))
