"""Writing files so that a reader never sees half of one, and a failure leaves what was there before."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from linrank.errors import LinrankError

# Not every system has locks that end with their process; one that has not does not let files be removed that are open.
_HAS_LOCKS = sys.platform != "win32"
if sys.platform != "win32":
    import fcntl

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a system says where no more can be written."""

_PART = ".part"
# What mkstemp puts between a prefix and a suffix.
_RANDOM = re.compile("[a-z0-9_]{8}")
_FOLDER, _LOCK = "linrank-", "lock"
# Of a longer name so many bytes are in the name of what is on the way to it, which every file system takes then.
_MOST_SHOWN = 100


def encoded_text(text: str, what: str) -> bytes:
    """A text as UTF-8; half of a pair of surrogates, which Python's texts may hold, is no letter of any."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise LinrankError(
            f"{what} {text[:80]!r} is no text: no file can hold it. Replace what is no letter."
        ) from None


@contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a new file that takes the place of `path` only when the block ends without an error."""
    # Through a link, what it points to is replaced, and the link stays.
    target = Path(path).resolve()
    encoding = None if "b" in mode else "utf-8"
    with naming_what_is_full(path):
        yield from _replaced(target, mode, encoding)


def _replaced(target: Path, mode: str, encoding: str | None) -> Iterator[IO[Any]]:
    if target.exists() and not target.is_file():
        # A pipe or a device cannot be replaced: it is written to.
        with target.open(mode, encoding=encoding) as file:
            yield file
        return
    _clear_strays(target)
    descriptor, temporary = _part_of(target)
    # Held until it has its name, after it is closed.
    with os.fdopen(os.dup(descriptor)) if _HAS_LOCKS else nullcontext():
        try:
            with os.fdopen(descriptor, mode, encoding=encoding) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            put_in_place(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def naming_what_is_full(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let what the system says of a full disk name the file; of itself it names none."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in FULL:
            error.filename = os.fspath(path)
        raise


def _part_of(target: Path) -> tuple[int, Path]:
    """Make and hold the file that is to become `target`: in the same folder, so that moving it is one step."""
    while True:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{in_short(target.name)}.", suffix=_PART)
        if _hold(descriptor):
            return descriptor, Path(name)
        os.close(descriptor)


def _clear_strays(target: Path) -> None:
    """Remove what processes that were killed have left of `target`."""
    for stray in parts_of(target):
        with suppress(OSError), _left_alone(stray):
            stray.unlink()


def parts_of(target: Path) -> list[Path]:
    """What is on the way to a file, or was when its process was killed."""
    return _left_in(target.parent, f".{in_short(target.name)}.", _PART)


def in_short(name: str) -> str:
    """A file's name, or of a long one its beginning and what tells it from others: there is room for more beside it."""
    encoded = os.fsencode(name)
    if len(encoded) <= _MOST_SHOWN:
        return name
    return f"{encoded[:_MOST_SHOWN].decode(errors='ignore')}.{hashlib.sha256(encoded).hexdigest()[:16]}"


def _left_in(folder: Path, start: str, end: str = "") -> list[Path]:
    """What this user has of names that `tempfile` makes in a folder; its processes may be at work on it."""
    with suppress(OSError), os.scandir(folder) as entries:
        return [
            Path(entry.path)
            for entry in entries
            if entry.name.startswith(start)
            and entry.name.endswith(end)
            and _RANDOM.fullmatch(entry.name[len(start) : len(entry.name) - len(end)])
            and (not _HAS_LOCKS or entry.stat(follow_symlinks=False).st_uid == os.getuid())
        ]
    return []


def _hold(descriptor: int) -> bool:
    """Mark an open file as in use until its process ends, however it ends; False where it was cleared away already."""
    if not _HAS_LOCKS:
        return True
    # A file system without locks has nobody who clears.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return os.fstat(descriptor).st_nlink > 0


@contextmanager
def _left_alone(path: Path) -> Iterator[None]:
    """Hold a file that nobody does; an OSError where somebody does, or where that cannot be known."""
    if not _HAS_LOCKS:
        yield
        return
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def put_in_place(made: Path, target: Path) -> None:
    """Give a file that is whole, in the same file system, its name, and the permissions of what has it now."""
    # What was private stays private.
    made.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else _usual_permissions())
    made.replace(target)


def stamp_of(file: str | os.PathLike[str] | int) -> tuple[int, int]:
    """What tells a file, by its path or as it is open, from another that took its place: size, and time of change."""
    status = os.stat(file)  # noqa: PTH116 - a file that is open is no path
    return status.st_size, status.st_mtime_ns


class TemporaryFolder:
    """A folder that is removed with the last object that refers to this one, or at the end of the process.

    It is where the system keeps such folders, which TMPDIR may say. Those of processes that were killed are removed
    when the next one is made.
    """

    def __init__(self) -> None:
        _clear_folders()
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_FOLDER))
            lock = (self.path / _LOCK).open("wb")
            if _hold(lock.fileno()):
                break
            lock.close()
        weakref.finalize(self, _remove_folder, self.path, lock, os.getpid())

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        # Another process may look into it, and leaves it alone.
        return str, (str(self.path),)


def _remove_folder(path: Path, lock: IO[Any], made_by: int) -> None:
    # A forked child that ends leaves its parent's folder alone.
    if made_by == os.getpid():
        shutil.rmtree(path, ignore_errors=True)
    lock.close()


def _clear_folders() -> None:
    for folder in _left_in(Path(tempfile.gettempdir()), _FOLDER):
        with suppress(OSError), _left_alone(folder / _LOCK):
            shutil.rmtree(folder, ignore_errors=True)


def _usual_permissions() -> int:
    # mkstemp makes private files; what the user asked us to write should look like any file they write.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
