"""What bounds a fit: its processor time part by part, in reads of the features, on one thread.

    python benchmarks/what_bounds.py                     every row
    python benchmarks/what_bounds.py mslr rcv1-large     some
    python benchmarks/what_bounds.py --commands          whole commands: time and memory from one stage to the next

A read goes over the bytes of the features once and does nothing else: `X @ v` of dense ones in their own type, the sums
of values and columns of sparse ones. No fit that goes over them so many times can take fewer. Parts exclude what other
parts within them take, so that they add up to the fit.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from made_data import MADE, text_of
from measuring import linrank, run
from scipy import sparse

from linrank import RankSVM
from linrank.objective import objective, pair_losses, placed_blocks, placement, sorted_pairs
from linrank.solvers import newton_cg, sampled_hessian

FITS = {
    "mslr": ("mslr", {"C": 1.0}),
    "mslr-small": ("mslr", {"C": 1e-4}),
    "mslr-hinge": ("mslr", {"C": 1.0, "loss": "hinge", "tol": 1e-3}),
    "lists": ("lists", {"C": 1.0}),
    "rcv1": ("rcv1", {"C": 1e-5}),
    "rcv1-large": ("rcv1", {"C": 1.0}),
    "zipf": ("zipf", {"C": 1e-6}),
    "mild": ("mild", {"C": 1e-6}),
}
COMMANDS = {"rcv1": ("rcv1", 1e-5), "rcv1-large": ("rcv1", 1.0), "zipf": ("zipf", 1e-6), "lists": ("lists", 1.0)}
# Each part: where it is, and the name of what does it. Those above others that they are called by.
PARTS = {
    "placing the data": [(placement.PlacedData, "of_blocks")],
    "samples": [(placement.PlacedData, "sample"), (placement.PlacedData, "part")],
    "the sample's Hessian": [(sampled_hessian.SampledHessian, "at"), (sampled_hessian.SampledHessian, "inverse")],
    "the certificate's part": [(newton_cg.NewtonCG, "gap_by_part")],
    "rows x weights": [(placed_blocks.PlacedBlock, "scores"), (placed_blocks.SpreadQuery, "scores")],
    "back: slopes x rows": [
        (placed_blocks.PlacedBlock, "add_transposed"), (placed_blocks.SpreadQuery, "add_transposed")
    ],
    "the diagonal": [(objective.EvaluatedPoint, "crude_hessian_diagonal")],
    "rows copied out": [(placed_blocks.PlacedBlock, "of_rows"), (placed_blocks.SpreadQuery, "of_rows")],
    "sort": [(sorted_pairs, "order_ascending")],
    "sums over pairs": [(sorted_pairs.PairsWithin, "moments"), (pair_losses._Laplacian, "product")],  # noqa: SLF001
    "levels, bounds, slopes": [(pair_losses.SquaredHinge, "at"), (pair_losses.SmoothedHinge, "at")],
    "evaluations": [(objective.RankingObjective, "at")],
    "products": [(objective.EvaluatedPoint, "hessian_product")],
    "tries along a line": [(objective.Line, "at")],
    "the solver": [(newton_cg, "newton_step")],
}  # fmt: skip


class Split:
    """Processor seconds and calls of each part while it lasts, without those of parts within."""

    def __init__(self):
        self.seconds = dict.fromkeys([*PARTS, "the rest"], 0.0)
        self.calls = dict.fromkeys([*PARTS, "the rest"], 0)
        self._within = ["the rest"]
        self._since = time.process_time()

    def _turn(self):
        now = time.process_time()
        self.seconds[self._within[-1]] += now - self._since
        self._since = now

    def part(self, name, method):
        def timed(*given, **more):
            self._turn()
            self._within.append(name)
            self.calls[name] += 1
            try:
                return method(*given, **more)
            finally:
                self._turn()
                self._within.pop()

        return timed

    @contextmanager
    def watching(self):
        plain = [(owner, name, vars(owner)[name], part) for part, at in PARTS.items() for owner, name in at]
        try:
            for owner, name, method, part in plain:
                of_class = isinstance(method, classmethod)
                timed = self.part(part, method.__func__ if of_class else method)
                setattr(owner, name, classmethod(timed) if of_class else timed)
            self._since = time.process_time()
            yield self
            self._turn()
        finally:
            for owner, name, method, _ in plain:
                setattr(owner, name, method)


def read_of(X):
    """The processor seconds of a read, and its bytes."""
    arrays = [X.data, X.indices] if sparse.issparse(X) else [X]
    works = [array.sum for array in arrays]
    if not sparse.issparse(X):
        vector = np.ones(X.shape[1], dtype=X.dtype)
        works = [lambda: X @ vector]
    seconds = []
    for _ in range(9):
        begun = time.process_time()
        for work in works:
            work()
        seconds.append(time.process_time() - begun)
    return statistics.median(seconds), sum(array.nbytes for array in arrays)


def fit_of(name):
    data, settings = MADE[FITS[name][0]](), FITS[name][1]
    fit = lambda: RankSVM(n_threads=1, **settings).fit(data)  # noqa: E731 - said once, done twice
    fit()
    with Split().watching() as split:
        model = fit()
    read, n_bytes = read_of(data.features)
    total = sum(split.seconds.values())
    said = ", ".join(f"{key} = {value}" for key, value in settings.items())
    print(f"\n{FITS[name][0]}, {said}: a read is {n_bytes / 1e6:.0f} MB in {1e3 * read:.1f} ms; {model.solution_}")
    print("| part | calls | processor ms | reads | share |\n|---|---:|---:|---:|---:|")
    for part, seconds in sorted(split.seconds.items(), key=lambda item: -item[1]):
        if seconds > 0.001 * total:
            calls = split.calls[part]
            print(f"| {part} | {calls} | {1e3 * seconds:.0f} | {seconds / read:.1f} | {seconds / total:.0%} |")
    counted = ("evaluations", "products", "tries along a line", "the diagonal")
    counts = ", ".join(f"{split.calls[part]} {part}" for part in counted)
    print(f"| all: {counts} | | {1e3 * total:.0f} | {total / read:.1f} | |", flush=True)


STAGES = {
    "Python with NumPy": "import numpy",
    "linrank and its kernels": "import linrank, linrank.cli.train\nfrom linrank import RankSVM, make_ranking\n"
    "RankSVM().fit(make_ranking(4, 10, 3)[0])",
    "the text read": "import linrank; data = linrank.read({text!r}); {report}",
    "the fit": "import linrank; data = linrank.read({text!r}); linrank.RankSVM({C}).fit(data); {report}",
}
REPORT = (
    "F = data.features; print(sum(a.nbytes for a in ((F.data, F.indices, F.indptr) if hasattr(F, 'indptr') else (F,))))"
)


def command_of(name):
    """Of each stage the whole process: what it adds to the one before is what it costs."""
    data, C = COMMANDS[name]
    text = text_of(data)
    print(f"\nlinrank train on {data}, C = {C:g}: {text.stat().st_size / 1e6:.0f} MB of text")
    print("| up to | seconds | of processors | peak MB |\n|---|---:|---:|---:|")
    for stage, code in STAGES.items():
        filled = code.format(text=str(text), C=C, report=REPORT)
        best = min((run(sys.executable, "-c", filled) for _ in range(2)), key=lambda one: one.processor_seconds)
        held = f" (arrays of {int(best.output) / 1e6:.0f} MB)" if best.output else ""
        print(f"| {stage}{held} | {best.seconds:.2f} | {best.processor_seconds:.2f} | {best.peak:.0f} |", flush=True)
    model = Path(text).with_suffix(".bounds.json")
    whole = min(
        (linrank("train", text, model, "-C", C, "--scaling", "none") for _ in range(2)),
        key=lambda one: one.processor_seconds,
    )
    model.unlink()
    print(f"| the whole command | {whole.seconds:.2f} | {whole.processor_seconds:.2f} | {whole.peak:.0f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help=", ".join(FITS))
    parser.add_argument("--commands", action="store_true", help=f"whole commands: {', '.join(COMMANDS)}")
    asked = parser.parse_args()
    for row in asked.rows or (COMMANDS if asked.commands else FITS):
        (command_of if asked.commands else fit_of)(row)
