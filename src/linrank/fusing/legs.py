"""Reading legs: TREC runs, tables of hits and saved responses become hits that are numbered alike."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.errors import LinrankError
from linrank.fusing.candidates import Leg, refuse_too_large
from linrank.fusing.columns import Columns, columns_of, is_table_file, is_table_in_memory
from linrank.fusing.responses import is_responses, read_responses
from linrank.reading.trec import read_run

_QUERY = ("query", "qid", "query_id")
_DOCUMENT = ("document", "docid", "doc_id", "document_id", "doc")
_LEG = ("leg", "run", "retriever", "system", "tag")
_SCORE = ("score",)


@dataclass(frozen=True, eq=False)
class Legs:
    """Legs whose hits name queries and documents by number, and the names that the numbers stand for.

    Documents are numbered in the order of their names, so that nothing depends on the order of legs or hits.
    """

    legs: tuple[Leg, ...]
    query_ids: list[str]
    document_ids: list[str]


@dataclass(frozen=True, eq=False)
class _Hits:
    """One query, document and score a hit, by name."""

    queries: NDArray[Any]
    documents: NDArray[Any]
    scores: NDArray[np.float64]

    def told(self, leg: str, hit: int) -> str:
        """Which score that of a hit is."""
        document, query = str(self.documents[hit]), str(self.queries[hit])
        return f"leg {leg!r}: the score of document {document!r} for query {query!r}"


def read_legs(runs: Any) -> Legs:
    """Legs from what holds them.

    Parameters
    ----------
    runs : mapping from names to legs, a sequence of files, or one table
        A leg is a TREC run, a table of query, document and score, a file of saved responses, or
        {query: {document: score}}. One table for all legs has a column `leg` too.
    """
    return _numbered(_named_hits(runs))


def _named_hits(runs: Any) -> dict[str, _Hits]:
    if isinstance(runs, str | os.PathLike) or is_table_in_memory(runs):
        table = columns_of(runs)
        if table.find(_LEG) is None:
            raise LinrankError(
                f"{table.source}: one table for all legs has the columns query, document, leg and score; there are "
                f"{', '.join(table.names)}. Add a column leg, or pass several runs."
            )
        return _by_leg(table)
    if not runs:
        raise LinrankError("there are no runs; give at least one.")
    if isinstance(runs, Mapping):
        return {str(name): _hits_of(leg, str(name)) for name, leg in runs.items()}
    found: dict[str, _Hits] = {}
    for path in runs:
        for name, hits in _of_file(path).items():
            if name in found:
                raise LinrankError(
                    f"{os.fspath(path)}: there is a leg {name!r} already. Name it: NAME=FILE, or {{'name': file}}."
                )
            found[name] = hits
    return found


def _of_file(path: Any) -> dict[str, _Hits]:
    """A file has one leg, named after it, or a table with a column of legs."""
    if not isinstance(path, str | os.PathLike):
        raise LinrankError(f"a run is a file; {type(path).__name__} needs a name: {{'name': run}}.")
    if is_table_file(path):
        table = columns_of(path)
        if table.find(_LEG) is not None:
            return _by_leg(table)
    name = Path(os.fspath(path).removesuffix(".gz").removesuffix(".zst")).stem
    return {name: _hits_of(path, name)}


def _hits_of(leg: Any, name: str) -> _Hits:
    if isinstance(leg, Mapping) and not is_table_in_memory(leg):
        return _of_mapping(leg)
    if isinstance(leg, str | os.PathLike) and is_responses(leg):
        return _of_mapping(read_responses(leg))
    if isinstance(leg, str | os.PathLike) and not is_table_file(leg):
        return _of_mapping(read_run(leg))
    table = columns_of(leg)
    if len(table) == 0:
        raise LinrankError(f"leg {name!r}: {table.source} has no rows.")
    return _of_columns(table)


def _of_mapping(run: Mapping[Any, Mapping[Any, float]]) -> _Hits:
    queries = [str(query) for query, hits in run.items() for _ in hits]
    documents = [str(document) for hits in run.values() for document in hits]
    scores = [score for hits in run.values() for score in hits.values()]
    return _Hits(_texts(queries), _texts(documents), np.array(scores, dtype=np.float64))


def _of_columns(table: Columns) -> _Hits:
    scores = table.numbers(_SCORE)
    refuse_too_large(scores, partial(table.told, "score"))
    return _Hits(table.ids(_QUERY), table.ids(_DOCUMENT), scores)


def _by_leg(table: Columns) -> dict[str, _Hits]:
    if len(table) == 0:
        raise LinrankError(f"{table.source}: has no rows. Add the hits.")
    legs, hits = table.ids(_LEG), _of_columns(table)
    found = {}
    for name in dict.fromkeys(legs.tolist()):
        rows = np.flatnonzero(legs == name)
        found[str(name)] = _Hits(hits.queries[rows], hits.documents[rows], hits.scores[rows])
    return found


def _numbered(hits: Mapping[str, _Hits]) -> Legs:
    if not any(len(each.scores) for each in hits.values()):
        raise LinrankError(f"the runs ({', '.join(hits)}) have no hits. Check how they were made.")
    for name, each in hits.items():
        refuse_too_large(each.scores, partial(each.told, name))
    query_ids, queries = _numbers([each.queries for each in hits.values()])
    document_ids, documents = _numbers([each.documents for each in hits.values()])
    legs = tuple(
        Leg.of(name, queries[place], documents[place], each.scores, len(query_ids))
        for place, (name, each) in enumerate(hits.items())
    )
    return Legs(legs, query_ids, document_ids)


def _numbers(columns: Sequence[NDArray[Any]]) -> tuple[list[str], list[NDArray[np.int64]]]:
    """The different values of several columns in order, and each column by their numbers."""
    if all(column.dtype.kind in "iu" for column in columns):
        known, numbers = np.unique(np.concatenate(columns), return_inverse=True)
        texts = [str(value) for value in known.tolist()]
        parts = np.split(numbers, np.cumsum([len(column) for column in columns])[:-1])
        return texts, parts
    names = sorted({str(name) for column in columns for name in set(column.tolist())})
    place = {name: number for number, name in enumerate(names)}
    return names, [np.array([place[str(name)] for name in column.tolist()], dtype=np.int64) for column in columns]


def _texts(values: list[str]) -> NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


__all__ = ["Legs", "read_legs"]
