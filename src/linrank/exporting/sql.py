"""SQL: an expression to order by, which PostgreSQL, DuckDB and SQLite accept and compute alike."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import ClassVar

from linrank.errors import LinrankError
from linrank.exporting.arithmetic import DOUBLE_ANY_ORDER, Arithmetic
from linrank.exporting.curves import Logarithm, Words
from linrank.exporting.engine import Accepts, Target, printable
from linrank.exporting.weighted_sum import WeightedSum

# PostgreSQL cuts a longer identifier off without a word.
_LONGEST_NAME = 63
# SQLite and DuckDB take expressions of 1,000 levels, and a sum of n terms has n.
_TERMS_IN_A_GROUP = 500
# Where a table has no such column, these are something else and no error: SQLite's and DuckDB's number of the row, and
# functions of PostgreSQL that take any row, which "t"."name" calls.
_NOT_ONLY_COLUMNS = frozenset(
    ("rowid", "oid", "_rowid_", "num_nulls", "num_nonnulls", "pg_column_size", "pg_column_compression", "hash_record")
)


def _problem(name: str) -> str | None:
    problem = printable(name)
    if problem is not None:
        return problem
    if len(name.encode()) > _LONGEST_NAME:
        return f"is longer than PostgreSQL's {_LONGEST_NAME} bytes"
    return "means something in a database where no column has it" if name.lower() in _NOT_ONLY_COLUMNS else None


@dataclass(frozen=True)
class SQL(Target):
    """An expression to `ORDER BY … DESC`, over columns that are named as the features are.

    Parameters
    ----------
    table : the table that has the columns, or what the query calls it
    """

    name: ClassVar[str] = "sql"
    title: ClassVar[str] = "SQL"
    ending: ClassVar[str] = "sql"
    accepts: ClassVar[Accepts] = Accepts(
        most_features=1600,
        curves=True,
        products=True,
        problem_with_name=_problem,
        why="PostgreSQL's tables have no more columns. Train a sparser model: linrank path.",
    )
    arithmetic: ClassVar[Arithmetic] = DOUBLE_ANY_ORDER
    run_by: ClassVar[str] = "PostgreSQL, DuckDB and SQLite"

    table: str = "documents"

    def __post_init__(self) -> None:
        problem = _problem(self.table)
        if problem is not None:
            raise LinrankError(
                f"table={self.table!r}: the name {problem}. Give the query's table another: FROM … AS name."
            )

    def prepare(self, ranking: WeightedSum) -> WeightedSum:
        seen: dict[str, str] = {}
        for name in ranking.names:
            other = seen.setdefault(name.lower(), name)
            if other != name:
                raise LinrankError(
                    f"the features {other!r} and {name!r} are one column in SQLite and DuckDB, which take no notice of "
                    "upper case. Rename one, in the table too: names=…."
                )
        return ranking

    def write(self, ranking: WeightedSum) -> str:
        # Without the table's name, SQLite would take an unknown column for a text. A cast, since integers and decimals
        # would be added up as such; a NULL would put its row first or last.
        missing = literal(ranking.missing)
        terms = []
        for weight, factors in ranking.terms():
            values = [
                _WORDS.value(
                    curve, f"COALESCE(CAST({quoted(self.table)}.{quoted(name)} AS DOUBLE PRECISION), {missing})"
                )
                for name, curve in factors
            ]
            terms.append(" * ".join([literal(weight), *values]))
        if ranking.shift:
            terms.append(literal(ranking.shift))
        if len(terms) <= _TERMS_IN_A_GROUP:
            return "\n+ ".join(terms) + "\n"
        groups = [terms[first : first + _TERMS_IN_A_GROUP] for first in range(0, len(terms), _TERMS_IN_A_GROUP)]
        return "\n+ ".join("(" + "\n+ ".join(group) + ")" for group in groups) + "\n"

    def commands(self, ranking: WeightedSum, file: str) -> str:  # noqa: ARG002 - one signature for every engine
        expression = f'"$(cat {shlex.quote(file)})"'
        # The name of the table is quoted, for the database and for the shell.
        query = shlex.quote(f"SELECT * FROM {quoted(self.table)} ORDER BY ") + expression + "' DESC LIMIT 10'"  # noqa: S608
        return "\n".join(
            (
                "# the best ten rows, by whichever of these has them",
                f"psql -c {query}",
                f"duckdb data.duckdb -c {query}",
                f"sqlite3 data.db {query}",
            )
        )

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        logs = any(isinstance(curve, Logarithm) for curve in ranking.curves)
        own = (
            ("SQLite has ln where it is built with its mathematical functions, as its own programs are",)
            if logs
            else ()
        )
        return (
            *own,
            f"NULL counts as {ranking.missing:g}; a NaN in a column puts its row first: store NULL in its place",
            "the file is an expression, to stand after ORDER BY or before AS score; it is no statement of its own",
        )


def _case(x: str, threshold: str, below: str, otherwise: str) -> str:
    return f"CASE WHEN {x} < {threshold} THEN {below} ELSE {otherwise} END"


_WORDS = Words(lambda number: f"({literal(number)})" if number < 0 else literal(number), _case, lambda x: f"ln({x})")


def quoted(name: str) -> str:
    """An identifier, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def literal(number: float) -> str:
    """A number that is a double everywhere: DuckDB and PostgreSQL take one without an exponent for a decimal."""
    text = repr(float(number))
    return text if "e" in text else f"{text}e0"
