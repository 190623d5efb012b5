"""Where each query is whole: rows of one that is spread over partitions are moved to one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.dataset.queries import hashes_of
from linrank.errors import DataFormatError
from linrank.reading.partition import Partition

Moves: TypeAlias = Mapping[int, Mapping[int, Sequence[Any]]]
"""Of a partition, by its number: the queries that leave it, for each partition that they go to."""


def moves_between(partitions: Sequence[Partition], ids: Sequence[NDArray[Any]], *, regroup: bool) -> Moves:
    """Which queries move, given the different ids of each partition; a query that is whole stays where it is.

    The home of one that is spread is one of the partitions it is in, by a hash of its id: by the data alone, and even
    where every query is everywhere. Without `regroup`, a query that is in two files is refused.
    """
    places = _places(ids)
    if not regroup:
        for query, of_query in places.items():
            _check_one_file(query, [partitions[number] for number in of_query])
    spread = np.empty(len(places), dtype=object)
    spread[:] = list(places)
    moves: dict[int, dict[int, list[Any]]] = {}
    for query, hashed in zip(places, hashes_of(spread, "home").tolist(), strict=True):
        home = places[query][hashed % len(places[query])]
        for number in places[query]:
            if number != home:
                moves.setdefault(number, {}).setdefault(home, []).append(query)
    return moves


def gone_from(moves: Moves, number: int) -> list[Any]:
    """The queries that leave a partition."""
    return [query for queries in moves.get(number, {}).values() for query in queries]


def _places(ids: Sequence[NDArray[Any]]) -> dict[Any, list[int]]:
    """The partitions of each query that is in several."""
    first: dict[Any, int] = {}
    places: dict[Any, list[int]] = {}
    for number, of_partition in enumerate(ids):
        for query in np.asarray(of_partition).tolist():
            if query in first:
                places.setdefault(query, [first[query]]).append(number)
            else:
                first[query] = number
    return places


def _check_one_file(query: Any, of_query: Sequence[Partition]) -> None:
    for partition in of_query:
        if partition.file != of_query[0].file:
            raise DataFormatError(
                partition.file,
                None,
                f"query {query!r} is also in {of_query[0].file}; all documents of a query belong together. "
                "linrank.scan brings them together, regroup=True; or write them so.",
            )
