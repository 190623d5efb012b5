"""Compiled kernels on disk: never stale, never half, read by whoever may read them, and no reason to fail."""

import os
import shutil

import pytest

from processes import linrank, obey_permissions, ran, started

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")

INNER = """
from linrank.compiled import kernel
STEP = 1
@kernel
def add(value):
    return value + STEP
"""
OUTER = """
from linrank.compiled import kernel
from inner import add
@kernel
def twice(value):
    return add(add(value))
"""
USE = """
import sys
sys.path.insert(0, sys.argv[1])
from linrank.compiled import compilations
from linrank.kernel_news import DAMAGED, NOT_KEPT, telling
from outer import twice
with telling(print, DAMAGED, NOT_KEPT):
    print(twice(float(sys.argv[2]) if "." in sys.argv[2] else int(sys.argv[2])), sum(compilations().values()))
"""
NO_HOME = {"HOME": "/dev/null", "XDG_CACHE_HOME": None, "NUMBA_CACHE_DIR": None}


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "inner.py").write_text(INNER)
    (folder / "outer.py").write_text(OUTER)
    return folder


def use(package, value="5", env=NO_HOME, **settings):
    """What is said, the result, and how many kernels were compiled for it."""
    # Without Python's own cache, which takes two sources of one size and second for the same.
    own = {"PYTHONWARNINGS": "error", "PYTHONDONTWRITEBYTECODE": "1"}
    code, out, err = ran(USE, package, value, env=own | env, **settings)
    assert code == 0, err
    *said, last = out.splitlines()
    result, compiled = last.split()
    return "\n".join(said), float(result), int(compiled)


def kept(package):
    return sorted(package.glob("__pycache__/*.nbk"))


def test_kernels_are_compiled_once(package):
    assert use(package) == ("", 7, 2)
    assert use(package) == ("", 7, 0)
    assert use(package, "5.5") == ("", 7.5, 2)
    assert use(package, "5.5") == ("", 7.5, 0)
    assert len(kept(package)) == 4


@pytest.mark.parametrize("change", [("value + STEP", "value - STEP"), ("STEP = 1", "STEP = -1")])
def test_a_change_in_what_a_kernel_calls_is_never_missed(package, change):
    assert use(package)[1] == 7
    (package / "inner.py").write_text(INNER.replace(*change))
    assert use(package) == ("", 3, 2)
    # What is stale has gone.
    assert len(kept(package)) == 2


def test_a_change_that_changes_no_kernel_compiles_nothing(package):
    use(package)
    (package / "inner.py").write_text(f"# A remark.\n{INNER}")
    assert use(package) == ("", 7, 0)


def test_code_with_bounds_checks_is_not_code_without(package):
    # (Whichever of the two the tests themselves run by.)
    without, with_checks = (NO_HOME | {"NUMBA_BOUNDSCHECK": each} for each in ("0", "1"))
    use(package, env=without)
    assert use(package, env=with_checks) == ("", 7, 2)
    assert use(package, env=without) == ("", 7, 0)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda _: b"",
        lambda content: content[:200] + bytes([content[200] ^ 1]) + content[201:],
    ],
    ids=["half", "empty", "a bit"],
)
def test_a_damaged_file_is_said_and_compiled_anew(package, damage):
    use(package)
    for path in kept(package):
        path.write_bytes(damage(path.read_bytes()))
    said, result, compiled = use(package)
    assert "is damaged, so this kernel is compiled anew." in said
    assert said.count("\n") == 0
    assert (result, compiled) == (7, 2)
    assert use(package) == ("", 7, 0)


def test_what_another_user_has_warmed_is_read_where_nothing_can_be_written(package):
    use(package)
    before = kept(package)
    (package / "__pycache__").chmod(0o555)
    package.chmod(0o555)
    assert use(package, preexec_fn=obey_permissions) == ("", 7, 0)
    said, result, compiled = use(package, "5.5", preexec_fn=obey_permissions)
    assert (result, compiled) == (7.5, 2)
    assert "cannot be kept, so every process compiles them" in said
    assert f"{package / '__pycache__'}: Permission denied" in said
    assert "NUMBA_CACHE_DIR" in said
    assert kept(package) == before
    package.chmod(0o755)
    (package / "__pycache__").chmod(0o755)


def test_what_is_missing_there_is_kept_in_the_users_own_folder(package, tmp_path):
    package.chmod(0o555)
    home = NO_HOME | {"HOME": str(tmp_path / "home")}
    assert use(package, env=home, preexec_fn=obey_permissions) == ("", 7, 2)
    assert use(package, env=home, preexec_fn=obey_permissions) == ("", 7, 0)
    assert list((tmp_path / "home").rglob("*.nbk"))
    package.chmod(0o755)


def test_a_folder_that_is_named_is_the_only_one(package, tmp_path):
    named = NO_HOME | {"NUMBA_CACHE_DIR": str(tmp_path / "named")}
    assert use(package, env=named) == ("", 7, 2)
    assert use(package, env=named) == ("", 7, 0)
    assert not kept(package)


def test_no_folder_is_made_for_a_user_without_a_home(package, tmp_path):
    # Python writes such a home as ~, which is no place.
    nobody = "import os; os.path.expanduser = lambda path: path\n"
    code, _, err = ran(nobody + USE, package, "5", env=NO_HOME | {"HOME": None}, cwd=tmp_path)
    assert code == 0, err
    assert not (tmp_path / "~").exists()


def test_a_full_disk_is_said(package):
    # What a file may have of bytes is less than any kernel has.
    limited = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    code, out, err = ran(limited + USE, package, "5", env=NO_HOME | {"PYTHONDONTWRITEBYTECODE": "1"})
    assert code == 0, err
    assert "File too large" in out
    assert out.splitlines()[-1] == "7 2"
    assert not list(package.glob("__pycache__/*"))
    assert use(package) == ("", 7, 2)


def test_processes_that_compile_at_the_same_time_end_with_what_each_compiled(package):
    for _ in range(3):
        shutil.rmtree(package / "__pycache__", ignore_errors=True)
        processes = [started(USE, package, value, env=NO_HOME) for value in ("5", "5.5", "5", "5.5")]
        for process, result in zip(processes, ("7 ", "7.5 ", "7 ", "7.5 "), strict=True):
            out, err = process.communicate(timeout=300)
            assert process.returncode == 0, err
            assert out.startswith(result)
        assert use(package) == ("", 7, 0)
        assert use(package, "5.5") == ("", 7.5, 0)
        assert not list(package.glob("__pycache__/.*.part"))


def test_the_command_line_says_that_kernels_are_compiled_and_not_kept(tmp_path):
    (tmp_path / "data.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    (tmp_path / "scores").write_text("1.0\n2.0\n")
    nowhere = {"NUMBA_CACHE_DIR": "/dev/null/none"}
    code, out, err = linrank("evaluate", "data.txt", "scores", "--measures", "map", cwd=tmp_path, env=nowhere)
    assert code == 0
    assert "0.5" in out
    compiling, line = err.splitlines()
    assert "compiling kernels" in compiling
    assert line.startswith(
        "linrank evaluate: compiled kernels cannot be kept, so every process compiles them (/dev/null/"
    )
    assert line.endswith("or let whoever installed linrank run 'linrank warmup'.")


def test_code_of_one_kernel_in_the_place_of_another_is_damage(package):
    use(package)
    one, other = kept(package)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    said, result, compiled = use(package)
    assert "is damaged, so this kernel is compiled anew." in said
    assert (result, compiled) == (7, 2)
