"""StoredDataset: a `.linrank` file that is trained on without being loaded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, offsets_from_sizes
from linrank.dataset.applied_scaling import Scaling
from linrank.dataset.features import DenseFeatures, Features, SparseFeatures, as_features
from linrank.dataset.fingerprint import fingerprint_of
from linrank.dataset.missing_rule import MissingRule
from linrank.dataset.queries import Queries, draws_of
from linrank.dataset.query_blocks import QueryBlock, block_bounds
from linrank.dataset.ranking_dataset import UNJUDGED, RankingDataset
from linrank.dataset.sound_rows import look_at_rows, narrow
from linrank.dataset.storage_checks import problem_of_ids
from linrank.dataset.storage_layout import Layout, check_width, read_layout
from linrank.dataset.stored_arrays import OpenArrays, Runs, StoredArrays
from linrank.dataset.trainable import fault_of_judgements, fault_of_rows
from linrank.dataset.unretrieved import Unretrieved
from linrank.errors import DataFormatError, LinrankError
from linrank.files import TemporaryFolder
from linrank.memory import bytes_named
from linrank.named_weights import numbers_as_names

# Of a dataset that is gone through chunk after chunk. Two are in memory while the next is read, and one more where it
# is scaled: together they are less than training works in.
CHUNK_BYTES = 1 << 25
_BYTES_AT_A_TIME = 1 << 23


@dataclass(frozen=True, eq=False)
class StoredDataset:
    """Documents in a `.linrank` file, of which no more than some blocks of queries are in memory at a time.

    Attributes
    ----------
    source : path of the file
    n_documents, n_features, n_queries : int
    feature_names : tuple of str or None
    missing : the rule by which missing values were filled when the data was read
    memory : int or None
        The most bytes that the process may use while it trains; half of what the machine has unless told.
    scaling : Scaling or None
        Applied to the features as they are read.
    folder : of a temporary file, which is there as long as anybody refers to this
    """

    arrays: StoredArrays
    n_documents: int
    n_features: int
    starts: Offsets
    feature_names: tuple[str, ...] | None
    missing: MissingRule
    query_ids: tuple[str | int | float, ...] | None = None
    memory: int | None = None
    scaling: Scaling | None = None
    folder: TemporaryFolder | str | None = None

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, memory: str | float | None = None, n_features: int | None = None
    ) -> StoredDataset:
        """Open a .linrank file to train on without loading it; also called `linrank.scan`.

        Read is what the file says of itself, and where its queries are.

        Parameters
        ----------
        path : of a file that `save_dataset` or `linrank convert` wrote
        memory : the most that the process may use while it trains, such as "2GB"; half of what the machine has unless
            told. What fits is held, the rest is read in every pass. The weights are the same whatever it is.
        n_features : how many there are, where they are more than the values of the file justify
        """
        source = os.fspath(path)
        try:
            with Path(source).open("rb") as file:
                layout = read_layout(file, source)
        except OSError as error:
            raise DataFormatError(source, None, f"cannot be read: {error.strerror}. Check the path.") from None
        check_width(layout, n_features)
        if "order" in layout.sections:
            raise DataFormatError(
                source,
                None,
                "the rows of a query do not stand together, and cannot be read one block after the other. Group them: "
                f"linrank convert {source} grouped.linrank",
            )
        arrays = StoredArrays.of(layout)
        with arrays.opened() as opened:
            starts = read_query_starts(opened, layout)
        _check_row_ends(arrays, layout)
        return cls(
            arrays,
            layout.n_documents,
            layout.n_features,
            starts,
            layout.feature_names,
            layout.missing,
            layout.query_ids,
            None if memory is None else bytes_named(memory),
        )

    @property
    def source(self) -> str:
        return self.arrays.source

    @property
    def stamp(self) -> list[Any]:
        """What tells this file from others."""
        return [self.source, *self.arrays.stamp]

    @property
    def weighs_documents(self) -> bool:
        return "document_weights" in self.arrays

    @property
    def n_queries(self) -> int:
        return len(self.starts) - 1

    @property
    def is_sparse(self) -> bool:
        return "values" in self.arrays

    @property
    def is_judged(self) -> bool:
        return "labels" in self.arrays

    @property
    def names(self) -> tuple[str, ...]:
        """The feature names, or their numbers from 1 where they have none."""
        return self.feature_names or numbers_as_names(self.n_features)

    @property
    def features(self) -> StoredFeatures:
        """The features as they are stored, of which slices of rows can be had."""
        return StoredFeatures(self)

    @property
    def n_bytes(self) -> int:
        """Of the features."""
        if not self.is_sparse:
            return self.arrays.sections["features"].n_bytes
        entries = self.arrays.sections["values"].n_bytes + self.arrays.sections["columns"].n_bytes
        return entries + 8 * (self.n_documents + 1)

    def require_labels(self) -> None:
        """Refuse data that nobody has judged."""
        if not self.is_judged:
            raise LinrankError(f"{self.source}: {UNJUDGED}")

    def scaled(self, scaling: Scaling | None) -> StoredDataset:
        """The same file, its features scaled as they are read."""
        return self if scaling is None else replace(self, scaling=scaling)

    def chunk_bounds(self, first: int = 0, stop: int | None = None) -> Sequence[tuple[int, int]]:
        """The queries of each chunk, from the first up to, not including, the last; about 32 MB of features.

        Those of some queries alone begin and end with them.
        """
        starts = self.starts[first : None if stop is None else stop + 1] - self.starts[first]
        n_bytes = self.n_bytes * int(starts[-1]) // max(1, self.n_documents)
        return [(first + a, first + b) for a, b in block_bounds(starts, n_bytes, CHUNK_BYTES)]

    def chunks(
        self, bounds: Iterable[tuple[int, int]] | None = None, *, to_train: bool = True, features: bool = True
    ) -> Iterator[RankingDataset]:
        """The data as one dataset in memory after another, each of whole queries; with query ids, without comments.

        Parameters
        ----------
        bounds : the queries of each; those of `chunk_bounds` unless told
        to_train : refuse numbers that no method trains on, by the rows of the file
        features : with them, or with none at all, where only judgements are looked at
        """
        with self.arrays.opened() as opened:
            for first, stop in self.chunk_bounds() if bounds is None else bounds:
                starts = self.starts[first : stop + 1]
                matrix: Any = np.empty((int(starts[-1] - starts[0]), 0))
                if features:
                    run = (int(starts[0]), int(starts[-1]))
                    matrix = as_matrix(self.rows(opened, [run], starts - starts[0], checked=to_train))
                yield self._chunk(opened, first, stop, matrix)

    def _chunk(self, opened: OpenArrays, first: int, stop: int, matrix: Any) -> RankingDataset:
        block = self.block(opened, [(first, stop)], matrix) if self.is_judged else None
        starts = self.starts[first : stop + 1] - self.starts[first]
        return RankingDataset(
            matrix,
            None if block is None else block.labels,
            Queries(self._ids(opened, first, stop), starts, None),
            self.feature_names if matrix.shape[1] else None,
            document_weights=block.document_weights if block and "document_weights" in self.arrays else None,
            query_weights=block.query_weights if block and "query_weights" in self.arrays else None,
            unretrieved=self._unretrieved(opened, first, stop),
            missing=self.missing,
        )

    def _unretrieved(self, opened: OpenArrays, first: int, stop: int) -> Unretrieved | None:
        if "unretrieved_starts" not in self.arrays:
            return None
        starts = opened.read("unretrieved_starts", first, stop + 1)
        return Unretrieved(opened.read("unretrieved_labels", int(starts[0]), int(starts[-1])), starts - starts[0])

    def check_complete(self) -> None:
        """Refuse features that are missing or infinite, the first of them; all are read."""
        for _ in self.chunks():
            pass

    def fingerprint(self) -> str:
        """That of the same data in memory, not scaled: a hash of everything in it, read piece by piece."""
        dtype = self.arrays.sections["values" if self.is_sparse else "features"].dtype.newbyteorder("=")
        about = f"{(self.n_documents, self.n_features)} {dtype} {self.is_sparse}"
        with self.arrays.opened() as opened:
            ids = (value for first, stop in self.chunk_bounds() for value in self._ids(opened, first, stop).tolist())
            return fingerprint_of(about, self._pieces(opened), ids)

    def _pieces(self, opened: OpenArrays) -> Iterator[NDArray[Any]]:
        """The arrays that a fingerprint is of, in its order."""
        of_features = ("values", "columns", "row_starts") if self.is_sparse else ("features",)
        yield from self._in_pieces(opened, (*of_features, "labels"))
        for first, stop in self.chunk_bounds():
            yield np.repeat(np.arange(first, stop), np.diff(self.starts[first : stop + 1]))
        rest = "document_weights", "query_weights", "unretrieved_labels", "unretrieved_starts"
        yield from self._in_pieces(opened, rest)

    def _in_pieces(self, opened: OpenArrays, wanted: Iterable[str]) -> Iterator[NDArray[Any]]:
        for name in wanted:
            if name in self.arrays:
                section = self.arrays.sections[name]
                n_rows = section.shape[0]
                step = max(1, _BYTES_AT_A_TIME * n_rows // max(1, section.n_bytes))
                for start in range(0, n_rows, step):
                    yield opened.read(name, start, min(n_rows, start + step))

    def _ids(self, opened: OpenArrays, first: int, stop: int) -> Any:
        if self.query_ids is None:
            ids = opened.read("query_ids", first, stop)
        else:
            ids = np.empty(stop - first, dtype=object)
            ids[:] = self.query_ids[first:stop]
        if (problem := problem_of_ids(ids)) is not None:
            raise DataFormatError(self.source, None, f"{problem}. Write the file again.")
        return ids

    def draws(self, opened: OpenArrays, first: int, stop: int) -> Vector:
        """What decides which of some queries are sampled."""
        return draws_of(self._ids(opened, first, stop))

    def block(self, opened: OpenArrays, queries: Runs, features: Any = None) -> QueryBlock:
        """Some runs of queries, checked; `features` may stand for theirs, which are then not read."""
        rows = [(int(self.starts[first]), int(self.starts[stop])) for first, stop in queries]
        sizes = np.concatenate([np.diff(self.starts[first : stop + 1]) for first, stop in queries])
        query_starts = offsets_from_sizes(sizes)
        if features is None:
            features = self.rows(opened, rows, query_starts)
        block = QueryBlock.of(
            features,
            opened.read_runs("labels", rows),
            query_starts,
            self._weights(opened, "document_weights", rows),
            self._weights(opened, "query_weights", queries),
            rows[0][0],
        )
        fault = fault_of_judgements(block)
        if fault is not None and len(queries) > 1:
            # It counts the rows of one run: that of the fault says which.
            for run in queries:
                self.block(opened, [run], features)
        self._refuse(fault)
        return block

    def rows(
        self, opened: OpenArrays, runs: Runs, query_starts: Offsets | None = None, *, checked: bool = True
    ) -> Features:
        """Some runs of rows, scaled and checked; `query_starts` where they are whole queries."""
        features = self.raw_rows(opened, runs)
        if self.scaling is not None:
            queries = None if query_starts is None else Queries.from_sizes(np.diff(query_starts), features.n_rows)
            features = as_features(self.scaling.apply(as_matrix(features), queries))
        if checked and fault_of_rows(features, self.feature_names) is not None:
            # Looked for again run by run, whose rows follow one another in the file.
            done = 0
            for start, stop in runs:
                of_run = features.take(np.arange(done, done + stop - start))
                self._refuse(fault_of_rows(of_run, self.feature_names, start))
                done += stop - start
        return features

    def raw_rows(self, opened: OpenArrays, runs: Runs) -> Features:
        """Some runs of rows as they are stored."""
        if not self.is_sparse:
            return DenseFeatures(opened.read_runs("features", runs))
        parts = [self._sparse_rows(opened, start, stop) for start, stop in runs]
        return parts[0].joined(parts[1:]) if len(parts) > 1 else parts[0]

    def _sparse_rows(self, opened: OpenArrays, start: int, stop: int) -> SparseFeatures:
        starts = opened.read("row_starts", start, stop + 1).astype(np.int64)
        first, last = int(starts[0]), int(starts[-1])
        if not 0 <= first <= last <= self.arrays.sections["columns"].shape[0]:
            self._refuse(f"the file is damaged: row {start} is not where it should be.")
        columns = opened.read("columns", first, last)
        problem, ascending = look_at_rows(columns, starts - first, len(columns), (stop - start, self.n_features))
        if problem or not ascending:
            self._refuse(f"the file is damaged after row {start}: {problem or 'columns do not ascend'}.")
        return SparseFeatures(opened.read("values", first, last), *narrow(columns, starts - first), self.n_features)

    def bytes_of_blocks(self, bounds: Sequence[tuple[int, int]]) -> list[int]:
        """How many bytes of features each range of queries has."""
        rows = np.array([(self.starts[first], self.starts[stop]) for first, stop in bounds], dtype=np.int64)
        counts = rows[:, 1] - rows[:, 0]
        if not self.is_sparse:
            return [int(count) * (self.n_bytes // self.n_documents) for count in counts]
        with self.arrays.opened() as opened:
            ends = np.array([opened.read("row_starts", row, row + 1)[0] for row in rows.ravel().tolist()])
        entries = np.diff(ends.astype(np.int64).reshape(-1, 2), axis=1)[:, 0]
        an_entry = sum(self.arrays.sections[name].dtype.itemsize for name in ("values", "columns"))
        return [int(n_bytes) for n_bytes in entries * an_entry + 8 * (counts + 1)]

    def _weights(self, opened: OpenArrays, name: str, runs: Runs) -> Vector:
        return (
            opened.read_runs(name, runs) if name in self.arrays else np.ones(sum(stop - start for start, stop in runs))
        )

    def _refuse(self, fault: str | None) -> None:
        if fault is not None:
            raise DataFormatError(self.source, None, fault)

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        return (
            f"StoredDataset({Path(self.source).name}: {self.n_documents} documents of {self.n_queries} queries, "
            f"{self.n_features} features, {kind})"
        )


@dataclass(frozen=True)
class StoredFeatures:
    """The features of a stored dataset, for who goes through them slice after slice."""

    dataset: StoredDataset

    @property
    def shape(self) -> tuple[int, int]:
        return self.dataset.n_documents, self.dataset.n_features

    def __getitem__(self, rows: slice) -> Any:
        start, stop, _ = rows.indices(self.dataset.n_documents)
        with self.dataset.arrays.opened() as opened:
            return as_matrix(self.dataset.raw_rows(opened, [(start, stop)]))


def read_query_starts(opened: OpenArrays, layout: Layout) -> Offsets:
    """Where the queries of a file start, checked."""
    starts = opened.read("query_starts")
    if starts[0] != 0 or starts[-1] != layout.n_documents or (starts[1:] <= starts[:-1]).any():
        raise layout.damage(f"its queries do not follow one another up to document {layout.n_documents}")
    return starts


def as_matrix(features: Features) -> Any:
    """Features as an array or a CSR matrix."""
    return features.to_csr() if isinstance(features, SparseFeatures) else features.to_dense()


def _check_row_ends(arrays: StoredArrays, layout: Layout) -> None:
    if "values" not in arrays:
        return
    with arrays.opened() as opened:
        last = int(opened.read("row_starts", layout.n_documents)[0])
    if last != arrays.sections["values"].shape[0]:
        raise layout.damage("the rows of its features do not fill the place they have")
