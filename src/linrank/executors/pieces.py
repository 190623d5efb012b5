"""Pieces of data that is not loaded: who computes with one reads it, here or on a cluster."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from linrank._version import __version__
from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import rows_at
from linrank.dataset.stored_dataset import StoredDataset
from linrank.errors import DataFormatError, LinrankError, UnusableNumberError
from linrank.executors.local import Threads
from linrank.reading.partitions import PartitionedDataset

FROM_FILES = (
    "a cluster reads its data from files, so that what is lost can be read again. Pass the path of a .linrank file "
    "(linrank convert), of Parquet files, or a Dask DataFrame."
)


@dataclass(frozen=True)
class Piece:
    """Some chunks of a file, or some partitions; `number` is its place among the pieces.

    With the `moves` that make them whole, queries of partitions are whole; without, rows are where they stand.
    """

    number: int
    dataset: StoredDataset | PartitionedDataset
    places: Sequence[Any]
    moves: Any = None

    def chunks(
        self, order: Iterable[int] | None = None, *, to_train: bool = True, features: bool = True
    ) -> Iterator[RankingDataset]:
        """One chunk after the other; in an order of their numbers, where there is one.

        Queries that are whole can be had without features, where only judgements are looked at.
        """
        places = self.places if order is None else [self.places[number] for number in order]
        if isinstance(self.dataset, StoredDataset):
            return self.dataset.chunks(places, to_train=to_train, features=features)
        if self.moves is None:
            return self.dataset.as_they_stand(places)
        return self.dataset.chunks(places, to_train=to_train, features=features, moves=self.moves)

    def place_of(self, number: int) -> str:
        """Where one of its chunks stands, for people."""
        if isinstance(self.dataset, PartitionedDataset):
            return f"of {self.dataset.partitions[self.places[number]]}"
        first = self.dataset.starts[self.places[number][0]]
        return f"of the rows from {first} on"


class Pieces:
    """Pieces in their order, and who computes with them: this thread, threads, or the workers of a cluster.

    What is told of the pieces comes in their order, whoever computed it.
    """

    def __init__(self, pieces: Sequence[Any], executor: Any = None) -> None:
        self._pieces = pieces
        self._executor = Threads(1) if executor is None else executor
        self._groups: Sequence[Any] = ()
        if not isinstance(self._executor, Threads):
            rows = [(pieces[a:b],) for a, b in shares(len(pieces), len(self._executor.workers()))]
            self._groups = self._executor.start(_held, rows)

    @classmethod
    def of(cls, dataset: Any, executor: Any = None, n_pieces: int | None = None) -> Pieces:
        """So many pieces of some data, about equal and of whole queries; unless told, one for each of its chunks."""
        pieces = cls._of_rows(dataset, executor, n_pieces)
        if not isinstance(dataset, PartitionedDataset):
            return pieces
        moves = dataset.moves([ids for told in pieces.tell(query_ids) for ids in told])
        return cls([replace(piece, moves=moves) for piece in pieces], executor)

    @classmethod
    def as_they_stand(cls, dataset: Any, executor: Any = None, *, by_query: bool = False) -> Pieces:
        """A piece for each chunk, whose rows are in their order; with `by_query` only if all queries are whole."""
        pieces = cls._of_rows(dataset, executor)
        if isinstance(dataset, PartitionedDataset) and (by_query or dataset.missing == "query_min"):
            moves = dataset.moves([ids for told in pieces.tell(query_ids) for ids in told])
            dataset.check_as_they_stand(moves)
            if moves:
                raise LinrankError(
                    f"{dataset.source}: scores that go by query need whole queries, and some are spread over "
                    "partitions. Write the files query by query."
                )
        return pieces

    @classmethod
    def _of_rows(cls, dataset: Any, executor: Any, n_pieces: int | None = None) -> Pieces:
        is_here = executor is None or isinstance(executor, Threads)
        if not isinstance(dataset, StoredDataset | PartitionedDataset):
            raise LinrankError(FROM_FILES)
        if not is_here and getattr(dataset, "frame", None) is not None:
            raise LinrankError(
                "a Dask DataFrame is not read again by other tasks than its own. Write it, and pass the folder: "
                "frame.to_parquet(folder)"
            )
        return cls([Piece(*each) for each in _cut(dataset, n_pieces)], executor)

    def __len__(self) -> int:
        return len(self._pieces)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pieces)

    def tell(self, task: Callable[..., Any], **common: Any) -> list[Any]:
        """What `task(piece, **common)` returns for every piece; on a cluster in one round, with one call a worker."""
        if isinstance(self._executor, Threads):
            return self._executor.map(task, self._pieces, **common)
        calls = self._executor.call(_tell_each, [(group,) for group in self._groups], task=task, common=common)
        told: list[Any] = self._executor.fetch(calls, name_of(task))
        return told


def shares(n_pieces: int, n_workers: int) -> list[tuple[int, int]]:
    """Where each worker's pieces begin and end: all have some, as long as there are any."""
    n_shares = min(n_pieces, n_workers)
    return list(pairwise(number * n_pieces // n_shares for number in range(n_shares + 1)))


def name_of(task: Callable[..., Any]) -> str:
    """What a round is called in which workers do this."""
    return task.__name__.strip("_").replace("_", " ")


def begin_log(executor: Any, dataset: StoredDataset | PartitionedDataset) -> None:
    """Have the rounds from here on kept, if a cluster was asked for that, as those of a training on this data.

    Called once the data is placed: what cannot be loaded leaves no log, and who goes on with one loads it again.
    """
    scaling = None if dataset.scaling is None else dataset.scaling.kind
    executor.begin({"data": dataset.stamp, "scaling": scaling, "linrank": __version__})


def through(executor: Any) -> Callable[..., list[Any]]:
    """What computes with some rows of data after others on a cluster, for who fits a scaling."""

    def rows_through(task: Callable[..., Any], dataset: Any, places: Sequence[Any], **common: Any) -> list[Any]:
        told = Pieces([(dataset, place) for place in places], executor).tell(for_scaling, compute=task, given=common)
        return [of_rows for of_place in told for of_rows in of_place]

    return rows_through


def scores_by_chunks(model: Any, dataset: Any, executor: Any = None, *, by_query: bool = False) -> Vector:
    """The scores of data that is not loaded, in the order of its rows; each chunk is read by who scores it."""
    pieces = Pieces.as_they_stand(dataset, executor, by_query=by_query)
    return np.concatenate(pieces.tell(score_documents, model=to_travel(model)))


def score_documents(piece: Piece, *, model: Any) -> Vector:
    """The scores of one piece."""
    scores = []
    for number, chunk in enumerate(piece.chunks(to_train=False)):
        try:
            scores.append(model.predict(chunk))
        except UnusableNumberError as error:
            # It counts the rows of the chunk.
            raise DataFormatError(piece.dataset.source, None, f"{piece.place_of(number)}: {error}") from None
    return np.concatenate(scores)


def to_travel(model: Any) -> Any:
    """A model or ranker as another process can have it: without who computes for it, and who watches it."""
    kept_here = [name for name in ("executor", "progress") if getattr(model, name, None) is not None]
    if kept_here:
        model = copy.copy(model)
        for name in kept_here:
            setattr(model, name, None)
    return model


def query_ids(piece: Piece) -> list[Any]:
    """The query ids of each of its partitions."""
    assert isinstance(piece.dataset, PartitionedDataset)
    return [piece.dataset.ids_of(number) for number in piece.places]


def _cut(dataset: StoredDataset | PartitionedDataset, n_pieces: int | None) -> Iterator[tuple[int, Any, Sequence[Any]]]:
    if n_pieces is None:
        places = [[place] for place in dataset.chunk_bounds()]
    elif isinstance(dataset, PartitionedDataset):
        files = dataset.chunk_bounds()
        places = [list(files[a:b]) for a, b in shares(len(files), n_pieces)]
    else:
        # By documents, as queries may be of any length.
        cuts = np.searchsorted(dataset.starts, np.linspace(0, dataset.n_documents, n_pieces + 1))
        places = [list(dataset.chunk_bounds(a, b)) for a, b in pairwise(np.unique(cuts).tolist())]
    for number, of_piece in enumerate(places):
        yield number, dataset, of_piece


# What runs in the other process.


def _held(pieces: Sequence[Any]) -> Sequence[Any]:
    return pieces


def _tell_each(pieces: Sequence[Any], *, task: Callable[..., Any], common: dict[str, Any]) -> list[Any]:
    from distributed import get_worker

    with Threads(get_worker().state.nthreads) as threads:
        return threads.map(task, pieces, **common)


def for_scaling(rows: tuple[Any, Any], *, compute: Callable[..., Any], given: dict[str, Any]) -> list[Any]:
    dataset, place = rows
    return [compute(some, **given) for some in rows_at(dataset, place)]
