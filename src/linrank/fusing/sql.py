"""SQL: one statement that normalises the hits of each leg by window functions, adds them up and sorts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.exporting.sql import literal, quoted
from linrank.fusing.engine import Configuration, Deployed, FusionEngine, Limits
from linrank.fusing.fusers import ReciprocalRanks
from linrank.fusing.normalisers import AsGiven, MinMax, Normaliser


@dataclass(frozen=True)
class SQL(FusionEngine):
    """A statement for PostgreSQL (with pgvector), DuckDB and SQLite.

    Parameters
    ----------
    normaliser : "min_max" by window functions, or "none"
    table : of the documents, where signals are columns
    key : the column of a document's id, in that table and in the legs
    """

    name: ClassVar[str] = "sql"
    title: ClassVar[str] = "SQL"
    ending: ClassVar[str] = "sql"
    limits: ClassVar[Limits] = Limits(non_negative=False, signals=True)
    normalisers: ClassVar[Mapping[str, Normaliser]] = {"min_max": MinMax(), "none": AsGiven()}
    precision: ClassVar[type[np.floating[Any]]] = np.float64
    run_by: ClassVar[str] = "PostgreSQL with pgvector, DuckDB and SQLite"

    table: str = "documents"
    key: str = "id"

    def reciprocals(self, places: NDArray[Any]) -> NDArray[Any]:
        """1 / place in double."""
        quotients: NDArray[Any] = 1.0 / places.astype(np.float64)
        return quotients

    def write(self, deployed: Deployed) -> Configuration:
        key = quoted(self.key)
        # Names are quoted, and numbers are numbers.
        with_ = [self._hits(leg, deployed.depth) for leg in deployed.legs]
        parts = [
            f"  SELECT {key}, {self._part(deployed, place)} AS part FROM ({self._windowed(leg)}) AS hits"  # noqa: S608
            for place, leg in enumerate(deployed.legs)
        ]
        with_.append("parts AS (\n" + "\n  UNION ALL\n".join(parts) + "\n)")
        with_.append(f"fused AS (SELECT {key}, SUM(part) AS score FROM parts GROUP BY {key})")  # noqa: S608
        score, joined = "fused.score", ""
        if deployed.signals:
            table = quoted(self.table)
            terms = [
                f"{literal(weight)} * COALESCE(CAST({table}.{quoted(name)} AS DOUBLE PRECISION), 0.0e0)"
                for name, weight in deployed.signal_weights
            ]
            score = " + ".join([score, *terms])
            joined = f"\nLEFT JOIN {table} ON {table}.{key} = fused.{key}"
        statement = (
            "WITH " + ",\n".join(with_) + f"\nSELECT fused.{key}, {score} AS score\nFROM fused{joined}\n"
            f"ORDER BY score DESC, fused.{key}\nLIMIT 10;\n"
        )
        return Configuration(
            statement,
            {},
            (
                f"each leg is a table of {self.key} and score, NAME_hits: put your own search in its place",
                "a leg that did not bring a document adds nothing; a signal that is NULL counts as 0",
            ),
        )

    def _hits(self, leg: str, depth: int) -> str:
        key, table = quoted(self.key), quoted(leg + "_hits")
        search = f"SELECT {key}, score FROM {table} ORDER BY score DESC LIMIT {depth}"  # noqa: S608
        said = f"-- REPLACE with the search of leg {' '.join(leg.split())}: its {depth} best documents"
        return f"{quoted(leg)} AS (\n  {said}\n  {search}\n)"

    def _part(self, deployed: Deployed, place: int) -> str:
        if isinstance(deployed.fuser, ReciprocalRanks):
            return f"CAST(1 AS DOUBLE PRECISION) / ({deployed.fuser.k} + ROW_NUMBER() OVER (ORDER BY score DESC))"
        weight = literal(deployed.weights[place])
        if self.is_raw:
            return f"{weight} * score"
        return f"{weight} * CASE WHEN most = least THEN 1.0e0 ELSE (score - least) / (most - least) END"

    def _windowed(self, leg: str) -> str:
        """The hits as double, each with the least and the most of all."""
        score = "CAST(score AS DOUBLE PRECISION)"
        ends = f"MIN({score}) OVER () AS least, MAX({score}) OVER () AS most"
        return f"SELECT {quoted(self.key)}, {score} AS score, {ends} FROM {quoted(leg)}"  # noqa: S608

    def commands(self, deployed: Deployed, file: str) -> str:  # noqa: ARG002 - one signature for every engine
        name = shlex.quote(file)
        return f"# put your own searches into {file}, then one of\npsql -f {name}\nduckdb data.duckdb < {name}"
