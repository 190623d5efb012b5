"""Names from XGBoost, LightGBM and scikit-learn are answered with ours, and our own former one still works."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from linrank import (
    AdaRank,
    GradientBoostedTrees,
    LambdaRank,
    LightGBMRanker,
    LinrankError,
    PairwiseRidge,
    PairwiseRidgeCV,
    RandomForest,
    RankSVM,
    RankSVMCV,
    make_ranking,
)
from linrank.estimators.catalogue import METHODS
from linrank.experiments.feature_path import feature_path


@pytest.fixture(scope="module")
def data():
    return make_ranking(10, 6, 3)[0]


@pytest.mark.parametrize(
    ("ranker", "settings", "message"),
    [
        (
            RankSVM,
            {"early_stopping_rounds": 10},
            "RankSVM has no setting 'early_stopping_rounds'; here it is patience=10",
        ),
        (RankSVM, {"eval_metric": "ndcg@5"}, "here it is measure='ndcg@10'"),
        (RankSVM, {"verbose": 1}, "here it is progress=print"),
        (RankSVM, {"callbacks": [print]}, "here it is progress=print"),
        (RankSVM, {"n_jobs": -1}, "here it is n_threads=4, or None for all processors"),
        (RankSVM, {"n_estimators": 9}, "here it is max_iter=100"),
        (LightGBMRanker, {"n_estimators": 9}, "here it is n_trees=100"),
        (LightGBMRanker, {"num_leaves": 9}, "here it is max_leaves=15"),
        (RandomForest, {"seed": 1}, "here it is random_state=0"),
        (PairwiseRidge, {"early_stopping_rounds": 3}, "PairwiseRidge has no setting 'early_stopping_rounds', nor one"),
        (RankSVM, {"fit_intercept": True}, "a constant changes no order"),
        (RankSVM, {"penaltie": "l1"}, "RankSVM has no setting 'penaltie'; did you mean 'penalty'"),
    ],
)
def test_a_setting_of_another_name_is_answered_with_ours(ranker, settings, message):
    for act in (lambda: ranker(**settings), lambda: ranker().set_params(**settings)):
        with pytest.raises(LinrankError, match=message) as error:
            act()
        assert isinstance(error.value, TypeError)


@pytest.mark.parametrize(
    ("ranker", "arguments", "message"),
    [
        (RankSVM(), {"early_stopping_rounds": 10}, r"fit takes no 'early_stopping_rounds'; .*: RankSVM\(patience=10"),
        (RankSVM(), {"eval_metric": "ndcg"}, r"here it is a setting: RankSVM\(measure='ndcg@10'\)"),
        (RankSVM(), {"callbacks": [print]}, r"here it is a setting: RankSVM\(progress=print"),
        (RankSVM(), {"groups": [1]}, "here it is qid, one value a row"),
        (RankSVM(), {"C": 1.0}, r"fit takes no 'C'; it is a setting: RankSVM\(C=…\)"),
        (RankSVM(), {"evalset": []}, "fit of RankSVM takes no 'evalset'; did you mean 'eval_set'"),
        (LightGBMRanker(), {"eval_metric": "ndcg"}, "fit of LightGBMRanker takes no 'eval_metric'"),
        (GradientBoostedTrees(), {"early_stopping_rounds": 3}, "fit of GradientBoostedTrees takes no"),
    ],
)
def test_an_argument_of_fit_of_another_name_is_answered_too(data, ranker, arguments, message):
    with pytest.raises(LinrankError, match=message):
        ranker.fit(data.features, data.labels, qid=data.qid, **arguments)


def test_what_is_switched_off_is_as_it_is_here(data):
    ranker = RankSVM(verbose=0, early_stopping_rounds=None, callbacks=[], verbosity=-1)
    ranker.fit(data.features, data.labels, qid=data.qid, verbose=False, eval_metric=None)
    assert ranker.get_params() == RankSVM().get_params()
    with pytest.raises(LinrankError, match="here it is random_state"):
        RandomForest(seed=0)


def test_weights_take_the_place_of_importances(data):
    for ranker, message in ((RankSVM(), "weights_ by name"), (RandomForest(n_trees=3), "the trees are in model_")):
        ranker.fit(data)
        assert not hasattr(ranker, "feature_importances_")
        with pytest.raises(AttributeError, match=message):
            ranker.feature_importances_  # noqa: B018


@pytest.mark.parametrize(
    "ranker", [RankSVM, RankSVMCV, PairwiseRidgeCV, LambdaRank], ids=lambda ranker: ranker.__name__
)
def test_the_former_name_of_measure_still_works(ranker):
    with pytest.warns(DeprecationWarning, match=r"eval_measure is called measure now") as caught:
        made = ranker(eval_measure="map")
    assert caught[0].filename == __file__
    assert made.measure == "map"
    with pytest.warns(DeprecationWarning, match="eval_measure"):
        assert ranker().set_params(eval_measure="map").measure == "map"


def test_one_thing_has_one_name():
    makers = [method.load() for method in METHODS.values()]
    for maker in [*makers, AdaRank, feature_path]:
        names = set(inspect.signature(maker).parameters)
        assert not names & {"eval_measure", "metric", "n_jobs", "verbose", "seed"}, maker


def test_the_answer_leaves_signatures_and_clones_as_they_are():
    assert list(inspect.signature(RankSVM).parameters)[:3] == ["C", "loss", "penalty"]
    assert clone(RankSVM(C=3.0)).C == 3.0
    assert RankSVM(2.0).C == 2.0
    np.testing.assert_equal(RankSVM().get_params()["measure"], "ndcg@10")
