"""What a driver was told, round by round, in a file: after any end it is told the same again, and goes on from there.

A record is the name of a task and what came of it, in plain values and arrays. It is written whole, with its length and
checksum, and then forced to disk; a last record that was cut short counts as not written.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from linrank.errors import DataFormatError

_MAGIC = b"linrank rounds 1\n"
_HEAD = struct.Struct("<QI")
# Longer records are of no use: what they hold is computed again.
_LONGEST = 1 << 30
_AGAIN = "again"


class NotPlainError(TypeError):
    """A value that no record holds."""


class RoundLog:
    """The rounds of one run, for which `about` says what it was; a file about another run is refused."""

    def __init__(self, path: str | os.PathLike[str], about: dict[str, Any], *, resume: bool = False) -> None:
        self.path = Path(path)
        self._told: list[tuple[str, Any]] = []
        self._next = 0
        start = json.dumps(about, sort_keys=True).encode()
        if resume and self.path.exists():
            end = self._read(start)
        else:
            self.path.write_bytes(_MAGIC)
            end = len(_MAGIC)
        self._file = self.path.open("r+b")
        self._file.truncate(end)
        self._file.seek(end)
        if end == len(_MAGIC):
            self._append(start)

    def round(self, task: str, run: Callable[[], Any]) -> Any:
        """What is told in the next round: as it was, or by running it."""
        if self._next < len(self._told):
            told = self._replayed(task)
            return run() if isinstance(told, str) and told == _AGAIN else told
        told = run()
        self._write(task, told)
        return told

    def _replayed(self, task: str) -> Any:
        name, told = self._told[self._next]
        if name != task:
            raise DataFormatError(
                str(self.path), None, f"round {self._next + 1} was {name}, and is now {task}: it is of another run. "
                "Begin again without resuming.",
            )  # fmt: skip
        self._next += 1
        return told

    def _write(self, task: str, told: Any) -> None:
        try:
            record = encoded([task, told])
        except NotPlainError:
            # Such as a sample of the data: it is taken again.
            record = encoded([task, _AGAIN])
        self._append(record)
        self._told.append((task, told))
        self._next += 1

    def close(self, *, done: bool) -> None:
        """Close the file; it is removed where the run has come to its end."""
        self._file.close()
        if done:
            self.path.unlink(missing_ok=True)

    def _append(self, record: bytes) -> None:
        self._file.write(_HEAD.pack(len(record), zlib.crc32(record)) + record)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, start: bytes) -> int:
        content = self.path.read_bytes()
        if not content.startswith(_MAGIC):
            raise DataFormatError(str(self.path), None, "holds no rounds of a training. Resume from another file.")
        end, records = len(_MAGIC), []
        while end + _HEAD.size <= len(content):
            length, checksum = _HEAD.unpack_from(content, end)
            record = content[end + _HEAD.size : end + _HEAD.size + length]
            if length > _LONGEST or len(record) < length or zlib.crc32(record) != checksum:
                break
            records.append(record)
            end += _HEAD.size + length
        if records and records[0] != start:
            raise DataFormatError(
                str(self.path),
                None,
                "is of another run: other data, settings or version. Begin again without resuming.",
            )
        try:
            self._told = [_round_of(decoded(record)) for record in records[1:]]
        # A record whose checksum fits was written by somebody, if not by us.
        except (AttributeError, ArithmeticError, LookupError, MemoryError, RecursionError, SyntaxError, TypeError,
                ValueError, struct.error) as error:  # fmt: skip
            raise DataFormatError(
                str(self.path),
                None,
                f"holds a round that cannot be understood ({error}). Begin again without resuming.",
            ) from None
        return end if records else len(_MAGIC)


def _round_of(record: Any) -> tuple[str, Any]:
    task, told = record
    if not isinstance(task, str):
        raise TypeError("a task is no text")
    return task, told


def encoded(value: Any) -> bytes:
    """A value of None, numbers, text, arrays, lists, tuples and dicts by text, exact to the last bit."""
    arrays: list[bytes] = []
    structure = json.dumps(_structure(value, arrays)).encode()
    return struct.pack("<I", len(structure)) + structure + b"".join(arrays)


def decoded(record: bytes) -> Any:
    """The value again."""
    (length,) = struct.unpack_from("<I", record)
    return _value(json.loads(record[4 : 4 + length]), memoryview(record)[4 + length :])


def _structure(value: Any, arrays: list[bytes]) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        # Hexadecimal: every bit.
        return {"float": value.hex()}
    if isinstance(value, np.generic):
        return _structure(value.item(), arrays)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        held = np.ascontiguousarray(value)
        arrays.append(held.tobytes())
        return {"array": [held.dtype.str, list(held.shape), sum(map(len, arrays[:-1]))]}
    if isinstance(value, list):
        return [_structure(item, arrays) for item in value]
    if type(value) is tuple:
        return {"tuple": [_structure(item, arrays) for item in value]}
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {"dict": {key: _structure(item, arrays) for key, item in value.items()}}
    raise NotPlainError(type(value).__name__)


def _value(structure: Any, arrays: memoryview) -> Any:
    if isinstance(structure, list):
        return [_value(item, arrays) for item in structure]
    if not isinstance(structure, dict):
        return structure
    ((kind, held),) = structure.items()
    if kind == "float":
        return float.fromhex(held)
    if kind == "tuple":
        return tuple(_value(item, arrays) for item in held)
    if kind == "dict":
        return {key: _value(item, arrays) for key, item in held.items()}
    dtype, shape, offset = held
    if kind != "array" or not re.fullmatch(r"[<>|=]?[biuf][0-9]+", dtype):
        raise ValueError("it is neither a number nor an array of numbers")
    count = math.prod(shape)
    return np.frombuffer(arrays, np.dtype(dtype), count, offset).reshape(shape).copy()
