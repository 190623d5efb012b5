"""What a report says, as plain values: whoever measured it fills this in, and the page and the pictures draw it.

Whatever is None was not measured: its part of the report is left out, or says why where `missing` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from linrank.errors import LinrankError
from linrank.measures import SIGNIFICANT

Interval = tuple[float, float]
"""The low and the high end of a 95 % interval."""


@dataclass(frozen=True)
class LeaderboardRow:
    """One ranker, measured on queries it was not trained on.

    Attributes
    ----------
    name : str
    means : mapping of str to float
        The mean over queries of each measure.
    what : str
        One line: its kind, or the formula it minimises.
    settings : str
        The parameters it was trained with.
    deviations : mapping of str to float
        The standard deviation over folds of each measure.
    interval : (float, float) or None
        Of the mean of the main measure.
    difference, difference_interval : float, (float, float), or None
        Of the main measure, from the baseline.
    p_value : float or None
        Of that difference: Fisher's randomisation test, corrected for all comparisons (Holm); None for the baseline.
    seconds : float or None
        Of training.
    n_features : float or None
        Features with a weight, on average over folds.
    n_features_of : int or None
        Features there are.
    recommended : bool
        Whether this is the one to use.
    uses : str
        Which feature, where it is only one.
    described : str
        The name and what else the answer should say, such as "ranksvm with 7 of 46 features"; the name if empty.
    model_features : int or None
        Features with a weight in the model that was trained on everything.
    best_linear : bool
        Whether it is the linear one to use, where the recommended one is not linear.
    remarks : tuple of str
        What must be known of its training and of how its settings were chosen, a sentence each.
    """

    name: str
    means: Mapping[str, float]
    what: str = ""
    settings: str = ""
    deviations: Mapping[str, float] = field(default_factory=dict)
    interval: Interval | None = None
    difference: float | None = None
    difference_interval: Interval | None = None
    p_value: float | None = None
    seconds: float | None = None
    n_features: float | None = None
    n_features_of: int | None = None
    recommended: bool = False
    uses: str = ""
    described: str = ""
    model_features: int | None = None
    best_linear: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether the difference from the baseline is significant."""
        return self.p_value is not None and self.p_value <= SIGNIFICANT


@dataclass(frozen=True)
class Leaderboard:
    """All rankers, by the same measures on the same queries; `main` is the measure that decides."""

    measures: tuple[str, ...]
    main: str
    rows: tuple[LeaderboardRow, ...]
    baseline: str | None = None
    """The name of the ranker the others are compared with."""
    rule: str = ""
    """Why the recommended ranker is recommended where another one has the highest mean."""

    def __post_init__(self) -> None:
        if self.main not in self.measures:
            raise LinrankError(f"the main measure {self.main!r} is not among {', '.join(self.measures)}; add it.")
        if self.baseline is not None and self.baseline not in [row.name for row in self.rows]:
            raise LinrankError(f"the baseline {self.baseline!r} has no row; add one, or name a ranker that has.")
        for row in self.rows:
            if self.main not in row.means:
                raise LinrankError(f"{row.name!r} has no mean of {self.main!r}, the main measure; add it.")


@dataclass(frozen=True)
class CurvePoint:
    """The model with so many features: its weights, and how well it ranks queries it was not trained on."""

    n_features: int
    mean: float
    weights: Mapping[str, float]
    cost: float | None = None
    low: float | None = None
    high: float | None = None
    measures: Mapping[str, float] = field(default_factory=dict)
    """Further measures of the same model."""


@dataclass(frozen=True)
class RecommendedPoint:
    """Where the recommended ranker stands beside the curve, measured on the same queries."""

    name: str
    n_features: int
    mean: float
    is_best_linear: bool = False
    """Whether it is the best linear ranker only, as the recommended one is not linear."""


@dataclass(frozen=True)
class FeatureCurve:
    """Quality against number of features, the fewest first."""

    measure: str
    points: tuple[CurvePoint, ...]
    chosen: int = 0
    """The number of the point to show first."""
    one_standard_error: int | None = None
    """The number of the cheapest point within one standard error of the best."""
    dense: float | None = None
    """The measure of the same kind of model with all features, on the same queries."""
    cost_unit: str | None = None
    """Such as "ms"; None where every feature costs the same."""
    spreads: Mapping[str, float] = field(default_factory=dict)
    """The standard deviation of each feature: bars are the weights times these, where they are known."""
    recommended: RecommendedPoint | None = None
    note: str = ""
    is_raw: bool = True
    """Whether weights multiply features as they are; otherwise the note says what they multiply."""

    def __post_init__(self) -> None:
        for name, place in (("chosen", self.chosen), ("one_standard_error", self.one_standard_error)):
            if self.points and place is not None and not 0 <= place < len(self.points):
                raise LinrankError(f"{name} is {place}; it must be the number of one of {len(self.points)} points.")


@dataclass(frozen=True)
class WeightRow:
    """A feature's weight in its own units, if there are any, and scaled, with the bootstrap interval of that."""

    feature: str
    raw: float | None
    scaled: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Shape:
    """What a ranker adds to a score for a feature: at some of its values, between which it is linear."""

    feature: str
    knots: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Weights:
    """What one ranker weighs."""

    method: str
    rows: tuple[WeightRow, ...]
    units: str = ""
    """What scaled means, such as "a standard deviation of the feature"."""
    note: str = ""
    shapes: tuple[Shape, ...] = ()
    """Of a ranker that has a curve a feature in the place of a weight."""
    products: tuple[WeightRow, ...] = ()
    """What it adds of two features each: the standard deviation of that, with the sign of its weight."""


@dataclass(frozen=True)
class QueryDocuments:
    """The documents of one query, in any one order."""

    labels: Sequence[float]
    scores_ours: Sequence[float]
    scores_baseline: Sequence[float]
    ids: Sequence[str] | None = None
    features: Sequence[Sequence[float]] | None = None
    """One row a document, one column for each of the `feature_names`."""

    def __post_init__(self) -> None:
        for name, values in (
            ("scores_ours", self.scores_ours),
            ("scores_baseline", self.scores_baseline),
            ("ids", self.ids),
            ("features", self.features),
        ):
            if values is not None and len(values) != len(self.labels):
                raise LinrankError(f"{len(values)} {name} for {len(self.labels)} labels; pass one a document.")


@dataclass(frozen=True)
class QueryRow:
    """One query under both rankers; `documents` is None where they are not kept."""

    qid: str
    ours: float
    baseline: float
    documents: QueryDocuments | None = None
    fold: int = 0
    """The number of the fold it was tested in, and so of the weights that scored it."""


@dataclass(frozen=True)
class QueryDifferences:
    """Query by query, one ranker against the baseline.

    Attributes
    ----------
    measure, ours, baseline : str
        The measure, and the names of the two rankers.
    rows : tuple of QueryRow
        Queries the measure is defined for.
    feature_names : tuple of str
        Of the columns of the documents' features: those with a weight are enough.
    weights_ours, weights_baseline : sequence of sequences of float, or None
        One row a fold, in the units of the documents' features; None for a ranker that is no weighted sum of features.
    left_out : int
        Queries whose documents were dropped to keep the page small.
    """

    measure: str
    ours: str
    baseline: str
    rows: tuple[QueryRow, ...]
    feature_names: tuple[str, ...] = ()
    weights_ours: Sequence[Sequence[float]] | None = None
    weights_baseline: Sequence[Sequence[float]] | None = None
    left_out: int = 0

    def __post_init__(self) -> None:
        width = len(self.feature_names)
        n_folds = 1 + max((row.fold for row in self.rows), default=0)
        for name, folds in (("weights_ours", self.weights_ours), ("weights_baseline", self.weights_baseline)):
            if folds is None:
                continue
            if len(folds) < n_folds:
                raise LinrankError(f"{name} has {len(folds)} rows for {n_folds} folds; pass one a fold.")
            for weights in folds:
                if len(weights) != width:
                    raise LinrankError(f"{name} has {len(weights)} numbers for {width} feature names; pass one each.")
        for row in self.rows:
            features = None if row.documents is None else row.documents.features
            if features is not None and any(len(document) != width for document in features):
                raise LinrankError(f"query {row.qid!r}: a document's features do not fit the {width} feature names.")


@dataclass(frozen=True)
class TrainingCurve:
    """The objective of one method after so many seconds."""

    name: str
    seconds: Sequence[float]
    objective: Sequence[float]
    note: str = ""

    def __post_init__(self) -> None:
        if len(self.seconds) != len(self.objective):
            raise LinrankError(f"{self.name!r}: {len(self.seconds)} times for {len(self.objective)} objective values.")


@dataclass(frozen=True)
class Training:
    """How training went, method by method."""

    curves: tuple[TrainingCurve, ...]


@dataclass(frozen=True)
class ReportContent:
    """A whole report; every part but the title may be missing."""

    title: str
    subtitle: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    """Names and values of what there is to know of the data and the protocol, at the foot."""
    leaderboard: Leaderboard | None = None
    feature_curve: FeatureCurve | None = None
    weights: Weights | None = None
    queries: QueryDifferences | None = None
    training: Training | None = None
    notes: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why a part that is not there is not, by its name."""
