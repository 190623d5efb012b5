"""A model in production: what it loads, the bits of its scores, its orders, many threads at once."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import linrank
from linrank import LinearModel, LinrankError, RankingDataset, RankSVM, make_ranking, save_dataset, scan
from linrank.arrays import dense_scores
from linrank.dataset.applied_scaling import ColumnScaling, QueryScaling
from linrank.dataset.queries import Queries
from linrank.dataset.query_scaling import scaled_queries
from linrank.dataset.scaling import scaling_named

HEAVY = {"numba", "pandas", "polars", "pyarrow", "rich", "scipy", "sklearn", "threadpoolctl"}


def model_of(n_features=3, scaling=None):
    weights = np.random.default_rng(n_features).normal(size=n_features)
    return LinearModel(weights, tuple(f"f{j}" for j in range(n_features)), scaling)


def loaded_after(script, *arguments):
    """The packages that a new process has imported after running a script."""
    script += "\nimport sys; print('\\n', *{name.partition('.')[0] for name in sys.modules})"
    result = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    return set(result.stdout.splitlines()[-1].split())


SCALINGS = {
    "none": None,
    "standard": ColumnScaling("standard", np.ones(3), np.full(3, 2.0)),
    "query": QueryScaling(),
}


@pytest.mark.parametrize("scaling", SCALINGS)
def test_loading_and_scoring_import_nothing_heavy(scaling, tmp_path):
    model_of(3, SCALINGS[scaling]).save(tmp_path / "model.json")
    script = (
        "import sys, numpy as np, linrank\n"
        "model = linrank.load(sys.argv[1])\n"
        "for X in (np.eye(3), np.eye(3, dtype='f4'), np.asfortranarray(np.eye(3)), np.eye(3).tolist()):\n"
        "    model.predict(X, qid=[1, 1, 1]), model.rank(X)\n"
        "repr(model)"
    )
    assert not HEAVY & loaded_after(script, str(tmp_path / "model.json"))


def test_a_table_is_scored_with_its_own_library_and_no_more(tmp_path):
    model_of(3).save(tmp_path / "model.json")
    script = (
        "import sys, linrank, polars\n"
        "linrank.load(sys.argv[1]).predict(polars.DataFrame({f'f{j}': [1.0, 2.0] for j in range(3)}))"
    )
    assert not (HEAVY - {"polars"}) & loaded_after(script, str(tmp_path / "model.json"))


def test_load_reads_what_save_wrote(tmp_path):
    model = model_of(4)
    model.save(tmp_path / "model.json")
    again = linrank.load(tmp_path / "model.json")
    assert isinstance(again, LinearModel)
    assert again.weights.tobytes() == model.weights.tobytes()


LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
    "unaligned": lambda X: np.frombuffer(b"x" + X.tobytes(), X.dtype, offset=1).reshape(X.shape),
    "the other byte order": lambda X: X.astype(X.dtype.newbyteorder()),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_features", [1, 2, 3, 5, 8, 13, 31, 64, 136, 700])
def test_a_score_depends_on_its_document_alone(layout, dtype, n_features):
    # More rows than are converted at a time, and than NumPy has in a buffer.
    n_rows = 70_000 // n_features + 3
    rng = np.random.default_rng(n_features)
    X, weights = rng.normal(size=(n_rows, n_features)).astype(dtype), rng.normal(size=n_features)
    scores = dense_scores(LAYOUTS[layout](X), weights)
    for row in [0, 1, n_rows // 2, n_rows - 2, n_rows - 1]:
        assert dense_scores(X[[row]], weights) == scores[row]
    shuffled = rng.permutation(n_rows)
    assert dense_scores(X[shuffled], weights).tobytes() == scores[shuffled].tobytes()
    assert dense_scores(X.astype(np.float64), np.repeat(weights, 2)[::2]).tobytes() == scores.tobytes()
    np.testing.assert_allclose(scores, X.astype(np.float64) @ weights, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scaling", ["none", "standard", "query"])
def test_a_ranker_and_its_model_score_alike(scaling):
    data, _ = make_ranking(20, 10, 7)
    ranker = RankSVM().fit(data)
    model = ranker.to_model()
    assert model.predict(data).tobytes() == ranker.predict(data).tobytes()
    assert model.predict(data.features[:1]) == ranker.predict(data.features)[0]
    scaled = replace(model, scaling=scaling_named(scaling, data))
    whole = scaled.predict(data)
    for query in range(data.queries.n_queries):
        rows = data.queries.rows_of(np.array([query]))
        assert scaled.predict(data.features[rows], qid=[0] * len(rows)).tobytes() == whole[rows].tobytes()


@pytest.mark.parametrize("shift", [0.0, 3.0, 9e3, 1e9, 1e15])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_scaled_score_is_that_of_the_scaled_features(shift, dtype):
    rng = np.random.default_rng(0)
    scaling = ColumnScaling("standard", np.array([0.0, shift, -1.0]), np.array([1e-3, 1.0, 1e6]))
    X = (scaling.shift + scaling.scale * rng.normal(size=(50, 3))).astype(dtype)
    model = model_of(3, scaling)
    exact = ((X.astype(np.float64) - scaling.shift) / scaling.scale) @ model.weights
    np.testing.assert_allclose(model.predict(X), exact, atol=1e-11 if dtype == np.float64 or shift < 1e5 else 1e-6)
    centre = replace(model, scaling=replace(scaling, shift=scaling.shift.astype(dtype).astype(np.float64)))
    assert centre.predict(scaling.shift[None].astype(dtype)).tolist() == [0.0]


def test_scales_too_small_to_fold_are_divided_by():
    scaling = ColumnScaling("max-abs", np.zeros(1), np.array([1e-300]))
    assert LinearModel(np.array([1e20]), ("a",), scaling).predict(np.array([[2e-300]])).tolist() == [2e20]


def test_a_score_beyond_float64_is_refused_by_row():
    model = LinearModel(np.array([1e10, -1e10]), ("a", "b"))
    with pytest.raises(LinrankError, match="the score of row 1 leaves float64"):
        model.predict(np.array([[1.0, 1.0], [1e300, 1e300]]))


AWKWARD = st.sampled_from([0.0, 1.0, -1.5, 0.1, 1e308, -1e308, np.inf, -np.inf, np.nan])


@given(values=st.lists(st.tuples(AWKWARD, AWKWARD), min_size=1, max_size=6), dtype=st.sampled_from(["f8", "f4"]))
def test_one_query_is_scaled_as_many_are(values, dtype):
    with np.errstate(over="ignore"):
        X = np.array(values).astype(dtype)
    queries = Queries.from_ids([1] * len(X))
    alone, among = QueryScaling().apply(X, queries), scaled_queries(X, queries)
    assert alone.dtype == dtype
    np.testing.assert_array_equal(alone, among)


def test_many_threads_score_with_one_model():
    rng = np.random.default_rng(0)
    model = model_of(50, ColumnScaling("standard", np.ones(50), np.full(50, 2.0)))
    data = [rng.normal(size=(200 + k, 50)).astype(np.float32 if k % 2 else np.float64) for k in range(40)]
    expected = [(model.predict(X), model.rank(X)) for X in data]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda k: (model.predict(data[k % 40]), model.rank(data[k % 40])), range(400)))
    for k, (scores, order) in enumerate(found):
        assert scores.tobytes() == expected[k % 40][0].tobytes()
        assert order.tolist() == expected[k % 40][1].tolist()


def ranked_plainly(scores, qid):
    queries = list(dict.fromkeys(qid))
    return sorted(range(len(scores)), key=lambda row: (queries.index(qid[row]), -scores[row], row))


@given(rows=st.lists(st.tuples(st.sampled_from("abc"), st.integers(-2, 2)), max_size=12))
def test_rank_is_query_after_query_the_best_first_and_ties_by_row(rows):
    model = LinearModel(np.array([2.0]), ("a",))
    qid, X = [query for query, _ in rows], np.array([[float(value)] for _, value in rows]).reshape(-1, 1)
    assert model.rank(X).tolist() == ranked_plainly(X[:, 0], [0] * len(X))
    assert model.rank(X, qid=qid).tolist() == ranked_plainly(X[:, 0], qid)
    assert model.rank(X, Queries.from_ids(qid)).tolist() == ranked_plainly(X[:, 0], qid)


def test_rank_takes_what_predict_takes(tmp_path):
    data, weights = make_ranking(6, 5, 3)
    model = LinearModel(weights, ("a", "b", "c"))
    expected = ranked_plainly(model.predict(data.features), data.qid.tolist())
    named = replace(data, feature_names=("a", "b", "c"))
    save_dataset(named, tmp_path / "data.linrank")
    frame = pd.DataFrame(data.features, columns=["a", "b", "c"])[["c", "a", "b"]]
    assert model.rank(named).tolist() == expected
    assert model.rank(scan(tmp_path / "data.linrank")).tolist() == expected
    assert model.rank(frame, qid=data.qid).tolist() == expected
    assert model.rank(sparse.csr_array(data.features), qid=data.qid).tolist() == expected


def test_rank_scales_all_rows_as_one_query_where_none_is_named():
    X = np.array([[1.0, 5.0], [3.0, 4.0], [2.0, 9.0]])
    model = LinearModel(np.array([1.0, 0.25]), ("a", "b"), QueryScaling())
    assert model.rank(X).tolist() == ranked_plainly(model.predict(X, qid=[7, 7, 7]), [7, 7, 7])
    assert model.rank(X[:0]).tolist() == []
    with pytest.raises(LinrankError, match="there are 3 rows, but the queries have 2"):
        model_of(2).rank(X, qid=[1, 1])


def test_a_chunked_file_is_ranked_by_the_rows_of_the_whole(tmp_path, monkeypatch):
    data, weights = make_ranking(6, 5, 3)
    save_dataset(data, tmp_path / "data.linrank")
    stored = scan(tmp_path / "data.linrank")
    monkeypatch.setattr(type(stored), "chunk_bounds", lambda self: [(0, 2), (2, 6)])
    model = LinearModel(weights, data.names)
    assert model.rank(stored).tolist() == model.rank(data).tolist()


def test_a_dataset_keeps_its_order_of_queries():
    data = RankingDataset.from_arrays([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], qid=["b", "a", "b", "a"])
    assert LinearModel(np.array([1.0]), ("1",)).rank(data).tolist() == [2, 0, 3, 1]
