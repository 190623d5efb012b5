"""Other processes for the tests of faults: Python and the command line, with the surroundings that a test wants."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

LINRANK = "import sys; from linrank.cli import main; sys.exit(main())"
_CAPBSET_DROP, _DAC_OVERRIDE, _DAC_READ_SEARCH = 24, 1, 2


def obey_permissions():
    """Let a process of root's be refused what its permissions refuse, as other users are; before it starts."""
    if os.getuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
            if libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0):
                os._exit(77)


def started(source, *words, env=(), **settings):
    """A Python process that has begun to run a source."""
    environment = {name: value for name, value in (os.environ | dict(env)).items() if value is not None}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", source, *map(str, words)], env=environment, **(pipes | settings))


def ran(source, *words, timeout=300, env=(), **settings):
    """What came of a Python process: code, standard output and error."""
    process = started(source, *words, env=env, **settings)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, out, err


def linrank(*words, **settings):
    """What came of a command."""
    return ran(LINRANK, *words, **settings)


def descendants(pid):
    """The processes that a process has started, and those they have, by what Linux tells."""
    found, unseen = [], [pid]
    while unseen:
        parent = unseen.pop()
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                children = [int(word) for word in task.read_text().split()]
            except OSError:
                continue
            found += children
            unseen += children
    return found


def is_running(pid):
    """Whether a process is there, and more than a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(holds, seconds=60.0):
    """Whether something comes to hold."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return bool(holds())
