"""Data on disk is trained on as the same data in memory: to the last bit, whatever the memory."""

import os
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from linrank import LinrankError, RankingDataset, RankSVM, make_ranking, save_dataset, scan
from linrank.dataset import query_blocks
from linrank.dataset.applied_scaling import QueryScaling
from linrank.dataset.scaling import fit_scaling, scaled
from linrank.errors import DataFormatError
from linrank.estimators.catalogue import METHODS
from linrank.estimators.minimizing_ranker import MinimizingRanker
from linrank.executors.local import Threads
from linrank.executors.prefetching import ahead
from linrank.memory import bytes_named
from linrank.objective import placed_blocks, stored_shards
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.stored_shards import Room

ROOMS = {
    "all but the data": Room(remembers=True, spills=False, for_data=0),
    "scores alone": Room(remembers=False, spills=False, for_data=0),
    "not even scores": Room(remembers=False, spills=True, for_data=0),
    "some of the data": Room(remembers=False, spills=True, for_data=40_000),
}


def data_of(density=1.0, *, weighted=True, large=True, far=False):
    """With `far`, one column is far from zero, and a sparse one is all there but for some queries."""
    sizes = [20] * 120 + ([900] if large else [])
    made, _ = make_ranking(1, sum(sizes), 12, density=density)
    rng = np.random.default_rng(1)
    X = made.features.astype(np.float32) if density == 1.0 else made.features
    if far:
        X = as_far(X, sizes)
    labels = np.clip(np.round(made.labels), 0, 4)
    weights = {
        "document_weights": rng.integers(1, 3, len(labels)) / 1.0,
        "query_weights": rng.integers(1, 4, len(sizes)) / 1.0,
    }
    return RankingDataset.from_arrays(X, labels, group=sizes, **(weights if weighted else {}))


def as_far(X, sizes):
    column = np.random.default_rng(2).integers(0, 100, X.shape[0]) + 2.0**21
    if not sparse.issparse(X):
        return np.column_stack([column.astype(X.dtype), X[:, 1:]])
    lacking = np.repeat(np.arange(len(sizes)) % 7 == 0, sizes)
    return sparse.hstack([sparse.csr_array(np.where(lacking, 0.0, column)[:, None]), X[:, 1:]], format="csr")


@pytest.fixture
def in_small_blocks(monkeypatch):
    """Several shards of several blocks, and a query that is spread, from little data."""
    monkeypatch.setattr(query_blocks, "BLOCK_BYTES", 5000)
    monkeypatch.setattr(query_blocks.cut_into_blocks, "__defaults__", (5000, None))
    monkeypatch.setattr(query_blocks.block_bounds, "__defaults__", (5000,))
    monkeypatch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 20_000)


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("density", [1.0, 0.3], ids=["dense", "sparse"])
@pytest.mark.parametrize("far", [False, True], ids=["near zero", "far"])
def test_shards_on_disk_compute_what_shards_in_memory_compute(
    room, density, far, tmp_path, monkeypatch, in_small_blocks
):
    data = data_of(density, far=far)
    save_dataset(data, tmp_path / "data.linrank")
    monkeypatch.setattr(Room, "of", lambda *_: ROOMS[room])
    with Threads(2) as executor:
        results = []
        for source in (data, scan(tmp_path / "data.linrank")):
            objective = RankingObjective(SquaredHinge(), L2(), 0.5, PlacedData.of(source, executor))
            placed = objective.data
            assert placed.is_compared == far
            point = objective.at(np.linspace(-1.0, 1.0, 12))
            part = placed.part(700).part(300)
            results.append(
                [
                    [list(sizes) for sizes in placed.sizes],
                    [[(size.n_documents, size.n_queries) for size in sizes] for sizes in part.sizes],
                    point.value,
                    point.gradient.tobytes(),
                    point.hessian_product(np.ones(12)).tobytes(),
                    point.crude_hessian_diagonal().tobytes(),
                    point.sampled_hessian(placed.sample(500)).tobytes(),
                    point.toward(np.ones(12)).at(0.5),
                    RankingObjective(SquaredHinge(), L2(), 0.5, part).at(np.ones(12)).gradient.tobytes(),
                ]
            )
        kinds = {type(shard).__name__ for shard in placed.shards}
    assert results[0] == results[1]
    assert placed.shards[-1].is_spread
    assert kinds == ({"StoredShard", "ShardInMemory"} if room == "some of the data" else {"StoredShard"})


# (PRSVM keeps a list of all pairs, and takes no files.)
FROM_FILES = sorted(
    name
    for name, method in METHODS.items()
    if method.linear and issubclass(method.load(), MinimizingRanker) and method.load().reads_files and name != "prsvm"
)


@pytest.mark.parametrize("name", FROM_FILES)
def test_every_method_that_reads_files_trains_the_same_weights_from_one(name, tmp_path, monkeypatch, in_small_blocks):
    monkeypatch.setattr(Room, "of", lambda *_: ROOMS["not even scores"])
    data = data_of(weighted=False)
    save_dataset(data, tmp_path / "data.linrank")
    settings = {**METHODS[name].settings, "max_iter": 5}
    settings.pop("patience", None)
    rankers = [METHODS[name].load()(**settings) for _ in range(2)]
    for ranker, source in zip(rankers, (data, tmp_path / "data.linrank"), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ranker.fit(source)
    np.testing.assert_array_equal(rankers[0].coef_, rankers[1].coef_)
    assert rankers[0].coef_.any()


def test_what_needs_all_of_the_data_says_so(tmp_path):
    save_dataset(data_of(), tmp_path / "data.linrank")
    from linrank import AdaRank, RankSVMCV, RegRankSVM

    for ranker in (AdaRank(), RegRankSVM()):
        with pytest.raises(LinrankError, match=r"needs all of its data in memory. Load it: linrank\.read"):
            ranker.fit(tmp_path / "data.linrank")
    with pytest.raises(LinrankError, match="Pass an eval_set"):
        RankSVMCV().fit(tmp_path / "data.linrank")
    with pytest.raises(LinrankError, match="brings its own labels"):
        RankSVM().fit(tmp_path / "data.linrank", [1, 2])


def test_data_that_cannot_be_read_block_after_block_is_refused(tmp_path):
    data = data_of(weighted=False, large=False)
    shuffled = np.random.default_rng(0).permutation(data.n_documents)
    mixed = RankingDataset.from_arrays(data.features[shuffled], data.labels[shuffled], qid=data.qid[shuffled])
    save_dataset(mixed, tmp_path / "mixed.linrank")
    with pytest.raises(DataFormatError, match=r"do not stand together.*linrank convert"):
        scan(tmp_path / "mixed.linrank")
    with pytest.raises(DataFormatError, match="Convert it first"):
        scan(tmp_path / "train.txt")
    with pytest.raises(DataFormatError, match=r"nowhere\.linrank: cannot be read"):
        scan(tmp_path / "nowhere.linrank")
    save_dataset(RankingDataset.from_arrays(np.ones((3, 2)), None, qid=[1, 1, 2]), tmp_path / "unjudged.linrank")
    with pytest.raises(LinrankError, match="no labels"):
        RankSVM().fit(tmp_path / "unjudged.linrank")


@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "feature 4 is nan in row 50: no method"), (1e200, "1e\\+200 in row 50")]
)
def test_a_number_no_method_trains_on_is_found_where_it_is_read(value, message, tmp_path):
    data = data_of(weighted=False)
    X = data.features.astype(np.float64)
    X[50, 3] = value
    save_dataset(RankingDataset.from_arrays(X, data.labels, qid=data.qid), tmp_path / "bad.linrank")
    with pytest.raises(DataFormatError, match=message):
        RankSVM().fit(tmp_path / "bad.linrank")


def test_a_file_that_changes_while_it_is_read_ends_the_training(tmp_path):
    path = tmp_path / "data.linrank"
    save_dataset(data_of(), path)
    stored = scan(path)
    save_dataset(data_of(0.3), path)
    with pytest.raises(DataFormatError, match="has changed since it was opened"):
        RankSVM().fit(stored)
    save_dataset(data_of(), path)
    stored = scan(path)
    os.truncate(path, stored.arrays.stamp[0] - 100)
    os.utime(path, ns=(stored.arrays.stamp[1],) * 2)
    with pytest.raises(DataFormatError, match=r"has changed|cut short"):
        RankSVM().fit(stored)


def test_room_is_made_for_scores_first_then_for_states_then_for_data(monkeypatch):
    monkeypatch.setattr(stored_shards, "resident_bytes", lambda: 300 * 10**6)
    working = stored_shards._WORKING_BYTES
    assert Room.of(10**6, 300 * 10**6 + working + 10**9) == Room(True, False, 8 * 10**8)
    assert Room.of(10**6, 300 * 10**6 + working + 10**8) == Room(False, False, 10**8 - 40 * 10**6)
    assert Room.of(10**7, 300 * 10**6 + working + 10**8) == Room(False, True, 10**8)
    with pytest.raises(LinrankError, match=r"this process has 300 MB already.*Give it 501 MB at least"):
        Room.of(10, 400 * 10**6)


def test_amounts_of_memory_are_read_as_they_are_written():
    assert [bytes_named(text) for text in ("2GB", "512 MB", "1.5GiB", "4096", 10**9, "1kib")] == [
        2 * 10**9, 512 * 10**6, 3 * 2**29, 4096, 10**9, 1024,
    ]  # fmt: skip
    for bad in ("lots", "-1GB", "0", "2 parsecs", ""):
        with pytest.raises(LinrankError, match="write it as 2GB"):
            bytes_named(bad)


def test_reading_ahead_keeps_the_order_passes_errors_on_and_stops_when_told():
    assert list(ahead(iter(range(100)))) == list(range(100))
    fetched = []

    def items():
        for number in range(10**6):
            fetched.append(number)
            yield number

    for item in ahead(items(), depth=3):
        if item == 5:
            break
    assert len(fetched) < 12

    def failing():
        yield 1
        raise LinrankError("no more")

    reading = ahead(failing())
    assert next(reading) == 1
    with pytest.raises(LinrankError, match="no more"):
        next(reading)


def test_a_query_in_pieces_is_not_scaled_by_query(tmp_path, in_small_blocks):
    save_dataset(data_of(), tmp_path / "data.linrank")
    with pytest.raises(LinrankError, match=r"a query of 900 documents is read in pieces.* Use another scaling"):
        RankSVM().fit(scan(tmp_path / "data.linrank").scaled(QueryScaling()))


def test_numbers_that_scaling_makes_usable_are_used(tmp_path):
    data = data_of(weighted=False, large=False)
    huge = RankingDataset.from_arrays(data.features.astype(np.float64) * 1e40, data.labels, qid=data.qid)
    save_dataset(huge, tmp_path / "huge.linrank")
    scaling = fit_scaling("standard", huge)
    ranker = RankSVM().fit(scan(tmp_path / "huge.linrank").scaled(scaling))
    np.testing.assert_array_equal(ranker.coef_, RankSVM().fit(scaled(huge, scaling)).coef_)
