"""A child that is forked while other threads train can train too, and nobody's threads or limits change hands."""

import os

import pytest

from processes import ran

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

BEGIN = """
import faulthandler, os, threading, warnings
import numpy as np
from linrank import RankSVM, make_ranking
from linrank.executors.local import Threads, _one_blas_thread
from threadpoolctl import threadpool_info

warnings.simplefilter("ignore")
data, _ = make_ranking(40, 15, 6, random_state=0)

def fit():
    return RankSVM(n_threads=2).fit(data).coef_

def blas():
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

def in_child(holds):
    pid = os.fork()
    if pid == 0:
        # A child that hangs says where, and counts as failed.
        faulthandler.dump_traceback_later(60, exit=True)
        os._exit(0 if holds() else 3)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

expected, usual = fit(), blas()
"""


def forked(source):
    # Not measured by coverage, whose own locks a child may find taken.
    code, out, err = ran(BEGIN + source, env={"COVERAGE_PROCESS_CONFIG": None})
    assert code == 0, out + err
    return out


def test_children_that_are_forked_during_fits_train_too():
    forked("""
stop = threading.Event()
def keep_fitting():
    while not stop.is_set():
        fit()
threads = [threading.Thread(target=keep_fitting) for _ in range(3)]
[thread.start() for thread in threads]
codes = [in_child(lambda: np.array_equal(fit(), expected)) for _ in range(25)]
stop.set()
[thread.join() for thread in threads]
assert codes == [0] * 25, codes
""")


def test_a_child_is_not_forked_while_a_kernel_is_compiled():
    forked("""
from numba.core.compiler_lock import global_compiler_lock
held, done = threading.Event(), []
def compile_long():
    with global_compiler_lock:
        held.set()
        threading.Event().wait(0.3)
        done.append(True)
thread = threading.Thread(target=compile_long)
thread.start()
held.wait()
def trains_in_float32():
    # The kernels of this width were not loaded before the fork.
    narrow, _ = make_ranking(40, 15, 6, random_state=0, dtype="float32")
    return done == [True] and np.isfinite(RankSVM().fit(narrow).coef_).all()
assert in_child(trains_in_float32) == 0
thread.join()
""")


def test_a_child_is_not_forked_while_limits_change_and_has_its_own():
    forked("""
held = threading.Event()
def hold():
    with _one_blas_thread._lock:
        held.set()
        threading.Event().wait(0.3)
thread = threading.Thread(target=hold)
thread.start()
held.wait()
assert in_child(lambda: np.array_equal(fit(), expected)) == 0
thread.join()
with Threads(1):
    assert set(blas()) <= {1}
    # Nobody trains in the child: it has all of BLAS, and gives it back after a training of its own.
    assert in_child(lambda: blas() == usual) == 0
    assert in_child(lambda: np.array_equal(fit(), expected) and blas() == usual) == 0
assert blas() == usual
""")


def test_a_child_has_threads_of_its_own_and_leaves_its_parents():
    forked("""
def square(value):
    return value * value
with Threads(2) as executor:
    assert executor.map(square, [1, 2, 3]) == [1, 4, 9]
    def uses_it_and_leaves():
        same = executor.map(square, [4, 5]) == [16, 25]
        executor.__exit__(None, None, None)
        return same and np.array_equal(fit(), expected)
    assert in_child(uses_it_and_leaves) == 0
    assert executor.map(square, [1, 2, 3]) == [1, 4, 9]
    assert set(blas()) <= {1}
assert blas() == usual
""")
