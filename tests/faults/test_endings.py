"""A command that is ended before its time: by Ctrl-C, SIGTERM or SIGKILL, and what is left of it."""

import signal
import subprocess
from pathlib import Path

import pytest

from linrank import LinearModel, make_ranking
from linrank.dataset.storage import save_dataset
from linrank.reading.write_svmlight import write_svmlight
from processes import LINRANK, descendants, is_running, ran, started, wait_until

ENDINGS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by SIGTERM")]
on_linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found by Linux's /proc")
# So that SIGINT is heard where the tests run in the background.
BEGUN = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {LINRANK}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("data")
    made, _ = make_ranking(200, 20, 30, random_state=0)
    write_svmlight(place / "data.txt", made)
    save_dataset(made, place / "data.linrank")
    return place


@pytest.fixture
def begin(folder, tmp_path):
    """Start a command in a folder of its own; whatever is left of it at the end of the test is ended."""
    begun = []

    def command(*words, **settings):
        environment = {"TMPDIR": str(tmp_path)}
        begun.append(started(BEGUN, *words, cwd=tmp_path, env=environment, **settings))
        return begun[-1]

    yield command
    for process in begun:
        process.kill()
        process.communicate()


def ended(process, number):
    process.send_signal(number)
    return process.communicate(timeout=120)


@pytest.mark.parametrize(("number", "code", "said"), ENDINGS)
def test_training_keeps_its_last_point(begin, folder, tmp_path, number, code, said):
    # It goes on until it is ended.
    process = begin("train", folder / "data.txt", "m.json", "--method", "minbatsrank", "--set", "passes=10000000")
    lines = []
    while len(lines) < 5:
        lines.append(process.stdout.readline())
    _, err = ended(process, number)
    assert process.returncode == code, err
    assert err.splitlines()[-1] == f"linrank train: {said}"
    assert "Traceback" not in err
    assert LinearModel.load(tmp_path / "m.json").weights.any()
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize(("number", "code", "said"), ENDINGS)
@pytest.mark.parametrize("words", [("convert", "-", "out.linrank"), ("train", "-", "m.json"), ("info", "-")])
def test_a_command_that_waits_for_its_data_leaves_nothing(begin, tmp_path, words, number, code, said):
    process = begin(*words, stdin=subprocess.PIPE)
    process.stdin.write("1 qid:1 1:1\n0 qid:1 1:2\n")
    process.stdin.flush()
    # It has begun to read where the pipe is empty.
    assert wait_until(lambda: unread(process.stdin) == 0)
    _, err = ended(process, number)
    assert process.returncode == code, err
    assert err == f"linrank {words[0]}: {said}\n"
    assert not list(tmp_path.iterdir())


def test_who_ignores_sigterm_goes_on_doing_so(folder, tmp_path):
    source = f"""
import os, signal
from linrank.cli import main
signal.signal(signal.SIGTERM, signal.SIG_IGN)
import linrank.cli.info as info
run = info.run
info.run = lambda arguments: (os.kill(os.getpid(), signal.SIGTERM), run(arguments))[1]
assert main(["info", {str(folder / "data.txt")!r}]) == 0
assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
"""
    code, _, err = ran(source, cwd=tmp_path)
    assert code == 0, err


@on_linux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_of_a_comparison_outlives_it(begin, folder, tmp_path, number):
    process = begin("compare", folder / "data.txt", "--methods", "ranksvm,listnet", "--jobs", "2", "--out", "out")
    assert wait_until(lambda: len(workers(process)) == 2)
    children = descendants(process.pid)
    _, err = ended(process, number)
    assert wait_until(lambda: not any(map(is_running, children)))
    if number == signal.SIGTERM:
        assert process.returncode == 143, err
        assert "the same command goes on from there" in err
        assert "sem" not in err
        assert "Traceback" not in err
    assert not list(tmp_path.rglob("*.part"))


@on_linux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_of_a_cluster_outlives_its_driver(begin, folder, number):
    pytest.importorskip("distributed")
    process = begin("train", folder / "data.linrank", "m.json", "--dask", "local:2")
    assert wait_until(lambda: len(workers(process)) == 2)
    children = descendants(process.pid)
    ended(process, number)
    assert process.returncode == (143 if number == signal.SIGTERM else -signal.SIGKILL)
    assert wait_until(lambda: not any(map(is_running, children)))


def workers(process):
    """The processes that do the work: trackers of resources are none."""
    found = []
    for child in descendants(process.pid):
        try:
            words = Path(f"/proc/{child}/cmdline").read_text()
        except OSError:
            continue
        if words and "resource_tracker import" not in words:
            found.append(child)
    return found


def unread(pipe):
    """The bytes of a pipe that nobody has read."""
    import fcntl
    import struct
    import termios

    return struct.unpack("i", fcntl.ioctl(pipe.fileno(), termios.FIONREAD, b"\0" * 4))[0]
