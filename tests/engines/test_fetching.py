"""What is fetched is what was locked; what was started ends."""

import hashlib
import os
import signal
import subprocess
import sys
import time

import pytest

from engines import maven
from engines.server import GUARD, Server


@pytest.fixture
def index(tmp_path, monkeypatch):
    """An index with one file, and an empty cache."""
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "file.jar").write_bytes(b"content")
    monkeypatch.setattr(maven, "INDEX", (tmp_path / "index").as_uri())
    monkeypatch.setattr(maven, "CACHE", tmp_path / "cache")
    return tmp_path / "index"


CONTENT = hashlib.sha256(b"content").hexdigest()


def test_a_file_is_fetched_once(index):
    kept = maven.fetch("file.jar", sha256=CONTENT)
    (index / "file.jar").unlink()
    assert maven.fetch("file.jar", sha256=CONTENT) == kept
    assert kept.read_bytes() == b"content"


def test_a_file_with_another_sum_is_refused_and_not_kept(index):
    with pytest.raises(ValueError, match="SHA-256"):
        maven.fetch("file.jar", sha256=hashlib.sha256(b"other").hexdigest())
    assert not list(maven.CACHE.rglob("*.*"))


def test_what_a_lock_lists_comes_in_its_order_or_not_at_all(index, tmp_path, monkeypatch):
    monkeypatch.setattr(maven, "LOCKS", tmp_path)
    (index / "second.jar").write_bytes(b"content")
    (tmp_path / "both.txt").write_text(f"# two files\n{CONTENT} second.jar\n{CONTENT} file.jar\n")
    assert [file.name for file in maven.fetch_locked("both")] == ["second.jar", "file.jar"]
    (tmp_path / "more.txt").write_text(f"{CONTENT} file.jar\n{CONTENT} third.jar\n")
    with pytest.raises(maven.UnreachableError, match=r"third\.jar"):
        maven.fetch_locked("more")


def test_an_index_without_the_file_is_named(index):
    with pytest.raises(maven.UnreachableError, match=r"index/nothing\.jar"):
        maven.fetch("nothing.jar", sha256=CONTENT)


def test_a_server_ends_when_the_tests_are_killed(tmp_path):
    script = (
        "import subprocess, sys, time\n"
        f"guarded = [sys.executable, {str(GUARD)!r}, {str(tmp_path / 'log')!r}, '', sys.executable, '-c',\n"
        "           'import os, time; print(os.getpid(), flush=True); time.sleep(600)']\n"
        "subprocess.Popen(guarded, stdin=subprocess.PIPE, start_new_session=True)\n"
        "time.sleep(600)"
    )
    tests = subprocess.Popen([sys.executable, "-c", script])
    server = int(wait_for(lambda: (tmp_path / "log").exists() and (tmp_path / "log").read_text()))
    tests.send_signal(signal.SIGKILL)
    tests.wait()
    assert wait_for(lambda: not alive(server))


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(condition):
    for _ in range(300):
        if found := condition():
            return found
        time.sleep(0.1)
    pytest.fail("waited for half a minute")


def test_a_server_that_does_not_start_shows_its_log(tmp_path, monkeypatch):
    monkeypatch.setattr("engines.server.LOGS", tmp_path)
    with pytest.raises(RuntimeError, match="no such engine"):
        Server("none", "http://127.0.0.1:9", [sys.executable, "-c", "print('no such engine')"], ready="/")
