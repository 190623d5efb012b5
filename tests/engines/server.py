"""A search engine as a process of its own on loopback, spoken to over HTTP as its users do."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from engines.maven import CACHE

GUARD = Path(__file__).with_name("guard.py")
LOGS = CACHE / "logs"
# Loopback is never reached through a proxy.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class RefusedError(Exception):
    """An engine's answer that is no success: its status, and what it says."""

    def __init__(self, status: int, answer):
        super().__init__(f"{status}: {answer if isinstance(answer, str) else json.dumps(answer)[:2000]}")
        self.status = status
        self.answer = answer


class Server:
    """A running engine: `url` is what its commands begin with."""

    def __init__(self, name: str, url: str, command: list[str], *, ready: str, user: str = ""):
        self.url = url
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log = LOGS / f"{name}.log"
        # A session of its own: Ctrl-C in the terminal is for the tests, which then close the pipe.
        self.guard = subprocess.Popen(
            [sys.executable, str(GUARD), str(self.log), user, *command], stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            self.wait_for(ready)
        except BaseException:
            self.stop()
            raise

    def wait_for(self, ready: str, seconds: float = 180.0) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.guard.poll() is None:
            try:
                self.call("GET", ready)
            except (OSError, RefusedError):
                time.sleep(0.2)
            else:
                return
        raise RuntimeError(f"{self.url} did not start within {seconds:.0f} s; {self.log} ends:\n{self.tail()}")

    def tail(self, start: int = 0, characters: int = 4000) -> str:
        """What the engine has logged last, of what comes after `start`."""
        return self.log.read_bytes()[start:].decode(errors="replace")[-characters:] if self.log.exists() else ""

    def stop(self) -> None:
        self.guard.stdin.close()
        self.guard.wait(20)

    def call(self, method: str, path: str, body=None, content_type: str = "application/json"):
        """The engine's answer, from JSON; a body is sent as JSON, and bytes as they are."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data=data, method=method, headers={"Content-Type": content_type}
        )
        try:
            with OPENER.open(request, timeout=120) as response:
                return json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            try:
                answer = json.loads(text)
            except ValueError:
                answer = text
            raise RefusedError(error.code, answer) from error


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
