"""What a `.linrank` file looks like: where its arrays are, and how damage is told from a newer form.

64 bytes    magic number, format version, sizes, the version that wrote it, checksums; this form never changes
header      JSON: counts, feature names, and the type, shape, place and checksum of every array
arrays      little-endian, in C order, each at a multiple of 64 bytes
"""

from __future__ import annotations

import json
import math
import operator
import os
import struct
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from linrank._version import __version__
from linrank.dataset.missing_rule import MissingRule, check_missing_rule
from linrank.dataset.width import check_room, is_justified, unjustified
from linrank.errors import DataFormatError, LinrankError

FORMAT_VERSION = 1

# The line endings, as in PNG, show a transfer that took the file for text.
_MAGIC = b"\x89LINRANK\r\n\x1a\n"
_ALIGNMENT = 64
# Magic number, format version, bytes of the header, bytes of the file, who wrote it, checksum of the header.
_PREAMBLE = struct.Struct("<12sIQQ16sI8x")
_CHECKSUM = struct.Struct("<I")
_PREAMBLE_BYTES = _PREAMBLE.size + _CHECKSUM.size

_REMEDY = "Make it anew from the data it was made of: linrank convert train.txt train.linrank"
# Signed and unsigned integers, floats, booleans, fixed-width text and bytes, dates.
_ID_KINDS = "iufbUSMm"
# Columns are numbered in 32 bits.
_MOST_COLUMNS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Section:
    """One array of the file; the checksum is CRC-32 of its bytes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    checksum: int = 0

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def to_json(self) -> dict[str, Any]:
        # Hexadecimal, so that the header's length does not depend on the checksums.
        return {**asdict(self), "dtype": self.dtype.str, "checksum": f"{self.checksum:08x}"}

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Section:
        shape = tuple(entry["shape"])
        if not isinstance(entry["dtype"], str):
            raise TypeError("a type is no text")
        if not all(isinstance(number, int) and number >= 0 for number in (entry["offset"], *shape)):
            raise ValueError("negative or fractional size")
        if entry["offset"] % _ALIGNMENT:
            raise ValueError(f"an array starts at byte {entry['offset']}, no multiple of {_ALIGNMENT}")
        return cls(np.dtype(entry["dtype"]), shape, entry["offset"], int(entry["checksum"], 16))


@dataclass(frozen=True, slots=True)
class Layout:
    """The header: what the file holds, and where; `query_ids` only where they are no plain array."""

    source: str
    n_documents: int
    n_features: int
    n_queries: int
    feature_names: tuple[str, ...] | None
    query_ids: tuple[Any, ...] | None
    sections: dict[str, Section]
    missing: MissingRule = "error"

    @classmethod
    def of(
        cls,
        arrays: Mapping[str, NDArray[Any] | Section],
        *,
        n_documents: int,
        n_features: int,
        n_queries: int,
        feature_names: tuple[str, ...] | None,
        query_ids: tuple[Any, ...] | None,
        missing: MissingRule,
    ) -> Layout:
        """Place the arrays one after the other behind the header."""
        unplaced = {name: Section(array.dtype.newbyteorder("<"), array.shape, 0) for name, array in arrays.items()}
        layout = cls("", n_documents, n_features, n_queries, feature_names, query_ids, unplaced, missing)
        # The offsets' digits are part of the header: leave room for the longest.
        end = _PREAMBLE_BYTES + len(layout.to_json()) + 20 * len(arrays)
        sections = {}
        for name, section in unplaced.items():
            offset = -(-end // _ALIGNMENT) * _ALIGNMENT
            sections[name] = replace(section, offset=offset)
            end = offset + section.n_bytes
        return replace(layout, sections=sections)

    def with_checksums(self, checksums: Mapping[str, int]) -> Layout:
        sections = {name: replace(section, checksum=checksums[name]) for name, section in self.sections.items()}
        return replace(self, sections=sections)

    @property
    def n_values(self) -> int:
        """How many values the features have in the file."""
        return math.prod(self.sections["values" if "values" in self.sections else "features"].shape)

    @property
    def n_bytes(self) -> int:
        """The size of the whole file."""
        return max(section.offset + section.n_bytes for section in self.sections.values())

    def to_json(self) -> bytes:
        header = {
            "n_documents": self.n_documents,
            "n_features": self.n_features,
            "n_queries": self.n_queries,
            "feature_names": self.feature_names,
            "query_ids": self.query_ids,
            "missing": self.missing,
            "arrays": {name: section.to_json() for name, section in self.sections.items()},
        }
        return json.dumps(header).encode()

    @classmethod
    def from_json(cls, text: bytes, source: str) -> Layout:
        header = json.loads(text)
        names, ids = header["feature_names"], header["query_ids"]
        if names is not None and not all(isinstance(name, str) for name in names):
            raise TypeError("a feature name is no text")
        # Files written before the rule was kept have none.
        missing = header.get("missing", "error")
        check_missing_rule(missing)
        return cls(
            source,
            operator.index(header["n_documents"]),
            operator.index(header["n_features"]),
            operator.index(header["n_queries"]),
            None if names is None else tuple(names),
            None if ids is None else tuple(ids),
            {name: Section.from_json(entry) for name, entry in header["arrays"].items()},
            missing,
        )

    def damage(self, problem: str) -> DataFormatError:
        return _damage(self.source, problem)


def write_layout(file: IO[bytes], layout: Layout) -> None:
    """Write what stands before the arrays, once they are written and their checksums known."""
    header = layout.to_json()
    writer = __version__.encode()[:16]
    preamble = _PREAMBLE.pack(_MAGIC, FORMAT_VERSION, len(header), layout.n_bytes, writer, zlib.crc32(header))
    # Nothing was written for an empty array at the end, though it has a place.
    file.truncate(layout.n_bytes)
    file.seek(0)
    file.write(preamble + _CHECKSUM.pack(zlib.crc32(preamble)) + header)


def read_layout(file: IO[bytes], source: str) -> Layout:
    """Read and check what stands before the arrays; touches nothing else."""
    start = file.read(_PREAMBLE_BYTES)
    if not start.startswith(_MAGIC):
        if start and _MAGIC.startswith(start):
            raise _damage(source, f"it ends after {len(start)} bytes")
        raise DataFormatError(
            source,
            None,
            f"is not a .linrank file: it starts with {start[:12]!r}. Text is converted with: "
            "linrank convert train.txt train.linrank",
        )
    if len(start) < _PREAMBLE_BYTES:
        raise _damage(source, f"it ends after {len(start)} bytes")
    if zlib.crc32(start[: _PREAMBLE.size]) != _CHECKSUM.unpack(start[_PREAMBLE.size :])[0]:
        raise _damage(source, f"its first {_PREAMBLE_BYTES} bytes are not what was written (their checksum differs)")
    _, version, header_bytes, file_bytes, writer, header_checksum = _PREAMBLE.unpack(start[: _PREAMBLE.size])
    if version != FORMAT_VERSION:
        needed = writer.rstrip(b"\0").decode(errors="replace")
        raise DataFormatError(
            source,
            None,
            f"has format version {version}, written by linrank {needed}; linrank {__version__} reads version "
            f"{FORMAT_VERSION}. Upgrade with: pip install 'linrank>={needed}'",
        )
    size = os.fstat(file.fileno()).st_size
    if size != file_bytes:
        raise _damage(source, f"it has {size} bytes instead of {file_bytes}")
    # No more than there is, whatever the file says.
    header = file.read(min(header_bytes, size))
    if zlib.crc32(header) != header_checksum:
        raise _damage(source, "its header is not what was written (its checksum differs)")
    try:
        layout = Layout.from_json(header, source)
    # NumPy has its own ways of not understanding a type.
    except (
        AttributeError,
        KeyError,
        MemoryError,
        OverflowError,
        RecursionError,
        SyntaxError,
        TypeError,
        ValueError,
    ) as error:
        raise _damage(source, f"its header cannot be understood ({type(error).__name__}: {error})") from None
    if problem := _problem(layout, size):
        raise _damage(source, problem)
    return layout


def _damage(source: str, problem: str) -> DataFormatError:
    return DataFormatError(source, None, f"the file is damaged: {problem}. {_REMEDY}")


def _problem(layout: Layout, size: int) -> str | None:
    """What in the header contradicts itself or the size of the file, if anything."""
    for name, section in layout.sections.items():
        if section.offset + section.n_bytes > size:
            return f"the array {name!r} would end at byte {section.offset + section.n_bytes} of {size}"
    names = layout.feature_names
    if names is not None and not len(set(names)) == len(names) == layout.n_features:
        return f"it has {len(set(names))} feature names for {layout.n_features} features"
    if layout.n_features < 0 or ("values" in layout.sections and layout.n_features > _MOST_COLUMNS):
        return f"it cannot have {layout.n_features} features"
    if layout.query_ids is not None and len(layout.query_ids) != layout.n_queries:
        return f"it has {len(layout.query_ids)} query ids for {layout.n_queries} queries"
    required, allowed = _expected(layout)
    if absent := required - layout.sections.keys():
        return f"it has no array {min(absent)!r}"
    for name, section in layout.sections.items():
        if name not in allowed:
            return f"it has an array {name!r} that does not belong there"
        types, shape = allowed[name]
        known = section.dtype.kind in _ID_KINDS if name == "query_ids" else section.dtype.str in types
        if not known or section.shape != shape:
            return f"the array {name!r} has type {section.dtype} and shape {section.shape}, which do not belong there"
    return None


def _expected(layout: Layout) -> tuple[set[str], dict[str, tuple[tuple[str, ...], tuple[int, ...]]]]:
    """The arrays there must be, and the types and shape of those there may be."""
    documents, queries, sections = layout.n_documents, layout.n_queries, layout.sections
    required = {"query_starts"}
    allowed: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
        "labels": (("<f8",), (documents,)),
        "query_starts": (("<i8",), (queries + 1,)),
        "order": (("<i8",), (documents,)),
        "document_weights": (("<f8",), (documents,)),
        "query_weights": (("<f8",), (queries,)),
    }
    if "values" in sections:
        required |= {"row_starts", "columns"}
        allowed["row_starts"] = (("<i4", "<i8"), (documents + 1,))
        allowed["columns"] = (("<i4",), _in_a_row(sections["values"]))
        allowed["values"] = (("<f4", "<f8"), _in_a_row(sections["values"]))
    else:
        required |= {"features"}
        allowed["features"] = (("<f4", "<f8"), (documents, layout.n_features))
    if layout.query_ids is None:
        required |= {"query_ids"}
        allowed["query_ids"] = ((), (queries,))
    if "comment_starts" in sections:
        required |= {"comment_letters"}
        allowed["comment_starts"] = (("<i8",), (documents + 1,))
        if "comment_letters" in sections:
            allowed["comment_letters"] = (("|u1",), _in_a_row(sections["comment_letters"]))
    if "unretrieved_starts" in sections:
        required |= {"unretrieved_labels"}
        allowed["unretrieved_starts"] = (("<i8",), (queries + 1,))
        if "unretrieved_labels" in sections:
            allowed["unretrieved_labels"] = (("<f8",), _in_a_row(sections["unretrieved_labels"]))
    return required, allowed


def _in_a_row(section: Section) -> tuple[int]:
    return (math.prod(section.shape),)


def check_width(layout: Layout, told: int | None) -> None:
    """Refuse more features than the values of a file justify, or than there is memory for."""
    if told is not None and told != layout.n_features:
        raise DataFormatError(
            layout.source, None, f"has {layout.n_features} features, not n_features={told}. Leave n_features out."
        )
    if told is None and not is_justified(layout.n_features, layout.n_values):
        raise DataFormatError(
            layout.source,
            None,
            unjustified(layout.n_features, f"says that it has {layout.n_features} features", layout.n_values),
        )
    try:
        check_room(layout.n_features)
    except LinrankError as error:
        raise DataFormatError(layout.source, None, str(error)) from None
