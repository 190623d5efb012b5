"""What a verb reads: a file by its name, or `-` for standard input."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linrank.cli.outputs import STANDARD
from linrank.errors import DataFormatError, LinrankError


def place_to_read(given: str) -> str:
    """Where something that is read once, from its start to its end, is read from."""
    return "/dev/stdin" if given == STANDARD else given


def lines_of(given: str, holds: str) -> list[str]:
    """The lines of a small text; `holds` says what is on each."""
    try:
        return Path(place_to_read(given)).read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise DataFormatError(given, None, f"cannot be read: {error.strerror}. Check the path.") from None
    except UnicodeDecodeError:
        raise DataFormatError(given, None, f"is no text. Name a file with lines of {holds}.") from None


def words_of(line: str) -> list[str]:
    """Parted by blanks and tabs, as in data: what else Python takes for a blank is part of a word."""
    return [word for word in re.split("[ \t]", line) if word]


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
