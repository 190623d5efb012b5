"""AdditiveRanker(interactions=…): the minimum is that of columns written out; products are found where they are."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from linrank import AdditiveRanker, LinearModel, LinrankError, RankingDataset, RankSVM, make_shaped_ranking
from linrank.dataset.binned_features import BinnedFeatures
from linrank.dataset.shape_basis import ShapeBasis
from linrank.estimators.additive_ranker import _fewer_and_fewer
from linrank.objective.registry import ranking_losses
from oracles import listed_pairs

SHARES = {"line": 0.3, "saturating": 0.2, "product": 0.5}
MADE = make_shaped_ranking(
    120, 20, 8, shares=SHARES, n_informative=7, correlation=0.0, noise=0.3, dtype="float64", random_state=4
)
DATA = MADE.data
ALONE = make_shaped_ranking(
    120, 20, 8, shares={"line": 0.5, "u": 0.5}, correlation=0.0, dtype="float64", random_state=2
).data


def true_pairs(made):
    """Products are of features in the order of their numbers, two and two."""
    places = [place for place, effect in enumerate(made.effects) if effect == "product"]
    return set(zip(places[::2], places[1::2], strict=True))


def fitted(**settings):
    return AdditiveRanker(0.002, **{"smoothing": 1.0, "cv": 3, "interactions": 8, **settings})


RANKER = fitted().fit(DATA)


def lines_of(data, n_knots=12):
    """l_j of every document, from the codes that are trained on."""
    basis, codes = ShapeBasis.fitted(data.features, data.document_weights, n_knots, np.zeros(data.n_features))
    return BinnedFeatures(codes, *basis.columns(np.inf)).to_dense(), BinnedFeatures(
        codes, *basis.columns(1.0)
    ).to_dense()


def test_the_products_of_the_data_are_found():
    assert true_pairs(MADE)
    found = {tuple(pair) for pair in RANKER.products_.pairs.tolist()}
    assert true_pairs(MADE) <= found
    alone = AdditiveRanker(0.002, smoothing=1.0).fit(DATA)
    assert RANKER.score(DATA) > alone.score(DATA) + 0.1
    measured = RANKER.mean_measure_of_products_
    assert list(measured) == [8, 2, 0]
    assert measured[RANKER.choices_["interactions"]] > measured[0] + 0.1
    assert "products have ndcg@10" in RANKER.remarks_[-1]


def test_none_is_kept_where_there_is_none():
    ranker = fitted().fit(ALONE)
    assert ranker.products_ is None
    assert ranker.choices_ == {"smoothing": 1.0, "interactions": 0}
    assert ranker.remarks_[-1].startswith("no products: curves alone have ndcg@10")
    plain = AdditiveRanker(0.002, smoothing=1.0).fit(ALONE)
    assert plain.coef_.tobytes() == ranker.coef_.tobytes()
    assert plain.transform_.values.tobytes() == ranker.transform_.values.tobytes()


def test_pairs_are_those_along_which_the_loss_falls_most_pair_by_pair():
    alone = AdditiveRanker(0.002, smoothing=1.0).fit(DATA)
    scores, slopes = alone.predict(DATA), np.zeros(DATA.n_documents)
    for i, j, _ in listed_pairs(DATA):
        pull = 2.0 * max(0.0, 1.0 - (scores[i] - scores[j]))
        slopes[i] -= pull
        slopes[j] += pull
    lines, _ = lines_of(DATA)
    found = {}
    for a in range(8):
        for b in range(a + 1, 8):
            product = lines[:, a] * lines[:, b]
            found[a, b] = abs(slopes @ product) / np.sqrt(product @ product)
    expected = sorted(found, key=lambda pair: -found[pair])
    ranker = fitted(one_se=False).fit(DATA)
    kept = [tuple(pair) for pair in ranker.products_.pairs.tolist()]
    assert kept == expected[: len(kept)]


@pytest.mark.parametrize("loss", ranking_losses())
def test_the_minimum_is_ranksvms_on_the_columns_written_out(loss):
    ranker = fitted(loss=loss, cv=2).fit(DATA)
    pairs = ranker.products_.pairs
    lines, columns = lines_of(DATA)
    products = (lines[:, pairs[:, 0]] * lines[:, pairs[:, 1]]).astype(np.float32)
    written = RankSVM(0.002, loss=loss).fit(replace(DATA, features=np.column_stack([columns, products])))
    assert ranker.objective_ == pytest.approx(written.objective_, rel=2e-3 if loss == "hinge" else 2e-6)
    assert 0.0 <= ranker.gap_ <= 2e-3 * ranker.objective_
    assert np.corrcoef(ranker.predict(DATA), written.predict(np.column_stack([columns, products])))[0, 1] > 0.9999


def test_the_certificate_holds_and_the_objective_is_the_formula():
    """No weights of these columns have an objective below objective_ - gap_."""
    lines, columns = lines_of(DATA)
    pairs = RANKER.products_.pairs
    products = (lines[:, pairs[:, 0]] * lines[:, pairs[:, 1]]).astype(np.float32)
    best = RankSVM(0.002, tol=1e-12).fit(replace(DATA, features=np.column_stack([columns, products])))
    assert RANKER.objective_ - RANKER.gap_ <= best.objective_ * (1.0 + 1e-12)
    assert best.objective_ <= RANKER.objective_ * (1.0 + 1e-12)
    scores = RANKER.predict(DATA)
    loss = sum(max(0.0, 1.0 - (scores[i] - scores[j])) ** 2 for i, j, _ in listed_pairs(DATA))
    penalty = RANKER.objective_ - 0.002 * loss
    assert penalty > 0.5 * float(RANKER.products_.weights @ RANKER.products_.weights)
    assert penalty == pytest.approx(0.5 * float(best.coef_ @ best.coef_), rel=1e-2)


def test_units_and_offsets_make_no_difference():
    units, offsets = 10.0 ** np.array([6, -6, 0, 3, 0, -3, 0, 6]), np.array([0.0, 1.0, 7.0, -1e3, 0.0, 0.0, 1e3, 0.0])
    other = DATA.features * units + offsets * units
    ranker = fitted().fit(replace(DATA, features=other))
    assert ranker.products_.pairs.tolist() == RANKER.products_.pairs.tolist()
    np.testing.assert_allclose(ranker.products_.weights, RANKER.products_.weights, rtol=1e-4)
    moved = ranker.predict(other) - RANKER.predict(DATA)
    # Curves are 0 where a feature is 0, so that scores may differ by one number.
    np.testing.assert_allclose(moved - moved.mean(), 0.0, atol=1e-4)


def test_any_number_of_threads_gives_the_same_bits():
    one, two = (fitted(n_threads=n).fit(DATA) for n in (1, 2))
    assert one.products_.pairs.tobytes() == two.products_.pairs.tobytes()
    assert one.products_.weights.tobytes() == two.products_.weights.tobytes()
    assert one.predict(DATA).tobytes() == two.predict(DATA).tobytes()


def test_the_order_of_the_rows_makes_no_difference():
    rows = np.random.default_rng(3).permutation(DATA.n_documents)
    shuffled = RankingDataset.from_arrays(DATA.features[rows], DATA.labels[rows], qid=DATA.qid[rows])
    assert shuffled.queries.order is not None
    one, other = (fitted().fit(part, eval_set=DATA) for part in (DATA, shuffled))
    assert one.products_.pairs.tolist() == other.products_.pairs.tolist()
    np.testing.assert_allclose(other.predict(DATA), one.predict(DATA), atol=1e-3)


def test_an_eval_set_decides_where_there_is_one():
    train, vali = DATA.split(0.6, 0.4)
    ranker = fitted(one_se=False).fit(train, eval_set=vali)
    assert ranker.choices_["interactions"] == max(
        ranker.mean_measure_of_products_, key=ranker.mean_measure_of_products_.get
    )
    chosen = ranker.mean_measure_of_products_[ranker.choices_["interactions"]]
    assert ranker.eval_history_[-1][-1] == pytest.approx(ranker.score(vali)) == pytest.approx(chosen, abs=2e-3)


@pytest.mark.parametrize("weighting", ["queries", "ndcg"])
def test_they_are_found_with_other_weights_of_pairs_too(weighting):
    ranker = AdditiveRanker(0.2, smoothing=1.0, cv=2, interactions=8, weighting=weighting).fit(DATA)
    assert true_pairs(MADE) <= {tuple(pair) for pair in ranker.products_.pairs.tolist()}


def test_products_leave_by_the_group_penalty_and_their_features_stay_used():
    ranker = AdditiveRanker(0.002, smoothing=1.0, group_l1=3.0, interactions=8, cv=2, one_se=False, tol=1e-4).fit(DATA)
    assert true_pairs(MADE) <= {tuple(pair) for pair in ranker.products_.pairs.tolist()}
    assert len(ranker.products_) < 8
    assert ranker.gap_ <= 2e-4 * ranker.objective_
    only = ranker.used_ & (ranker.coef_ == 0.0)
    assert only.any(), "a feature that is in a product only"
    assert ranker.to_model().used.tolist() == ranker.used_.tolist()


def test_features_that_must_rise_are_in_no_product():
    bound = next(iter(true_pairs(MADE)))[0]
    ranker = fitted(monotone={str(bound + 1): "+"}, one_se=False).fit(DATA)
    assert ranker.products_ is None or bound not in ranker.products_.pairs
    steps = np.diff(ranker.curves_[str(bound + 1)][1])
    assert (steps >= -1e-9).all()
    with pytest.raises(LinrankError, match=r"interactions=8 and monotone='\+': .* Leave one out, or name features"):
        fitted(monotone="+").fit(DATA)


def test_settings_that_cannot_work_are_refused():
    for number in (-1, 2.5):
        with pytest.raises(LinrankError, match=f"interactions={number}; use a whole number, at least 0"):
            AdditiveRanker(interactions=number).fit(DATA)
    with pytest.raises(LinrankError, match="interactions='4' is text; use a number"):
        AdditiveRanker(interactions="4").fit(DATA)


def test_one_query_has_no_products_and_says_so():
    data = RankingDataset.from_arrays(DATA.features, DATA.labels, group=[DATA.n_documents])
    with pytest.warns(UserWarning, match="one query only, so that products cannot be validated: there are none"):
        assert AdditiveRanker(1e-4, smoothing="line", interactions=4).fit(data).products_ is None


def test_no_more_products_are_tried_than_there_are_pairs():
    few = replace(DATA, features=DATA.features[:, :3])
    assert list(fitted(interactions=64, cv=2).fit(few).mean_measure_of_products_) == [3, 0]
    one = fitted(cv=2).fit(replace(DATA, features=DATA.features[:, :1]))
    assert one.products_ is None
    assert one.remarks_ == ("no products: there are not two features that could be in one",)


def test_numbers_that_are_tried_fall_to_none():
    assert _fewer_and_fewer(64) == (64, 16, 4, 1, 0)
    assert _fewer_and_fewer(3) == (3, 0)
    assert _fewer_and_fewer(1) == (1, 0)


def test_models_files_pickles_and_sparse_rows_have_the_rankers_scores(tmp_path):
    model = RANKER.to_model()
    scores = RANKER.predict(DATA)
    np.testing.assert_array_equal(model.predict(DATA), scores)
    model.save(tmp_path / "m.json")
    np.testing.assert_array_equal(LinearModel.load(tmp_path / "m.json").predict(DATA.features), scores)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(RANKER)).predict(DATA), scores)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(DATA), scores)
    np.testing.assert_allclose(model.predict(sparse.csr_array(DATA.features)), scores, atol=1e-12)
    other = fitted().fit(replace(DATA, features=sparse.csr_array(DATA.features)))
    np.testing.assert_allclose(other.predict(DATA), scores, atol=1e-9)
    by_rows = [model.predict(DATA.features[i : i + 1])[0] for i in range(0, 2400, 97)]
    np.testing.assert_array_equal(by_rows, scores[::97])
    assert model.parameters["interactions"] == len(RANKER.products_)
    assert f"{len(RANKER.products_)} products" in repr(model)


def test_weights_are_repetitions():
    times = np.random.default_rng(0).integers(0, 3, DATA.n_documents)
    heavy = replace(DATA, document_weights=times / 1.0)
    rows = np.repeat(np.arange(DATA.n_documents), times)
    long = RankingDataset.from_arrays(DATA.features[rows], DATA.labels[rows], qid=DATA.qid[rows])
    one, other = (fitted(tol=1e-9, one_se=False).fit(data) for data in (heavy, long))
    assert one.products_.pairs.tolist() == other.products_.pairs.tolist()
    np.testing.assert_allclose(one.predict(DATA), other.predict(DATA), atol=1e-5)
