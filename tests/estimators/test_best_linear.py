"""BestLinear: what it tries, what it chooses, and what it says of it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from linrank import BestLinear, LinearModel, LinrankError, RankSVMCV, make_ranking
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import fit_scaling, scaled
from linrank.measures import NDCG

CS = [0.001, 0.03, 1.0]


@pytest.fixture(scope="module")
def plain_data():
    return make_ranking(40, 12, 5, noise=0.5, random_state=1)[0]


@pytest.fixture(scope="module")
def skewed_data():
    """Features whose logarithms are linear in the utility, so that a transform pays."""
    data, _ = make_ranking(60, 15, 5, noise=0.2, random_state=2)
    features = np.exp(2.5 * data.features / data.features.std(axis=0))
    return RankingDataset.from_arrays(features, data.labels, qid=data.qid)


def few(**settings):
    return BestLinear(**{"Cs": CS, "cv": 3, "penalties": ["l2"], **settings})


def test_plain_ranksvm_is_kept_where_nothing_is_better_by_a_standard_error(plain_data):
    best = few(transforms=["standard"], weightings=["pairs"]).fit(plain_data)
    scaling = replace(fit_scaling("standard", plain_data), shift=np.zeros(5))
    alone = RankSVMCV(CS, cv=3).fit(scaled(plain_data, scaling))
    assert str(best.recipe_) == "standard, pairs, l2"
    np.testing.assert_array_equal(best.coef_, alone.coef_)
    np.testing.assert_array_equal(best.predict(plain_data), alone.predict(scaled(plain_data, scaling)))


def test_what_is_chosen_is_better_than_plain_ranksvm_by_more_than_a_standard_error(skewed_data):
    best = few().fit(skewed_data)
    chosen = next(tried for tried in best.tried_ if tried.recipe == best.recipe_)
    assert best.recipe_.transform != "standard"
    assert chosen.gain > chosen.error > 0
    assert chosen.mean == max(tried.mean for tried in best.tried_)
    assert best.predict(skewed_data).shape == (skewed_data.n_documents,)


def test_a_better_one_within_a_standard_error_is_not_taken_and_that_is_said(plain_data):
    best = few().fit(plain_data)
    highest = max(best.tried_, key=lambda tried: tried.mean)
    if highest.recipe == best.recipe_:
        assert highest is best.tried_[0] or highest.gain > highest.error
    else:
        assert best.recipe_ == best.tried_[0].recipe
        assert any("plain RankSVM is kept" in remark for remark in best.remarks_)


def test_gains_are_over_the_same_queries(skewed_data):
    best = few(transforms=["rank-gauss"], weightings=["queries"]).fit(skewed_data)
    first, second = best.tried_
    gains = second.values - first.values
    assert second.gain == pytest.approx(gains.mean())
    assert second.error == pytest.approx(gains.std(ddof=1) / math.sqrt(len(gains)))


def test_what_is_expected_is_measured_on_queries_that_chose_nothing(skewed_data):
    best = few(weightings=["pairs"]).fit(skewed_data)
    part = skewed_data.queries.dealt(3, 0)
    values = []
    for fold in range(3):
        of_folds = np.concatenate([np.full((part == k).sum(), k) for k in range(3)])
        rows = [row for tried in best.tried_ for row in tried.measures]
        highest = max(rows, key=lambda row: np.nansum(row[of_folds != fold]))
        values += list(highest[of_folds == fold])
    assert best.expected_ == pytest.approx(np.nanmean(values))


def test_an_eval_set_chooses_and_nothing_is_held_out_of_the_training(skewed_data):
    train, vali = skewed_data.split(0.7, 0.3)
    best = few(weightings=["pairs"]).fit(train, eval_set=vali)
    assert best.expected_ is None
    chosen = next(tried for tried in best.tried_ if tried.recipe == best.recipe_)
    assert (NDCG @ 10).mean(best.predict(vali), vali) == pytest.approx(chosen.mean)


def test_penalties_are_tried_on_the_best_of_the_others(skewed_data):
    best = few(transforms=["signed-log"], weightings=["pairs"], penalties=["l2", "l1"]).fit(skewed_data)
    *before, last = best.tried_
    highest = max(before, key=lambda tried: tried.mean).recipe
    assert last.recipe.penalty == "l1"
    assert (last.recipe.transform, last.recipe.weighting) == (highest.transform, highest.weighting)


def test_without_time_plain_ranksvm_is_what_there_is_and_that_is_said(plain_data):
    best = few(max_seconds=1e-9).fit(plain_data)
    assert len(best.tried_) == 1
    assert any("8 of 9 recipes were not tried" in remark for remark in best.remarks_)


def test_its_model_scores_as_it_does_and_knows_its_recipe(skewed_data, tmp_path):
    best = few(weightings=["pairs"]).fit(skewed_data)
    best.to_model().save(tmp_path / "best.json")
    model = LinearModel.load(tmp_path / "best.json")
    np.testing.assert_allclose(model.predict(skewed_data), best.predict(skewed_data), rtol=1e-9, atol=1e-12)
    assert model.parameters["transform"] == best.recipe_.transform
    assert model.parameters["C"] == best.C_
    assert model.method == "best"


def test_every_recipe_is_told_as_it_is_tried(plain_data):
    seen = []
    best = few(weightings=["pairs"], progress=seen.append).fit(plain_data)
    assert tuple(seen) == best.tried_
    assert "what others must beat" in str(seen[0])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"transforms": ["log"]}, "transforms"),
        ({"weightings": "ndcg"}, "use a list"),
        ({"penalties": []}, "use a list"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"Cs": [-1.0]}, "Cs"),
        ({"measure": "nonsense"}, "nonsense"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_any_work(plain_data, settings, said):
    with pytest.raises(LinrankError, match=said):
        few(**settings).fit(plain_data)
