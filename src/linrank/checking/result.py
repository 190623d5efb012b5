"""Check: what a comparison of two models before deployment says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from linrank.checking.moves import TOP, DocumentMove, QueryMove
from linrank.exporting.order_changes import OrderChanges
from linrank.measures import Measure
from linrank.showing import Rows, html_table, text_table

_NAMED = 20


@dataclass(frozen=True, repr=False)
class Check:
    """What would change if the new model took the place of the old one.

    Attributes
    ----------
    measure : what decides
    old_mean, new_mean : its mean over the queries
    interval : the middle 95 % of the means of differences, new minus old, of resampled queries
    at_least : how much higher the new mean must be; None where only the interval decides
    won, lost, tied : in how many queries the new model is better, worse, equal; queries that the measure skips are none
    gains, losses : the queries that change most
    first_changed, top_changed : in how many queries another document comes first, or others are among the first ten
    moves : the documents whose place among the first ten changes most
    disappeared, appeared : features that only the old, or only the new model has a weight for
    float32 : what a search engine's arithmetic does to the new model's order; None where no engine can have the model
    notes : what else differs
    """

    measure: Measure
    old_mean: float
    new_mean: float
    interval: tuple[float, float]
    at_least: float | None
    n_queries: int
    n_documents: int
    won: int
    lost: int
    tied: int
    gains: tuple[QueryMove, ...]
    losses: tuple[QueryMove, ...]
    first_changed: int
    top_changed: int
    moves: tuple[DocumentMove, ...]
    disappeared: tuple[str, ...]
    appeared: tuple[str, ...]
    float32: OrderChanges | None
    notes: tuple[str, ...]

    @property
    def difference(self) -> float:
        """The new mean minus the old one."""
        return self.new_mean - self.old_mean

    @property
    def passed(self) -> bool:
        """Whether the new model may go live, by the rule."""
        if self.at_least is None:
            return self.interval[1] >= 0.0
        return self.difference >= self.at_least

    @property
    def rule(self) -> str:
        """When a model passes."""
        if self.at_least is None:
            return "a model fails where the whole 95 % interval of the difference lies below 0"
        return f"a model passes where the difference is at least {self.at_least:g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, texts and numbers, for JSON."""

        def of_queries(moves: tuple[QueryMove, ...]) -> list[dict[str, Any]]:
            return [{"qid": move.query, "before": move.before, "after": move.after} for move in moves]

        return {
            "passed": self.passed,
            "rule": self.rule,
            "measure": str(self.measure),
            "old": self.old_mean,
            "new": self.new_mean,
            "difference": self.difference,
            "interval": list(self.interval),
            "queries": {"all": self.n_queries, "won": self.won, "lost": self.lost, "tied": self.tied},
            "first_changed": self.first_changed,
            f"first_{TOP}_changed": self.top_changed,
            "gains": of_queries(self.gains),
            "losses": of_queries(self.losses),
            "documents": [
                {
                    "qid": move.query,
                    "document": move.document,
                    "label": move.label,
                    "before": move.before,
                    "after": move.after,
                }
                for move in self.moves
            ],
            "disappeared": list(self.disappeared),
            "appeared": list(self.appeared),
            "float32": None if self.float32 is None else asdict(self.float32),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        tables = [f"{title}\n{_indented(text_table(rows))}" for title, rows in self._tables()]
        return "\n".join([*self._head(), "", *(f"{table}\n" for table in tables), *self._tail()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def lines(texts: list[str]) -> str:
            return "".join(f"<p>{escape(text)}</p>" for text in texts)

        tables = "".join(html_table(rows, title) for title, rows in self._tables())
        return lines(self._head()) + tables + lines(self._tail())

    def _head(self) -> list[str]:
        low, high = self.interval
        change = f"{self.difference:+.4f} (95 % interval {low:+.4f} to {high:+.4f})"
        first, top = (f"{count:,} ({count / self.n_queries:.1%})" for count in (self.first_changed, self.top_changed))
        return [
            f"{self.measure}: {self.old_mean:.4f} with the old model, {self.new_mean:.4f} with the new one, {change}",
            f"{'passes' if self.passed else 'FAILS'}: {self.rule}",
            f"queries: {self.won:,} won, {self.lost:,} lost, {self.tied:,} tied, of {self.n_queries:,}",
            f"another document comes first in {first}; others are among the first {TOP} in {top}",
        ]

    def _tables(self) -> list[tuple[str, Rows]]:
        made: list[tuple[str, Rows]] = []
        for title, queries in (("largest gains", self.gains), ("largest losses", self.losses)):
            rows = [
                (str(move.query), f"{move.before:.4f}", f"{move.after:.4f}", f"{move.difference:+.4f}")
                for move in queries
            ]
            if rows:
                made.append((title, [("query", "old", "new", "difference"), *rows]))
        if self.moves:
            documents = [
                (str(move.query), move.document, f"{move.label:g}", str(move.before), str(move.after))
                for move in self.moves
            ]
            titles = ("query", "document", "label", "old rank", "new rank")
            made.append((f"documents that moved most, to, from or within the first {TOP}", [titles, *documents]))
        return made

    def _tail(self) -> list[str]:
        said = [
            f"features {what}, {len(names):,}: {', '.join(names[:_NAMED])}"
            + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
            for what, names in (("no longer used", self.disappeared), ("newly used", self.appeared))
            if names
        ]
        if self.float32 is not None:
            said.append(f"the new model in float32, as in an engine: {self.float32}")
        return [*said, *(f"note: {note}" for note in self.notes)]


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
