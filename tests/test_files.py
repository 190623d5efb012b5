import os
import tempfile
from pathlib import Path
from subprocess import PIPE

import pytest

from linrank.files import TemporaryFolder, replacing
from processes import started


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fail():
        with replacing(path) as file:
            file.write("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with replacing(tmp_path / "link") as file:
        file.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_device_stays_a_device():
    with replacing("/dev/null") as file:
        file.write("gone")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o604])
def test_a_file_keeps_its_permissions_when_it_is_replaced(tmp_path, mode):
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(mode)
    with replacing(tmp_path / "file") as file:
        file.write("new")
    assert (tmp_path / "file").read_text() == "new"
    assert (tmp_path / "file").stat().st_mode & 0o7777 == mode


def test_new_files_have_the_usual_permissions(tmp_path):
    with replacing(tmp_path / "file", "wb") as file:
        file.write(b"x")
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


KILLED_WHILE_WRITING = """
import os, signal, sys
from linrank.files import TemporaryFolder, replacing
folder = TemporaryFolder()
with replacing(sys.argv[1]) as file:
    file.write("half")
    file.flush()
    print(folder.path, flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
    file.write(" and half")
"""


def begun(path, how):
    process = started(KILLED_WHILE_WRITING, path, how, stdin=PIPE, env={"TMPDIR": str(path.parent)})
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_is_cleared_by_the_next_that_writes_the_same(tmp_path):
    path, other = tmp_path / "file", tmp_path / "file.other"
    for target in (path, other):
        begun(target, "killed")[0].communicate(timeout=60)
    assert len(list(tmp_path.glob(".*.part"))) == 2
    with replacing(path) as file:
        file.write("new")
    # What belongs to another output waits for that.
    (stray,) = tmp_path.glob(".*.part")
    assert stray.name.startswith(".file.other.")
    assert path.read_text() == "new"
    assert not other.exists()


@pytest.mark.parametrize("letter", ["a", "é", "€", "\U0001f600", "\udce9"])
def test_a_file_with_a_long_name_is_written_and_what_is_left_of_it_alone_is_cleared(tmp_path, letter):
    n_letters = 255 // len(os.fsencode(letter))
    path, other = tmp_path / (letter * n_letters), tmp_path / (letter * (n_letters - 1))
    for target in (path, other):
        begun(target, "killed")[0].communicate(timeout=60)
    assert len(list(tmp_path.glob(".*.part"))) == 2
    with replacing(path) as file:
        file.write("new")
    assert path.read_text() == "new"
    assert len(list(tmp_path.glob(".*.part"))) == 1
    with replacing(other) as file:
        file.write("new")
    assert not list(tmp_path.glob(".*.part"))


def test_two_processes_that_write_the_same_file_end_with_one_whole_file(tmp_path):
    path = tmp_path / "file"
    process, _ = begun(path, "lives")
    (its_part,) = tmp_path.glob(".*.part")
    with replacing(path) as file:
        file.write("new")
    assert its_part.exists()
    assert path.read_text() == "new"
    process.communicate(timeout=60)
    assert path.read_text() == "half and half"
    assert not list(tmp_path.glob(".*.part"))


def test_folders_of_killed_processes_are_cleared_and_those_of_others_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    living, of_living = begun(tmp_path / "one", "lives")
    killed, of_killed = begun(tmp_path / "two", "killed")
    killed.communicate(timeout=60)
    (tmp_path / "linrank-stranger").mkdir()
    assert of_killed.is_dir()
    mine = TemporaryFolder()
    assert not of_killed.exists()
    assert of_living.is_dir()
    assert mine.path.is_dir()
    assert (tmp_path / "linrank-stranger").is_dir()
    living.communicate(timeout=60)
    assert not of_living.exists()
    del mine
    assert [path.name for path in tmp_path.glob("linrank-*")] == ["linrank-stranger"]
