"""Rankers score files that are not loaded, and online ones learn from them, chunk after chunk."""

import numpy as np
import pytest

from linrank import (
    EGDM,
    LinrankError,
    MinBatSRank,
    NDCGReduction,
    RandomForest,
    RankingDataset,
    RankSVM,
    feature_path,
    make_ranking,
    save_dataset,
    scan,
)
from linrank.dataset import stored_dataset


@pytest.fixture
def both(tmp_path, monkeypatch):
    """Data in memory, and the path of a file with the same, of several chunks."""
    monkeypatch.setattr(stored_dataset, "CHUNK_BYTES", 8000)
    data, _ = make_ranking(60, (5, 25), 7, skew=False)
    path = tmp_path / "data.linrank"
    save_dataset(data, path)
    assert len(scan(path).chunk_bounds()) > 3
    return data, path


@pytest.mark.parametrize(
    "ranker",
    [RankSVM(), MinBatSRank(passes=1), RandomForest(n_trees=3), NDCGReduction(n_rounds=1)],
    ids=lambda ranker: type(ranker).__name__,
)
def test_scores_of_a_file_are_those_of_the_data_in_memory(ranker, both):
    data, path = both
    ranker.fit(data)
    scores = ranker.predict(data)
    np.testing.assert_array_equal(ranker.predict(path), scores)
    np.testing.assert_array_equal(ranker.predict(scan(path)), scores)
    assert ranker.score(path) == ranker.score(data)


def test_without_shuffling_minbatsrank_learns_from_a_file_what_it_learns_in_memory(both):
    data, path = both
    in_memory, on_disk = (MinBatSRank(shuffle=False, batch_pairs=5).fit(source) for source in (data, path))
    np.testing.assert_array_equal(on_disk.coef_, in_memory.coef_)
    assert on_disk.n_iter_ == in_memory.n_iter_
    np.testing.assert_allclose(on_disk.objective_, in_memory.objective_)
    assert [line.pairs for line in on_disk.history_] == [line.pairs for line in in_memory.history_]


def test_shuffled_minbatsrank_takes_chunks_and_their_queries_in_an_order_drawn_by_the_seed(both):
    data, path = both
    rankers = [MinBatSRank(random_state=seed, passes=2).fit(path) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(rankers[0].coef_, rankers[1].coef_)
    assert (rankers[0].coef_ != rankers[2].coef_).any()
    # The oracle: the same queries, in the order that its generator draws.
    expected = MinBatSRank(random_state=1).partial_fit(data.subset([0]))
    expected._begin(data.n_features)
    bounds = np.array(scan(path).chunk_bounds())
    for _ in range(2):
        for first, stop in expected.state_.random.permutation(bounds):
            for query in expected.state_.random.permutation(np.arange(stop - first)):
                expected.partial_fit(data.subset([first + query]))
    np.testing.assert_array_equal(rankers[0].coef_, expected.coef_)


def test_partial_fit_goes_through_a_file_once(both):
    data, path = both
    in_memory = MinBatSRank().partial_fit(data)
    np.testing.assert_array_equal(MinBatSRank().partial_fit(path).coef_, in_memory.coef_)
    goes_on = MinBatSRank().fit(path).partial_fit(scan(path))
    assert goes_on.n_iter_ == 6 * in_memory.n_iter_
    by_hand = EGDM()
    for chunk in scan(path).chunks():
        by_hand.partial_fit(chunk)
    np.testing.assert_array_equal(EGDM().partial_fit(path).coef_, by_hand.coef_)
    with pytest.raises(LinrankError, match="pass nothing beside it"):
        EGDM().partial_fit(path, [1])


def test_a_file_with_other_columns_is_refused(both, tmp_path):
    data, path = both
    ranker = RankSVM().fit(path)
    narrow = RankingDataset.from_arrays(data.features[:, :5], data.labels, qid=data.qid, feature_names="abcde")
    save_dataset(narrow, tmp_path / "narrow.linrank")
    with pytest.raises(LinrankError, match="the data has 5 features, but RankSVM was trained on 7"):
        ranker.predict(tmp_path / "narrow.linrank")


def test_a_folder_of_parquet_is_scored_and_learnt_from_file_by_file(both, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    data, _ = both
    parts = [data.subset(np.arange(0, 20)), data.subset(np.arange(20, 60))]
    (folder := tmp_path / "parts").mkdir()
    for number, part in enumerate(parts):
        parquet.write_table(pa.Table.from_pandas(part.to_frame()), folder / f"{number}.parquet")
    expected = MinBatSRank().partial_fit(data)
    ranker = MinBatSRank().partial_fit(folder)
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)
    np.testing.assert_array_equal(ranker.predict(folder), expected.predict(data))
    assert ranker.score(folder) == ranker.score(data)
    fitted = MinBatSRank(shuffle=False).fit(folder)
    np.testing.assert_array_equal(fitted.coef_, MinBatSRank(shuffle=False).fit(data).coef_)
    with pytest.raises(LinrankError, match=r"a path takes a .linrank file"):
        feature_path(folder)
