"""Writing files so that a reader never sees half of one, and a failure leaves what was there before."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a new file that takes the place of `path` only when the block ends without an error."""
    # Through a link, what it points to is replaced, and the link stays.
    target = Path(path).resolve()
    encoding = None if "b" in mode else "utf-8"
    if target.exists() and not target.is_file():
        # A pipe or a device cannot be replaced: it is written to.
        with target.open(mode, encoding=encoding) as file:
            yield file
        return
    # In the same folder, so that the move at the end cannot cross file systems.
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, mode, encoding=encoding) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        put_in_place(Path(temporary), target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


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

    It is where the system keeps such folders, which TMPDIR may say.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="linrank-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        # Another process may look into it, and leaves it alone.
        return str, (str(self.path),)


def _usual_permissions() -> int:
    # mkstemp makes private files; what the user asked us to write should look like any file they write.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
