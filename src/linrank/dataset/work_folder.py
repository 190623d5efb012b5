"""A folder beside a file in the making: what is on the way to it, and how far the work has come."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from linrank._version import __version__
from linrank.errors import DataFormatError, LinrankError
from linrank.files import in_short, naming_what_is_full, put_in_place, replacing

# What is done again after the process was killed, at most; noting waits for the disk.
_SECONDS_BETWEEN_NOTES = 10.0
_STATE, _LOCK, _MADE = "state.json", "lock", "made"


class WorkFolder:
    """`OUT.parts`: its state survives the process; the state of other work, for which `about` differs, is refused."""

    def __init__(self, path: Path, state: dict[str, Any]) -> None:
        self.path = path
        self._state = state
        self._noted = time.monotonic()

    def __contains__(self, what: str) -> bool:
        return what in self._state

    def __getitem__(self, what: str) -> Any:
        return self._state[what]

    def get(self, what: str, default: Any) -> Any:
        return self._state.get(what, default)

    @property
    def made(self) -> Path:
        """The file in the making."""
        return self.path / _MADE

    def note(self, **known: Any) -> None:
        """Write down what is known by now; what it speaks of is on the disk already."""
        self._state |= known
        with replacing(self.path / _STATE) as file:
            json.dump(self._state, file)
        self._noted = time.monotonic()

    @property
    def is_time_to_note(self) -> bool:
        """Whether nothing was written down for a while."""
        return time.monotonic() - self._noted >= _SECONDS_BETWEEN_NOTES


@contextmanager
def work_folder(out: str | os.PathLike[str], about: dict[str, Any], *, resume: bool) -> Iterator[WorkFolder]:
    """The folder for the work on `out`, which is put in its place at the end; of a killed process it is left.

    `about` says what the work is of, by plain values.
    """
    target = Path(out).resolve()
    path = folder_of(target)
    known = json.loads(json.dumps({"linrank": __version__, **about}))
    state = {"about": known}
    if path.exists() and not _is_bare(path):
        state = _state_left(path, known, resume=resume)
    done = path.with_name(f".{path.name}")
    with suppress(OSError, LinrankError), _locked(done):
        # Of a process that was killed at the very end.
        shutil.rmtree(done)
    path.mkdir(exist_ok=True)
    with _locked(path), naming_what_is_full(out):
        work = WorkFolder(path, state)
        try:
            work.note()
            yield work
            # In one step it is no longer work to go on with: a folder that is half removed would be taken for that.
            path.rename(done)
            put_in_place(done / _MADE, target)
        except OSError:
            # A full disk is no fault of what has been done: it is gone on with once there is room.
            if done.exists():
                done.rename(path)
            raise
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            shutil.rmtree(done, ignore_errors=True)
            raise
    shutil.rmtree(done)


def folder_of(out: str | os.PathLike[str]) -> Path:
    """Where the work on a file is."""
    target = Path(out).resolve()
    return target.with_name(in_short(target.name) + ".parts")


def _is_bare(path: Path) -> bool:
    """Whether the process was killed before it had noted anything."""
    return path.is_dir() and all(one.name == _LOCK or one.name.startswith(f".{_STATE}.") for one in path.iterdir())


def _state_left(path: Path, about: dict[str, Any], *, resume: bool) -> dict[str, Any]:
    """What a process that was killed has noted."""
    if not resume:
        raise LinrankError(
            f"{path}: holds the work of a conversion that ended before its time, or is still running. Go on with it "
            "(resume=True), or remove the folder."
        )
    try:
        state: dict[str, Any] = json.loads((path / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise DataFormatError(
            str(path), None, "holds no work that could be gone on with. Remove it, and begin again."
        ) from None
    for name, value in about.items():
        if (noted := state["about"].get(name)) != value:
            raise DataFormatError(
                str(path),
                None,
                f"is of another conversion: its {name} was {noted}, and is now {value}. Say the same as then, or "
                "remove the folder and begin again.",
            )
    return state


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Refuse to work where another process does; it is free again when that ends, however it ends."""
    with (path / _LOCK).open("wb") as file:
        # Not every system has it.
        with suppress(ImportError):
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise LinrankError(f"{path}: another process is at work here. Wait for its end.") from None
        yield
