"""States of parts averaged after each pass: what the average is, and how near it comes to one learner."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.random import PCG64, Generator

from linrank import LinrankError, MinBatSRank, make_ranking, save_dataset, scan
from linrank.dataset import stored_dataset
from linrank.online.ftrl import FTRL, FTRLState
from linrank.online.queries_by_label import QueriesByLabel


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    made, _ = make_ranking(400, (3, 25), 12)
    path = tmp_path_factory.mktemp("parts") / "train.linrank"
    save_dataset(made, path)
    return made, path


@pytest.mark.parametrize("settings", [{}, {"l1": 50.0}, {"feature_rates": False, "learning_rate": 1e-4}], ids=str)
def test_one_part_in_the_order_given_is_one_learner(data, settings):
    one = MinBatSRank(shuffle=False, **settings).fit(data[1])
    averaged = MinBatSRank(shuffle=False, parts=1, **settings).fit(data[1])
    np.testing.assert_array_equal(averaged.coef_, one.coef_)
    assert (averaged.objective_, averaged.n_iter_, averaged.n_parts_) == (one.objective_, one.n_iter_, 1)


def test_states_are_averaged_by_their_batches(data):
    """The slow way: each part as data of its own, learnt from by a learner of its own, and then the formula."""
    made, path = data
    starts = made.queries.starts
    bounds = np.searchsorted(starts, np.linspace(0, made.n_documents, 4))
    method, loss = FTRL(30.0 / 3, 0.1), 0.0
    z, squares, weights = np.zeros((3, 12))
    for _ in range(2):
        states = []
        for first, stop in pairwise(bounds):
            state = FTRLState(
                z.copy(), squares.copy(), weights.copy(), np.zeros(1, dtype=np.int64), Generator(PCG64(0))
            )
            part = made.subset(np.arange(first, stop))
            loss = loss + method.learn(state, QueriesByLabel.of(part), np.arange(part.n_queries)).loss
            states.append(state)
        counts = [state.batches for state in states]
        z = sum(count * state.z for count, state in zip(counts, states, strict=True)) / sum(counts)
        squares = sum(count * state.squares for count, state in zip(counts, states, strict=True)) / sum(counts)
        weights = np.where(np.abs(z) > 10.0, -0.1 / np.sqrt(1.0 + squares) * (z - np.sign(z) * 10.0), 0.0)
    ranker = MinBatSRank(l1=30.0, parts=3, passes=2, shuffle=False).fit(path)
    np.testing.assert_allclose(ranker.coef_, weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ranker.state_.squares, squares, rtol=1e-9)
    assert sum(line.loss for line in ranker.history_) == pytest.approx(loss)
    assert ranker.n_iter_ == 2 * sum(counts)


@pytest.mark.parametrize("n_parts", [2, 8])
@pytest.mark.parametrize("l1", [1.0, 300.0])
def test_it_ranks_about_as_well_as_one_learner_with_about_as_many_features(data, n_parts, l1):
    made, path = data
    one = MinBatSRank(l1=l1).fit(path)
    averaged = MinBatSRank(l1=l1, parts=n_parts).fit(path)
    assert averaged.score(made) > one.score(made) - 0.01
    assert abs(averaged.n_features_used_ - one.n_features_used_) <= 2
    # Another algorithm, and it shows.
    assert (averaged.coef_ != one.coef_).any()


def test_a_seed_gives_the_same_weights_and_another_one_others(data, monkeypatch):
    monkeypatch.setattr(stored_dataset, "CHUNK_BYTES", 5000)
    first, again, other = (MinBatSRank(parts=4, batch_pairs=5, random_state=seed).fit(data[1]) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.coef_, again.coef_)
    assert (first.coef_ != other.coef_).any()


def test_parts_without_a_pair_count_for_nothing(tmp_path):
    from linrank import RankingDataset

    made, _ = make_ranking(40, 10, 5)
    labels = made.labels.copy()
    labels[200:] = 1.0
    save_dataset(RankingDataset.from_arrays(made.features, labels, qid=made.qid), tmp_path / "half.linrank")
    half = made.subset(np.arange(20))
    save_dataset(half, tmp_path / "whole.linrank")
    with_idle = MinBatSRank(l1=2.0, parts=2, shuffle=False).fit(tmp_path / "half.linrank")
    alone = MinBatSRank(l1=1.0, parts=1, shuffle=False).fit(tmp_path / "whole.linrank")
    np.testing.assert_array_equal(with_idle.coef_, alone.coef_)
    labels[:] = 1.0
    save_dataset(RankingDataset.from_arrays(made.features, labels, qid=made.qid), tmp_path / "none.linrank")
    assert not MinBatSRank(parts=2).fit(tmp_path / "none.linrank").coef_.any()


def test_a_folder_of_parquet_files_is_gone_through_as_often_as_asked(data, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    made = data[0]
    frame = pandas.DataFrame(made.features, columns=[f"f{number}" for number in range(12)])
    frame = frame.assign(label=made.labels, qid=made.queries.of_rows())
    for number, part in frame.groupby(frame["qid"] * 3 // 400):
        part.to_parquet(tmp_path / f"part-{number}.parquet")
    in_memory = MinBatSRank(shuffle=False).fit(made)
    np.testing.assert_array_equal(MinBatSRank(shuffle=False).fit(scan(tmp_path)).coef_, in_memory.coef_)
    assert MinBatSRank(parts=8).fit(scan(tmp_path)).n_parts_ == 3


def test_what_cannot_be_cut_is_refused(data):
    with pytest.raises(LinrankError, match="parts are of data in files"):
        MinBatSRank(parts=2).fit(data[0])
    with pytest.raises(LinrankError, match="parts=0; use a whole number"):
        MinBatSRank(parts=0).fit(data[1])
