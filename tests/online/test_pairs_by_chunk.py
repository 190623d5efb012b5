"""SampledPairSGD on files: pairs are drawn chunk after chunk, from each its share."""

import re
import weakref

import numpy as np
import pytest

from linrank import RankingDataset, SampledPairSGD, make_ranking, save_dataset, scan
from linrank.dataset import stored_dataset
from linrank.dataset.scaling import fit_scaling, scaled
from linrank.dataset.stored_dataset import StoredDataset
from linrank.executors.pieces import Pieces
from linrank.measures import NDCG
from linrank.online.pairs_by_chunk import ChunksOfPairs
from linrank.online.queries_by_label import QueriesByLabel
from linrank.online.sampled_pairs import PairSampler, SampledState

MADE, _ = make_ranking(450, (5, 25), 7, skew=False)
SETTINGS = [{}, {"sampling": "queries", "loss": "logistic"}, {"learning_rate": 0.005}]


@pytest.fixture
def both(tmp_path, monkeypatch):
    """Data in memory, weighted, and the path of a file with the same, of several chunks."""
    monkeypatch.setattr(stored_dataset, "CHUNK_BYTES", 20_000)
    made = MADE.subset(np.arange(150))
    random = np.random.default_rng(0)
    data = RankingDataset.from_arrays(
        made.features, made.labels, qid=made.qid, query_weights=random.uniform(0.5, 2.0, 150),
        document_weights=random.choice([0.0, 1.0, 2.0], made.n_documents),
    )  # fmt: skip
    save_dataset(data, tmp_path / "data.linrank")
    assert len(scan(tmp_path / "data.linrank").chunk_bounds()) > 4
    return data, tmp_path / "data.linrank"


def chunks_of(path, *, by_query=False):
    (whole,) = Pieces.of(scan(path), n_pieces=1)
    return ChunksOfPairs.of(whole, by_query=by_query)


@pytest.mark.parametrize("by_query", [False, True], ids=["pairs", "queries"])
def test_chunks_weigh_together_what_the_pairs_in_memory_do(both, by_query):
    data, path = both
    chunks = chunks_of(path, by_query=by_query)
    expected = PairSampler.of(QueriesByLabel.of(data), by_query=by_query).weight
    np.testing.assert_allclose(chunks.weight, expected)
    bounds = scan(path).chunk_bounds()
    for (first, stop), weight in zip(bounds, chunks.weights, strict=True):
        part = QueriesByLabel.of(data.subset(np.arange(first, stop)))
        assert PairSampler.of(part, by_query=by_query).weight == weight


@pytest.mark.parametrize("n_pairs", [1, 3, 7, 1000])
def test_each_chunk_is_dealt_its_share_rounded_and_on_average_exactly(n_pairs):
    weights = np.array([5.0, 0.0, 1.0, 0.25, 3.0, 0.0])
    chunks, total = ChunksOfPairs(None, weights), np.zeros(6)
    orders = set()
    for seed in range(3000):
        order, counts = chunks.deal(n_pairs, np.random.default_rng(seed))
        assert counts.sum() == n_pairs
        assert (counts > 0).all()
        dealt = np.zeros(6)
        dealt[order] = counts
        assert (np.abs(dealt - n_pairs * weights / weights.sum()) < 1.0).all()
        total += dealt
        orders.add(tuple(order.tolist()))
    np.testing.assert_allclose(total / 3000, n_pairs * weights / weights.sum(), atol=0.04)
    assert len(orders) > 3


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_weights_are_those_of_chunks_in_memory_dealt_alike(both, settings):
    data, path = both
    ranker = SampledPairSGD(0.01, 3001, random_state=1, **settings).fit(path)
    method = ranker._method()
    chunks = chunks_of(path, by_query=method.by_query)
    state = SampledState.new(7, int(np.random.RandomState(1).randint(2**31 - 1)))
    parts = [data.subset(np.arange(first, stop)) for first, stop in scan(path).chunk_bounds()]
    for turns in method.stretches(1.0):
        for number, n_pairs in zip(*chunks.deal(len(turns), state.random.spawn(1)[0]), strict=True):
            sampler = PairSampler.of(QueriesByLabel.of(parts[number]), by_query=method.by_query)
            method.learn(state, sampler, range(n_pairs))
    np.testing.assert_array_equal(ranker.coef_, state.weights)
    assert ranker.n_iter_ == 3001
    assert [line.batches for line in ranker.history_] == [turns.stop for turns in method.stretches(1.0)]


def test_the_seed_decides(both):
    weights = [SampledPairSGD(steps=500, random_state=seed).fit(both[1]).coef_ for seed in (1, 1, 2)]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert (weights[0] != weights[2]).any()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_single_chunk_is_learnt_from_as_in_memory(both, monkeypatch, settings):
    monkeypatch.setattr(stored_dataset, "CHUNK_BYTES", 1 << 25)
    data, path = both
    in_memory, on_disk = (SampledPairSGD(steps=2000, **settings).fit(source) for source in (data, path))
    np.testing.assert_array_equal(on_disk.coef_, in_memory.coef_)
    assert on_disk.objective_ == in_memory.objective_


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_it_ranks_as_well_as_in_memory(both, settings):
    data, path = both
    test = MADE.subset(np.arange(150, 450))
    in_memory, on_disk = (SampledPairSGD(0.01, 20_000, **settings).fit(source) for source in (data, path))
    values = [(NDCG @ 10).mean(ranker.predict(test), test) for ranker in (in_memory, on_disk)]
    assert min(values) > 0.9
    assert abs(values[0] - values[1]) < 0.01
    np.testing.assert_allclose(on_disk.objective_, in_memory.objective_, rtol=0.2)


def test_a_stretch_reads_every_chunk_once_and_holds_one_while_it_reads_the_next(both, monkeypatch):
    path, read, held = both[1], [], []
    rows = StoredDataset.rows

    def counted(self, opened, runs, *rest, **more):
        assert sum(chunk() is not None for chunk in held) <= 1
        read.append(runs[0])
        features = rows(self, opened, runs, *rest, **more)
        held.append(weakref.ref(features.values))
        return features

    monkeypatch.setattr(StoredDataset, "rows", counted)
    SampledPairSGD(steps=20_000).fit(path)
    stored = scan(path)
    chunks = [(int(stored.starts[first]), int(stored.starts[stop])) for first, stop in stored.chunk_bounds()]
    stretches = [read[k : k + len(chunks)] for k in range(0, len(read), len(chunks))]
    assert len(stretches) == 20
    assert all(sorted(stretch) == chunks for stretch in stretches)
    assert len({tuple(stretch) for stretch in stretches}) > 10
    read.clear()
    # A chunk from which no pair is drawn is not read.
    SampledPairSGD(steps=3).fit(path)
    assert len(read) == 3


def test_features_are_scaled_as_they_are_read(both, tmp_path):
    data, path = both
    scaling = fit_scaling("standard", data)
    save_dataset(scaled(data, scaling), tmp_path / "scaled.linrank")
    expected = SampledPairSGD(steps=2000).fit(tmp_path / "scaled.linrank")
    np.testing.assert_allclose(SampledPairSGD(steps=2000).fit(scan(path).scaled(scaling)).coef_, expected.coef_)


def test_a_folder_of_parquet_is_learnt_from_file_by_file(both, tmp_path):
    pytest.importorskip("pyarrow")
    data = MADE.subset(np.arange(150))
    (folder := tmp_path / "parts").mkdir()
    for number, part in enumerate((np.arange(40), np.arange(40, 150))):
        data.subset(part).to_frame().to_parquet(folder / f"{number}.parquet")
    in_memory, on_disk = (SampledPairSGD(0.01, 20_000).fit(source) for source in (data, folder))
    assert (on_disk.coef_ != in_memory.coef_).any()
    cosine = on_disk.coef_ @ in_memory.coef_ / np.linalg.norm(on_disk.coef_) / np.linalg.norm(in_memory.coef_)
    assert cosine > 0.99


def test_without_pairs_nothing_is_learnt_and_said(tmp_path):
    data, _ = make_ranking(5, 4, 3)
    save_dataset(RankingDataset.from_arrays(data.features, np.ones(20), qid=data.qid), tmp_path / "none.linrank")
    with pytest.warns(UserWarning, match=re.escape("no query has two documents with different labels")):
        assert not SampledPairSGD().fit(tmp_path / "none.linrank").coef_.any()
