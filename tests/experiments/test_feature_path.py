from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from linrank import LinrankError, RankingDataset, RankSVM, feature_path, make_ranking, save_dataset, scan
from linrank.dataset import ranking_dataset, repeats, stored_dataset
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.experiments.feature_path import stability
from linrank.measures import parse_measure
from linrank.objective import placed_blocks, placement
from linrank.objective.stored_shards import Room

DATA, TRUE = make_ranking(120, 20, 15, n_informative=5, noise=0.3, random_state=3)
ARRAYS = {"X": DATA.features, "y": DATA.labels, "qid": DATA.qid}


def test_the_path_goes_from_nothing_to_many_features():
    path = feature_path(**ARRAYS, relaxed=False, smallest=1e-6, scaling="none")
    sizes = [step.n_features for step in path.steps]
    assert sizes[0] == 0
    assert sizes[1] >= 1
    assert max(sizes) == 15
    penalties = [step.l1 for step in path.steps]
    assert penalties == sorted(penalties, reverse=True)
    for step in path.steps[::10]:
        alone = RankSVM(1 / step.l1, penalty="l1", tol=1e-9).fit(**ARRAYS)
        np.testing.assert_allclose(step.weights, alone.coef_, atol=0.02 * np.abs(alone.coef_).max(initial=1e-9))


def test_the_numbers_are_looked_at_once(monkeypatch):
    looks = []
    plain = ranking_dataset.training_fault
    monkeypatch.setattr(ranking_dataset, "training_fault", lambda dataset: looks.append(dataset) or plain(dataset))
    # Complete data has no values to look for, and no two columns here are near enough to compare.
    monkeypatch.setattr(repeats, "_without_nan", None)
    feature_path(RankingDataset.from_arrays(**ARRAYS), n_steps=3, scaling="none")
    assert len(looks) == 1


def test_features_that_matter_come_first():
    path = feature_path(**ARRAYS)
    step = path.select_features(max_features=5)
    assert step.n_features <= 5
    assert np.count_nonzero(TRUE[step.weights != 0]) == step.n_features
    everything = RankSVM().fit(**ARRAYS).score(**ARRAYS)
    assert step.train > everything - 0.03


def test_relaxed_weights_are_those_of_a_ranker_on_the_same_features():
    path = feature_path(**ARRAYS, relaxed=True, tol=1e-10)
    step = path.select_features(max_features=4)
    support = step.weights != 0
    alone = RankSVM(1.0, tol=1e-12).fit(DATA.features[:, support], DATA.labels, qid=DATA.qid)
    np.testing.assert_allclose(step.weights[support], alone.coef_, rtol=1e-3)


def value_of(weights, l1):
    """Every pair of every query, one after the other."""
    scores, value = DATA.features @ weights, l1 * np.abs(weights).sum()
    for query in np.unique(DATA.qid):
        s, y = scores[DATA.qid == query], DATA.labels[DATA.qid == query]
        value += np.sum(np.maximum(0.0, 1.0 - (s[:, None] - s))[y[:, None] > y] ** 2)
    return value


@pytest.mark.parametrize("shards", ["few", "many"])
def test_every_step_is_as_near_to_the_least_value_as_asked(shards, monkeypatch):
    if shards == "many":
        monkeypatch.setattr(placement, "cut_into_blocks", partial(cut_into_blocks, block_bytes=1))
    path = feature_path(**ARRAYS, relaxed=False, scaling="none")
    for step in path.steps[::4]:
        alone = RankSVM(1 / step.l1, penalty="l1", tol=1e-10).fit(**ARRAYS)
        least = value_of(alone.coef_, step.l1)
        assert least * (1 - 1e-9) <= value_of(step.weights, step.l1) <= least * (1 + 1e-3)
    relaxed = feature_path(**ARRAYS, scaling="none")
    for step, sparse in zip(relaxed.steps[::4], path.steps[::4], strict=True):
        support = sparse.weights != 0
        np.testing.assert_array_equal(step.weights != 0, support)
        if support.any():
            alone = RankSVM(tol=1e-12).fit(DATA.features[:, support], DATA.labels, qid=DATA.qid)
            value = value_of(step.weights, 0.0) + step.weights @ step.weights / 2
            assert alone.objective_ * (1 - 1e-9) <= value <= alone.objective_ * (1 + 1e-3)


@pytest.mark.parametrize("settings", [{"relaxed": False}, {}, {"relaxed": False, "penalty": "mcp"}], ids=str)
@pytest.mark.parametrize("large", [False, True], ids=["many queries", "a large query"])
def test_the_measure_is_that_of_the_weights_whatever_the_order_of_the_rows(settings, large, monkeypatch):
    if large:
        monkeypatch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 20 * 15 * 8 + 1)
        monkeypatch.setattr(placement, "cut_into_blocks", partial(cut_into_blocks, block_bytes=1))
    order = np.random.default_rng(0).permutation(DATA.n_documents)
    # One query is longer than the others: where large ones are spread, it is one.
    qid = np.where(DATA.qid == DATA.qid[-1], DATA.qid[0], DATA.qid)[order]
    mixed = RankingDataset.from_arrays(DATA.features[order], DATA.labels[order], qid=qid)
    measure = parse_measure("ndcg@3")
    for step in feature_path(mixed, None, n_steps=6, measure=measure, **settings).steps:
        assert step.train == pytest.approx(measure.mean(mixed.features @ step.weights, mixed), abs=1e-9)


def test_cross_validation_measures_every_query_once_on_models_that_did_not_see_it():
    path = feature_path(**ARRAYS, cv=4, n_steps=10)
    for step in path.steps:
        assert step.held_out.shape == (120,)
        low, high = step.interval()
        assert low <= step.mean <= high
    train, test = next(DATA.folds(4))
    alone = feature_path(
        train.features,
        train.labels,
        qid=train.qid,
        eval_set=(test.features, test.labels),
        eval_qid=test.qid,
        n_steps=10,
    )
    for step, other in zip(path.steps, alone.steps, strict=True):
        np.testing.assert_allclose(step.held_out[: test.n_queries], other.held_out, atol=1e-12)


def test_one_standard_error_buys_a_smaller_model():
    path = feature_path(**ARRAYS, cv=4)
    best, plain = path.select_features(), path.select_features(one_se=True)
    assert plain.n_features <= best.n_features
    behind = best.held_out - plain.held_out
    assert behind.mean() <= behind.std(ddof=1) / np.sqrt(len(behind))


def test_dear_features_are_left_out():
    costs = np.ones(15)
    best = int(np.argmax(np.abs(TRUE)))
    costs[best] = 50.0
    cheap = feature_path(**ARRAYS, costs=costs)
    first = next(step for step in cheap.steps if step.n_features)
    assert first.weights[best] == 0
    step = cheap.select_features(max_cost=6)
    assert step.cost <= 6
    assert step.cost == costs[step.weights != 0].sum()


def test_the_budget_ends_the_path():
    path = feature_path(**ARRAYS, max_features=4)
    assert max(step.n_features for step in path.steps) <= 4
    with pytest.raises(LinrankError, match="no model fits the budget"):
        path.select_features(max_cost=0.5)


def test_the_elastic_net_keeps_more_features():
    plain = feature_path(**ARRAYS, relaxed=False, n_steps=5)
    mixed = feature_path(**ARRAYS, relaxed=False, n_steps=5, l1_ratio=0.3)
    assert not mixed.steps[0].weights.any()
    assert sum(step.n_features for step in mixed.steps) >= sum(step.n_features for step in plain.steps)


def test_a_concave_penalty_needs_fewer_features_at_the_same_strength():
    plain = feature_path(**ARRAYS, relaxed=False, n_steps=12, tol=1e-5)
    concave = feature_path(**ARRAYS, relaxed=False, n_steps=12, tol=1e-5, penalty="mcp")
    assert sum(step.n_features for step in concave.steps) < sum(step.n_features for step in plain.steps)


def test_any_number_of_threads_gives_the_same_path():
    one, three = (feature_path(**ARRAYS, n_steps=8, n_threads=n) for n in (1, 3))
    for first, second in zip(one.steps, three.steps, strict=True):
        assert first.weights.tobytes() == second.weights.tobytes()


def test_stability_says_how_often_a_feature_survives():
    shares = stability(DATA, 5, n_resamples=10, n_steps=20)
    assert shares.shape == (15,)
    assert ((shares >= 0) & (shares <= 1)).all()
    strongest = np.argsort(-np.abs(TRUE))[:3]
    useless = np.flatnonzero(TRUE == 0)
    assert shares[strongest].min() > shares[useless].max()


def test_a_step_becomes_a_model(tmp_path):
    from linrank import LinearModel

    path = feature_path(DATA, None, n_steps=5)
    model = path.to_model(path.steps[-1])
    model.save(tmp_path / "model.json")
    again = LinearModel.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.weights, model.weights)
    np.testing.assert_allclose(again.raw_weights(), path.steps[-1].weights, rtol=1e-15)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"costs": [1.0]}, "one number a feature, 15 in all"),
        ({"costs": [0.0] * 15}, r"costs\[0\] is 0.0"),
        ({"n_steps": 1}, "at least 2 steps"),
        ({"smallest": 2.0}, "a share below 1"),
        ({"l1_ratio": 0.0}, "l1_ratio=0.0"),
        ({"penalty": "l0"}, "penalty='l0'"),
        ({"penalty": "mcp", "l1_ratio": 0.5}, "takes neither costs, nor l1_ratio, nor bounds"),
        ({"cv": 3, "eval_set": (DATA.features, DATA.labels)}, "not both"),
        ({"measure": "ndgc@10"}, "ndcg"),
    ],
    ids=str,
)
def test_impossible_wishes_are_refused(settings, message):
    with pytest.raises(LinrankError, match=message):
        feature_path(**ARRAYS, **settings)


def test_sparse_data_with_queries_out_of_order():
    data, _ = make_ranking(30, 10, 30, density=0.2)
    order = np.random.default_rng(0).permutation(data.n_documents)
    mixed = RankingDataset.from_arrays(data.features[order], data.labels[order], qid=data.qid[order])
    usual, other = feature_path(data, None, n_steps=6), feature_path(mixed, None, n_steps=6)
    for first, second in zip(usual.steps, other.steps, strict=True):
        np.testing.assert_allclose(first.weights, second.weights, atol=1e-3 * np.abs(first.weights).max(initial=1e-9))


UNITS = np.array([1e9, 1e-9, 1e4, 1.0, 1e-3] * 3)


@pytest.mark.parametrize("more", [{}, {"cv": 3}, {"penalty": "mcp"}, {"relaxed": False}], ids=str)
def test_units_and_offsets_do_not_decide_which_features_are_chosen(more):
    usual = feature_path(**ARRAYS, n_steps=8, **more)
    other = feature_path(DATA.features * UNITS + UNITS, DATA.labels, qid=DATA.qid, n_steps=8, **more)
    for a, b in zip(usual.steps, other.steps, strict=True):
        np.testing.assert_array_equal(a.weights != 0, b.weights != 0)
        np.testing.assert_allclose(a.weights, b.weights * UNITS, rtol=1e-4, atol=1e-6 * np.abs(a.weights).max())
        assert a.mean == pytest.approx(b.mean, abs=1e-9)


def test_with_no_scaling_units_decide_and_that_is_said():
    noise = np.flatnonzero(TRUE == 0)[0]
    features = DATA.features.copy()
    features[:, noise] *= 1e6
    first = next(step for step in feature_path(features, DATA.labels, qid=DATA.qid, scaling="none").steps if step.cost)
    assert first.weights[noise] != 0
    path = feature_path(features, DATA.labels, qid=DATA.qid)
    assert all(step.weights[noise] == 0 for step in path.steps[:5])
    assert str(path.scaling) == "standard"
    auto = feature_path(features, DATA.labels, qid=DATA.qid, scaling="auto", n_steps=4)
    assert str(auto.scaling).startswith(f"standard (auto: the range of '{noise + 1}' is ")
    assert auto.to_model(auto.steps[-1]).training["scaling"] == str(auto.scaling)


def test_scaling_by_query_cannot_be_folded():
    with pytest.raises(LinrankError, match="scaling='query' cannot be folded"):
        feature_path(**ARRAYS, scaling="query")


def test_held_out_queries_do_not_take_part_in_the_scaling():
    """A training part's own deviations are used: an outlier that is held out does not change what is learnt."""
    train, test = DATA.split(0.5, 0.5)
    wild = test.features.copy()
    wild[0] *= 1e7
    settings = {"n_steps": 5, "eval_qid": test.qid}
    usual = feature_path(train, None, eval_set=(test.features, test.labels), **settings)
    other = feature_path(train, None, eval_set=(wild, test.labels), **settings)
    for a, b in zip(usual.steps, other.steps, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)


def test_the_columns_of_held_out_data_are_found_by_name():
    train, test = (
        replace(part, feature_names=tuple(f"f{j}" for j in range(part.n_features))) for part in DATA.split(0.7, 0.3)
    )
    settings = {"n_steps": 5}
    usual = feature_path(train, eval_set=test, **settings).steps[-1]
    frame = pd.DataFrame(test.features, columns=test.names)[list(reversed(test.names))]
    moved = feature_path(train, eval_set=(frame, test.labels), eval_qid=test.qid, **settings).steps[-1]
    np.testing.assert_array_equal(moved.held_out, usual.held_out)
    with pytest.raises(LinrankError, match="the eval_set: there is no column 'f0'"):
        feature_path(train, eval_set=replace(test, feature_names=DATA.names), **settings)


@pytest.mark.parametrize("make", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_a_feature_that_is_there_twice_spends_the_budget_once(make):
    data, _ = make_ranking(60, 15, 6, n_informative=4)
    X = data.features
    twice = np.column_stack([X, X[:, 0], -3.0 * X[:, 1], X[:, 2]])
    once = feature_path(make(X), data.labels, qid=data.qid, n_steps=12)
    path = feature_path(make(twice), data.labels, qid=data.qid, n_steps=12)
    assert path.repeated == {"7": "1", "8": "2", "9": "3"}
    assert once.repeated == {}
    for step, other in zip(path.steps, once.steps, strict=True):
        assert not step.weights[6:].any()
        assert step.n_features == other.n_features
        np.testing.assert_allclose(step.weights[:6], other.weights, atol=1e-6)


def test_the_cheaper_of_two_equal_features_is_kept():
    data, _ = make_ranking(60, 15, 4)
    X = np.column_stack([data.features, data.features[:, 0]])
    path = feature_path(X, data.labels, qid=data.qid, n_steps=8, costs=[5.0, 1.0, 1.0, 1.0, 2.0])
    assert path.repeated == {"1": "5"}
    assert not any(step.weights[0] for step in path.steps)


@pytest.mark.parametrize("value", [0.0, 1e6 / 3], ids=["empty", "constant"])
def test_a_column_that_never_varies_changes_no_path(value):
    data, _ = make_ranking(20, 15, 5)
    plain = feature_path(data.features, data.labels, qid=data.qid, n_steps=8)
    X = np.column_stack([data.features, np.full(len(data.labels), value)])
    path = feature_path(X, data.labels, qid=data.qid, n_steps=8)
    assert [step.n_features for step in path.steps] == [step.n_features for step in plain.steps]
    assert not any(step.weights[-1] for step in path.steps)


def test_a_path_without_any_feature_is_empty_and_says_so():
    data, _ = make_ranking(6, 5, 2)
    path = feature_path(np.ones((30, 2)), data.labels, qid=data.qid, n_steps=4)
    assert path.by_size() == []
    with pytest.raises(LinrankError, match="no model of the path has a feature"):
        path.select_features()


def test_the_path_of_a_file_is_that_of_the_data_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(stored_dataset, "CHUNK_BYTES", 20_000)
    monkeypatch.setattr(Room, "of", lambda *_: Room(remembers=False, spills=True, for_data=0))
    data, held_out = make_ranking(80, 15, 10)[0].split(0.7, 0.3)
    file = tmp_path / "train.linrank"
    save_dataset(data, file)
    settings = {"n_steps": 6, "smallest": 1e-2, "eval_set": held_out}
    expected = feature_path(data, **settings)
    for source in (file, scan(file)):
        path = feature_path(source, **settings)
        for step, same in zip(path.steps, expected.steps, strict=True):
            np.testing.assert_array_equal(step.weights, same.weights)
            np.testing.assert_array_equal(step.held_out, same.held_out)
            assert step.train == same.train
    with pytest.raises(LinrankError, match=r"train.linrank: cv=… would copy data that is not loaded.*eval_set="):
        feature_path(file, cv=3)
    with pytest.raises(LinrankError, match="brings its own labels"):
        feature_path(file, data.labels)
