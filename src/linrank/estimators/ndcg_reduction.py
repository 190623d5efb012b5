"""NDCGReduction: ranking for NDCG by any classifier of pairs that takes weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

from linrank.arrays import Offsets, Vector
from linrank.dataset.queries import Queries
from linrank.dataset.query_blocks import QueryBlock, cut_into_blocks
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.stored_dataset import StoredDataset
from linrank.errors import LinrankError
from linrank.estimators.base import UnweightedRanker, scanned
from linrank.estimators.declaring import with_settings
from linrank.estimators.settings import check_choice, check_count
from linrank.measures import NDCG, Judgements
from linrank.objective.ndcg_weighted import NDCGWeights
from linrank.objective.sorted_pairs import PairSums

# Pairs shown to the classifier at a time when documents are compared.
_PAIRS_AT_A_TIME = 1 << 17


@with_settings
class NDCGReduction(UnweightedRanker):
    """Ranking reduced to a weighted classification of pairs (Sun, Qin, Tao & Wang, 2009, Procedures 1 and 2).

    Round by round a classifier learns which of two documents has the higher label, an error on the pair costing
    `omega_ij = |2^y_i - 2^y_j| |b_i - b_j| / ideal DCG`, how much a swap of the two changes NDCG in the order of the
    last round (b = 1 / log2(1 + rank); before the first round all are tied, and in a tie the lower label is ranked
    first). Documents are ranked by how many others of their query they win against. The sum of omega over the pairs
    ranked wrongly is at least the sum of 1 - NDCG over queries (Theorem 1). With a linear classifier and the modified
    Huber loss it is RSRank, which needs no list of pairs.

    The score of a document depends on the others of its query: `predict` wants whole queries.

    Parameters
    ----------
    learner : classifier
        Any classifier whose `fit` takes sample_weight; None is LogisticRegression without an intercept. It sees each
        pair in both orders, with target 1 where the first document has the higher label and 0 where the second has.
    n_rounds : int
        The paper's T. It ends before where the order of the documents is that of an earlier round.
    pair_features : {"difference", "concatenated"}
        What the learner sees of a pair: x_i - x_j, or x_i beside x_j.
    max_pairs : int
        Pairs are listed here, twice each; data with more of them is refused.

    Attributes
    ----------
    learner_ : the classifier of the last round
    objective_ : float
        The sum of omega over the pairs ranked wrongly.
    n_iter_ : int
        Rounds.
    history_ : tuple of float
        The objective after each round.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from linrank import NDCGReduction, make_ranking
    >>> data, _ = make_ranking(20, 10, 5)
    >>> model = NDCGReduction(DecisionTreeClassifier(max_depth=4, random_state=0))
    >>> wins = model.fit(data.features, data.labels, qid=data.qid).predict(data.features, qid=data.qid)
    >>> bool(wins.max() <= 9)
    True
    """

    __metadata_request__predict = {"qid": True}

    method = "ndcg-reduction"

    @property
    def objective(self) -> str:
        return "sum over pairs ranked wrongly of |change of NDCG|"

    learner: Any = None
    _: KW_ONLY
    n_rounds: int = 5
    pair_features: str = "difference"
    max_pairs: int = 2_000_000

    def _check(self) -> None:
        check_choice("pair_features", self.pair_features, ("difference", "concatenated"))
        check_count("n_rounds", self.n_rounds)
        learner = self._new_learner()
        if not has_fit_parameter(learner, "sample_weight"):
            raise LinrankError(
                f"{type(learner).__name__} takes no sample_weight, and pairs differ in importance. "
                "Use a classifier that does, such as LogisticRegression or a tree."
            )

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:  # noqa: ARG002
        blocks = cut_into_blocks(dataset)
        self._check_number_of_pairs(blocks)
        pairs = _Pairs(blocks)
        rows = dataset.queries.grouped(dataset.features)
        examples = self._examples(
            rows, np.concatenate([pairs.higher, pairs.lower]), np.concatenate([pairs.lower, pairs.higher])
        )
        targets = np.repeat([1, 0], len(pairs.higher))
        wins = np.zeros(dataset.n_documents)
        seen, history = {wins.tobytes()}, []
        for _ in range(self.n_rounds):
            costs = pairs.costs(wins)
            if not costs.any():
                raise LinrankError(
                    "no pair of documents changes NDCG: no query has two labels of which one is above 0. "
                    "Give graded labels, and qid."
                )
            self.learner_ = self._new_learner().fit(examples, targets, sample_weight=np.concatenate([costs, costs]))
            wins = self._wins(rows, dataset.queries.starts)
            history.append(float(pairs.costs(wins)[wins[pairs.higher] <= wins[pairs.lower]].sum()))
            if wins.tobytes() in seen:
                break
            seen.add(wins.tobytes())
        self.history_ = tuple(history)
        self.n_iter_ = len(history)
        self.objective_ = history[-1]

    def predict(self, X: Any, qid: Any = None, *, group: Any = None, executor: Any = None) -> Vector:
        """Count against how many others of its query each document wins; higher is better.

        A pair is judged in both orders, half a win each. Without qid or group it raises, unless it was trained on
        everything as one query. A `RankingDataset` brings its queries, and so does a file.
        """

        def wins(documents: Any) -> Vector:
            rows = self._rows(documents)
            queries = (
                documents.queries if isinstance(documents, RankingDataset) else self._queries(qid, group, rows.shape[0])
            )
            return queries.ungrouped(self._wins(queries.grouped(rows), queries.starts))

        return self._scores_by_chunks(X, wins, executor, by_query=True)

    def score(self, X: Any, y: Any = None, *, qid: Any = None, group: Any = None) -> float:
        """NDCG@10 (gain 2^y - 1, discount 1 / log2(rank + 1)), the mean over queries."""
        X = scanned(X)
        wins = self.predict(X, qid, group=group)
        if isinstance(X, RankingDataset | StoredDataset):
            return (NDCG @ 10).mean(wins, X)
        judgements = Judgements(np.asarray(y, dtype=np.float64), self._queries(qid, group, len(wins)))
        return (NDCG @ 10).mean(wins, judgements)

    def _queries(self, qid: Any, group: Any, n_rows: int) -> Queries:
        if qid is None and group is None:
            if self.fitted_by_query_:
                raise LinrankError(
                    "a document is scored by its wins against the others of its query. "
                    "Pass qid (one value a row) or group."
                )
            group = [n_rows]
        queries = Queries.from_ids(qid) if group is None else Queries.from_sizes(group, n_rows)
        if queries.n_documents != n_rows:
            raise LinrankError(f"qid has {queries.n_documents} values, but there are {n_rows} rows. Pass one a row.")
        return queries

    def _new_learner(self) -> Any:
        return LogisticRegression(fit_intercept=False) if self.learner is None else clone(self.learner)

    def _check_number_of_pairs(self, blocks: list[QueryBlock]) -> None:
        n_pairs = sum(_number_of_pairs(block) for block in blocks)
        if n_pairs == 0:
            raise LinrankError(
                "there is no pair to learn from: every query has one class of documents. Pass graded labels."
            )
        if n_pairs > self.max_pairs:
            columns = blocks[0].features.n_features * (1 if self.pair_features == "difference" else 2)
            raise LinrankError(
                f"{n_pairs} pairs would be listed, about {2 * n_pairs * columns * 8 / 1e9:.1f} GB if dense; "
                f"max_pairs={self.max_pairs}. Raise it, take fewer documents a query, or use RSRank, which lists none."
            )

    def _examples(self, rows: Any, first: Offsets, second: Offsets) -> Any:
        if self.pair_features == "difference":
            return rows[first] - rows[second]
        stack = sparse.hstack if sparse.issparse(rows) else np.hstack
        return stack([rows[first], rows[second]])

    def _wins(self, rows: Any, query_starts: Offsets) -> Vector:
        """For rows with each query's together; a document does not meet itself."""
        wins = np.zeros(rows.shape[0])
        for first, second in _meetings(query_starts):
            first_wins = np.asarray(self.learner_.predict(self._examples(rows, first, second))) > 0.5
            wins += 0.5 * np.bincount(np.where(first_wins, first, second), minlength=len(wins))
        return wins


class _Pairs:
    """The preference pairs of some blocks as rows in grouped order, and what a wrong decision about each costs."""

    def __init__(self, blocks: list[QueryBlock]) -> None:
        self._blocks = blocks
        listed = [_listed(block) for block in blocks]
        self.higher, self.lower, self._query_weights = (np.concatenate(column) for column in zip(*listed, strict=True))

    def costs(self, scores: Vector) -> Vector:
        """Omega of each pair, with the ranks by the given scores, times its query's weight."""
        gains, discounts = np.empty(len(scores)), np.empty(len(scores))
        for block in self._blocks:
            rows = slice(block.first_row, block.first_row + block.n_documents)
            gains[rows], discounts[rows] = NDCGWeights.of(scores[rows], block, PairSums()).by_row()
        swapped = (gains[self.higher] - gains[self.lower]) * (discounts[self.higher] - discounts[self.lower])
        costs: Vector = self._query_weights * np.abs(swapped)
        return costs


def _listed(block: QueryBlock) -> tuple[Offsets, Offsets, Vector]:
    higher, lower, weights = [], [], []
    for (start, stop), weight in zip(pairwise(block.query_starts), block.query_weights, strict=True):
        levels = block.levels[start:stop]
        i, j = np.nonzero(levels[:, None] > levels)
        higher.append(i + start)
        lower.append(j + start)
        weights.append(np.full(len(i), weight))
    first = block.first_row
    return np.concatenate(higher) + first, np.concatenate(lower) + first, np.concatenate(weights)


def _number_of_pairs(block: QueryBlock) -> int:
    total = 0
    for start, stop in pairwise(block.query_starts):
        sizes = np.bincount(block.levels[start:stop])
        total += (int(stop - start) ** 2 - int(sizes @ sizes)) // 2
    return total


def _meetings(query_starts: Offsets) -> Iterator[tuple[Offsets, NDArray[np.int64]]]:
    """All ordered pairs of different rows of a query, so many at a time."""
    for start, stop in pairwise(query_starts):
        at_a_time = max(1, _PAIRS_AT_A_TIME // int(stop - start))
        others = np.arange(start, stop)
        for begin in range(start, stop, at_a_time):
            hosts = np.arange(begin, min(begin + at_a_time, stop))
            first, second = (side.ravel() for side in np.meshgrid(hosts, others, indexing="ij"))
            different = first != second
            if different.any():
                yield first[different], second[different]
