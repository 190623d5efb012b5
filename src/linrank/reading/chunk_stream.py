"""The chunks of a file, worked on by several threads and handed out in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from linrank.errors import DataFormatError
from linrank.reading.byte_source import ByteSource, LongLineError
from linrank.reading.line_chunk import LineChunk, LineRules

Task = Callable[[], None]


class ChunkStream:
    """Reads ahead; threads parse the chunks, and later put what was found where it belongs.

    The caller iterates over the parsed chunks and answers each with `place` or `release`; then its memory may be used
    again.
    """

    def __init__(
        self, source: ByteSource, rules: LineRules, pool: ThreadPoolExecutor, n_chunks: int, chunk_bytes: int
    ) -> None:
        self._source = source
        self._rules = rules
        self._pool = pool
        self._n_unmade = n_chunks
        self._chunk_bytes = chunk_bytes
        self._unused: list[LineChunk] = []
        self._parsing: deque[tuple[LineChunk, Future[None]]] = deque()
        self._placing: deque[tuple[LineChunk, Future[None]]] = deque()

    def __iter__(self) -> Iterator[LineChunk]:
        is_at_end = False
        fault: Exception | None = None
        while True:
            while not is_at_end and (chunk := self._next_unused()) is not None:
                try:
                    is_at_end = not chunk.fill(self._source)
                except (DataFormatError, LongLineError) as error:
                    # Raised in its turn: lines before it may have faults of their own.
                    is_at_end, fault = True, error
                if not is_at_end:
                    self._parsing.append((chunk, self._pool.submit(chunk.parse, self._rules)))
            if not self._parsing:
                break
            chunk, parsing = self._parsing.popleft()
            parsing.result()
            yield chunk
        if fault is not None:
            raise fault

    def place(self, chunk: LineChunk, task: Task) -> None:
        """Run the last task that needs the chunk."""
        self._placing.append((chunk, self._pool.submit(task)))

    def release(self, chunk: LineChunk) -> None:
        """Say that nothing needs the chunk any more."""
        self._unused.append(chunk)

    def finish_placing(self) -> None:
        """Wait until all that was found so far is in its place."""
        while self._placing:
            chunk, placing = self._placing.popleft()
            placing.result()
            self._unused.append(chunk)

    def _next_unused(self) -> LineChunk | None:
        if self._unused:
            return self._unused.pop()
        if self._placing and (self._placing[0][1].done() or not (self._parsing or self._n_unmade)):
            chunk, placing = self._placing.popleft()
            placing.result()
            return chunk
        if self._n_unmade:
            self._n_unmade -= 1
            return LineChunk(self._chunk_bytes)
        return None
