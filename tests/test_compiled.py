"""Kernels: compiled once, kept on disk, and right without any compiler."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
EVERY_KERNEL = "from linrank.warmup import use_every_kernel; use_every_kernel()"
# Of these few kernels.
ONE_USE = (
    "from linrank import evaluate, make_ranking; data, w = make_ranking(9, 9, 3); evaluate(data.features @ w, data)"
)
COUNTED = """
from linrank import compiled
print(sum(len(kernel.signatures) for kernel in compiled._kernels), sum(compiled.compilations().values()))
"""


def run(*command, **settings):
    environment = {**os.environ, "PYTHONWARNINGS": "error", **settings}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, env=environment)


def used_and_compiled(work, **settings):
    """How many kernels, counted for each type of arguments, some work used and how many of them it compiled."""
    result = run("-c", f"{work}\n{COUNTED}", **settings)
    assert result.returncode == 0, result.stderr
    return tuple(map(int, result.stdout.split()))


def test_a_second_process_compiles_nothing():
    # Into the cache that all tests share, and first of all: compiling everything takes minutes.
    used_and_compiled(EVERY_KERNEL)
    n_used, n_compiled = used_and_compiled(EVERY_KERNEL)
    assert n_used > 100
    assert n_compiled == 0


def test_an_empty_cache_is_filled_and_then_used(tmp_path):
    assert used_and_compiled(ONE_USE, NUMBA_CACHE_DIR=str(tmp_path))[1] > 5
    assert used_and_compiled(ONE_USE, NUMBA_CACHE_DIR=str(tmp_path))[1] == 0


def test_works_where_nothing_can_be_written():
    assert used_and_compiled(ONE_USE, NUMBA_CACHE_DIR="/dev/null/none")[1] > 5


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="this run is the run without a compiler")
def test_the_kernels_tests_pass_without_a_compiler():
    # Those that have none would be gathered for half a minute.
    files = [str(file) for file in TESTS.rglob("test_*.py") if "mark.kernels" in file.read_text()]
    result = run("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "kernels", *files, NUMBA_DISABLE_JIT="1")
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
