"""What became of every log and every judgement: counted, and listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from linrank.dataset.missing_rule import MissingRule
from linrank.reading.logs.query_naming import in_words

# A query and a document of it.
Pair: TypeAlias = tuple[str, str]

_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a reader of the logs must know: of what, how many, and the first few."""

    what: str
    count: int
    examples: str

    def __str__(self) -> str:
        return f"{self.what}: {self.count:,}" + (f" ({self.examples})" if self.examples else "")


@dataclass(frozen=True)
class LogAccount:
    """What was read, what was kept, and everything that was not, in full.

    Attributes
    ----------
    files : number of files read
    not_read : files of the folders that are no logs by their ending
    forms : how many documents were logged in each form
    named_by : what queries are known by: a field such as 'qid', 'params.q' of Solr's header, or 'file'
    queries, documents, features : what the dataset holds
    logged_queries, logged_documents : what the logs held
    judged_queries, judged_documents : what the judgements held
    repeated, contradicting : documents logged again for their query, with the same values or with others; the last
        of those is kept
    without_log : documents of responses that carry no features
    empty : queries of responses without documents
    failed : responses that only say what went wrong, each with its place
    missing : for each feature that some of the dataset's documents lack, how many; `missing_rule` filled them
    unjudged : logged documents without a rating, of queries that are judged; left out, or with the label 0
    unjudged_queries : logged queries without any judgement: left out
    no_judged_document : judged queries of whose logged documents none is judged
    judged_not_logged : judged documents that no response has, of queries in the dataset: `dataset.unretrieved`
    queries_not_logged : judged queries of which there is no logged document
    unrated : rows of the judgements without a rating, a query or a document
    repeated_judgments, contradicting_judgments : judgements given again, or again with another rating: the last is kept
    constant_features : features with one value in all of the dataset
    """

    files: int
    not_read: tuple[str, ...]
    forms: dict[str, int]
    named_by: str
    queries: int
    documents: int
    features: int
    logged_queries: int
    logged_documents: int
    judged_queries: int
    judged_documents: int
    repeated: int
    contradicting: tuple[Pair, ...]
    without_log: tuple[Pair, ...]
    empty: tuple[str, ...]
    failed: tuple[str, ...]
    missing: dict[str, int]
    missing_rule: MissingRule
    unjudged: tuple[Pair, ...]
    unjudged_rule: str
    unjudged_queries: tuple[str, ...]
    no_judged_document: tuple[str, ...]
    judged_not_logged: tuple[Pair, ...]
    queries_not_logged: tuple[str, ...]
    unrated: tuple[Pair, ...]
    repeated_judgments: int
    contradicting_judgments: tuple[Pair, ...]
    constant_features: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The account as JSON takes it."""
        return asdict(self)

    def findings(self) -> list[Finding]:
        """What is not as it might be expected, with the first few of each."""
        dropped = self.unjudged_rule == "drop"
        counts = [
            ("documents logged again with the same values, one kept", self.repeated),
            ("judgements given again with the same rating", self.repeated_judgments),
        ]
        lists: list[tuple[str, Sequence[Any]]] = [
            ("files in folders that are no logs by their ending, not read", self.not_read),
            ("responses that only say what went wrong", self.failed),
            ("responses without documents", self.empty),
            ("documents of responses without features, left out", self.without_log),
            ("documents logged again with other values, the last kept", self.contradicting),
            ("logged queries without judgements, left out", self.unjudged_queries),
            (
                f"queries with no judged document among those logged, {'left out' if dropped else 'kept'}",
                self.no_judged_document,
            ),
            (f"logged documents not judged, {'left out' if dropped else 'given the label 0'}", self.unjudged),
            ("judged queries without a logged document, left out", self.queries_not_logged),
            ("judged documents in no log, which measures count as missed", self.judged_not_logged),
            ("rows of the judgements without a rating, of no account", self.unrated),
            ("documents judged again with another rating, the last kept", self.contradicting_judgments),
            (
                f"features missing from some documents, {self._filled()}",
                [f"{name} from {count:,}" for name, count in self.missing.items()],
            ),
            ("features with one value everywhere, which cannot rank", self.constant_features),
        ]
        found = [Finding(what, count, "") for what, count in counts if count]
        return found + [Finding(what, len(listed), _first_few(listed)) for what, listed in lists if listed]

    def __str__(self) -> str:
        kinds = ", ".join(f"{name} ({count:,})" for name, count in self.forms.items())
        logged = f"{self.logged_documents:,} documents of {self.logged_queries:,} queries"
        head = [
            f"logs: {kinds}; {logged}, known by {in_words(self.named_by)}",
            f"judgements: {self.judged_documents:,} documents of {self.judged_queries:,} queries",
        ]
        return "\n".join([*head, *(f"- {finding}" for finding in self.findings())])

    def _filled(self) -> str:
        if isinstance(self.missing_rule, str):
            return {"keep": "kept so"}.get(self.missing_rule, "filled with the least value in the query")
        return f"filled with {self.missing_rule:g}"


def _first_few(listed: Sequence[Any]) -> str:
    shown = [" / ".join(one) if isinstance(one, tuple) else one for one in listed[:_EXAMPLES]]
    return ", ".join([*shown, "…"] if len(listed) > _EXAMPLES else shown)
