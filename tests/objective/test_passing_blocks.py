"""Features that are there only while their block is gone through: read from a file, or transformed as they are used."""

import tracemalloc

import numpy as np
import pytest

from linrank import ListNet, PairwiseRidge, RankingDataset, RankSVM, SmoothRank, SparseRank, make_ranking, scan
from linrank.dataset.fitted_transforms import fit_transform
from linrank.dataset.scaling import scaled
from linrank.dataset.shaped_rows import ShapedRows
from linrank.dataset.storage import save_dataset
from linrank.errors import UnusableNumberError
from linrank.executors.local import Threads
from linrank.objective import placed_blocks
from linrank.objective.placement import PlacedData
from linrank.objective.stored_shards import Room

KINDS = pytest.mark.parametrize("kind", ["rank-gauss", "signed-log"])
RANKERS = [
    RankSVM(C=0.01),
    RankSVM(C=0.01, loss="hinge"),
    RankSVM(C=0.01, loss="logistic", penalty="l1"),
    RankSVM(C=0.01, loss="least_squares"),
    RankSVM(C=0.01, weighting="ndcg"),
    RankSVM(C=0.01, bounds=(0.0, np.inf)),
    RankSVM(C=0.01, solver="bundle"),
    RankSVM(C=0.01, solver="tron"),
    SparseRank(l1=5.0),
    ListNet(C=0.1),
    SmoothRank(C=0.1),
    PairwiseRidge(gamma=1.0),
]


def skewed(data):
    return RankingDataset.from_arrays(np.exp(data.features), data.labels, qid=data.qid)


@pytest.fixture(scope="module")
def data():
    return skewed(make_ranking(60, 20, 8, random_state=3, dtype="float32")[0])


@pytest.fixture
def no_room(monkeypatch):
    monkeypatch.setattr("linrank.estimators.linear_ranker.has_room", lambda _: False)


def weights_of(ranker, kind, data):
    ranker = type(ranker)(**{**ranker.get_params(), "transforms": kind})
    return ranker.fit(data).coef_


@KINDS
@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_weights_have_the_bits_that_they_have_of_a_transformed_copy(ranker, kind, data, request):
    held = weights_of(ranker, kind, data)
    request.getfixturevalue("no_room")
    np.testing.assert_array_equal(weights_of(ranker, kind, data), held)


@KINDS
def test_so_they_have_of_a_query_that_is_spread_and_of_rows_in_any_order(kind, data, no_room, monkeypatch):
    monkeypatch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 1 << 10)
    rng = np.random.default_rng(0)
    one = RankingDataset.from_arrays(data.features, data.labels, group=[data.n_documents])
    rows = rng.permutation(data.n_documents)
    mixed = RankingDataset.from_arrays(data.features[rows], data.labels[rows], qid=data.qid[rows])
    for given in (one, mixed):
        transform = fit_transform(kind, given)
        held = RankSVM(C=0.01).fit(scaled(given, transform)).coef_
        np.testing.assert_array_equal(RankSVM(C=0.01, transforms=kind).fit(given).coef_, held)


def test_a_column_far_from_zero_is_compared_as_in_a_copy(data):
    """What a transform leaves far from zero is less what one document of the query has."""
    features = data.features.astype(np.float64)
    features[:, 0] += 1e9
    far = RankingDataset.from_arrays(features, data.labels, qid=data.qid)
    transform = fit_transform("signed-log", far)
    held, anew = (RankSVM(C=0.01).fit(scaled(far, transform, held=held)).coef_ for held in (True, False))
    np.testing.assert_array_equal(anew, held)


def peak_of(train, data):
    """The most memory that a training takes, in sizes of the features; what was compiled before does not count."""
    train()
    tracemalloc.start()
    train()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / data.features.nbytes


def test_no_copy_of_all_rows_is_made(no_room):
    """What is left is a sample, and what points know of documents."""
    data = skewed(make_ranking(1500, 50, 100, random_state=0, skew=False)[0])
    ranker = RankSVM(C=1e-4, transforms="rank-gauss", n_threads=1).fit(data)
    shaped = scaled(data, ranker.transform_, held=False)
    assert peak_of(lambda: ranker._train(shaped, []), data) < 0.8


def test_a_point_does_not_hold_what_was_read_from_a_file(tmp_path, monkeypatch):
    data = make_ranking(1500, 50, 100, random_state=0)[0]
    save_dataset(data, tmp_path / "data.linrank")
    monkeypatch.setattr(Room, "of", classmethod(lambda cls, *_: cls(remembers=True, spills=False, for_data=0)))
    stored = scan(tmp_path / "data.linrank")
    assert peak_of(lambda: RankSVM(C=1e-4, n_threads=1).fit(stored), data) < 0.8


def test_a_copy_is_held_where_there_is_room(data, monkeypatch):
    seen = []
    monkeypatch.setattr(RankSVM, "_train", lambda self, dataset, validation: seen.append(type(dataset.features)))
    held = RankSVM(transforms="rank-gauss").fit(data)
    monkeypatch.setattr("linrank.memory.memory_bytes", lambda: 1.0)
    anew = RankSVM(transforms="rank-gauss").fit(data)
    assert "for want of memory" not in held.transform_reason_
    assert "for want of memory for a copy" in anew.transform_reason_
    assert seen == [np.ndarray, ShapedRows]


def test_as_an_array_it_is_the_transformed_one(data):
    transform = fit_transform("rank-gauss", data)
    anew, held = scaled(data, transform, held=False).features, scaled(data, transform).features
    np.testing.assert_array_equal(np.asarray(anew), held)
    np.testing.assert_array_equal(anew[5:9], held[5:9])
    assert anew.shape == held.shape
    assert anew.dtype == held.dtype


def test_a_number_that_a_transform_makes_too_large_is_named_by_its_row(data):
    transform = fit_transform("rank-gauss", data)
    values = transform.values.copy()
    values[transform.starts[4] - 1] = 1e35
    steep = type(transform)(transform.kind, transform.knots, values, transform.starts)
    row = int(np.argmax(data.features[:, 3]))
    for held in (True, False):
        with pytest.raises(UnusableNumberError, match=rf"feature 4 is 1e\+35 in row {row}"):
            scaled(data, steep, held=held).check_trainable()


def test_a_sample_of_what_was_read_can_be_sampled_again(data, tmp_path, monkeypatch):
    """As one in memory can be, and the same queries are in it."""
    save_dataset(data, tmp_path / "data.linrank")
    monkeypatch.setattr(Room, "of", classmethod(lambda cls, *_: cls(remembers=True, spills=False, for_data=0)))
    labels = []
    with Threads(1) as executor:
        for given in (data, scan(tmp_path / "data.linrank")):
            placed = PlacedData.of(given, executor)
            again = placed.of_sample(placed.sample(600)).sample(200)
            labels.append(np.concatenate([block.labels for block, _ in again.blocks]))
    assert 0 < len(labels[0]) < 600
    np.testing.assert_array_equal(*labels)
