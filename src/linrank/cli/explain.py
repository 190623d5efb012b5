"""linrank explain: why documents of a query stand where a model puts them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linrank.cli.console import console, counted, dump_json, table, verb_parser
from linrank.cli.data_arguments import add_data_options
from linrank.cli.inputs import place_to_read
from linrank.cli.outputs import check_files
from linrank.cli.scoring import read_to_score
from linrank.cli.show import curve_in_words
from linrank.errors import LinrankError

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.explaining import Explanation
    from linrank.model import LinearModel

_MOST_NAMED = 12
# Contributions shown beside each document of the ranking.
_BESIDE = 3


def parser() -> ArgumentParser:
    made = verb_parser(
        "explain",
        "Say why documents of a query stand where a model puts them: each feature's part of the difference of two\n"
        "scores, weight x (feature of the upper - feature of the lower), or of what the model's transform makes of\n"
        "both, and each product's; they add up to it exactly.\n\n"
        "Without --above and --below: the query's ranking, each document with its largest contributions against the\n"
        "mean of the query's documents, and why the first stands above the second.",
        "  linrank explain model.json test.txt --qid 18219\n"
        "  linrank explain model.json test.txt --qid 18219 --above GX004-93-7097963 --below GX010-40-4497720\n"
        "  linrank explain model.json test.txt --qid 18219 --above 3 --below 1 --json",
    )
    made.add_argument("model", help="JSON file written by linrank train")
    made.add_argument("data", help="LETOR / svmlight text, Parquet, CSV, Arrow or .linrank; - for standard input")
    made.add_argument("--above", metavar="A", help="document id, or row within the query from 1 (the first ranked)")
    made.add_argument("--below", metavar="B", help="the one to compare it with (the second ranked)")
    made.add_argument("--top", type=int, default=10, metavar="N", help="documents and features to show (10)")
    made.add_argument("--json", action="store_true", help="print one JSON object, with everything")
    add_data_options(made)
    # Here --qid is the query, and takes the place of the column of query ids, which other verbs call so.
    chosen = made.add_argument_group("which query", conflict_handler="resolve")
    chosen.add_argument("--qid", metavar="Q", dest="query", required=True, help="the query to explain")
    chosen.add_argument("--qid-column", metavar="COLUMN", dest="qid", help="of a table: column of query ids (qid)")
    return made


def run(arguments: Namespace) -> None:
    from linrank.model import LinearModel

    if (arguments.above is None) != (arguments.below is None):
        raise LinrankError("--above and --below name two documents to compare: give both, or neither.")
    if arguments.top < 1:
        raise LinrankError(f"--top {arguments.top}: show at least 1.")
    check_files([], [arguments.model, arguments.data])
    model = LinearModel.load(place_to_read(arguments.model))
    data = read_to_score(arguments.data, arguments, model, by_query=True)
    query = _Query.of(model, data, _number_of_query(data, arguments.query, arguments.data))
    pair: tuple[int, int] | None = None
    if arguments.above is not None:
        pair = query.position(arguments.above, "--above"), query.position(arguments.below, "--below")
    elif len(query.order) > 1:
        pair = query.order[0], query.order[1]
    if arguments.json:
        dump_json(query.record(arguments, pair))
        return
    if arguments.above is None:
        query.show_ranking(arguments.query, arguments.top)
    if pair is None:
        console().print("There is one document: nothing to compare it with.")
        return
    query.show_comparison(pair, arguments.top)


def _number_of_query(data: RankingDataset, wanted: str, name: str) -> int:
    ids = [str(query) for query in data.queries.ids.tolist()]
    if wanted not in ids:
        raise LinrankError(f"{name}: there is no query {wanted!r}; there are {_some(ids)}.")
    return ids.index(wanted)


@dataclass(frozen=True)
class _Query:
    """The documents of one query as the model sees them."""

    data: RankingDataset
    names: tuple[str, ...]
    weights: Any
    features: Any
    scores: list[float]
    order: list[int]
    scaled: bool
    curved: Any = None
    curve_of: Mapping[str, Any] | None = None
    products: tuple[list[str], Any, Any] | None = None

    @classmethod
    def of(cls, model: LinearModel, data: RankingDataset, number: int) -> _Query:
        import numpy as np
        from scipy import sparse

        from linrank.dataset.applied_scaling import QueryScaling, folds

        part = data.subset([number])
        scores = model.predict(part.features, part.queries)
        features, by_query = part.features, isinstance(model.scaling, QueryScaling)
        if model.scaling is not None and by_query:
            # What the weights are on; here the whole query is there to scale its features by.
            features = model.scaling.apply(features, part.queries)
        curved, can_fold = None, folds(model.scaling, model.weights)
        if model.scaling is not None and not by_query and not can_fold:
            curved = model.scaling.apply(features)
        products = None
        if model.products is not None:
            named = model.products.names(model.feature_names)
            products = named, model.products.weights, model.products.values(features)
        weights, names = model.raw_weights() if can_fold else model.weights, model.feature_names
        columns: Any = range(len(names))
        if sparse.issparse(features):
            # Of a million columns a query has few, and the others contribute nothing.
            columns = np.unique(features.indices)
            features, weights = features[:, columns].toarray(), weights[columns]
            curved = None if curved is None else curved[:, columns].toarray()
            names = tuple(names[column] for column in columns.tolist())
        order = np.argsort(-scores, kind="stable").tolist()
        features = np.asarray(features, dtype=np.float64)
        shown = getattr(model.scaling, "shown", None)
        curve_of = shown and {name: shown(column) for name, column in zip(names, columns, strict=True)}
        return cls(part, names, weights, features, scores.tolist(), order, by_query, curved, curve_of, products)

    def position(self, text: str, option: str) -> int:
        """The row of the query that has this document id, or this number from 1."""
        docids = self.data.docids
        if docids is not None and text in docids:
            return docids.index(text)
        if text.isdecimal() and 1 <= int(text) <= len(self.scores):
            return int(text) - 1
        known = "" if docids is None else f" or one of {_some(docids)}"
        raise LinrankError(
            f"{option} {text}: there is no such document in the query; use a row from 1 to {len(self.scores)}{known}."
        )

    def name(self, position: int) -> str:
        docids = self.data.docids
        return f"row {position + 1}" if docids is None or not docids[position] else docids[position]

    def label(self, position: int) -> float | None:
        return None if self.data.labels is None else float(self.data.labels[position])

    def explanation(self, above: int, below: int | None = None) -> Explanation:
        """Of one document over another, or over the mean of the query's documents."""
        from linrank.explaining import explain_rows

        def against(rows: Any) -> Any:
            return rows.mean(axis=0) if below is None else rows[below]

        def both(rows: Any) -> Any:
            import numpy as np

            return np.stack([rows[above], against(rows)]).astype(np.float64)

        curved = None if self.curved is None else both(self.curved)
        products = None if self.products is None else (*self.products[:2], both(self.products[2]))
        seen = self.weights, self.features[above], against(self.features), self.names
        return explain_rows(*seen, curved, products)

    def record(self, arguments: Namespace, pair: tuple[int, int] | None) -> dict[str, Any]:
        docids = self.data.docids
        ranking = [
            {
                "rank": rank,
                "row": position + 1,
                "docid": None if docids is None else docids[position],
                "label": self.label(position),
                "score": self.scores[position],
                "contributions": {part.feature: part.amount for part in self.explanation(position).top(arguments.top)},
            }
            for rank, position in enumerate(self.order, start=1)
        ]
        compared = None
        if pair is not None:
            above, below = pair
            compared = {"above": above + 1, "below": below + 1, **self.explanation(above, below).to_dict()}
        return {
            "model": arguments.model,
            "data": arguments.data,
            "qid": arguments.query,
            "scaled_by_query": self.scaled,
            "ranking": ranking,
            "explanation": compared,
        }

    def show_ranking(self, query: str, top: int) -> None:
        shown = table(f"query {query}, {counted(len(self.order), 'document')}", "document", "rank", "score", "label")
        shown.add_column("largest contributions, against the query's mean", overflow="fold")
        for rank, position in enumerate(self.order[:top], start=1):
            parts = self.explanation(position).top(_BESIDE)
            words = "  ".join(f"{part.feature} {part.amount:+.4g}" for part in parts)
            label = self.label(position)
            score, grade = f"{self.scores[position]:.6g}", "" if label is None else f"{label:g}"
            shown.add_row(self.name(position), str(rank), score, grade, words)
        console().print(shown)
        if len(self.order) > top:
            console().print(f"… and {len(self.order) - top} more; --top shows them.\n")

    def show_comparison(self, pair: tuple[int, int], top: int) -> None:
        above, below = pair
        print_ = console().print
        stands = "above" if self.scores[above] > self.scores[below] else "not above"
        print_(f"{self.name(above)} {stands} {self.name(below)}", style="bold")
        labels = self.label(above), self.label(below)
        judged = "" if None in labels else f", labels {labels[0]:g} and {labels[1]:g}"
        print_(f"scores {self.scores[above]:.6g} and {self.scores[below]:.6g}{judged}\n")
        if self.scaled:
            print_("Features are as the model sees them, scaled within the query.\n")
        explained = self.explanation(above, below)
        print_(explained.table(top))
        if self.curve_of is not None:
            shown = table(None, "feature", "f(x)", "from", "to")
            for part in explained.top(top):
                # (A product has no curve: its two features do.)
                if part.above is not None:
                    shown.add_row(part.feature, *curve_in_words(self.curve_of[part.feature]))
            print_(shown)


def _some(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (
        f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    )
