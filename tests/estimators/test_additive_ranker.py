"""AdditiveRanker: the minimum is that of the columns written out, curves are found again, and lines where none pay."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from linrank import (
    AdditiveRanker,
    LightGBMRanker,
    LinrankError,
    RankingDataset,
    RankSVM,
    make_ranking,
    make_shaped_ranking,
    save_dataset,
)
from linrank.dataset.binned_features import BinnedFeatures
from linrank.dataset.scaling import fit_scaling, scaled
from linrank.dataset.shape_basis import ShapeBasis
from linrank.measures import NDCG
from linrank.objective.registry import ranking_losses
from oracles import listed_pairs

DATA = make_shaped_ranking(40, 15, 8, dtype="float64", random_state=1).data
SHAPED = make_shaped_ranking(400, 20, 8, n_informative=4, correlation=0.0, noise=0.2, random_state=0)


def columns_of(data, smoothing, n_knots=12, directions=None):
    """The columns that the ranker trains on, written out."""
    directions = np.zeros(data.n_features) if directions is None else directions
    basis, codes = ShapeBasis.fitted(data.features, data.document_weights, n_knots, directions)
    return basis, basis.columns(smoothing), BinnedFeatures(codes, *basis.columns(smoothing)).to_dense()


@pytest.mark.parametrize("smoothing", [0.3, 10.0, "line"])
@pytest.mark.parametrize("loss", ranking_losses())
def test_it_is_ranksvm_on_the_columns_written_out(loss, smoothing):
    basis, columns, dense = columns_of(DATA, np.inf if smoothing == "line" else smoothing)
    written = RankSVM(0.02, loss=loss).fit(replace(DATA, features=dense))
    ranker = AdditiveRanker(0.02, loss=loss, smoothing=smoothing).fit(DATA)
    assert ranker.objective_ == pytest.approx(written.objective_, rel=2e-3 if loss == "hinge" else 2e-6)
    assert ranker.gap_ <= 2e-3 * ranker.objective_
    shapes, sizes = basis.shapes(*columns, written.coef_)
    expected = shapes.apply(DATA.features) @ sizes
    scores = ranker.predict(DATA)
    assert np.corrcoef(scores, expected)[0, 1] > (0.999 if loss == "hinge" else 0.999999)


def test_the_objective_is_the_formula_pair_by_pair():
    ranker = AdditiveRanker(0.05, smoothing=2.0).fit(DATA)
    total = 0.0
    for (knots, values), scores, column in zip(
        ranker.curves_.values(), columns_of(DATA, 2.0)[0].scores, DATA.features.T, strict=True
    ):
        line = np.interp(column, knots, scores)
        unit = scores / line.std()
        slope = np.cov(np.interp(column, knots, values), line, bias=True)[0, 1] / line.std()
        bends = np.diff(np.diff(values) / np.diff(unit))
        total += 0.5 * (slope**2 + 2.0 * np.sum(bends**2 / (0.5 * (unit[2:] - unit[:-2]))))
    scores = ranker.predict(DATA)
    for i, j, _ in listed_pairs(DATA):
        total += 0.05 * max(0.0, 1.0 - (scores[i] - scores[j])) ** 2
    assert ranker.objective_ == pytest.approx(total, rel=1e-5)
    assert 0.0 <= ranker.gap_ <= 1e-4 * total


def test_as_smoothing_grows_it_becomes_the_linear_ranker_on_transformed_features():
    line = AdditiveRanker(0.02, smoothing="line").fit(DATA)
    far = AdditiveRanker(0.02, smoothing=1e9).fit(DATA)
    np.testing.assert_allclose(far.predict(DATA), line.predict(DATA), atol=1e-4 * np.ptp(line.predict(DATA)))
    assert line.smoothing_ == "line"
    assert AdditiveRanker(0.02, smoothing="3").fit(DATA).smoothing_ == 3.0
    assert AdditiveRanker(0.02, smoothing=np.inf).fit(DATA).to_model().parameters["smoothing"] == "line"


def test_curves_are_found_again():
    made = SHAPED
    ranker = AdditiveRanker(0.01, smoothing=1.0, n_knots=16).fit(made.data)
    sizes = np.abs(ranker.coef_)
    informative = np.array([effect != "" for effect in made.effects])
    assert sizes[informative].min() > 3 * sizes[~informative].max()
    scores = ranker.predict(made.data).reshape(400, 20)
    assert np.corrcoef((scores - scores.mean(axis=1, keepdims=True)).ravel(), made.utility)[0, 1] > 0.95
    _, values = ranker.curves_[str(made.effects.index("u") + 1)]
    # A valley or a hill: the ends are on one side of what lies between.
    ends, inner = values[[0, -1]], values[len(values) // 2]
    assert (ends > inner).all() or (ends < inner).all()
    line = AdditiveRanker(0.01, smoothing="line").fit(made.data)
    assert ranker.score(made.data) > line.score(made.data) + 0.05


def test_shapes_are_kept_where_held_out_queries_say_so():
    shaped = AdditiveRanker(0.01, cv=3).fit(SHAPED.data)
    assert shaped.smoothing_ in (0.1, 1.0, 10.0)
    assert shaped.mean_measure_[shaped.smoothing_] > shaped.mean_measure_["line"] + 0.05
    assert "shapes with smoothing" in shaped.remarks_[0]
    lines = make_shaped_ranking(60, 10, 6, shares={"line": 1.0}, noise=1.0, random_state=3).data
    plain = AdditiveRanker(0.01, cv=3).fit(lines)
    assert plain.smoothing_ == "line"
    assert plain.remarks_[0].startswith("no shapes: lines have ndcg@10")
    np.testing.assert_array_equal(plain.coef_, AdditiveRanker(0.01, smoothing="line").fit(lines).coef_)


def test_an_eval_set_decides_where_there_is_one():
    train, vali = SHAPED.data.split(0.5, 0.5)
    ranker = AdditiveRanker(0.02, one_se=False).fit(train, eval_set=vali)
    by_hand = {
        smoothing: AdditiveRanker(0.02, smoothing=smoothing).fit(train).score(vali)
        for smoothing in ranker.mean_measure_
    }
    assert ranker.mean_measure_ == pytest.approx(by_hand, abs=2e-3)
    assert ranker.smoothing_ == max(ranker.mean_measure_, key=ranker.mean_measure_.get)
    assert ranker.eval_history_[-1][-1] == pytest.approx(ranker.score(vali))


@pytest.mark.parametrize("direction", ["+", "-"])
def test_monotone_curves_only_rise_or_only_fall(direction):
    ranker = AdditiveRanker(0.05, smoothing=0.1, monotone=direction).fit(DATA)
    for _, values in ranker.curves_.values():
        steps = np.diff(values) if direction == "+" else -np.diff(values)
        assert (steps >= -1e-9).all()
    _, _, dense = columns_of(DATA, 0.1, directions=np.full(8, 1.0 if direction == "+" else -1.0))
    bounds = "non-negative" if direction == "+" else "non-positive"
    assert ranker.objective_ == pytest.approx(
        RankSVM(0.05, bounds=bounds).fit(replace(DATA, features=dense)).objective_, rel=1e-5
    )
    assert ranker.gap_ <= 1e-4 * ranker.objective_


def test_monotone_may_be_the_text_of_a_command_line():
    text, given = (AdditiveRanker(0.05, smoothing=1.0, monotone=way).fit(DATA) for way in ('{"1": "-"}', {"1": "-"}))
    assert text.coef_.tolist() == given.coef_.tolist()
    assert np.all(np.diff(text.curves_["1"][1]) <= 0)


def test_monotone_by_name_leaves_the_others_free():
    named = replace(DATA, feature_names=tuple("abcdefgh"))
    free = AdditiveRanker(0.05, smoothing=0.1).fit(named)
    bound = AdditiveRanker(0.05, smoothing=0.1, monotone={"a": "+", "c": "-"}).fit(named)
    assert (np.diff(bound.curves_["a"][1]) >= -1e-9).all()
    assert (np.diff(bound.curves_["c"][1]) <= 1e-9).all()
    others = [name for name in "bdefgh" if (np.diff(bound.curves_[name][1]) < -1e-6).any()]
    assert others
    assert bound.objective_ > free.objective_


def test_whole_features_leave_by_the_group_penalty():
    made = SHAPED
    ranker = AdditiveRanker(0.01, smoothing=1.0, group_l1=20.0, tol=1e-4).fit(made.data)
    informative = {place for place, effect in enumerate(made.effects) if effect}
    left = set(np.flatnonzero(ranker.coef_ == 0.0).tolist())
    assert left
    assert not left & informative
    assert ranker.gap_ <= 2e-4 * ranker.objective_
    for feature in left:
        assert not ranker.curves_[str(feature + 1)][1].any()
    assert ranker.to_model().weights.tolist() == ranker.coef_.tolist()


def test_any_number_of_threads_gives_the_same_bits():
    one, two = (AdditiveRanker(0.02, smoothing=1.0, n_threads=n).fit(SHAPED.data) for n in (1, 2))
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.transform_.values.tobytes() == two.transform_.values.tobytes()


def test_units_make_no_difference():
    units = np.array([1e-6, 1.0, 3.0, 1e5, 1.0, 1e3, 0.1, 1.0])
    one = AdditiveRanker(0.02, smoothing=1.0).fit(DATA)
    other = AdditiveRanker(0.02, smoothing=1.0).fit(replace(DATA, features=DATA.features * units))
    np.testing.assert_allclose(other.predict(DATA.features * units), one.predict(DATA), atol=1e-6)


def test_sparse_rows_score_as_dense_ones():
    dense = AdditiveRanker(0.02, smoothing=1.0).fit(DATA)
    rows = sparse.csr_array(DATA.features)
    other = AdditiveRanker(0.02, smoothing=1.0).fit(replace(DATA, features=rows))
    np.testing.assert_allclose(other.predict(rows), dense.predict(DATA.features), atol=1e-9)
    np.testing.assert_allclose(dense.predict(rows), dense.predict(DATA.features), atol=1e-9)


def test_wide_sparse_data_and_files_are_refused_with_the_remedy(tmp_path):
    wide = sparse.random_array((1000, 1 << 20), density=1e-6, format="csr", rng=0)
    data = RankingDataset.from_arrays(sparse.vstack([wide] * 20, format="csr"), np.arange(20000.0), group=[20] * 1000)
    with pytest.raises(LinrankError, match=r"has a code for zeros too, and would take \d+ GB. Use RankSVM"):
        AdditiveRanker(smoothing="line").fit(data)
    save_dataset(DATA, tmp_path / "d.linrank")
    with pytest.raises(LinrankError, match=r"needs all of its data in memory. Load it: linrank.read"):
        AdditiveRanker().fit(tmp_path / "d.linrank")
    ranker = AdditiveRanker(0.02, smoothing=1.0).fit(DATA)
    np.testing.assert_array_equal(ranker.predict(tmp_path / "d.linrank"), ranker.predict(DATA))


def test_a_constant_column_and_one_of_two_values_are_no_trouble():
    X = DATA.features.copy()
    X[:, 2], X[:, 3] = 5.0, X[:, 3] > 0.0
    ranker = AdditiveRanker(0.02, smoothing=1.0).fit(replace(DATA, features=X))
    assert ranker.coef_[2] == 0.0
    assert len(ranker.curves_["3"][0]) == 1
    assert ranker.curves_["4"][0].tolist() == [0.0, 1.0]


def test_a_model_has_no_place_for_a_scaling_before_its_curves():
    scaling = fit_scaling("standard", DATA)
    ranker = AdditiveRanker(0.02, smoothing=1.0).fit(scaled(DATA, scaling))
    with pytest.raises(LinrankError, match=r"no place for another scaling\. Train it"):
        ranker.to_model(scaling=scaling)


def test_to_model_scores_as_the_ranker_and_remembers_what_was_chosen():
    ranker = AdditiveRanker(0.02, smoothing=3.0).fit(DATA)
    model = ranker.to_model()
    np.testing.assert_array_equal(model.predict(DATA), ranker.predict(DATA))
    assert model.parameters["smoothing"] == 3.0
    assert model.method == "additive"
    assert model.objective == ranker.objective


def test_one_query_has_lines_and_says_so():
    data = RankingDataset.from_arrays(DATA.features, DATA.labels, group=[DATA.n_documents])
    with pytest.warns(UserWarning, match="one query only, so that shapes cannot be validated: curves are straight"):
        assert AdditiveRanker(0.001).fit(data).smoothing_ == "line"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"smoothing": 0.0}, "smoothing=0.0; use a positive number, 'line' for no shapes, or 'auto'"),
        ({"smoothing": "rough"}, "smoothing='rough'; use a positive number, 'line' or 'auto'"),
        ({"n_knots": 1}, "n_knots=1; use a whole number, at least 2"),
        ({"n_knots": 17}, "n_knots=17; at most 16"),
        ({"group_l1": -1.0}, "group_l1=-1.0; use 0 or a positive number"),
        ({"group_l1": 1.0, "monotone": "+"}, "group_l1 and monotone cannot be had together"),
        ({"monotone": "up"}, "monotone='up'; use '\\+' or '-', or"),
        ({"monotone": {"1": 1}}, "use '\\+' or '-', or"),
        ({"monotone": '{"1": '}, 'is no JSON: .* Use {"feature"'),
        ({"monotone": '{"1": "+", "1": "-"}'}, "is no JSON: "),
        ({"monotone": np.array(["+", "-"])}, "use '\\+' or '-', or"),
        ({"monotone": (0.0, 1.0)}, "use '\\+' or '-', or"),
        ({"monotone": {"z": "+"}}, "monotone: there is no feature 'z'"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, said):
    with pytest.raises(LinrankError, match=said):
        AdditiveRanker(**settings).fit(DATA)


def test_weights_are_repetitions():
    times = np.random.default_rng(0).integers(0, 3, DATA.n_documents)
    heavy = replace(DATA, document_weights=times / 1.0)
    rows = np.repeat(np.arange(DATA.n_documents), times)
    long = RankingDataset.from_arrays(DATA.features[rows], DATA.labels[rows], qid=DATA.qid[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, other = (AdditiveRanker(0.02, smoothing=1.0, tol=1e-10).fit(data) for data in (heavy, long))
    np.testing.assert_allclose(one.predict(DATA), other.predict(DATA), atol=1e-6)
    assert (NDCG @ 10).mean(one.predict(DATA), DATA) == pytest.approx((NDCG @ 10).mean(other.predict(DATA), DATA))


def test_more_features_than_a_matrix_of_columns_is_made_for_are_trained_too():
    data, _ = make_ranking(30, 10, 200, skew=False)
    ranker = AdditiveRanker(0.01, smoothing=1.0).fit(data)
    dense = columns_of(data, 1.0)[2]
    assert dense.shape[1] > 2000
    assert ranker.objective_ == pytest.approx(RankSVM(0.01).fit(replace(data, features=dense)).objective_, rel=1e-5)


def test_curves_recover_most_of_what_trees_have_over_a_linear_model():
    """At least 60 % of the gap where nothing is a product; both are tuned on the same validation queries."""
    pytest.importorskip("lightgbm")
    data = make_shaped_ranking(220, 20, 10, correlation=0.0, random_state=5).data
    train, vali, test = data.split(0.5, 0.2, 0.3)
    scaling = fit_scaling("standard", train)

    def best(rankers, through=None):
        parts = [scaled(part, through) for part in (train, vali, test)]
        fitted = [ranker.fit(parts[0]) for ranker in rankers]
        return max(fitted, key=lambda ranker: ranker.score(parts[1])).score(parts[2])

    linear = best([RankSVM(C) for C in (1e-4, 1e-3, 1e-2)], scaling)
    curves = best([AdditiveRanker(C, smoothing=smoothing) for C in (1e-3, 1e-2) for smoothing in (1.0, "line")])
    trees = best([LightGBMRanker(n_trees=n, max_leaves=4, n_threads=1) for n in (50, 150)])
    assert trees > linear + 0.05
    assert curves - linear >= 0.6 * (trees - linear)
