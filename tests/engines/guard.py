"""Runs a command until it ends or whoever started the guard does: python guard.py LOG USER COMMAND …

The guard's standard input is a pipe that nobody writes to. It closes when its other end dies, by whatever signal, and
then the command is ended too: no server outlives the tests.
"""

import os
import pwd
import subprocess
import sys
import threading


def main(log: str, user: str, *command: str) -> int:
    # No name is whoever runs the tests.
    another = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    with open(log, "wb") as output:  # noqa: PTH123
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd="/", **another
        )
    threading.Thread(target=end_with_input, args=(child,), daemon=True).start()
    return child.wait()


def end_with_input(child: subprocess.Popen) -> None:
    while os.read(0, 1):
        pass
    child.terminate()
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
