"""MinBatSRank: a sparse ranker that learns online, query after query."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np

from linrank.dataset.checked_arrays import checked_names
from linrank.dataset.missing_rule import check_missing_rule
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import DataFormatError, LinrankError
from linrank.estimators.conventions import check_trained, drawn_seed
from linrank.estimators.declaring import with_settings
from linrank.estimators.linear_ranker import who_computes
from linrank.estimators.online_ranker import OnlineRanker
from linrank.estimators.settings import check_count, check_kinds, check_not_negative, check_positive
from linrank.estimators.watching import watcher
from linrank.executors.pieces import FROM_FILES, Pieces, begin_log
from linrank.memory import memory_bytes
from linrank.online.averaged_parts import N_PARTS, AveragedParts
from linrank.online.chunk_by_chunk import ChunkByChunk
from linrank.online.ftrl import FTRL, FTRLState
from linrank.online.learner import Stretch, follow
from linrank.online.queries_by_label import QueriesByLabel
from linrank.solvers.solution import Solution, Watch

# Of a batch that is drawn: which two documents, and what each pair adds.
_BYTES_A_PAIR = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass(Stretch):
    """One pass over the data: a line of `history_`."""

    def __str__(self) -> str:
        return f"pass {self.number:3d}  loss {self.loss:.6e}  a pair {self.mean_loss:.4f}  features {self.features}"


@with_settings
class MinBatSRank(OnlineRanker):
    """Sparse ranking by mini-batches and FTRL-proximal, with a learning rate for each feature (Cheng et al., 2018).

    Minimises {formula}: each query moves the weights once a pass. It reads the data `passes` times and stops; it need
    not be at the minimum then. However a stream of queries is cut into calls of `partial_fit`, the weights are the same
    to the last bit. Data in a file is read chunk after chunk: in each pass the chunks are shuffled, and the queries
    within each, which is another order than that of the same data in memory.

    With `parts` or an `executor` it is another algorithm, for data in files. These are cut into parts of whole queries;
    in each pass every part is learnt from alone, from the same state on, and then the states are averaged: z and the
    sums of squares, each part weighing the batches it had. A part's z is held against l1 / parts. The weights are not
    those of one learner; they are the same to the last bit whoever computes, threads or any number of workers.

    Parameters
    ----------
    l1 : float
        The paper's lambda: a feature whose sum of gradients stays within it has the weight 0.
    learning_rate : float
        The paper's gamma.
    rho : float
        The paper's rho, which keeps the first steps short.
    passes : int
        How many times `fit` reads the data.
    feature_rates : bool
        A learning rate for each feature, by its own past gradients; False is the paper's MinBatSRank-Nonfea, with the
        rate learning_rate / sqrt(t) for all features in batch t. Its steps are as long as the gradients, which are sums
        over pairs: it needs far smaller learning rates.
    batch_pairs : int
        A batch is this many pairs of a query, drawn with replacement; by default it is all of them.
    shuffle : bool
        Whether `fit` takes the queries in a new random order in each pass. The order given counts all the same: it is
        what is shuffled, and an online method learns something else from another order.
    random_state : int, RandomState or None
        Seeds the shuffling and the drawing of pairs.
    parts : int
        Into how many parts the data is cut whose states are averaged; the weights depend on it, and at most so many
        workers have something to do. None: one learner goes through all of it; with an `executor`, 8 parts.
    executor : DaskExecutor
        Who learns from the parts: threads of this process unless told.
    progress : callable
        Called with a `Pass` (prints as one line) after each pass of `fit`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        `partial_fit` changes it in place.
    objective_ : float
        The loss of the last pass, or of the last call of `partial_fit`, each batch measured before learning from it,
        plus l1 |w|_1: an honest estimate, since no batch was known when it was measured for the first time.
    n_iter_ : int
        The number of batches learnt from: queries without a pair are none.
    n_features_used_ : int
        How many weights are not 0.
    history_ : tuple of Pass
        One for each pass of `fit`, or one for the last call of `partial_fit`.
    state_ : FTRLState
    n_parts_ : int
        Into how many parts the data was cut whose states were averaged; 1 where there was one learner.

    Examples
    --------
    >>> from linrank import MinBatSRank, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = MinBatSRank(l1=100.0).fit(data.features, data.labels, qid=data.qid)
    >>> model.n_iter_
    500
    """

    method = "minbatsrank"
    reads_files = True

    l1: float = 1.0
    learning_rate: float = 0.1
    rho: float = 1.0
    passes: int = 5
    _: KW_ONLY
    feature_rates: bool = True
    batch_pairs: int | None = None
    shuffle: bool = True
    random_state: Any = 0
    parts: int | None = None
    executor: Any = None
    progress: Callable[[Pass], object] | None = None
    history_: tuple[Pass, ...] = field(init=False)

    @property
    def n_features_used_(self) -> int:
        return int(np.count_nonzero(self.coef_))

    def _check(self) -> None:
        check_not_negative("l1", self.l1, "it is the strength of the penalty.")
        check_not_negative("rho", self.rho, "it is where the sums of squares begin.")
        check_positive("learning_rate", self.learning_rate, "such as 0.1.")
        check_count("passes", self.passes)
        if self.batch_pairs is not None:
            check_count("batch_pairs", self.batch_pairs)
            if self.batch_pairs * _BYTES_A_PAIR > memory_bytes():
                raise LinrankError(f"batch_pairs={self.batch_pairs} are more than memory holds. Draw fewer at a time.")
        if self.parts is not None:
            check_count("parts", self.parts)

    def _compares_weights(self) -> bool:
        return self.l1 > 0

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:  # noqa: ARG002
        self._begin(dataset.n_features)
        self.n_parts_ = 1
        if self.parts is not None or self.executor is not None:
            self._train_parts(dataset)
            return
        random, watch = self.state_.random, watcher(self.progress)
        if isinstance(dataset, RankingDataset):
            order = np.arange(dataset.n_queries)
            orders = (random.permutation(order) if self.shuffle else order for _ in range(self.passes))
            self._learnt(self._follow(dataset, orders, watch))
            return
        (whole,) = Pieces.of(dataset, n_pieces=1)
        order = np.arange(len(whole.places))
        passes = (random.permutation(order) if self.shuffle else order for _ in range(self.passes))
        self._learnt(
            follow(ChunkByChunk(self._method(), self.shuffle), self.state_, whole, passes, line=Pass, watch=watch)
        )

    def _train_parts(self, dataset: RankingDataset) -> None:
        """Average the states of parts after each pass."""
        if isinstance(dataset, RankingDataset):
            raise LinrankError(
                FROM_FILES
                if self.executor is not None
                else f"parts={self.parts}: parts are of data in files. Save it (save_dataset), or leave parts out."
            )
        learner, passes = AveragedParts(self._method(), self.shuffle), (range(1) for _ in range(self.passes))
        with who_computes(self) as executor:
            parts = Pieces.of(dataset, executor, int(self.parts or N_PARTS))
            if self.executor is not None:
                begin_log(executor, dataset)
            self.n_parts_ = len(parts)
            solution = follow(learner, self.state_, parts, passes, line=Pass, watch=watcher(self.progress))
        self._learnt(solution)

    def _learn_more(self, dataset: RankingDataset) -> None:
        if self.executor is not None:
            raise LinrankError("partial_fit learns query after query in this process. Leave the executor out, or fit.")
        if not hasattr(self, "state_"):
            self._begin(dataset.n_features)
        self._learnt(self._follow(dataset, [np.arange(dataset.n_queries)]))

    def save_state(self, path: str | os.PathLike[str]) -> None:
        """Write everything that training needs to go on, exact to the last bit, whole or not at all.

        A `RandomState` given as `random_state` is not written: its part is played by the state's own generator.
        """
        check_trained(self)
        names = getattr(self, "feature_names_in_", None)
        about = {
            "parameters": self.to_model().parameters,
            "feature_names": None if names is None else [str(name) for name in names],
            "fitted_by_query": self.fitted_by_query_,
            "objective": self.objective_,
            "missing_rule": self.missing_rule_,
        }
        self.state_.save(path, about)

    @classmethod
    def load_state(cls, path: str | os.PathLike[str]) -> Self:
        """Return a ranker that predicts, and goes on with `partial_fit`, exactly as the saved one would have."""
        state, about = FTRLState.load(path)
        try:
            ranker = cls(**about["parameters"])
            check_kinds(ranker)
            ranker._check()
            ranker.fitted_by_query_ = bool(about["fitted_by_query"])
            ranker.objective_ = float(about["objective"])
            ranker.missing_rule_ = about.get("missing_rule", "error")
            check_missing_rule(ranker.missing_rule_)
            if (names := about["feature_names"]) is not None:
                ranker.feature_names_in_ = np.array(checked_names(names, len(state.weights)), dtype=object)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            message = f"is not the state of a {cls.__name__} ({error!r}). Use a file written by save_state."
            raise DataFormatError(str(os.fspath(path)), None, message) from None
        ranker.n_features_in_ = len(state.weights)
        ranker.history_ = ()
        ranker._adopt(state)
        return ranker

    def _method(self) -> FTRL:
        n_pairs = None if self.batch_pairs is None else int(self.batch_pairs)
        return FTRL(float(self.l1), float(self.learning_rate), float(self.rho), self.feature_rates, n_pairs)

    def _begin(self, n_features: int) -> None:
        state = FTRLState.new(n_features, drawn_seed(self.random_state))
        self._adopt(state)

    def _adopt(self, state: FTRLState) -> None:
        self.state_ = state
        self.coef_ = state.weights
        self.n_iter_ = state.batches

    def _follow(self, dataset: RankingDataset, orders: Iterable[Any], watch: Watch | None = None) -> Solution:
        method, data = self._method(), QueriesByLabel.of(dataset)
        return follow(method, self.state_, data, orders, line=Pass, watch=watch)
