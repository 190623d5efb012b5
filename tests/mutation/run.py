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
import tempfile
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
_LISTS = (*_LOSSES, "tests/objective/test_list_losses.py", "tests/estimators/test_xe_ndcg.py")
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
    "objective/pair_losses.py": (*_LOSSES, "tests/objective/test_objective.py", "tests/objective/test_structures.py"),
    "objective/corner_pairs.py": (*_LOSSES, "tests/objective/test_objective.py"),
    "objective/pair_kernels.py": (*_LOSSES, "tests/objective/test_objective.py"),
    "objective/list_losses.py": _LISTS,
    "objective/list_kernels.py": _LISTS,
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
    parser.add_argument("--each", type=int, default=12, help="changes to try of each file, at most (12)")
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
            reason = _reason(file, mutant)
            unexplained += [mutant] if reason is None else []
            print(f"    line {mutant.line}: {mutant.text}: {mutant.change}   [{reason or 'NOT EXPLAINED'}]", flush=True)
            if asked.notes:
                with asked.notes.open("a") as notes:
                    notes.write(json.dumps([file, mutant.line, mutant.text, mutant.change, reason]) + "\n")
    print(f"\n{killed} of {tried} killed ({killed / tried:.1%}); {len(unexplained)} survivors are not explained")
    return int(killed < AT_LEAST * tried)


def _reason(file: str, mutant: Mutant) -> str | None:
    """Why no test can notice a change; None where one should."""
    return EQUIVALENT.get((file, mutant.text, mutant.change))


def survivors(file: str, most: int, seed: int) -> tuple[list[Mutant], int]:
    """The changes to a file that no test noticed, and how many were tried."""
    with tempfile.TemporaryDirectory() as folder:
        seconds = Path(folder) / "seconds.json"
        assert outcome(file, None, seconds) == 0, f"{file}: its tests fail without any change"
        found = mutants(SOURCE / file)
        drawn = random.Random(f"{seed} {file}").sample(found, min(most, len(found)))
        # (What nobody can notice takes longest, and is known.)
        alive = [one for one in drawn if _reason(file, one) is not None or outcome(file, one, seconds) == 0]
    return sorted(alive, key=lambda one: one.number), len(drawn)


def outcome(file: str, mutant: Mutant | None, seconds: Path) -> int:
    """Pytest's exit code, or another number but 0 where a test did not end.

    Without a change, how long each test takes is written to `seconds`, by which they are ordered afterwards.
    """
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
            code = int(pytest.main(words, plugins=[QuickestFirst(seconds, tell=mutant is None)]))
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


class QuickestFirst:
    """Orders tests by what they took without a change, and keeps Hypothesis from looking for the least example."""

    def __init__(self, seconds: Path, *, tell: bool) -> None:
        self.seconds, self.tell, self.took = seconds, tell, {}

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        settings.register_profile("unshrunk", phases=(Phase.explicit, Phase.generate))
        settings.load_profile("unshrunk")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if not self.tell:
            took = json.loads(self.seconds.read_text())
            items.sort(key=lambda item: took.get(item.nodeid, 0.0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took[report.nodeid] = self.took.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        if self.tell:
            self.seconds.write_text(json.dumps(self.took))


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
