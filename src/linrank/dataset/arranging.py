"""Rows that stand somewhere in files become a `.linrank` file, the rows of each query together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from linrank.arrays import Offsets
from linrank.dataset.grouped_rows import (
    Report,
    blocks_as_they_stand,
    remove_ranges,
    sort_into_ranges,
    sorted_blocks,
)
from linrank.dataset.row_files import ArraySource, Rows
from linrank.dataset.section_writer import SectionWriter
from linrank.dataset.storage_layout import Layout
from linrank.dataset.work_folder import WorkFolder

# Beside rows: what loading kernels takes, and pieces on their way to a file, as measured; and the least room for rows.
WORKING_BYTES = 72 << 20
LEAST_ROOM = 8 << 20
# A block of rows as it was read, in another order, and as it is written; and room for blocks larger than the average.
SHARE_OF_A_BLOCK = 1 / 8

Progress = Callable[[int, int | None], None]


def _as_they_are(rows: Rows, start: int, stop: int) -> Rows:  # noqa: ARG001
    return rows


@dataclass(frozen=True)
class Arrangement:
    """Rows, and the file that they become.

    Attributes
    ----------
    layout : where everything comes to
    of_queries : the arrays that have one value a query
    source, names : the rows as they stand
    bounds : where the blocks begin in which they are written
    places : the new places of the rows as they stand, piece after piece; None where they stand right
    finish : makes of a block of rows, of which it is told the first and the last, the arrays that the file has
    """

    layout: Layout
    of_queries: Rows
    source: ArraySource
    names: tuple[str, ...]
    bounds: Offsets
    places: Iterable[Offsets] | None
    finish: Callable[[Rows, int, int], Rows] = _as_they_are

    def write(self, work: WorkFolder, progress: Progress | None, n_bytes: int, n_bytes_before: int = 0) -> None:
        """Write the file, from where `work` was left; its progress is told as `n_bytes` after those before."""
        passes = 1 if self.places is None else 2
        report = _row_reporter(progress, passes * self.layout.n_documents, n_bytes, n_bytes_before)
        if self.places is not None and "written" not in work:
            sort_into_ranges(self.source, self.names, self.places, self.bounds, work, report)
        n_blocks, state = work.get("written", (0, None))
        if self.places is None:
            blocks = blocks_as_they_stand(self.source, self.names, self.bounds, n_blocks)
        else:
            blocks = sorted_blocks(work, self.bounds, n_blocks)
        n_before = (passes - 1) * self.layout.n_documents
        with work.made.open("wb" if state is None else "r+b") as file:
            writer = SectionWriter(file, self.layout, state)
            if state is None:
                for name, array in self.of_queries.items():
                    writer.append(name, array)
            n_removed = n_blocks
            for rows, start, stop in zip(
                blocks, self.bounds[n_blocks:-1].tolist(), self.bounds[n_blocks + 1 :].tolist(), strict=True
            ):
                writer.append_rows(self.finish(rows, start, stop))
                n_blocks += 1
                report(n_before + stop)
                if work.is_time_to_note:
                    work.note(written=[n_blocks, writer.state()])
                    n_removed = remove_ranges(work, n_removed, n_blocks)
            writer.finish()
            writer.state()


def _row_reporter(progress: Progress | None, n_rows: int, n_bytes: int, n_done: int) -> Report:
    """Tell of rows as bytes of the whole, after the `n_done` that were done before."""

    def report(rows: int) -> None:
        if progress is not None:
            progress(n_done + int(rows / max(1, n_rows) * n_bytes), n_done + n_bytes)

    return report
