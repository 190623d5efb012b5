"""Whether tests notice small changes to measures, losses and penalties: `make mutation`.

Of each file changes are drawn by a seed, and each is tried in a process of its own, in which the module is the changed
one, kernels are plain Python, and the tests of that file run until one fails. A change that none notices has survived:
it is equivalent, which `equivalent.py` has the reason for, or a test is wanting. The exit code says whether enough were
killed.
"""

import argparse
import importlib.util
import json
import os
import random
import signal
import sys
import time
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCE = ROOT / "src" / "linrank"
sys.path[:0] = [str(SOURCE.parent), str(HERE.parent)]

# Loaded once, before processes are forked.
import numba  # noqa: E402, F401
import pandas as pd  # noqa: E402, F401
import polars as pl  # noqa: E402, F401
import pyarrow as pa  # noqa: E402, F401
import pytest  # noqa: E402
import scipy.stats  # noqa: E402, F401
import sklearn.utils.estimator_checks  # noqa: E402, F401

from mutation.equivalent import EQUIVALENT  # noqa: E402
from mutation.mutants import Mutant, changed_tree, mutants  # noqa: E402

AT_LEAST = 0.85
SECONDS = 300
_LOSSES = ("tests/contracts/test_losses.py",)
_PENALTIES = ("tests/contracts/test_penalties.py", "tests/objective/test_penalties.py")
_MEASURES = tuple(f"tests/measures/test_{name}.py" for name in ("measures", "parsing", "golden", "peers"))
TESTS = {
    "measures/measures.py": _MEASURES,
    "measures/measure_kernels.py": _MEASURES,
    "measures/ranked_queries.py": _MEASURES,
    "measures/evaluation.py": (*_MEASURES, "tests/measures/test_significance.py"),
    "measures/judgements.py": _MEASURES,
    "measures/parsing.py": ("tests/measures/test_parsing.py", "tests/measures/test_measures.py"),
    "measures/significance.py": ("tests/measures/test_significance.py",),
    "measures/single_features.py": ("tests/measures/test_single_features.py",),
    "objective/pair_losses.py": (*_LOSSES, "tests/objective/test_objective.py"),
    "objective/pair_kernels.py": (*_LOSSES, "tests/objective/test_objective.py"),
    "objective/list_losses.py": (*_LOSSES, "tests/objective/test_list_losses.py"),
    "objective/list_kernels.py": (*_LOSSES, "tests/objective/test_list_losses.py"),
    "objective/logistic_pairs.py": (*_LOSSES, "tests/objective/test_logistic_pairs.py"),
    "objective/logistic_kernels.py": (*_LOSSES, "tests/objective/test_logistic_pairs.py"),
    "objective/least_squares.py": (*_LOSSES, "tests/objective/test_least_squares.py"),
    "objective/ndcg_weighted.py": (*_LOSSES, "tests/objective/test_ndcg_weighted.py"),
    "objective/ndcg_kernels.py": (*_LOSSES, "tests/objective/test_ndcg_weighted.py"),
    "objective/pointwise_losses.py": (*_LOSSES, "tests/estimators/test_linear_svr.py"),
    "objective/penalties.py": _PENALTIES,
    "objective/concave_penalties.py": (*_PENALTIES, "tests/objective/test_concave_penalties.py"),
    "objective/group_l1.py": ("tests/objective/test_group_l1.py",),
    "objective/l1_ball.py": _PENALTIES,
}
# Long without the compiler, and of nothing that a change here could break alone.
LEFT_OUT = "not long_query and not threads and not scikit_learns_checks and not letor_data and not a_sample_stands"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="such as objective/penalties.py (all)")
    parser.add_argument("--each", type=int, default=25, help="changes to try of each file, at most (25)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--notes", type=Path, help="where each survivor is written, as JSON, line by line")
    asked = parser.parse_args()
    os.chdir(ROOT)
    killed = tried = 0
    unexplained = []
    for file in asked.files or TESTS:
        alive, n_tried = survivors(file, asked.each, asked.seed)
        tried += n_tried
        killed += n_tried - len(alive)
        print(f"{file:32} {n_tried - len(alive):4} of {n_tried:4} killed", flush=True)
        for mutant in alive:
            reason = EQUIVALENT.get((file, mutant.text, mutant.change))
            unexplained += [mutant] if reason is None else []
            print(f"    line {mutant.line}: {mutant.text}: {mutant.change}   [{reason or 'NOT EXPLAINED'}]", flush=True)
            if asked.notes:
                with asked.notes.open("a") as notes:
                    notes.write(json.dumps([file, mutant.line, mutant.text, mutant.change, reason]) + "\n")
    print(f"\n{killed} of {tried} killed ({killed / tried:.1%}); {len(unexplained)} survivors are not explained")
    return int(killed < AT_LEAST * tried)


def survivors(file: str, most: int, seed: int) -> tuple[list[Mutant], int]:
    """The changes to a file that no test noticed, and how many were tried."""
    assert outcome(file, None) == 0, f"{file}: its tests fail without any change"
    found = mutants(SOURCE / file)
    chosen = sorted(random.Random(f"{seed} {file}").sample(found, min(most, len(found))), key=lambda one: one.number)
    return [mutant for mutant in chosen if outcome(file, mutant) == 0], len(chosen)


def outcome(file: str, mutant: Mutant | None) -> int:
    """Pytest's exit code, or another number but 0 where a test did not end."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            if mutant is not None:
                sys.meta_path.insert(0, _Changed(mutant))
            words = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-k", LEFT_OUT, *TESTS[file]]
            code = int(pytest.main(words))
        finally:
            os._exit(code)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -signal.SIGKILL


class _Changed(SourceFileLoader):
    """Finds and loads one module as a change has left it; all others are found as ever."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        parts = mutant.path.relative_to(SOURCE).with_suffix("").parts
        super().__init__(".".join(("linrank", *parts)), str(mutant.path))

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str):
        return compile(changed_tree(self.mutant), self.path, "exec")


if __name__ == "__main__":
    sys.exit(main())
