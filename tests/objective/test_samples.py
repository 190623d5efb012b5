"""Samples are the same queries wherever these stand, and stand for all."""

import numpy as np
import pytest

from linrank import RankingDataset, make_ranking, save_dataset, scan
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.executors.local import Threads
from linrank.objective.placement import PlacedData
from linrank.objective.stored_shards import Room

SIZES = np.random.default_rng(0).integers(1, 30, 500)


def data_of(order, sizes=SIZES):
    """Documents whose first feature is the number of their query, the queries in this order."""
    numbers = np.repeat(order, sizes[order])
    X = np.column_stack([numbers, np.arange(len(numbers))]).astype(np.float64)
    return RankingDataset.from_arrays(X, numbers % 3, qid=numbers, query_weights=np.ones(len(order)))


def placed(data, block_bytes=1 << 21):
    return PlacedData.of_blocks(cut_into_blocks(data, block_bytes), 2, Threads(1))


def queries_of(blocks):
    return sorted(int(number) for block in blocks for number in block.features.to_dense()[block.query_starts[:-1], 0])


def blocks_of(data):
    return [one.block for shard in data.shards for one in shard]


@pytest.mark.parametrize("n_documents", [1, 200, 2000, 10**6])
@pytest.mark.parametrize("thin", [True, False])
def test_a_sample_is_the_same_queries_in_whatever_order_and_blocks(n_documents, thin):
    order = np.random.default_rng(1).permutation(len(SIZES))
    one, other = placed(data_of(np.arange(len(SIZES)))), placed(data_of(order), 1000)
    samples = [data.sample(n_documents, thin=thin) for data in (one, other)]
    first, second = (queries_of(block for block, _ in sample.blocks) for sample in samples)
    assert first == second
    assert len(first) == len(set(first)) >= 8
    # Of so few documents, at least eight queries.
    expected = max(200, min(n_documents, one.n_documents))
    assert samples[0].n_documents == pytest.approx(expected, rel=0.3, abs=110)
    for sample in samples:
        stands_for = sum(scale * block.n_documents for block, scale in sample.blocks)
        assert stands_for == pytest.approx(one.n_documents)


def test_a_part_of_a_part_is_the_same_queries_and_weighs_as_much_as_all():
    order = np.random.default_rng(1).permutation(len(SIZES))
    one, other = placed(data_of(np.arange(len(SIZES)))), placed(data_of(order), 1000)
    parts = [data.part(4000).part(1000) for data in (one, other)]
    assert queries_of(blocks_of(parts[0])) == queries_of(blocks_of(parts[1]))
    assert set(queries_of(blocks_of(parts[0]))) <= set(queries_of(blocks_of(one.part(4000))))
    assert parts[0].n_documents == pytest.approx(1000, rel=0.3)
    for part in parts:
        weights = sum(block.query_weights @ np.diff(block.query_starts) for block in blocks_of(part))
        assert weights == pytest.approx(one.n_documents)
    # Many blocks, few queries of each: they are put together.
    assert len(blocks_of(parts[1])) < len(blocks_of(other)) / 2


def test_of_data_on_disk_the_queries_that_are_taken_are_read_and_no_others(tmp_path, monkeypatch):
    data = data_of(np.arange(len(SIZES)))
    save_dataset(data, tmp_path / "data.linrank")
    monkeypatch.setattr(Room, "of", lambda *_: Room(remembers=False, spills=False, for_data=0))
    stored = scan(tmp_path / "data.linrank")
    with Threads(1) as executor:
        on_disk = PlacedData.of(stored, executor).part(1000)
        in_memory = PlacedData.of(data, executor).part(1000)
    rows = []
    read = type(stored).rows
    monkeypatch.setattr(
        type(stored),
        "rows",
        lambda self, opened, runs, *rest: rows.extend(b - a for a, b in runs) or read(self, opened, runs, *rest),
    )
    judged = [one.block for shard in on_disk.shards for one in shard.judged()]
    assert rows == []
    blocks = blocks_of(on_disk)
    assert sum(rows) == on_disk.n_documents == in_memory.n_documents
    for block, same, without_features in zip(blocks, blocks_of(in_memory), judged, strict=True):
        np.testing.assert_array_equal(block.features.to_dense(), same.features.to_dense())
        for name in ("labels", "levels", "level_counts", "query_starts", "document_weights", "query_weights"):
            np.testing.assert_array_equal(getattr(block, name), getattr(same, name))
            np.testing.assert_array_equal(getattr(without_features, name), getattr(same, name))


def test_a_sample_of_some_folds_is_no_smaller_than_one_of_others():
    data, _ = make_ranking(2000, 5, 2)
    for training, _ in data.folds(5):
        assert placed(training).sample(1000).n_documents == pytest.approx(1000, rel=0.25)
