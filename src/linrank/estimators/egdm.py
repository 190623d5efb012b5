"""EGDM: pairwise least squares by gradient descent with rates from the Hessian's eigenvalues; and on streams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linrank.dataset.features import as_features
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.estimators.declaring import fixed, with_settings
from linrank.estimators.gdm import HeavyBallRanker
from linrank.estimators.online_ranker import OnlineRanker
from linrank.estimators.watching import watcher
from linrank.objective.penalties import L2
from linrank.online.heavy_ball import STREAM_MOMENTUM, StochasticHeavyBall, Stream
from linrank.online.learner import follow
from linrank.solvers.heavy_ball import HeavyBallSolution
from linrank.solvers.solution import Solution

# A step of `partial_fit` is on about so many documents, or one for so many features, whichever is more: on fewer its
# gradient is noise, and with many features the steps themselves cost more than the documents.
_DOCUMENTS_A_STEP = 128
_FEATURES_A_DOCUMENT = 64


@with_settings
class EGDM(HeavyBallRanker, OnlineRanker):
    """Pairwise least squares by gradient descent with momentum, at rates taken from the Hessian's eigenvalues (eGDM).

    Minimises {formula}. The largest and smallest eigenvalue of the Hessian, kappa_1 and kappa_n, are estimated by power
    iteration; then the learning rate is 1 / sqrt(kappa_1 kappa_n) and the momentum ((sqrt(r) - 1) / (sqrt(r) + 1))^2
    with r = kappa_1 / kappa_n (Tas, 2022). Estimates that a step proves wrong are corrected on the way, so that it
    never diverges. O(l n) a step for l documents with n features, and nothing larger than the data is held.
    `partial_fit` takes a step for about each hundred documents, in one thread; its objective is that of all documents
    seen so far.

    Attributes
    ----------
    objective_ : float
        After `partial_fit`: the loss of the blocks of the last call, each measured before it was learnt from, plus the
        penalty.
    gap_ : float
        A certified bound on `objective_` minus the least value there is; not after `partial_fit`.
    eigenvalues_ : ndarray of shape (2,)
        kappa_1 and kappa_n as they were used in the last steps; not after `partial_fit`.
    n_iter_ : int
        Steps; after `partial_fit`, steps of all calls.

    Examples
    --------
    >>> from linrank import EGDM, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = EGDM(gamma=10.0).fit(data.features, data.labels, qid=data.qid)
    >>> model.gap_ <= 1e-6 * model.objective_
    True
    """

    method = "egdm"

    # A stream has no ranks before its end.
    transforms: str | None = fixed(None)

    def _learn_more(self, dataset: RankingDataset) -> None:
        known = hasattr(self, "coef_")
        prior = self._with_wanted(L2()).centres
        if not hasattr(self, "stream_"):
            self.stream_ = Stream.starting_at(self.coef_ if known else np.zeros(dataset.n_features) + prior)
            for of_fit in ("gap_", "eigenvalues_", "solution_"):
                self.__dict__.pop(of_fit, None)
        method = StochasticHeavyBall(self._loss(), float(self.gamma), prior=prior)
        blocks = cut_into_blocks(dataset, _bytes_a_step(dataset))
        solution = follow(method, self.stream_, blocks, [range(len(blocks))], watch=watcher(self.progress))
        self.learning_rate_, self.momentum_ = self.stream_.learning_rate, STREAM_MOMENTUM
        self._learnt(replace(solution, weights=solution.weights.copy()))

    def _finish(self, solution: Solution) -> None:
        assert isinstance(solution, HeavyBallSolution)
        self.__dict__.pop("stream_", None)
        self.eigenvalues_ = np.array([solution.eigenvalues.largest, solution.eigenvalues.smallest])
        super()._finish(solution)


def _bytes_a_step(dataset: RankingDataset) -> int:
    documents = max(_DOCUMENTS_A_STEP, dataset.n_features // _FEATURES_A_DOCUMENT)
    return round(documents * as_features(dataset.features).n_bytes / dataset.n_documents)
