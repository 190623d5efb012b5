"""The same work in two checkouts, turn by turn: what a change costs.

    git worktree add /tmp/before <commit>
    python benchmarks/commits.py /tmp/before                    this checkout beside that one, everything
    python benchmarks/commits.py /tmp/before ranksvm path       some of the work
    python benchmarks/commits.py /tmp/before --documents 180000 --rounds 9

Each checkout runs in a process of its own, on the same data, which both hold in memory; the two take turns, and each
piece of work is done once before it counts. Ratios are of the least times, and the median over rounds of one round's
two times. On a machine with other work trust the processors' seconds, of all threads together, rather than the clock's.
Products are passes over the features by the two products that everything is made of, and rows those that were copied to
form a Hessian, all in multiples of the data.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from made_data import mslr_drawn_again
from measuring import counted

HERE = Path(__file__).resolve().parents[1]


def works(X, y, sizes):
    """What is measured: names that were there before and are there now, and no other."""
    from linrank import MinBatSRank, RankingDataset, RankSVM, feature_path

    qid = np.repeat(np.arange(len(sizes)), sizes)
    raw = {"scaling": "none"} if "scaling" in feature_path.__kwdefaults__ else {}

    def path(**how):
        return feature_path(RankingDataset.from_arrays(X, y, group=sizes), None, **raw, **how)

    return {
        "ranksvm": lambda: RankSVM().fit(X, y, group=sizes),
        "l1": lambda: RankSVM(penalty="l1").fit(X, y, group=sizes),
        "path": lambda: path(relaxed=False),
        "refits": lambda: path(relaxed=True),
        "minbatsrank": lambda: MinBatSRank(passes=1).fit(X, y, qid=qid),
    }


def serve(folder):
    """Do the work that is named on each line of the standard input, and answer with a line of JSON."""
    X, y, sizes = (np.load(Path(folder) / f"{name}.npy") for name in ("X", "y", "sizes"))
    warnings.simplefilter("ignore")
    ours = works(X, y, sizes)
    for line in sys.stdin:
        action, name = line.split()
        if action == "count":
            with counted(len(y)) as tally:
                ours[name]()
            answer = tally
        else:
            started = time.perf_counter(), time.process_time()
            ours[name]()
            answer = time.perf_counter() - started[0], time.process_time() - started[1]
        print(json.dumps(answer), flush=True)


class Side:
    """A checkout at work in a process of its own."""

    def __init__(self, checkout, folder):
        environment = {**os.environ, "PYTHONPATH": str(Path(checkout).resolve() / "src")}
        command = [sys.executable, str(Path(__file__).resolve()), "--serve", folder]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, action, name):
        self._process.stdin.write(f"{action} {name}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{name} failed in {self._process.args}")
        return json.loads(answer)

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def report(name, rounds, tallies):
    """One line of the table: least times, and ratios of the clock and of the processors, then the counts."""
    cells = [name]
    for kind in (0, 1):
        before, after = ([of_round[side][kind] for of_round in rounds] for side in (0, 1))
        ratio = statistics.median(b / a for a, b in zip(before, after, strict=True))
        cells += [f"{min(before):.3f}, {min(after):.3f}", f"{min(after) / min(before):.2f}", f"**{ratio:.2f}**"]
    cells += [", ".join(f"{tally[name]:.1f}" for tally in tallies) for name in tallies[0]]
    print("| " + " | ".join(cells) + " |", flush=True)


def make_data(folder, documents):
    data = mslr_drawn_again(documents)
    for name, array in {"X": data.features, "y": data.labels, "sizes": data.queries.sizes}.items():
        np.save(Path(folder) / f"{name}.npy", array)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", nargs="?", help="the other checkout")
    parser.add_argument("works", nargs="*", help="of ranksvm l1 path refits minbatsrank (all)")
    parser.add_argument("--after", default=HERE, help="this one")
    parser.add_argument("--documents", type=int, default=700_029)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.serve)
        return
    if asked.before is None:
        parser.error("name the checkout to compare with")
    with tempfile.TemporaryDirectory() as folder:
        make_data(folder, asked.documents)
        sides = [Side(asked.before, folder), Side(asked.after, folder)]
        print(f"{asked.documents:,} x 136, {asked.rounds} rounds; before, after\n")
        print("| work | seconds | least | median | processor seconds | least | median | products | transposed | rows |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
        for name in asked.works or ("ranksvm", "l1", "path", "refits", "minbatsrank"):
            tallies = [side.ask("count", name) for side in sides]
            rounds = [[side.ask("time", name) for side in sides] for _ in range(asked.rounds)]
            report(name, rounds, tallies)
        for side in sides:
            side.close()


if __name__ == "__main__":
    main()
