"""Numbers on the verge of float64: every method finds finite weights, or says what is too large and what to do."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

import linrank
from linrank import (
    BestLinear,
    LinrankError,
    NDCGReduction,
    PairwiseRidgeCV,
    RankingDataset,
    RankSVMCV,
    feature_path,
    make_ranking,
)
from linrank.dataset.trainable import LARGEST_NUMBER, LARGEST_WEIGHT
from linrank.estimators.catalogue import METHODS
from linrank.estimators.rank_svm import RankSVM
from linrank.estimators.settings import settings_of
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData

DATA, _ = make_ranking(n_queries=8, documents_per_query=8, n_features=4)
X, Y, QID = np.asarray(DATA.features), DATA.labels, DATA.qid
ONES = np.ones(len(Y))

CASES = {
    "X * 1e160": (X * 1e160, Y, ONES),
    "X * 1e300": (X * 1e300, Y, ONES),
    "one column * 1e200": (X * [1, 1e200, 1, 1], Y, ONES),
    "X as large as may be": (X * (LARGEST_NUMBER / np.abs(X).max()), Y, ONES),
    "X * 1e-200": (X * 1e-200, Y, ONES),
    "X + 1e15": (X + 1e15, Y, ONES),
    "X + 1e29": (X + 1e29, Y, ONES),
    "X below the least normal number": (X * 1e-310, Y, ONES),
    "columns from 1e-300 to 1e28": (X * [1e-29, 1e28, 1e-300, 1], Y, ONES),
    "labels * 1e300": (X, Y * 1e300, ONES),
    "labels of the largest double": (X, np.where(Y > 0, 1.7e308, -1.7e308), ONES),
    "labels * 1e29": (X, Y * 1e29, ONES),
    "weights of the largest double": (X, Y, ONES * 1.7e308),
    "weights from 1e-15 to 1e14": (X, Y, 10.0 ** (np.arange(len(Y)) % 30 - 15)),
    "weights of 1e200": (X, Y, ONES * 1e200),
    "weights as large as may be": (X, Y, ONES * LARGEST_WEIGHT),
    "everything as large as may be": (X * (LARGEST_NUMBER / np.abs(X).max()), Y, ONES * LARGEST_WEIGHT),
}


# What no comparison has a name for.
OTHERS = {
    "PairwiseRidgeCV": PairwiseRidgeCV(),
    "RankSVMCV": RankSVMCV(cv=2),
    "NDCGReduction": NDCGReduction(),
    "RankSVM of lists": RankSVM(loss="xe_ndcg", penalty="l1"),
    "RankSVM of logistic pairs by NDCG": RankSVM(loss="logistic", weighting="ndcg"),
}


def ranker_named(name):
    if name in OTHERS:
        return clone(OTHERS[name])
    settings = {key: value for key, value in METHODS[name].settings.items() if key != "patience"}
    return METHODS[name].load()(**settings)


def test_no_ranker_is_left_out():
    named = [getattr(linrank, name) for name in linrank.__all__]
    public = [kind for kind in named if isinstance(kind, type) and hasattr(kind, "fit")]
    met = {type(ranker) for ranker in OTHERS.values()} | {
        method.load() for method in METHODS.values() if method.is_installed
    }
    # (That one is of another ranker.)
    assert {kind.__name__ for kind in public} - {kind.__name__ for kind in met} == {"WithoutValidation"}


@pytest.mark.parametrize(
    ("case", "form"),
    [
        *((case, np.asarray) for case in CASES),
        ("X + 1e15", sparse.csr_array),
        ("X as large as may be", sparse.csr_array),
    ],
)
@pytest.mark.parametrize("name", [*(name for name, method in METHODS.items() if method.is_installed), *OTHERS])
def test_the_weights_are_finite_or_the_cause_is_named(name, case, form):
    """(Warnings of NumPy are errors here; without the guards some of these are segmentation faults, one never ends.)"""
    features, labels, weights = CASES[case]
    method = ranker_named(name)
    # Some take their time on features that are not scaled.
    short = {"max_seconds": 1.0, "n_trees": 3}
    method.set_params(**{key: value for key, value in short.items() if key in method.get_params()})
    weighted = {"sample_weight": weights} if has_fit_parameter(method, "sample_weight") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for said in ("the penalty compares weights", "no feature ranks better", "no query has", "every weight is zero"):
            warnings.filterwarnings("ignore", said)
        try:
            method.fit(form(features), labels, qid=QID, **weighted)
        except LinrankError as error:
            assert ". " in str(error)  # noqa: PT017 - the remedy
            return
    if hasattr(method, "coef_"):
        assert np.isfinite(method.coef_).all()
    by_query = {"qid": QID} if isinstance(method, NDCGReduction) else {}
    assert np.isfinite(method.predict(form(features), **by_query)).all()
    assert not np.isnan([getattr(method, "objective_", 0.0), getattr(method, "gap_", 0.0)]).any()


@pytest.mark.parametrize("name", [*(name for name, method in METHODS.items() if method.is_installed), *OTHERS])
def test_settings_at_the_ends_of_float64_are_used_or_named(name):
    """(A `tol` or a time is computed with by nobody.)"""
    for setting, values in extreme_settings(ranker_named(name)):
        for value in values:
            ranker = ranker_named(name)
            known = ranker.get_params()
            short = {"max_seconds": 0.2, "n_trees": 2, "steps": 500, "max_iter": 20, "cv": 2}
            short |= {"losses": ["squared_hinge"], "penalties": ["l2"], "weightings": ["pairs"]}
            ranker.set_params(**{key: short[key] for key in short if key in known} | {setting: value})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                try:
                    ranker.fit(X, Y, qid=QID)
                except LinrankError as error:
                    assert setting in str(error) or "left the range of float64" in str(error)  # noqa: PT017
                    assert re.search("[Uu]se |Change |Leave out ", str(error))  # noqa: PT017 - the remedy
                    continue
            by_query = {"qid": QID} if isinstance(ranker, NDCGReduction) else {}
            assert np.isfinite(ranker.predict(X, **by_query)).all(), (setting, value)


def extreme_settings(ranker):
    """The settings that are numbers, or several, and values of each that hardly any float64 is beyond."""
    ends = (5e-324, 1e-300, 1e-99, 1e99, 1e160, 1.7e308)
    for setting, declared in settings_of(type(ranker)).items():
        wanted = str(declared.type)
        if setting in ("bounds", "prior"):
            made = (lambda end: (end, None)) if setting == "bounds" else (lambda end: np.full(4, end))
            yield setting, [made(end) for end in ends]
        elif "Sequence[float]" in wanted:
            yield setting, [[1.0, end] for end in ends]
        elif "float" in wanted and "Mapping" not in wanted:
            yield setting, ends


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"costs": [1.0, 1e101, 1.0, 1.0]}, r"costs\[1\] is 1e\+101; use at most 1e\+100"),
        ({"costs": [1.0, 1.0, 5e-324, 1.0]}, r"costs\[2\] is .*e-324; use at least 1e-100"),
        ({"l1_ratio": 1e-300}, "l1_ratio=1e-300; use at least 1e-100"),
        ({"bounds": (None, 1e200)}, r"bounds: a weight of 1e\+200; use at most 1e\+100"),
    ],
)
def test_what_a_path_is_told_is_looked_at_too(settings, message):
    with pytest.raises(LinrankError, match=message):
        feature_path(X, Y, qid=QID, **settings)
    assert feature_path(X, Y, qid=QID, n_steps=3, costs=[1e100, 1e-100, 1.0, 1.0]).steps


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            "one column * 1e200",
            r"^feature 2 is -?\d.*e\+\d+ in row 0; products of numbers beyond 1e\+30 leave .* divide",
        ),
        ("labels * 1e300", r"^the label in row \d+ is \de\+300; at most 1e\+30 can be used\. Map the labels"),
        ("weights of 1e200", r"^the weight of row 0 is 1e\+200; at most 1e\+15 can be used\. Divide all weights"),
    ],
)
def test_what_is_too_large_is_named(case, message, form):
    features, labels, weights = CASES[case]
    with pytest.raises(LinrankError, match=message):
        RankSVM().fit(form(features), labels, qid=QID, sample_weight=weights)


def test_features_so_small_that_no_weight_counts_are_said():
    with pytest.warns(UserWarning, match="every weight is zero: .* Scale the features"):
        assert not RankSVM().fit(X * 1e-15, Y, qid=QID).coef_.any()


@pytest.mark.parametrize("ranker", [RankSVMCV([1e-30], cv=2), BestLinear(Cs=[1e-30], cv=2)], ids=lambda one: one.method)
def test_so_is_a_C_so_small_that_no_weight_counts_where_it_is_chosen(ranker):
    with pytest.warns(UserWarning, match="every weight is zero: .* weaken the penalty") as said:
        assert not ranker.fit(X, Y, qid=QID).coef_.any()
    assert [one.filename for one in said] == [__file__]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_what_is_trained_on_without_an_estimator_is_looked_at_too(form):
    features = X.copy()
    features[5, 2] = np.nan
    names = ["a", "b", "c", "d"]
    data = RankingDataset.from_arrays(form(features), Y, qid=QID, feature_names=names)
    with (
        Threads(1) as executor,
        pytest.raises(LinrankError, match=r"feature 'c' is NaN in 1 of 64 documents\. Fill"),
    ):
        PlacedData.of(data, executor)


def test_scores_that_are_not_finite_are_refused_wherever_they_arise():
    with Threads(2) as executor:
        objective = RankingObjective(SquaredHinge(), L2(), 1.0, PlacedData.of(DATA, executor))
        with pytest.raises(LinrankError, match=r"training left the range of float64: the score of a document is not"):
            objective.at(np.full(4, np.nan))
        line = objective.at(np.zeros(4)).toward(np.full(4, 1e300))
        with pytest.raises(LinrankError, match=r"not finite\. Scale the features \(--scaling standard\), or use"):
            line.at(np.inf)
