"""Kernels: compiled once, kept on disk, and right without any compiler."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
USE = (
    "from linrank.compiled import compilations\n"
    "from linrank.warmup import use_every_kernel\n"
    "use_every_kernel()\n"
    "print(sum(compilations().values()))"
)


def run(*command, **settings):
    environment = {**os.environ, "PYTHONWARNINGS": "error", **settings}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, env=environment)


def test_a_second_process_compiles_nothing(tmp_path):
    first = run("-c", USE, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.returncode == 0, first.stderr
    assert int(first.stdout) > 10
    second = run("-c", USE, NUMBA_CACHE_DIR=str(tmp_path))
    assert second.stdout.strip() == "0", second.stdout + second.stderr


def test_works_where_nothing_can_be_written():
    result = run("-c", USE, NUMBA_CACHE_DIR="/dev/null/none")
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 10


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="this run is the run without a compiler")
def test_the_kernels_tests_pass_without_a_compiler():
    result = run(
        "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "kernels", str(TESTS), NUMBA_DISABLE_JIT="1"
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
