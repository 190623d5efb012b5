"""The tests that versions can break, on the lowest versions of pyproject and on the newest: `make test-versions`.

For every Python from 3.11 on that this machine has there are two environments, each with the wheel and all extras: one
with exactly the versions that pyproject's `>=` name, one with whatever is newest. A Python that is missing is named.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = ("3.11", "3.12", "3.13")
# Where other libraries' versions show: their arrays, frames, files, estimators, clusters, graphs and pictures; and one
# pass through every kernel. What is only ours is the same in all of them, and `make test` tests it.
TESTS = (
    "tests/contracts/test_losses.py",
    "tests/contracts/test_rankers.py",
    "tests/contracts/test_runs.py",
    "tests/dataset",
    "tests/measures",
    "tests/reading/test_convert_table.py",
    "tests/reading/test_index_of_frames.py",
    "tests/reading/test_svmlight.py",
    "tests/reading/test_tables.py",
    "tests/reading/test_write_parquet.py",
    "tests/estimators/test_catalogue.py",
    "tests/estimators/test_conventions.py",
    "tests/estimators/test_in_scikit_learn.py",
    "tests/estimators/test_least_squares_rankers.py",
    "tests/estimators/test_pickling.py",
    "tests/estimators/test_searching.py",
    "tests/estimators/test_tree_rankers.py",
    "tests/executors/test_dask.py",
    "tests/experiments/test_feature_path.py",
    "tests/exporting/test_onnx.py",
    "tests/exporting/test_onnx_pipelines.py",
    "tests/test_model.py",
    "tests/test_scoring.py",
    "tests/cli/test_cli.py",
    "tests/cli/test_show.py",
)
# Of the tools of `make test`, those that no test here uses.
UNUSED = ("mypy", "ruff", "selenium")
# Libraries of the day warn of each other in every pair of versions; what ours does is held to `error` by `make test`.
WARNINGS = [f"-Wdefault::{kind}Warning" for kind in ("Deprecation", "Future", "PendingDeprecation")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", choices=PYTHONS, help="these alone")
    parser.add_argument("--only", choices=("lowest", "newest"))
    parser.add_argument("--work", type=Path, default=Path(".cache/versions"), help="where environments are made")
    parser.add_argument("tests", nargs="*", default=TESTS, help="tests to run")
    asked = parser.parse_args()
    work = asked.work.resolve()
    wheel = built(work / "dist")
    told, failed = [], False
    for version in asked.python or PYTHONS:
        python = python_of(version)
        for which in (asked.only,) if asked.only else ("lowest", "newest"):
            if python is None:
                told.append(f"Python {version}, {which}: passed over, this machine has no Python {version}")
                continue
            started = time.monotonic()
            code = tested(environment(work / f"{version}-{which}", python, wheel, which), asked.tests)
            failed |= code != 0
            said = "all passed" if code == 0 else f"FAILED (pytest's code {code})"
            told.append(f"Python {version}, {which}: {said}, {time.monotonic() - started:.0f} s")
            print(told[-1], flush=True)
    print("", *told, sep="\n")
    return int(failed)


def lowest() -> list[str]:
    """A pin for each `>=` of pyproject: what is needed, and the extras."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = pyproject["project"]
    extras = [line for name, lines in project["optional-dependencies"].items() if name != "all" for line in lines]
    return sorted({line.replace(">=", "==") for line in (*project["dependencies"], *extras)})


def tools() -> list[str]:
    """What the tests use beside: as new as goes with the rest."""
    lines = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["dev"]
    return [line for line in lines if re.match(r"[\w-]+", line)[0] not in UNUSED]


def python_of(version: str) -> str | None:
    """A Python of this version: on the path, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders = [*map(Path, os.get_exec_path()), *(found / "bin" for found in sorted(pyenv.glob(f"{version}.*")))]
    for candidate in (Path(sys.executable), *(folder / f"python{version}" for folder in folders)):
        asked = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
        # A name of pyenv's may stand for nothing.
        if candidate.is_file() and _said([str(candidate), "-c", asked]) == version:
            return str(candidate)
    return None


def _said(command: list[str]) -> str | None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.stdout.strip() if ended.returncode == 0 else None


def uv(*words: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "uv", "--quiet", *map(str, words)], check=True, cwd=ROOT)


def built(folder: Path) -> Path:
    """The wheel, made of what a source distribution has."""
    shutil.rmtree(folder, ignore_errors=True)
    uv("build", "--out-dir", folder)
    return next(folder.glob("*.whl"))


def environment(folder: Path, python: str, wheel: Path, which: str) -> Path:
    """A new environment with the wheel, all extras and the tests' tools; its Python."""
    uv("venv", "--clear", "--python", python, folder)
    made = folder / "bin" / "python"
    wanted = [*tools(), *(lowest() if which == "lowest" else ())]
    # What has to be compiled here would be another package than the one that is published.
    uv("pip", "install", "--only-binary", ":all:", "--python", made, f"linrank[all] @ {wheel.as_uri()}", *wanted)
    return made


def tested(python: Path, tests: list[str]) -> int:
    """Pytest's exit code, linrank being the wheel's."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    where = "import linrank; print(linrank.__file__)"
    assert str(python.parents[1]) in str(_said([str(python), "-P", "-c", where])), "not the wheel's linrank"
    command = [str(python), "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile"]
    return subprocess.run([*command, *WARNINGS, *tests], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
