"""A file as chunks of whole lines, decompressed on the way if it is gzip or zstd."""

from __future__ import annotations

import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from linrank.errors import DataFormatError, MissingDependencyError

# A row of five million features. Whatever is longer is hardly a line of text.
LONGEST_LINE = 64 << 20
_BUFFER_BYTES = 1 << 16
_LINES_BYTES = 1 << 20
# All that a decompressor makes of one piece is held in memory: gzip makes 1032 bytes of one, zstd 128 KB of four.
_COMPRESSED_PIECE = {"gzip": 1 << 16, "zstd": 1 << 12}
# Text becomes a tenth, numbers that repeat a hundredth. What unpacks to more than this was made to fill a memory; but
# so may be a small sample, many times over.
_MOST_TIMES_AS_LONG = 500
_FREE_BYTES = 1 << 24

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF8_MARK = b"\xef\xbb\xbf"
_FOREIGN = {
    b"BZh": "this is a bzip2 file; text, gzip and zstd can be read. Decompress it first.",
    b"\xfd7zXZ": "this is an xz file; text, gzip and zstd can be read. Decompress it first.",
    b"PK\x03\x04": "this is a zip archive; text, gzip and zstd can be read. Unpack it first.",
    b"PAR1": 'this is a Parquet file, not {form}. Pass format="parquet".',
    b"ARROW1": 'this is an Arrow file, not {form}. Pass format="arrow".',
    b"\xff\xfe": "this is UTF-16 text; {form} is ASCII or UTF-8. Save it as UTF-8.",
    b"\xfe\xff": "this is UTF-16 text; {form} is ASCII or UTF-8. Save it as UTF-8.",
}


def check_unpacked(name: str, form: str, n_compressed: int, n_made: int) -> None:
    """Refuse a compressed file of whose first bytes more has become than data becomes."""
    if n_made > max(_FREE_BYTES, _MOST_TIMES_AS_LONG * n_compressed):
        raise DataFormatError(
            name,
            None,
            f"the {form} file unpacks to more than {_MOST_TIMES_AS_LONG} times its size, as no data does. "
            "Unpack it yourself, if it is meant to.",
        )


class LongLineError(Exception):
    """The next line is longer than LONGEST_LINE."""


class ByteSource:
    """The bytes of a file, decompressed, in chunks of whole lines; compressed files are told by their first bytes."""

    def __init__(self, path: str | os.PathLike[str], form: str = "svmlight text") -> None:
        self.name = os.fsdecode(path)
        self._form = form
        self._file = _opened(self.name)
        try:
            about = os.fstat(self._file.fileno())
            # Neither is known of a pipe.
            self.bytes_total = about.st_size if stat.S_ISREG(about.st_mode) else None
            self._stream = self._decompressed()
            self._refuse_foreign_formats()
            if self._stream.peek(3).startswith(_UTF8_MARK):
                self._stream.read(3)
        except BaseException:
            self._file.close()
            raise
        self._rest = b""
        self._is_at_end = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def bytes_done(self) -> int:
        """How much of the file itself, compressed or not, has been read; 0 for a pipe."""
        return 0 if self.bytes_total is None else self._file.tell()

    def read_lines(self, buffer: bytearray) -> tuple[bytearray, int]:
        """Put whole lines into the buffer, the last one with an end; return it and their length, 0 at the end.

        Where not even one line fits, a longer buffer is returned instead.
        """
        size = len(self._rest)
        if size + 2 > len(buffer):
            buffer = bytearray(2 * size + 2)
        buffer[:size] = self._rest
        while not self._is_at_end:
            # One byte is spared for the end of a last line that has none.
            size += self._fill(memoryview(buffer)[size:-1])
            whole = buffer.rfind(b"\n", 0, size) + 1
            if size - whole > LONGEST_LINE:
                raise LongLineError
            if whole and not self._is_at_end:
                self._rest = bytes(memoryview(buffer)[whole:size])
                return buffer, whole
            if not self._is_at_end:
                buffer = buffer + bytes(len(buffer))
        self._rest = b""
        if size and buffer[size - 1] != ord("\n"):
            buffer[size] = ord("\n")
            size += 1
        return buffer, size

    def lines(self, remedy: str, progress: Callable[[int, int | None], None] | None = None) -> Iterator[bytes]:
        """The lines, one after the other, without their ends; `remedy` says what to do about one without an end."""
        buffer = bytearray(_LINES_BYTES)
        while True:
            try:
                buffer, size = self.read_lines(buffer)
            except LongLineError:
                raise DataFormatError(
                    self.name, None, f"has a line of more than {LONGEST_LINE >> 20} MB. {remedy}"
                ) from None
            if not size:
                return
            if progress is not None:
                progress(self.bytes_done, self.bytes_total)
            yield from bytes(memoryview(buffer)[: size - 1]).split(b"\n")

    def _fill(self, room: memoryview) -> int:
        size = 0
        while size < len(room):
            n = self._stream.readinto(room[size:])
            if not n:
                self._is_at_end = True
                break
            size += n
        return size

    def _decompressed(self) -> io.BufferedReader:
        first = self._file.peek(4)
        if first.startswith(_GZIP):
            # 16 added to the window's size means gzip's header and checksum.
            return _decompressing(self.name, self._file, "gzip", lambda: zlib.decompressobj(16 + zlib.MAX_WBITS))
        if first.startswith(_ZSTD):
            return _decompressing(self.name, self._file, "zstd", _zstd_decompressor())
        return self._file

    def _refuse_foreign_formats(self) -> None:
        first = self._stream.peek(512)
        for mark, message in _FOREIGN.items():
            if first.startswith(mark):
                raise DataFormatError(self.name, None, message.format(form=self._form))
        if first[257:262] == b"ustar":
            raise DataFormatError(self.name, None, "this is a tar archive, not one file. Unpack it first.")
        if not first:
            raise DataFormatError(self.name, None, "the file is empty. Check how it was written.")


class _Decompressing(io.RawIOBase):
    """The bytes of a compressed file, which may be several compressed streams one after the other."""

    def __init__(self, name: str, file: io.BufferedReader, form: str, new_decompressor: Callable[[], Any]) -> None:
        self._name = name
        self._file = file
        self._form = form
        self._new_decompressor = new_decompressor
        self._decompressor: Any = None
        self._compressed = b""
        self._ready = memoryview(b"")
        self._n_compressed = self._n_made = 0

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any, /) -> int:
        while not self._ready:
            if not self._compressed:
                self._compressed = self._file.read(_COMPRESSED_PIECE[self._form])
                self._n_compressed += len(self._compressed)
            if not self._compressed:
                if self._decompressor is not None:
                    raise DataFormatError(
                        self._name, None, f"the {self._form} file is cut off before its end. Copy or download it again."
                    )
                return 0
            self._decompress_piece()
        n = min(len(room), len(self._ready))
        room[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def _decompress_piece(self) -> None:
        if self._decompressor is None:
            self._decompressor = self._new_decompressor()
        try:
            self._ready = memoryview(self._decompressor.decompress(self._compressed))
        except Exception as error:
            # zlib.error, or ZstdError of a library that need not be there.
            raise DataFormatError(
                self._name, None, f"the {self._form} file is damaged ({error}). Copy or download it again."
            ) from error
        self._n_made += len(self._ready)
        check_unpacked(self._name, self._form, self._n_compressed, self._n_made)
        self._compressed = b""
        if self._decompressor.eof:
            # Some writers of gzip fill the last block with zeros.
            self._compressed = self._decompressor.unused_data.lstrip(b"\0")
            self._decompressor = None


def _decompressing(
    name: str, file: io.BufferedReader, form: str, new_decompressor: Callable[[], Any]
) -> io.BufferedReader:
    return io.BufferedReader(_Decompressing(name, file, form, new_decompressor), _BUFFER_BYTES)


def _zstd_decompressor() -> Callable[[], Any]:
    try:
        import zstandard
    except ImportError:
        raise MissingDependencyError("zstandard", "zstd", "Reading a zstd file") from None
    # The largest window that `zstd --long=31` makes; no more of it is used than is unpacked.
    return zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj


def _opened(name: str) -> io.BufferedReader:
    try:
        return io.BufferedReader(Path(name).open("rb", buffering=0), _BUFFER_BYTES)
    except FileNotFoundError:
        raise DataFormatError(name, None, "there is no such file. Check the path.") from None
    except IsADirectoryError:
        raise DataFormatError(name, None, "this is a folder. Name one file in it.") from None
    except OSError as error:
        raise DataFormatError(name, None, f"the file cannot be opened ({error.strerror}).") from error
