"""Which rows belong to which query, for queries given in any order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, offsets_from_sizes
from linrank.errors import LinrankError
from linrank.files import encoded_text


@dataclass(frozen=True, slots=True)
class Queries:
    """The queries in order of first appearance, and the order of rows that puts each query's rows together.

    Query q has the rows `order[starts[q]:starts[q + 1]]` of what was given, in the order they were given;
    `order` is None where each query's rows stand together already.
    """

    ids: NDArray[Any]
    starts: Offsets
    order: Offsets | None

    @property
    def n_queries(self) -> int:
        return len(self.ids)

    @property
    def n_documents(self) -> int:
        return int(self.starts[-1])

    @property
    def sizes(self) -> Offsets:
        return np.diff(self.starts)

    def grouped(self, column: NDArray[Any]) -> NDArray[Any]:
        """A column in the order given, as a column with each query's rows together."""
        return column if self.order is None else column[self.order]

    def ungrouped(self, column: NDArray[Any]) -> NDArray[Any]:
        """The inverse of `grouped`: back to the order given."""
        if self.order is None:
            return column
        given = np.empty_like(column)
        given[self.order] = column
        return given

    def of_rows(self) -> Offsets:
        """The number of each row's query, for rows in the order given."""
        return self.ungrouped(np.repeat(np.arange(self.n_queries), self.sizes))

    def best_first(self, scores: Vector) -> Offsets:
        """The rows, as given, query after query, each query's from the highest score down; ties keep their order."""
        return np.lexsort((-scores, self.of_rows()))

    def rows_of(self, chosen: Offsets) -> Offsets:
        """The rows, as given, of the chosen queries, query after query."""
        if len(chosen) == 0:
            return np.zeros(0, dtype=np.int64)
        grouped = np.concatenate([np.arange(self.starts[q], self.starts[q + 1]) for q in chosen])
        return grouped if self.order is None else self.order[grouped]

    def drawn(self, seed: int) -> Offsets:
        """The queries in an order drawn by the seed and their ids, not by the order they are in.

        It goes by a hash of the seed and the id as text: the number 7 and the text "7" are drawn alike, anywhere.
        """
        return np.argsort(hashes_of(self.ids, seed), kind="stable")

    def dealt(self, n_parts: int, seed: int) -> Offsets:
        """The part, of `n_parts` whose numbers of queries differ by one at most, that each query is dealt into."""
        parts = np.empty(self.n_queries, dtype=np.int64)
        # In runs of the drawn order: one query more or less moves few of the others.
        parts[self.drawn(seed)] = np.arange(self.n_queries) * n_parts // max(1, self.n_queries)
        return parts

    @classmethod
    def from_ids(cls, qid: Any) -> Queries:
        """Group rows by their query id: one value a row, of any kind that can be compared and hashed, and none missing.

        A column of pandas, polars or Arrow will do as well as an array or a list.
        """
        ids = _as_array(qid)
        if ids.ndim != 1:
            raise LinrankError(f"qid has shape {ids.shape}; it must be one value a row. Pass a one-dimensional array.")
        missing = _missing_rows(ids)
        if missing.any():
            row = int(np.argmax(missing))
            raise LinrankError(f"qid is {ids[row]} in row {row}; every row belongs to a query. Drop or name such rows.")
        if len(ids) == 0:
            return cls(ids, np.zeros(1, dtype=np.int64), None)
        changes = np.flatnonzero(ids[1:] != ids[:-1]) + 1
        run_starts = np.concatenate(([0], changes)).astype(np.int64)
        numbers: dict[Any, int] = {}
        run_numbers = np.asarray([numbers.setdefault(value, len(numbers)) for value in ids[run_starts].tolist()])
        # Here rather than where they are written: every verb writes ids somewhere.
        for value in numbers:
            if isinstance(value, str):
                encoded_text(value, "the query id")
        _, first_runs = np.unique(run_numbers, return_index=True)
        return cls.from_runs(ids[run_starts[first_runs]], run_numbers, run_starts, len(ids))

    @classmethod
    def from_runs(cls, ids: NDArray[Any], run_queries: Offsets, run_starts: Offsets, n_rows: int) -> Queries:
        """From runs of rows of one query each, no two runs in a row of the same one.

        `ids` are the different ids in order of first appearance; `run_queries` numbers them in that order.
        """
        if len(run_queries) == len(ids):
            return cls(ids, np.append(run_starts, n_rows), None)
        row_queries = np.repeat(run_queries, np.diff(np.append(run_starts, n_rows)))
        order = np.argsort(row_queries, kind="stable")
        return cls(ids, offsets_from_sizes(np.bincount(row_queries, minlength=len(ids))), order)

    @classmethod
    def from_sizes(cls, group: Any, n_rows: int) -> Queries:
        """Consecutive queries of the given sizes, numbered from 0."""
        sizes = np.asarray(group)
        if sizes.ndim != 1 or (sizes.size and sizes.dtype.kind not in "iu"):
            raise LinrankError("group must be a list of whole numbers, the number of documents of each query.")
        if (sizes < 1).any():
            place = int(np.flatnonzero(sizes < 1)[0])
            raise LinrankError(f"group[{place}] is {sizes[place]}; every query has at least one document. Drop it.")
        # As Python's numbers: a sum of 64 bits might come round to the right one.
        total = sum(sizes.tolist())
        if total != n_rows:
            raise LinrankError(
                f"the sizes in group add up to {total}, but there are {n_rows} rows. "
                "Pass the number of documents of each query, in order."
            )
        return cls(np.arange(len(sizes)), offsets_from_sizes(sizes), None)


def hashes_of(ids: NDArray[Any], seed: int | str) -> NDArray[np.uint64]:
    """A number of 64 bits for each id, by the seed and the id as text."""
    # Python's own values are quicker to hash; NumPy's dates would change their text.
    values = list(ids) if ids.dtype.kind in "mM" else ids.tolist()
    different = list(dict.fromkeys(values))
    before = f"{seed} "
    digests = [
        hashlib.blake2b((before + (value if type(value) is str else _text(value))).encode(), digest_size=8).digest()
        for value in different
    ]
    if len(different) < len(values):
        known = dict(zip(different, digests, strict=True))
        digests = [known[value] for value in values]
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def draws_of(ids: NDArray[Any]) -> Vector:
    """A number from 0 up to 1 for each id: a sample of a share of the queries is those below it, wherever they are."""
    # Of a seed that is no number: folds are dealt by those, and samples of them are to be like the rest.
    return (hashes_of(ids, "sample") >> np.uint64(11)) / 2.0**53


def _as_array(qid: Any) -> NDArray[Any]:
    if np.ma.isMaskedArray(qid) and np.ma.getmaskarray(qid).any():
        ids = np.array(qid, dtype=object)
        ids[np.ma.getmaskarray(qid)] = None
        return ids
    ids = np.asarray(qid)
    kind = {"U": str, "S": bytes}.get(ids.dtype.kind)
    if (
        kind is not None
        and ids.ndim == 1
        and isinstance(qid, list | tuple)
        and not all(isinstance(value, kind) for value in qid)
    ):
        # NumPy has made text of numbers among the text, and of NaN.
        ids = np.empty(len(qid), dtype=object)
        ids[:] = qid
    return ids


def check_folds(said: str, n_folds: int, n_queries: int) -> None:
    """Refuse folds that queries cannot be dealt into; `said` is the caller's word for their number."""
    if n_queries < 2:
        raise LinrankError(
            f"{said} folds of {'one query' if n_queries else 'no queries'}: there is nothing to hold out. Use data "
            "with more queries, or choose on other data (eval_set=…)."
        )
    if not 2 <= n_folds <= n_queries:
        raise LinrankError(f"{said} folds of {n_queries} queries; use from 2 to the number of queries.")


def _text(value: Any) -> str:
    """What an id is called: tables make numbers with a point of whole ones, and files text of both."""
    if type(value) is int:
        return str(value)
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _missing_rows(ids: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows have None, NaN, NaT or pandas' NA in place of an id."""
    if ids.dtype.kind in "fcmM":
        return np.asarray(np.isnat(ids) if ids.dtype.kind in "mM" else np.isnan(ids), dtype=bool)
    if ids.dtype.kind != "O":
        return np.zeros(len(ids), dtype=bool)
    values = ids.tolist()
    try:
        missing = {value for value in set(values) if _is_missing(value)}
    except TypeError as error:
        raise LinrankError(f"qid holds a value that cannot be hashed ({error}). Use text or integers.") from None
    if not missing:
        return np.zeros(len(ids), dtype=bool)
    return np.fromiter(map(_is_missing, values), dtype=bool, count=len(values))


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 - NaN and NaT do
    except TypeError:
        # pandas' NA does not even say whether it differs from itself.
        return True
