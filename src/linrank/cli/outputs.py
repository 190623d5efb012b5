"""Where a verb writes, checked before any work: nothing that a user has is changed or lost.

An output is a new file, or takes the place of one that the same verb writes; it is never a file the command reads.
`-` is standard output, and then all that the verb says goes to standard error.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from linrank.cli.streams import output_for_what_is_made, say_the_rest_on_standard_error
from linrank.drawing import SIGNATURES
from linrank.errors import LinrankError
from linrank.files import parts_of

STANDARD = "-"
# Of a file that is there, as much of its start and of its end is looked at.
_BYTES_LOOKED_AT = 1 << 13


@dataclass(frozen=True)
class Kind:
    """A kind of file that we write, and how it is told from all others by its first and last bytes."""

    name: str
    is_one: Callable[[bytes, bytes], bool]


def _every_line(is_one: Callable[[str], bool]) -> Callable[[bytes, bytes], bool]:
    def all_are(start: bytes, _: bytes) -> bool:
        # The last line may be cut.
        lines = start.decode(errors="replace").split("\n")[:-1]
        return bool(lines) and all(map(is_one, lines))

    return all_are


def _is_score(line: str) -> bool:
    # As we write them: sizes of queries or labels, one a line, are whole numbers without a point.
    try:
        return repr(float(line)) == line
    except ValueError:
        return False


def _is_header_of_measures(start: bytes, _: bytes) -> bool:
    from linrank.measures import parse_measure

    first, *names = start.decode(errors="replace").partition("\n")[0].split(",")
    try:
        return first == "qid" and bool([parse_measure(name.strip('"')) for name in names])
    except LinrankError:
        return False


MODEL = Kind("a model", lambda start, _: b'"linrank-model"' in start[:200])
SCORES = Kind("a file of scores", _every_line(_is_score))
RUN = Kind("a TREC run", _every_line(lambda line: bool(re.fullmatch(r"\S+ Q0 \S+ \d+ \S+ \S+", line))))
PER_QUERY = Kind("a table of measures", _is_header_of_measures)
PAGE = Kind("a page of linrank's", lambda start, _: b'<meta name="generator" content="linrank">' in start)
PICTURE = Kind("a picture of linrank's", lambda *ends: any(mark in end for mark in SIGNATURES for end in ends))
DATASET = Kind("a .linrank file", lambda start, _: start.startswith(b"\x89LINRANK"))
ROUNDS = Kind("the rounds of a training", lambda start, _: start.startswith(b"linrank rounds "))
VECTORS = Kind("test vectors of linrank's", lambda start, _: b'"linrank-vectors"' in start[:200])
# Text that we write cannot be told from a user's own data.
TEXT = Kind("", lambda *_: False)


def vectors_of(out: str) -> Path:
    """Where the test vectors of a file for an engine are."""
    # As `linrank.exporting.export` has it, which is not loaded to check a command line.
    place = Path(out)
    return place.with_name(place.name + ".vectors.json")


def unchanged(out: str, verb: str) -> Kind:
    """A file for an engine that its test vectors say is as it was written: nothing of the user's is in it."""

    def says_so(vectors: Path) -> bool:
        try:
            recorded = json.loads(vectors.read_text(encoding="utf-8"))["file_sha256"]
            return bool(recorded == hashlib.sha256(Path(out).read_bytes()).hexdigest())
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return False

    def is_one(*_: bytes) -> bool:
        beside = vectors_of(out).resolve()
        # A command that was killed may have left its vectors on the way.
        return any(map(says_so, (beside, *parts_of(beside))))

    return Kind(f"as linrank {verb} wrote it", is_one)


def check_files(outputs: Iterable[tuple[str | Path | None, Kind]], inputs: Iterable[str | Path | None] = ()) -> None:
    """Refuse outputs that cannot be written or would destroy something; None is what was not asked for."""
    read = [str(path) for path in inputs if path is not None]
    if read.count(STANDARD) > 1:
        raise LinrankError("- is given twice, but standard input can be read once. Save one of the two to a file.")
    written: list[str] = []
    for path, kind in outputs:
        if path is None:
            continue
        place = str(path)
        if place == STANDARD:
            _check_standard_output()
        else:
            _check_place(Path(place))
            _check_is_no_input(Path(place), read)
            _check_kind(Path(place), kind)
        if any(_is_same(place, other) for other in written):
            raise LinrankError(f"{place}: would be written twice. Name two different files.")
        written.append(place)
    if STANDARD in written:
        say_the_rest_on_standard_error()


def check_results_folder(folder: str | Path, data: str | Path, mark: str = "comparison.json") -> None:
    """Refuse a folder for results that holds the data, or that holds files and no comparison's `mark` among them."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise LinrankError(f"{place}: is a file, and results go into a folder. Name another.")
    _check_writable(next(above for above in (place, *place.absolute().parents) if above.exists()))
    if Path(data).resolve().is_relative_to(place.resolve()):
        raise LinrankError(f"{place}: holds the data. Name another folder for the results, so that nothing is lost.")
    if place.is_dir() and any(place.iterdir()) and not any(map(_is_comparison, place.glob(mark))):
        raise LinrankError(
            f"{place}: holds other files, and no results. Name a new or an empty folder, so that nothing is lost."
        )


def _is_comparison(place: Path) -> bool:
    return b'"linrank-comparison"' in _ends(place)[0]


@contextmanager
def place_of(output: str | Path) -> Iterator[Path]:
    """Yield where to write an output: at its own place, or for `-` where it is taken to standard output from."""
    if str(output) != STANDARD:
        yield Path(output)
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "made"
        yield place
        with place.open(encoding="utf-8", newline="") as file:
            shutil.copyfileobj(file, output_for_what_is_made())


def _check_standard_output() -> None:
    if getattr(output_for_what_is_made(), "was_closed", False):
        raise LinrankError("- is standard output, which is closed. Name a file.")


def _check_place(place: Path) -> None:
    _check_name(place)
    if place.is_dir():
        raise LinrankError(f"{place}: is a folder. Name a file.")
    # Through a link, what it points to is replaced.
    folder = place.resolve().parent
    if not folder.is_dir():
        raise LinrankError(f"{folder if place.is_symlink() else place.parent}: no such folder. Make it first.")
    if place.exists() and not os.access(place, os.W_OK):
        raise LinrankError(f"{place}: cannot be written to. Name another file, or change its permissions.")
    if not place.exists() or place.is_file():
        _check_writable(folder)


def _check_name(place: Path) -> None:
    try:
        place.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise LinrankError(f"{place}: this name is too long for a file. Use a shorter one.") from None


def _check_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise LinrankError(f"{folder}: this folder cannot be written to. Name another, or change its permissions.")


def _check_is_no_input(place: Path, inputs: list[str]) -> None:
    for given in inputs:
        if _is_same(str(place), given):
            also = "" if str(place) == given else f", {given}"
            raise LinrankError(
                f"{place}: is read by this command{also}. Name another file to write, so that nothing is lost."
            )


def _check_kind(place: Path, kind: Kind) -> None:
    # A pipe or a device is written to, and an empty file holds nothing to lose.
    if not place.is_file() or place.stat().st_size == 0:
        return
    if not kind.is_one(*_ends(place)):
        is_not = f", and is not {kind.name}" if kind.name else ""
        raise LinrankError(
            f"{place}: is there already{is_not}. Name another file, so that nothing is lost, or remove this one first."
        )


def _ends(place: Path) -> tuple[bytes, bytes]:
    with place.open("rb") as file:
        start = file.read(_BYTES_LOOKED_AT)
        file.seek(max(0, place.stat().st_size - _BYTES_LOOKED_AT))
        return start, file.read()


def _is_same(one: str, other: str) -> bool:
    """Whether two paths are one file, through links of any kind, or would be."""
    if STANDARD in (one, other):
        return one == other
    try:
        return Path(one).samefile(other)
    except OSError:
        return Path(one).resolve() == Path(other).resolve()
