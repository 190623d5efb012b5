"""What is known of a file that is not loaded is what is known of the same data in memory."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from linrank import (
    LinearModel,
    LinrankError,
    RankingDataset,
    RankSVM,
    evaluate,
    make_ranking,
    open_dataset,
    save_dataset,
    scan,
)
from linrank.dataset import scaling, stored_dataset
from linrank.dataset.scaling import choose_scaling, difference_of_units, fit_scaling, scaled
from linrank.dataset.summary import count_pairs
from linrank.dataset.unretrieved import Unretrieved
from linrank.errors import DataFormatError


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    """Several chunks, from little data."""
    monkeypatch.setattr(stored_dataset, "CHUNK_BYTES", 3000)
    monkeypatch.setattr(stored_dataset, "_BYTES_AT_A_TIME", 1000)


def data_of(kind):
    made, _ = make_ranking(60, (1, 25), 7, density=0.3 if kind == "sparse" else 1.0, random_state=3)
    rng = np.random.default_rng(0)
    made = replace(made, labels=np.round(made.labels))
    if kind == "plain":
        return replace(made, features=made.features.astype(np.float32))
    return replace(
        made,
        feature_names=tuple("abcdefg"),
        document_weights=rng.uniform(1, 2, made.n_documents),
        query_weights=rng.uniform(1, 2, made.n_queries),
        unretrieved=Unretrieved.of([[1.0] * (query % 3) for query in range(made.n_queries)]),
    )


@pytest.fixture(params=["plain", "with everything", "sparse"])
def both(request, tmp_path):
    data = data_of(request.param)
    save_dataset(data, tmp_path / "data.linrank")
    stored = scan(tmp_path / "data.linrank")
    assert len(stored.chunk_bounds()) > 3
    return data, stored


def test_chunks_are_the_data(both):
    data, stored = both
    whole = RankingDataset.joined(list(stored.chunks()))
    assert whole.fingerprint() == data.fingerprint()
    assert [part.n_features for part in stored.chunks(features=False)] == [0] * len(stored.chunk_bounds())


def test_the_fingerprint_is_that_of_the_data_in_memory(both):
    data, stored = both
    assert stored.fingerprint() == data.fingerprint() == open_dataset(stored.source).fingerprint()
    assert stored.scaled(fit_scaling("standard", data)).fingerprint() == data.fingerprint()


def test_ids_of_text_and_unjudged_data_have_their_fingerprints(tmp_path):
    named = RankingDataset.from_arrays(np.arange(12.0).reshape(6, 2), None, qid=["a", "a", "b", "b", "b", 7])
    save_dataset(named, tmp_path / "named.linrank")
    assert scan(tmp_path / "named.linrank").fingerprint() == named.fingerprint()


def test_pairs_are_counted_without_features(both, monkeypatch):
    data, stored = both
    monkeypatch.setattr(stored_dataset.StoredDataset, "raw_rows", None)
    np.testing.assert_array_equal(count_pairs(stored), count_pairs(data))


@pytest.mark.parametrize("kind", ["auto", "standard", "min-max", "max-abs", "query"])
def test_scalings_are_fitted_and_applied_as_in_memory(both, kind):
    data, stored = both
    choices = [choose_scaling(kind, source) for source in (data, stored)]
    assert str(choices[0]) == str(choices[1])
    in_memory = scaled(data, choices[0].scaling)
    on_disk = RankingDataset.joined(list(scaled(stored, choices[1].scaling).chunks()))
    assert on_disk.fingerprint() == in_memory.fingerprint()


def test_a_scaling_reads_no_more_numbers_at_a_time_than_it_says(tmp_path, monkeypatch):
    monkeypatch.setattr(scaling, "_NUMBERS_AT_A_TIME", 100)
    read, as_matrix = [], stored_dataset.as_matrix
    monkeypatch.setattr(stored_dataset, "as_matrix", lambda rows: read.append(rows.values.size) or as_matrix(rows))
    data = data_of("plain")
    save_dataset(data, tmp_path / "data.linrank")
    in_memory, on_disk = (fit_scaling("standard", one) for one in (data, scan(tmp_path / "data.linrank")))
    np.testing.assert_array_equal(on_disk.scale, in_memory.scale)
    np.testing.assert_array_equal(on_disk.shift, in_memory.shift)
    assert max(read) <= 100
    assert sum(read) == 3 * data.features.size


def test_a_file_that_is_scaled_as_it_is_read_has_features_in_one_unit(both):
    data, _ = both
    if not data.is_sparse:
        wide = replace(data, features=data.features * 10.0 ** np.arange(7))
        save_dataset(wide, (path := both[1].source))
        stored = scan(path)
        assert "times that of" in difference_of_units(stored)
        assert difference_of_units(stored.scaled(fit_scaling("standard", wide))) is None


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_scaling_of_features_that_are_missing_names_the_first(value, tmp_path):
    data = data_of("plain")
    data.features[100, 3] = value
    save_dataset(data, tmp_path / "bad.linrank")
    with pytest.raises(DataFormatError, match=f"bad.linrank: feature 4 is {value} in row 100"):
        fit_scaling("standard", scan(tmp_path / "bad.linrank"))


@pytest.mark.parametrize("kind", ["none", "standard", "query"])
def test_models_score_and_measures_measure_a_file_as_the_data_in_memory(both, kind):
    data, stored = both
    model = LinearModel(np.arange(7.0) - 2, data.names, choose_scaling(kind, data).scaling)
    scores = model.predict(data)
    np.testing.assert_array_equal(model.predict(stored), scores)
    wanted = "ndcg@1,3,10 map pairwise_accuracy"
    in_memory, on_disk = (evaluate(scores, source, wanted) for source in (data, stored))
    assert in_memory.to_dict() == on_disk.to_dict()
    assert in_memory.interval("pairwise_accuracy") == on_disk.interval("pairwise_accuracy")


def test_only_features_with_a_weight_must_be_there_to_be_scored(tmp_path):
    data = data_of("plain")
    data.features[100, 3] = np.nan
    save_dataset(replace(data, labels=None, missing="keep"), tmp_path / "unjudged.linrank")
    stored = scan(tmp_path / "unjudged.linrank")
    model = LinearModel(np.array([1.0, 2, 3, 0, 5, 6, 7]), data.names)
    np.testing.assert_array_equal(model.predict(stored), model.predict(data))
    with pytest.raises(LinrankError, match="no labels"):
        evaluate(np.zeros(data.n_documents), stored, "map")


def test_measures_that_a_file_cannot_tell_are_refused(both):
    data, stored = both
    with pytest.raises(LinrankError, match=r"broken by document ids, which are not read"):
        evaluate(np.zeros(data.n_documents), stored, "map(ties=docid)")
    with pytest.raises(LinrankError, match="scores have shape"):
        evaluate(np.zeros(3), stored, "map")


def test_more_features_than_values_justify_are_refused_unless_told(tmp_path):
    wide = sparse.csr_array(([1.0, 2.0], ([0, 1], [0, 2_999_999])), shape=(2, 3_000_000))
    save_dataset(RankingDataset.from_arrays(wide, [0.0, 1.0], qid=[1, 1]), tmp_path / "wide.linrank")
    with pytest.raises(DataFormatError, match=r"wide.linrank: says that it has 3000000 features, but there are 2 "):
        scan(tmp_path / "wide.linrank")
    assert scan(tmp_path / "wide.linrank", n_features=3_000_000).n_features == 3_000_000


def test_query_ids_that_are_no_text_are_refused_by_name(tmp_path):
    place, qid = tmp_path / "odd.linrank", ["abcd", "abcd", "efgh", "efgh"]
    save_dataset(RankingDataset.from_arrays(np.eye(4), [0.0, 1.0, 0.0, 1.0], qid=qid), place)
    content = place.read_bytes()
    as_stored = np.array(["abcd"]).tobytes()
    assert content.count(as_stored) == 1
    odd = np.frombuffer(as_stored, dtype=np.uint32).copy()
    # Half of a pair of surrogates is a text that nobody can write down.
    for letter in (0xD800, 0x7FFFFFFF):
        odd[:] = letter, 0, 0, 0
        place.write_bytes(content.replace(as_stored, odd.tobytes()))
        with pytest.raises(DataFormatError, match=r"odd.linrank: its query ids cannot be understood"):
            RankSVM().fit(scan(place))
