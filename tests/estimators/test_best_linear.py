"""BestLinear: what it tries, what it chooses, and what it says of it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from linrank import (
    XENDCG,
    AdditiveRanker,
    BestLinear,
    LinearModel,
    LinrankError,
    RankSVM,
    RankSVMCV,
    make_ranking,
    make_shaped_ranking,
)
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import fit_scaling, scaled
from linrank.dataset.transform_choice import choose_transform
from linrank.estimators import recipe_search
from linrank.estimators.rank_svm_cv import solutions_along
from linrank.estimators.recipes import chosen_among, near_means
from linrank.executors.local import Threads
from linrank.measures import NDCG
from linrank.solvers import regularization_path
from linrank.solvers.solution import Journal

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
    return BestLinear(**{"Cs": CS, "cv": 3, "penalties": ["l2"], "losses": ["squared_hinge"], **settings})


def test_plain_ranksvm_is_kept_where_nothing_is_better_by_a_standard_error(plain_data):
    best = few(transforms=["standard"], weightings=["pairs"]).fit(plain_data)
    scaling = replace(fit_scaling("standard", plain_data), shift=np.zeros(5))
    alone = RankSVMCV(CS, cv=3).fit(scaled(plain_data, scaling))
    assert str(best.recipe_) == "standard, pairs, l2"
    np.testing.assert_array_equal(best.coef_, alone.coef_)
    np.testing.assert_array_equal(best.predict(plain_data), best.to_model().predict(plain_data))
    np.testing.assert_allclose(
        best.predict(plain_data), alone.predict(scaled(plain_data, scaling)), rtol=1e-12, atol=1e-12
    )


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


@pytest.fixture(scope="module")
def components():
    """Features as embeddings have them: each smaller than the one before, and weights that do not go by that."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(600, 150)) / np.arange(1, 151)
    utility = features @ rng.normal(size=150) + 0.3 * rng.normal(size=600)
    return RankingDataset.from_arrays(features, np.digitize(utility, [0.5, 1.5, 2.5]), group=[15] * 40)


def test_features_as_they_are_are_tried_where_their_units_are_not_far_apart(components):
    best = few(weightings=["pairs"]).fit(components)
    assert str(best.recipe_) == "none, pairs, l2"
    assert best.transform_ is None
    as_they_are = RankSVMCV(CS, cv=3).fit(components)
    np.testing.assert_array_equal(best.coef_, as_they_are.coef_)


def test_a_unit_of_all_features_makes_no_difference(components):
    settings = {
        "transforms": ["none"],
        "weightings": ["pairs"],
        "penalties": ["l2"],
        "losses": ["squared_hinge"],
        "cv": 2,
    }
    here, there = (
        BestLinear(**settings).fit(replace(components, features=unit * components.features)) for unit in (1.0, 2.0**-6)
    )
    np.testing.assert_array_equal(there.tried_[1].Cs, here.tried_[1].Cs * 2.0**12)
    np.testing.assert_array_equal(there.tried_[1].measures, here.tried_[1].measures)
    assert here.C_ not in (here.tried_[1].Cs[0], here.tried_[1].Cs[-1])
    np.testing.assert_allclose(there.coef_, here.coef_ * 2.0**6)


def test_features_whose_units_are_far_apart_are_not_tried_as_they_are(components):
    units = np.where(np.arange(150) == 3, 1e6, 1.0)
    best = few(weightings=["pairs"]).fit(replace(components, features=components.features * units))
    assert {tried.recipe.transform for tried in best.tried_} == {"standard", "signed-log", "rank-gauss"}


def test_gains_are_over_the_same_queries(skewed_data):
    best = few(transforms=["rank-gauss"], weightings=["queries"]).fit(skewed_data)
    first, second = ([*one.Cs].index(one.C) for one in best.tried_)
    # These values of C are too far apart to say anything of one another.
    gains = best.tried_[1].measures[second] - best.tried_[0].measures[first]
    assert best.tried_[1].gain == pytest.approx(gains.mean())
    assert best.tried_[1].error == pytest.approx(gains.std(ddof=1) / math.sqrt(len(gains)))


def test_every_recipe_is_measured_as_a_ranker_trained_and_shaped_on_the_other_folds(skewed_data):
    best = few(losses=["squared_hinge", "xe_ndcg"]).fit(skewed_data)
    assert len(best.tried_) == 12
    folds = list(skewed_data.folds(3, 0))
    for tried in best.tried_:
        recipe = tried.recipe
        for place, C in enumerate(tried.Cs):
            expected = []
            for train, held_out in folds:
                shape = recipe_search.fitted(recipe.transform, train)
                ranker = XENDCG(C) if recipe.loss == "xe_ndcg" else RankSVM(C, weighting=recipe.weighting)
                scores = ranker.fit(scaled(train, shape)).predict(scaled(held_out, shape))
                expected.append((NDCG @ 10).per_query(scores, held_out))
            # Those that choose are solved less exactly: few documents change places.
            assert np.mean(np.concatenate(expected)) == pytest.approx(tried.measures[place].mean(), abs=0.01)


def test_transforms_are_fitted_once_a_fold_for_all_recipes_that_have_them(skewed_data, monkeypatch):
    fitted = []

    def choose(name, *others):
        fitted.append(name)
        return choose_transform(name, *others)

    monkeypatch.setattr(recipe_search, "choose_transform", choose)
    best = few(losses=["squared_hinge", "xe_ndcg"]).fit(skewed_data)
    assert sum(tried.recipe.transform == "rank-gauss" for tried in best.tried_) == 4
    # In each of the folds, and on all data where it is chosen.
    assert fitted.count("rank-gauss") == 3 + (best.recipe_.transform == "rank-gauss")


@pytest.mark.parametrize("seed", range(4))
def test_no_fold_of_a_few_noisy_queries_cuts_the_path_of_C(seed):
    noisy, _ = make_ranking(25, 10, 5, noise=2.0, random_state=seed)
    best = BestLinear(["standard"], ["queries"], ["l2"], losses=["squared_hinge"]).fit(noisy)
    for tried in best.tried_:
        assert len(tried.Cs) == 10
        assert tried.measures.shape == (10, 25)


def test_nor_do_the_few_queries_of_an_eval_set():
    noisy, _ = make_ranking(25, 10, 5, noise=2.0, random_state=0)
    reached = set()
    for seed in range(6):
        vali, _ = make_ranking(4, 10, 5, noise=2.0, random_state=seed + 100)
        best = BestLinear(["standard"], ["pairs"], ["l2"], losses=["squared_hinge"]).fit(noisy, eval_set=vali)
        reached.add(best.tried_[0].measures.shape)
    assert reached == {(10, 4)}


def test_values_of_C_that_are_near_speak_for_one_another():
    measures = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    near = near_means(np.array([1.0, 4.0, 100.0]), measures)
    np.testing.assert_allclose(near, [[1 / 3, 2 / 3], [2 / 3, 1 / 3], [0.5, 0.5]])


def test_what_is_expected_is_measured_on_queries_that_chose_nothing(skewed_data):
    best = few(weightings=["pairs", "ndcg"]).fit(skewed_data)
    part = skewed_data.queries.dealt(3, 0)
    of_folds = np.concatenate([np.full((part == k).sum(), k) for k in range(3)])
    values = []
    for fold in range(3):
        rows = []
        for tried in best.tried_:
            others = tried.measures[:, of_folds != fold]
            place = int(np.argmax(others.mean(axis=1)))
            rows.append((others[place], tried.measures[place, of_folds == fold]))
        best_row = max(rows, key=lambda row: row[0].mean())
        behind = best_row[0] - rows[0][0]
        plain_is_near = behind.mean() <= behind.std(ddof=1) / math.sqrt(len(behind))
        values += list((rows[0] if plain_is_near else best_row)[1])
    assert best.expected_ == pytest.approx(np.mean(values))


def test_the_choice_is_that_of_the_queries_it_is_asked_of(skewed_data):
    best = few().fit(skewed_data)
    number, place, _ = chosen_among(best.tried_)
    assert best.tried_[number].recipe == best.recipe_
    assert best.tried_[number].Cs[place] == best.C_
    one_query = chosen_among(best.tried_, [0])
    assert (
        one_query[0] == 0 or best.tried_[one_query[0]].measures[one_query[1], 0] > best.tried_[0].measures[:, 0].max()
    )


def test_an_eval_set_chooses_and_nothing_is_held_out_of_the_training(skewed_data):
    train, vali = skewed_data.split(0.7, 0.3)
    best = few(weightings=["pairs"]).fit(train, eval_set=vali)
    assert best.expected_ is None
    chosen = next(tried for tried in best.tried_ if tried.recipe == best.recipe_)
    # Trained once more, to the end: a document or two may change places.
    assert (NDCG @ 10).mean(best.predict(vali), vali) == pytest.approx(chosen.mean, abs=0.01)


def test_penalties_are_tried_on_the_best_of_the_others(skewed_data):
    best = few(transforms=["signed-log"], weightings=["pairs"], penalties=["l2", "l1"]).fit(skewed_data)
    *before, last = best.tried_
    highest = max(before, key=lambda tried: tried.mean).recipe
    assert last.recipe.penalty == "l1"
    assert (last.recipe.transform, last.recipe.weighting) == (highest.transform, highest.weighting)


def test_without_time_plain_ranksvm_is_what_there_is_and_what_was_left_out_is_said(plain_data):
    best = few(max_seconds=1e-9).fit(plain_data)
    assert [tried.recipe for tried in best.tried_] == [best.recipe_]
    (said,) = [remark for remark in best.remarks_ if "recipes were not tried" in remark]
    assert said.startswith("11 of 12 recipes")
    assert "rank-gauss, ndcg, l2" in said


def test_a_recipe_that_time_cuts_short_is_left_out_whole(skewed_data, monkeypatch):
    """The clock runs out within the second fold of the second group."""
    ticks = iter(range(10_000))
    monkeypatch.setattr(recipe_search.time, "perf_counter", lambda: next(ticks) * 1.0)
    best = few(transforms=["rank-gauss", "signed-log"], weightings=["pairs"], max_seconds=40.0).fit(skewed_data)
    n_queries = {tried.measures.shape[1] for tried in best.tried_}
    assert n_queries == {skewed_data.n_queries}
    assert 1 <= len(best.tried_) < 3
    assert any("signed-log, pairs, l2" in remark for remark in best.remarks_)


def test_a_recipe_that_is_too_slow_takes_no_time_from_those_after_it():
    search = recipe_search.RecipeSearch(None, None, [], NDCG @ 10, ends=recipe_search.time.perf_counter() + 1000.0)
    found = {name: recipe_search.Path(np.ones(1), seconds=seconds) for name, seconds in
             (("slow", 600.0), ("quick", 200.0), ("too much beside it", 300.0), ("quicker", 100.0))}  # fmt: skip
    search._leave_out(found, 2)
    assert list(found) == ["quick", "quicker"]


def without_relevance(data):
    return RankingDataset.from_arrays(data.features, np.zeros(data.n_documents), qid=data.qid)


@pytest.mark.parametrize("held_out", ["one query", "validation without relevance"])
def test_where_nothing_can_be_measured_nothing_is_said_to_have_been_tried(plain_data, held_out):
    if held_out == "one query":
        with pytest.warns(UserWarning, match="one query only"):
            best = few(Cs=[0.5, 8.0, 16.0]).fit(plain_data.subset(np.arange(1)))
    else:
        best = few(Cs=[0.5, 8.0, 16.0], measure="auc").fit(plain_data, eval_set=[without_relevance(plain_data)])
    assert best.tried_ == ()
    assert (str(best.recipe_), best.C_, best.expected_) == ("standard, pairs, l2", 0.5, None)
    assert best.remarks_ == (
        f"nothing was tried: no held-out query has a value of {best.measure}; C is that nearest to 1",
    )


def test_each_training_is_limited_by_the_time_that_is_left_for_all(skewed_data, monkeypatch):
    """Every training takes a second, and is to end when the search does."""
    now, ends = [0.0], []

    class Slow(Journal):
        def __init__(self, *watch, max_seconds=np.inf):
            ends.append(now[0] + max_seconds)
            super().__init__(*watch, max_seconds=max_seconds)
            now[0] += 1.0

    monkeypatch.setattr(recipe_search.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(regularization_path, "Journal", Slow)
    best = few(transforms=["rank-gauss"], weightings=["pairs", "queries"], max_seconds=1000.0).fit(skewed_data)
    assert len(best.tried_) == 3
    assert ends == [np.inf] * 9 + [1000.0] * 18


@pytest.mark.parametrize("settings", [{}, {"weighting": "queries"}, {"weighting": "ndcg"}, {"penalty": "l1"}], ids=str)
def test_a_training_on_a_path_ends_with_the_time_that_is_left(skewed_data, settings):
    left = [np.inf]
    with Threads(1) as executor:
        data = scaled(skewed_data, recipe_search.fitted("rank-gauss", skewed_data))
        ranker = RankSVM(**settings)
        ranker.n_features_in_ = data.n_features
        solutions = solutions_along(ranker, data, np.array([0.01, 1.0]), executor, seconds_left=lambda: left[0])
        assert next(solutions).converged
        left[0] = 0.0
        after = list(solutions)
    assert all(one.message.startswith("out of time") and one.iterations <= 1 for one in after)
    assert len(after) == (0 if settings == {"weighting": "ndcg"} else 1)


def test_after_its_time_no_transform_is_fitted_but_that_of_plain_ranksvm(plain_data, monkeypatch):
    fitted = []

    def noting(transform, dataset, fit=recipe_search.fitted):
        fitted.append(transform)
        return fit(transform, dataset)

    monkeypatch.setattr(recipe_search, "fitted", noting)
    few(max_seconds=1e-9, penalties=["l2", "l1"]).fit(plain_data)
    assert fitted == ["standard"] * 3


def test_strengths_go_by_the_pairs_that_a_query_has(plain_data):
    best = BestLinear(transforms=["standard"], weightings=["queries"], penalties=["l2"], cv=2).fit(plain_data)
    plain, _, queries = best.tried_
    pairs = sum((a > b) for q in plain_data.queries.ids for a, b in pairs_of(plain_data, q)) / plain_data.n_queries
    ratio = queries.Cs[0] / plain.Cs[0]
    assert ratio / 1.5 <= pairs <= ratio * 1.5
    assert math.log2(ratio).is_integer()


def pairs_of(data, query):
    labels = data.labels[data.qid == query]
    return [(a, b) for a in labels for b in labels]


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
    assert "what gains are beside" in str(seen[0])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"transforms": ["log"]}, "transforms"),
        ({"weightings": "ndcg"}, "use a list"),
        ({"penalties": []}, "use a list"),
        ({"losses": ["hinge"]}, "losses"),
        ({"transforms": None}, "transforms=None; use a list of 'none', 'standard'"),
        ({"transforms": ["standard", "standard"]}, "transforms=.* has 'standard' more than once"),
        ({"losses": ("xe_ndcg", "squared_hinge", "xe_ndcg")}, "losses=.* has 'xe_ndcg' more than once"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"Cs": [-1.0]}, "Cs"),
        ({"measure": "nonsense"}, "nonsense"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_any_work(plain_data, settings, said):
    with pytest.raises(LinrankError, match=said):
        few(**settings).fit(plain_data)


@pytest.fixture(scope="module")
def curved_data():
    return make_shaped_ranking(60, 15, random_state=3).data


def test_curves_are_tried_where_they_are_asked_for_with_the_best_of_the_others(curved_data, tmp_path):
    best = few(transforms=["rank-gauss", "curves"], weightings=["queries"], penalties=["l2", "l1"]).fit(curved_data)
    linear = [tried for tried in best.tried_ if tried.recipe.smoothing is None and tried.recipe.penalty == "l2"]
    curved = [tried for tried in best.tried_ if tried.recipe.transform == "curves"]
    highest = max(linear, key=lambda tried: tried.mean).recipe
    assert [tried.recipe for tried in curved] == [
        replace(highest, transform="curves", smoothing=smoothing) for smoothing in (100.0, 10.0, 1.0)
    ]
    assert best.recipe_.transform == "curves"
    alone = AdditiveRanker(best.C_, smoothing=best.recipe_.smoothing, weighting="queries").fit(curved_data)
    np.testing.assert_array_equal(best.coef_, alone.coef_)
    np.testing.assert_array_equal(best.predict(curved_data), alone.predict(curved_data))
    best.to_model().save(tmp_path / "model.json")
    model = LinearModel.load(tmp_path / "model.json")
    assert model.parameters["smoothing"] == best.recipe_.smoothing
    np.testing.assert_array_equal(model.predict(curved_data.features), best.predict(curved_data))
    with pytest.raises(LinrankError, match="curves are learnt with their weights"):
        best.on_shaped(model.parameters)


@pytest.mark.parametrize("weighting", ["queries", "ndcg"])
def test_curves_are_measured_as_those_of_an_additive_ranker_on_the_other_folds(curved_data, weighting):
    best = few(transforms=["curves"], weightings=[weighting], Cs=[0.1, 1.0]).fit(curved_data)
    for tried in best.tried_[1:]:
        for place, C in enumerate(tried.Cs):
            expected = []
            for train, held_out in curved_data.folds(3, 0):
                ranker = AdditiveRanker(C, smoothing=tried.recipe.smoothing, weighting=tried.recipe.weighting)
                expected.append((NDCG @ 10).per_query(ranker.fit(train).predict(held_out), held_out))
            assert np.mean(np.concatenate(expected)) == pytest.approx(tried.measures[place].mean(), abs=0.01)


def test_curves_are_not_kept_where_lines_are_as_good(plain_data):
    best = few(transforms=["standard", "curves"], weightings=["pairs"]).fit(plain_data)
    assert best.recipe_.transform == "standard"


def test_more_folds_than_queries_are_told():
    data, _ = make_ranking(6, 10, 3)
    best = BestLinear(transforms=["standard"], weightings=["pairs"], penalties=["l2"], losses=["squared_hinge"], cv=50)
    best.fit(data)
    assert "6 folds, as many as there are queries, and not 50" in best.remarks_
