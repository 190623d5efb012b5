"""What the fuzzer found worth keeping is read again: each input gives a value or a LinrankError, as it must."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.targets import TARGETS, Runner, corpus_of

HERE = Path(__file__).resolve().parent
# Libraries that are not ours read these: what ends the process must not end the tests.
APART = ("arrow", "csv", "parquet")
REPLAY = "import sys; from fuzz.test_corpus import replay; print(replay(sys.argv[1]))"


def inputs(name):
    return [path.read_bytes() for path in sorted(corpus_of(name).iterdir())]


def replay(name):
    """How many inputs a reader took or refused; anything else is raised."""
    with Runner(name) as runner:
        return len([runner.run(data) for data in inputs(name)])


def test_every_reader_has_inputs_and_they_are_few_and_small():
    files = [path for folder in set(map(corpus_of, TARGETS)) for path in folder.iterdir()]
    assert len(files) < 600
    assert max(path.stat().st_size for path in files) <= 1 << 16


@pytest.mark.parametrize("name", [name for name in TARGETS if not TARGETS[name].environment])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_input_is_read_or_refused(name):
    if name not in APART:
        assert replay(name) > 0
        return
    paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    ended = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", REPLAY, name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]


@pytest.mark.parametrize("name", [name for name in TARGETS if not TARGETS[name].environment])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sound_files_are_read(name):
    """Else the fuzzer would try nothing but the first checks."""
    with Runner(name) as runner:
        refused = [said for said in map(runner.run, TARGETS[name].seeds()) if said is not None]
    assert not refused
