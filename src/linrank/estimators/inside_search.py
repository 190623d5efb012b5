"""Training inside scikit-learn's searches: what would give NaN or flattering scores is refused while there is time.

A search tells an estimator nothing of the split it is part of, and turns what `score` raises into NaN. It gives up,
with the message, where every `fit` raises. So `fit` looks at the search that called it, if one did.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from linrank.errors import LinrankError

ROUTING = "sklearn.set_config(enable_metadata_routing=True)"
# scikit-learn's own functions that train on one part of the rows and look at another.
_SEARCHES = ("_fit_and_score", "_fit_and_predict")
# Where its scores of regression and classification are.
_OF_NUMBERS = ("sklearn.metrics._regression", "sklearn.metrics._classification")


def check_search(qid: Any) -> None:
    """Refuse to train with these query ids in a search that cuts queries, or whose scores would not know them."""
    search = None if qid is None else _Search.under_way()
    if search is None:
        return
    for name in search.scores_of_numbers():
        warnings.warn(
            f"{name} compares the scores with the labels as numbers, where a ranker's scores only say an order: what "
            "the search finds best by it need not rank best. Use scoring=ranking_scorer('ndcg@10').",
            UserWarning,
            stacklevel=3,
        )
    if search.leaves_scores_without_queries():
        raise LinrankError(
            "the search passes qid to fit and not to score, so that every score would be NaN. Let scikit-learn pass "
            f"it on: {ROUTING}; or give X as a DataFrame and scoring=ranking_scorer('ndcg@10', qid=qid), "
            "where qid is a Series with the index of X."
        )
    cut = search.queries_cut()
    if cut:
        raise LinrankError(
            f"the split cuts queries: documents of query {min(cut, key=str)!r} are both trained and tested on "
            f"({len(cut)} queries in all are cut). Use cv=QueryKFold(5), which keeps queries whole, with {ROUTING}, or "
            "with groups=qid beside qid."
        )


@dataclass(frozen=True)
class _Search:
    """What scikit-learn's search has in hand while one part of the rows is trained on."""

    here: Mapping[str, Any]
    caller: Mapping[str, Any]
    """Of the search itself; empty where it runs in another process."""

    @classmethod
    def under_way(cls) -> _Search | None:
        """The innermost search that waits for us, if any."""
        frame: FrameType | None = sys._getframe()  # noqa: SLF001 - there is no other way to know who asks
        here: Mapping[str, Any] | None = None
        while frame is not None:
            if str(frame.f_globals.get("__name__", "")).startswith("sklearn.model_selection."):
                if here is not None and "routed_params" in frame.f_locals:
                    return cls(here, frame.f_locals)
                if frame.f_code.co_name in _SEARCHES:
                    here = frame.f_locals
            frame = frame.f_back
        return None if here is None else cls(here, {})

    def leaves_scores_without_queries(self) -> bool:
        """Whether a score is the ranker's own, or a `ranking_scorer`, and gets no query ids; others do as they like."""
        if "qid" in (self.here.get("score_params") or {}):
            return False
        return any(
            type(scorer).__name__ == "_PassthroughScorer" or (_is_ours(scorer) and not scorer.knows_parts_of(self._X))
            for scorer in self._scorers()
        )

    def scores_of_numbers(self) -> list[str]:
        """The scorers of scikit-learn, by the functions they call, that are made for regression or classification."""
        functions: list[Any] = [getattr(scorer, "_score_func", None) for scorer in self._scorers()]
        return [function.__name__ for function in functions if getattr(function, "__module__", None) in _OF_NUMBERS]

    def queries_cut(self) -> set[Any]:
        """The queries with documents on both sides; none where the ids of all rows cannot be seen from here."""
        for given in self._ids_of_all_rows():
            ids = np.asarray(given)
            if len(ids) > max(self.here["train"].max(), self.here["test"].max()):
                return set(ids[self.here["train"]].tolist()) & set(ids[self.here["test"]].tolist())
        return set()

    def _ids_of_all_rows(self) -> Iterator[Any]:
        given = [self.here.get("score_params") or {}]
        if self.caller:
            given.append(self.caller["routed_params"].estimator.fit)
        for parameters in given:
            # A pipeline without routing has the ids as `step__qid`.
            yield from (value for name, value in parameters.items() if name.rpartition("__")[2] == "qid")
        yield from (scorer.ids_of(self._X) for scorer in self._scorers() if _is_ours(scorer) and scorer.qid is not None)

    @property
    def _X(self) -> Any:
        return self.here["X"]

    def _scorers(self) -> list[Any]:
        """One scorer, those of several measures, or none where nothing is scored."""
        several = getattr(self.here.get("scorer"), "_scorers", self.here.get("scorer"))
        return list(several.values()) if isinstance(several, Mapping) else [several]


def _is_ours(scorer: Any) -> bool:
    return hasattr(scorer, "knows_parts_of")
