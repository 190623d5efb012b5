"""What a verb reads: a file by its name, or `-` for standard input."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linrank.cli.outputs import STANDARD
from linrank.errors import LinrankError


def place_to_read(given: str) -> str:
    """Where something that is read once, from its start to its end, is read from."""
    return "/dev/stdin" if given == STANDARD else given


@contextmanager
def file_to_read(given: str) -> Iterator[str]:
    """Yield a file that can be read here and there, as tables are: standard input is copied to one first."""
    if given != STANDARD:
        yield given
        return
    # A mapped file may outlive its name; where it must not, it is left to the system to remove.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder) / "input"
        with Path(place_to_read(given)).open("rb") as source, place.open("wb") as copy:
            shutil.copyfileobj(source, copy)
        try:
            yield str(place)
        except LinrankError as error:
            raise LinrankError(str(error).replace(str(place), "standard input")) from None
