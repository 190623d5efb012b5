"""SampledPairSGD: a linear ranker trained on pairs drawn at random, one a step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, field
from typing import Any

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.conventions import drawn_seed
from linrank.estimators.declaring import with_settings
from linrank.estimators.linear_ranker import NO_PAIRS, LinearRanker
from linrank.estimators.settings import check_choice, check_count, check_positive
from linrank.estimators.watching import watcher
from linrank.executors.pieces import Pieces
from linrank.objective.registry import LOSSES
from linrank.online.learner import Learner, Stretch, follow
from linrank.online.pairs_by_chunk import ChunksOfPairs, PairsByChunk
from linrank.online.queries_by_label import QueriesByLabel
from linrank.online.sampled_pairs import PairSampler, SampledPairs, SampledState

_FORMULAS = {name: LOSSES[name].formula.removeprefix("sum over pairs of ") for name in ("hinge", "logistic")}
_MEANS = {"pairs": "mean over pairs", "queries": "mean over queries of the mean over their pairs"}


@with_settings
class SampledPairSGD(LinearRanker):
    """Stochastic gradient descent on sampled preference pairs, as in sofia-ml (Sculley, 2009).

    Lowers {formula}. Step t draws one pair, in constant time, and moves w by a rate of 1 / (l2 t) down its slope
    (Pegasos). A step costs the same for data of any size, and touches only the features of its two rows. It takes
    `steps` steps and stops; it need not be at the minimum then. Pairs are drawn by their places: rows in another order
    are another draw.

    Data in a file is read chunk after chunk. Each twentieth of the steps goes through the chunks in a new random order,
    and draws from each, of its own pairs alone, as many as its share of all pairs. Every pair is as likely as in
    memory, but they come in another order, so the weights are others; those of a single chunk are the same to the bit.

    Parameters
    ----------
    l2 : float
        Strength of the penalty, beside a mean over pairs: sofia-ml's lambda, and 1 / (C x number of pairs) of RankSVM.
    steps : int
        Pairs drawn.
    loss : {"hinge", "logistic"}
        max(0, 1 - m) or log(1 + exp(-m)) of a pair's margin m.
    sampling : {"pairs", "queries"}
        Whether every pair is equally likely (sofia-ml's "rank") or every query, and then each of its pairs
        ("query-norm-rank"): by pairs, large queries count more.
    learning_rate : float
        A constant rate in place of 1 / (l2 t).
    random_state : int, RandomState or None
        Seeds the drawing of pairs, and the order of chunks.
    progress : callable
        Called with a `Stretch` (prints as one line) after each twentieth of the steps.

    Attributes
    ----------
    objective_ : float
        l2 w.w / 2 plus the mean loss of the last twentieth of the pairs, each measured before learning from it.
    n_iter_ : int
        Steps.
    history_ : tuple of Stretch

    Examples
    --------
    >>> from linrank import SampledPairSGD, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = SampledPairSGD(l2=0.001).fit(data.features, data.labels, qid=data.qid)
    >>> model.n_iter_
    100000
    """

    method = "sampled-sgd"
    reads_files = True

    l2: float = 0.01
    steps: int = 100_000
    _: KW_ONLY
    loss: str = "hinge"
    sampling: str = "pairs"
    learning_rate: float | None = None
    random_state: Any = 0
    progress: Callable[[Stretch], object] | None = None
    history_: tuple[Stretch, ...] = field(init=False)

    @property
    def objective(self) -> str:
        means = super().objective.replace(_MEANS["pairs"], _MEANS[self.sampling])
        return means.replace(_FORMULAS["hinge"], _FORMULAS[self.loss])

    def _check(self) -> None:
        check_positive("l2", self.l2, "it is the strength of the penalty.")
        check_count("steps", self.steps)
        check_choice("loss", self.loss, _FORMULAS)
        check_choice("sampling", self.sampling, _MEANS)
        if self.learning_rate is not None and not 0 < self.learning_rate * self.l2 < 1:
            raise LinrankError(
                f"learning_rate={self.learning_rate}; use a positive number below 1 / l2 = {1 / self.l2:g}, "
                "or None for 1 / (l2 t)."
            )

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:  # noqa: ARG002
        method = self._method()
        learner: Learner = method
        pairs: PairSampler | ChunksOfPairs
        if isinstance(dataset, RankingDataset):
            pairs = PairSampler.of(QueriesByLabel.of(dataset), by_query=method.by_query)
        else:
            (whole,) = Pieces.of(dataset, n_pieces=1)
            learner, pairs = PairsByChunk(method), ChunksOfPairs.of(whole, by_query=method.by_query)
        state = SampledState.new(dataset.n_features, drawn_seed(self.random_state))
        self._learnt(follow(learner, state, pairs, method.stretches(pairs.weight), watch=watcher(self.progress)))
        if not self.history_:
            warnings.warn(NO_PAIRS, UserWarning, stacklevel=3)

    def _method(self) -> SampledPairs:
        rate = None if self.learning_rate is None else float(self.learning_rate)
        return SampledPairs(
            float(self.l2), int(self.steps), rate, self.loss == "logistic", by_query=self.sampling == "queries"
        )
