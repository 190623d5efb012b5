"""PartitionedDataset: a folder of Parquet files, each of whole queries, loaded by who computes with them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linrank.dataset.missing_rule import MissingRule
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import DataFormatError, LinrankError, MissingDependencyError
from linrank.reading.tables import read_parquet


def parquet_files(folder: str | os.PathLike[str]) -> list[str]:
    """The Parquet files of a folder, in order of their names."""
    paths = sorted(str(path.absolute()) for path in Path(folder).glob("*.parquet"))
    if not paths:
        raise DataFormatError(os.fspath(folder), None, "holds no file named *.parquet. Check the path.")
    return paths


@dataclass(frozen=True, eq=False)
class PartitionedDataset:
    """Parquet files with the same columns, in order of their names; no query is in two of them.

    Attributes
    ----------
    source : the folder
    paths : the files
    roles : which column plays which part, as `linrank.read` takes it
    n_documents, n_features : int
    feature_names : tuple of str
    missing : the rule by which missing values are filled
    """

    source: str
    paths: tuple[str, ...]
    roles: Mapping[str, Any]
    stamps: tuple[tuple[int, int], ...]
    n_documents: int
    feature_names: tuple[str, ...]
    missing: MissingRule
    memory: int | None = None

    @classmethod
    def open(cls, folder: str | os.PathLike[str], **roles: Any) -> PartitionedDataset:
        """Look at the files' own descriptions; no rows are read but those of the first."""
        source = os.fspath(folder)
        paths = parquet_files(source)
        try:
            from pyarrow import parquet
        except ImportError:
            raise MissingDependencyError("pyarrow", "arrow", "reading Parquet") from None
        rows = []
        for path in paths:
            try:
                rows.append(int(parquet.read_metadata(path).num_rows))
            except (OSError, ValueError) as error:
                raise DataFormatError(path, None, f"is no Parquet file that can be read: {error}") from None
        first = read_parquet(paths[0], **roles)
        stamps = tuple((status.st_size, status.st_mtime_ns) for status in map(os.stat, paths))
        return cls(source, tuple(paths), roles, stamps, sum(rows), first.names, first.missing)

    @property
    def n_features(self) -> int:
        return len(self.feature_names)

    @property
    def names(self) -> tuple[str, ...]:
        return self.feature_names

    @property
    def stamp(self) -> list[Any]:
        """What tells these files from others."""
        return [list(self.paths), [list(stamp) for stamp in self.stamps]]

    @property
    def weighs_documents(self) -> bool:
        return self.roles.get("weight") is not None

    @cached_property
    def features(self) -> Any:
        """Those of the first file, by which units can be compared."""
        return self.load(0).features

    @property
    def is_sparse(self) -> bool:
        return bool(sparse.issparse(self.features))

    def require_labels(self) -> None:
        """Refuse data that nobody has judged."""
        self.load(0).require_labels()

    def load(self, number: int) -> RankingDataset:
        """One of the files, with the columns of the first."""
        path = self.paths[number]
        status = Path(path).stat()
        if (status.st_size, status.st_mtime_ns) != self.stamps[number]:
            raise DataFormatError(path, None, "has changed since the training began. Begin again.")
        dataset = read_parquet(path, **self.roles).with_columns(self.feature_names, path)
        try:
            dataset.check_trainable()
        except LinrankError as error:
            raise DataFormatError(path, None, str(error)) from None
        return dataset

    def chunks(self, *, to_train: bool = True) -> Iterator[RankingDataset]:  # noqa: ARG002 - as of a .linrank file
        """One file after the other, each with the columns of the first."""
        return map(self.load, range(len(self.paths)))

    def query_ids(self, number: int) -> NDArray[Any]:
        """The different query ids of one file; nothing else of it is read."""
        roles = {name: value for name, value in self.roles.items() if name in ("qid", "missing")}
        return read_parquet(self.paths[number], label=None, features=[], **roles).queries.ids

    def check_whole_queries(self, ids: Sequence[NDArray[Any]]) -> None:
        """Refuse a query that is in two files, given the ids of each."""
        home: dict[Any, int] = {}
        for number, of_file in enumerate(ids):
            for query in np.asarray(of_file).tolist():
                if query in home:
                    raise DataFormatError(
                        self.paths[number], None,
                        f"query {query!r} is also in {self.paths[home[query]]}; all documents of a query belong in one "
                        "file. Write them so: with Dask, frame.shuffle('qid').to_parquet(…).",
                    )  # fmt: skip
                home[query] = number

    def __repr__(self) -> str:
        return (
            f"PartitionedDataset({self.source}: {self.n_documents} documents in {len(self.paths)} files, "
            f"{self.n_features} features)"
        )
