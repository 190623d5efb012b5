"""Measures of ranking quality as values that state their definition: `NDCG @ 10`, `P(rel=2) @ 5`."""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias, overload

from linrank.errors import LinrankError

if TYPE_CHECKING:
    from linrank.arrays import Vector

Empty: TypeAlias = Literal[0, 1, "skip"]
Parameter: TypeAlias = str | float

# What a parameter may be called, in the order in which it is printed.
PARAMETERS = ("definition", "rel", "max_label", "empty", "ties")

_EMPTY: tuple[Parameter, ...] = (0, 1, "skip")
_RANK_TIES = ("file", "average", "worst", "docid")
_PAIR_TIES = ("wrong", "half", "right")
# A pair has two orders: the worst of them is wrong, and the mean of both is half.
_SAME_FOR_PAIRS = {"worst": "wrong", "average": "half"}
_GAINS = ("standard", "letor", "linear", "trec")


@dataclass(frozen=True, slots=True)
class Family:
    """What measures of one name have in common: parameters with their defaults, and whether a cut-off makes sense."""

    name: str
    written: str
    cutoff: Literal["optional", "required", "none"]
    defaults: dict[str, Parameter]
    definitions: tuple[str, ...] = ()
    ties: tuple[str, ...] = _RANK_TIES

    def choices(self, parameter: str) -> tuple[Parameter, ...]:
        return {"definition": self.definitions, "empty": _EMPTY, "ties": self.ties}.get(parameter, ())

    def default(self, parameter: str, definition: str | None) -> Parameter | None:
        if parameter == "ties" and definition == "trec":
            return "docid"
        return self.defaults.get(parameter)


_RELEVANCE: dict[str, Parameter] = {"rel": 1, "empty": 0, "ties": "file"}

FAMILIES = {
    family.name: family
    for family in (
        Family("ndcg", "NDCG", "optional", {"definition": "standard", "empty": 0, "ties": "file"}, _GAINS),
        Family("dcg", "DCG", "optional", {"definition": "standard", "empty": 0, "ties": "file"}, _GAINS),
        Family("mean_ndcg", "MeanNDCG", "none", {"definition": "letor", "empty": 0, "ties": "file"}, _GAINS),
        Family("map", "MAP", "optional", _RELEVANCE),
        Family("p", "P", "required", {"definition": "standard", **_RELEVANCE}, ("standard", "letor3")),
        Family("recall", "Recall", "required", _RELEVANCE),
        Family("mrr", "MRR", "optional", _RELEVANCE),
        Family("wta", "WTA", "none", _RELEVANCE),
        Family("err", "ERR", "optional", {"max_label": 4, "empty": 0, "ties": "file"}),
        Family("pairwise_accuracy", "PairwiseAccuracy", "none", {"ties": "wrong"}, ties=_PAIR_TIES),
        Family("kendall_tau", "KendallTau", "none", {"empty": "skip"}),
        Family("auc", "AUC", "none", {"rel": 1, "empty": "skip", "ties": "half"}, ties=_PAIR_TIES),
    )
}


@dataclass(frozen=True, slots=True, repr=False)
class Measure:
    """A measure of ranking quality: a hashable value that states its definition, prints it, and parses back.

    The ready values `NDCG`, `P`, `MAP`, … make others: `NDCG @ 10` sets the cut-off, `P(rel=2) @ 5` a parameter.
    A parameter that a measure does not have is None.

    Parameters
    ----------
    name : str
        As printed: "ndcg", "dcg", "mean_ndcg", "map", "p", "recall", "mrr", "wta", "err", "pairwise_accuracy",
        "kendall_tau" or "auc".
    cutoff : int, optional
        Only the first so many documents count; without it all do.
    definition : str, optional
        For NDCG, DCG and MeanNDCG: "standard" (gain 2^y - 1, divided by log2(rank + 1)), "letor" (the official scripts
        of LETOR and MSLR: the same gain, divided by log2(rank) from rank 3 on; NDCG is 0 for a list shorter than the
        cut-off), "linear" (gain y, divided by log2(rank + 1)), or "trec" (linear, with ties as in trec_eval).
        The ideal order is of all that is judged: the documents given and those known to be unretrieved; for
        "letor", of the documents given.
        A label below 0 gains 0, so that NDCG stays between 0 and 1.
        For P: "standard" (a missing document is irrelevant) or "letor3" (0 for a list shorter than the cut-off).
    rel : float, optional
        A document is relevant if its label is at least this; 1 unless given. MSLR's scripts use 2.
    max_label : float, optional
        The best label there can be, for ERR: 4 unless given, as in the Yahoo and MSLR data and in gdeval. It is not
        taken from the data, where it would change the value of a query with the other queries beside it.
    empty : 0, 1 or "skip", optional
        The value of a query that has no relevant document (no pair, for AUC and Kendall's tau). LETOR and trec_eval
        take 0, LightGBM and XGBoost 1; a skipped query is NaN and left out of the mean.
    ties : str, optional
        Where scores are equal: "file" takes the order given, "average" the mean over all orders of the tied
        documents, exactly; "worst" puts the lower label first; "docid" is trec_eval's: the higher document id first,
        where scores are equal in single precision, in which trec_eval keeps them.
        For PairwiseAccuracy and AUC, what a pair with equal scores counts: "wrong", "half" or "right".
    """

    name: str
    cutoff: int | None = None
    definition: str | None = None
    rel: float | None = None
    max_label: float | None = None
    empty: Empty | None = None
    ties: str | None = None

    def __post_init__(self) -> None:
        if self.name not in FAMILIES:
            raise LinrankError(f"there is no measure {self.name!r}{nearest(self.name, FAMILIES)}")
        if self.cutoff is not None:
            object.__setattr__(self, "cutoff", self._checked_cutoff(self.cutoff))
        for parameter in PARAMETERS:
            value = getattr(self, parameter)
            if value is None:
                value = self.family.default(parameter, self.definition)
            else:
                value = self._checked(parameter, value)
            object.__setattr__(self, parameter, value)

    @property
    def family(self) -> Family:
        return FAMILIES[self.name]

    def _checked_cutoff(self, cutoff: SupportsIndex) -> int:
        if self.family.cutoff == "none":
            raise LinrankError(f"{self.name} is of the whole list and has no cut-off; leave out @ {cutoff}.")
        try:
            checked = operator.index(cutoff)
        except TypeError:
            checked = 0
        if checked < 1 or isinstance(cutoff, bool):
            raise LinrankError(f"the cut-off of {self.name} is {cutoff!r}; it must be a whole number from 1 on.")
        return checked

    def _checked(self, parameter: str, value: Any) -> Parameter:
        if parameter not in self.family.defaults:
            raise LinrankError(
                f"{self.name} has no parameter {parameter!r}; it has {_listed(self.family.defaults, 'and')}."
            )
        choices = self.family.choices(parameter)
        if choices is _PAIR_TIES:
            value = _SAME_FOR_PAIRS.get(value, value)
        if choices:
            for choice in choices:
                if value == choice:
                    return choice
            raise LinrankError(f"{self.name} has no {parameter} {value!r}; choose {_listed(choices, 'or')}.")
        return self._checked_label(parameter, value)

    def _checked_label(self, parameter: str, value: Any) -> float:
        try:
            label = float(value)
        except (TypeError, ValueError):
            label = math.nan
        if not math.isfinite(label) or (parameter == "max_label" and label <= 0):
            kind = "a label above 0" if parameter == "max_label" else "a label"
            raise LinrankError(f"{parameter} of {self.name} is {value!r}; it must be {kind}, a finite number.")
        return int(label) if label.is_integer() else label

    def __matmul__(self, cutoff: int) -> Measure:
        return Measure(self.name, cutoff, **self._parameters())

    def _parameters(self) -> dict[str, Any]:
        return {parameter: getattr(self, parameter) for parameter in self.family.defaults}

    @overload
    def __call__(
        self,
        *,
        definition: str = ...,
        rel: float = ...,
        max_label: float = ...,
        empty: Empty = ...,
        ties: str = ...,
    ) -> Measure: ...
    @overload
    def __call__(self, labels: Any, scores: Any, *, qid: Any) -> float: ...
    def __call__(
        self, labels: Any = None, scores: Any = None, *, qid: Any = None, **parameters: Any
    ) -> Measure | float:
        """Return this measure with other parameters, or its mean for plain arrays: `NDCG(labels, scores, qid=qid)`."""
        if labels is None and scores is None and qid is None:
            return self._varied(parameters)
        if labels is None or scores is None or parameters:
            raise LinrankError(
                f"call {self.written}(labels, scores, qid=qid) for a value, "
                f"or {self.written}(parameter=value) for a variant, not both."
            )
        return self.mean(scores, labels, qid)

    def _varied(self, changes: dict[str, Any]) -> Measure:
        for parameter, value in changes.items():
            self._checked(parameter, value)
        kept = self._parameters()
        if "definition" in changes and self.ties == self.family.default("ties", self.definition):
            # Ties that came with the old definition go with it: NDCG(definition="trec") breaks them as trec_eval does.
            kept.pop("ties")
        return Measure(self.name, self.cutoff, **{**kept, **changes})

    def per_query(
        self, scores: Any, dataset: Any, qid: Any = None, *, group: Any = None, n_threads: int | None = None
    ) -> Vector:
        """Return the value of each query, in order of `dataset.queries`; NaN for a skipped one.

        Parameters
        ----------
        scores : array of shape (n_documents,)
            In the order of the dataset's rows; higher is better. Infinite ones are fine, NaN is an error.
        dataset : RankingDataset or Judgements, or labels, one a row
        qid, group : with plain labels, the query of each row, or the sizes of consecutive queries
        n_threads : int, optional
            All available ones unless given. The result is the same to the last bit for any number.
        """
        from linrank.measures.evaluation import evaluate

        return evaluate(scores, dataset, self, qid=qid, group=group, n_threads=n_threads).per_query[self]

    def mean(
        self, scores: Any, dataset: Any, qid: Any = None, *, group: Any = None, n_threads: int | None = None
    ) -> float:
        """Return the mean over queries that are not skipped, NaN if all are; pairwise accuracy's is over all pairs.

        Takes the same parameters as `per_query`.
        """
        from linrank.measures.evaluation import evaluate

        return evaluate(scores, dataset, self, qid=qid, group=group, n_threads=n_threads).mean[self]

    @property
    def written(self) -> str:
        """The name as typed in Python, such as PairwiseAccuracy."""
        return self.family.written

    def _stated(self) -> dict[str, Parameter]:
        """The parameters that are not what they are by default."""
        parameters = self._parameters()
        return {
            parameter: parameters[parameter]
            for parameter in PARAMETERS
            if parameter in parameters and parameters[parameter] != self.family.default(parameter, self.definition)
        }

    def __str__(self) -> str:
        stated = [str(v) if name == "definition" else f"{name}={v}" for name, v in self._stated().items()]
        parameters = f"({','.join(stated)})" if stated else ""
        return f"{self.name}{parameters}{'' if self.cutoff is None else f'@{self.cutoff}'}"

    def __repr__(self) -> str:
        stated = ", ".join(f"{name}={value!r}" for name, value in self._stated().items())
        return f"{self.written}{f'({stated})' if stated else ''}{'' if self.cutoff is None else f' @ {self.cutoff}'}"


def nearest(text: str, known: Iterable[str]) -> str:
    """The end of an error message: what the text may have meant, and all that is known."""
    known = list(known)
    close = difflib.get_close_matches(text.lower(), known, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"{hint} Known are {_listed(known, 'and')}."


def _listed(values: Iterable[Parameter], last: str) -> str:
    *first, final = [str(value) for value in values]
    return f"{', '.join(first)} {last} {final}" if first else final


# Discounted cumulative gain over that of the ideal order; 0 ("empty") where no label is above 0.
NDCG = Measure("ndcg")
# Sum over ranks i of gain_i * discount_i.
DCG = Measure("dcg")
# Mean over positions i = 1..n of NDCG@i.
MeanNDCG = Measure("mean_ndcg")
# Mean over the relevant documents, retrieved or not, of the precision at their rank; 0 for those that are not.
MAP = Measure("map")
# Share of relevant documents among the first k.
P = Measure("p")
# Share of the relevant documents, retrieved or not, that are among the first k.
Recall = Measure("recall")
# 1 / rank of the first relevant document; 0 if it is beyond the cut-off.
MRR = Measure("mrr")
# Winner takes all: 1 if the first document is relevant and has the highest label of its query.
WTA = Measure("wta")
# Expected reciprocal rank: sum over ranks i of (1/i) R_i prod_{j<i} (1 - R_j), with R = (2^y - 1) / 2^max_label.
ERR = Measure("err")
# Share of the preference pairs (y_i > y_j) with s_i > s_j. The mean is over the pairs of all queries together, as Lee &
# Lin report it; per query it is each query's own share. A tie is wrong by their formula, and right in their program.
PairwiseAccuracy = Measure("pairwise_accuracy")
# Kendall's tau-b of labels and scores; 0 where all scores are equal.
KendallTau = Measure("kendall_tau")
# Share of (relevant, irrelevant) pairs in the right order, a tie counting half.
AUC = Measure("auc")
