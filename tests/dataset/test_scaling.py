import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linrank import LinrankError, RankingDataset, make_ranking
from linrank.dataset.scaling import SCALINGS, choose_scaling, column_ranges, fit_scaling, rows_at
from strategies import datasets

pytestmark = pytest.mark.kernels
KINDS = ["standard", "min-max", "max-abs", "query"]


def dense(X):
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def scaled_plainly(kind, data):
    X = dense(data.features)
    if kind == "query":
        out = np.zeros_like(X)
        for query in data.queries.ids:
            rows = data.qid == query
            least, most = X[rows].min(axis=0), X[rows].max(axis=0)
            out[rows] = (X[rows] - least) / np.where(most > least, most - least, 1)
        return out
    if kind == "standard":
        shift, scale = X.mean(axis=0), X.std(axis=0)
    elif kind == "min-max":
        shift, scale = X.min(axis=0), np.ptp(X, axis=0)
    else:
        shift, scale = 0.0, np.abs(X).max(axis=0)
    return (X - shift) / np.where(scale > 1e-12, scale, 1.0)


@given(data=datasets(), with_missing=st.booleans())
def test_ranges_of_columns_are_those_of_the_written_out_rows(data, with_missing):
    """Of sparse rows too, where zeros are not held and a missing value stays missing; of any neighbouring rows."""
    values = data.features.data if data.is_sparse else data.features
    if with_missing and data.is_sparse and len(values):
        values[::3] = np.nan
    for place in (slice(0, len(data)), slice(len(data) // 2, len(data))):
        (rows,) = rows_at(data, place)
        expected = dense(data.features)[place]
        for found, wanted in zip(column_ranges(rows), (expected.min(axis=0), expected.max(axis=0)), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_neighbouring_sparse_rows_are_a_view():
    data, _ = make_ranking(6, 5, 4, density=0.4)
    (rows,) = rows_at(data, slice(20, 25))
    assert np.shares_memory(rows.data, data.features.data)
    assert np.shares_memory(rows.indices, data.features.indices)
    np.testing.assert_array_equal(dense(rows), dense(data.features)[20:25])


@pytest.mark.parametrize("kind", KINDS)
@given(data=datasets())
def test_differences_within_a_query_are_as_by_definition(kind, data):
    before = dense(data.features).copy()
    scaled = fit_scaling(kind, data).apply(data.features, data.queries)
    assert scaled.dtype == data.features.dtype
    assert sparse.issparse(scaled) == sparse.issparse(data.features)
    np.testing.assert_array_equal(dense(data.features), before)
    ours, plain = dense(scaled), scaled_plainly(kind, data)
    for query in data.queries.ids:
        rows = np.flatnonzero(data.qid == query)
        expected = plain[rows] - plain[rows[0]]
        np.testing.assert_allclose(ours[rows] - ours[rows[0]], expected, atol=2e-5 if scaled.dtype == "f4" else 1e-9)
    if not sparse.issparse(scaled):
        np.testing.assert_allclose(ours, plain, atol=2e-5 if scaled.dtype == "f4" else 1e-9)


@pytest.mark.parametrize("kind", KINDS[:3])
@pytest.mark.parametrize("density", [1.0, 0.3])
def test_folded_weights_rank_raw_features_as_the_weights_rank_scaled_ones(kind, density):
    data, weights = make_ranking(5, 20, 8, density=density)
    scaling = fit_scaling(kind, data)
    scaled, raw = scaling.apply(data.features) @ weights, data.features @ scaling.fold(weights)
    np.testing.assert_allclose(scaled - scaled[0], raw - raw[0], atol=1e-10)


def test_a_scaling_fitted_on_one_set_applies_to_another():
    train = RankingDataset.from_arrays([[0.0], [10.0]], [0, 1], qid=[1, 1])
    assert fit_scaling("min-max", train).apply(np.array([[5.0], [20.0]])).tolist() == [[0.5], [2.0]]


def test_misuse_is_refused():
    data, weights = make_ranking(2, 3, 4)
    with pytest.raises(LinrankError, match="cannot be folded"):
        fit_scaling("query", data).fold(weights)
    with pytest.raises(LinrankError, match="Pass qid"):
        fit_scaling("query", data).apply(data.features)
    with pytest.raises(LinrankError, match="fitted on 4 features, but there are 3"):
        fit_scaling("standard", data).apply(data.features[:, :3])
    with pytest.raises(LinrankError, match="unknown scaling 'z'"):
        fit_scaling("z", data)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_constant_column_is_left_as_it_is(make, kind):
    data = RankingDataset.from_arrays(
        make(np.column_stack([np.full(300, 0.1), np.arange(300.0)])), np.arange(300), qid=[1] * 300
    )
    assert fit_scaling(kind, data).scale[0] == 1.0


def test_auto_leaves_comparable_features_alone_and_says_so():
    data, _ = make_ranking(5, 20, 4, skew=False)
    choice = choose_scaling("auto", data)
    assert choice.scaling is None
    assert str(choice).startswith("none (auto: the widest feature's range is 1.")


@pytest.mark.parametrize("density", [1.0, 0.4])
@pytest.mark.parametrize("factor", [1e-300, 1e-9, 1e5, 1e9, 1e300])
def test_auto_scales_features_of_other_units_and_says_which(density, factor):
    data, _ = make_ranking(5, 20, 4, density=density, skew=False)
    features = data.features @ np.diag([1.0, factor, 1.0, 1.0])
    features = sparse.csr_array(features) if density < 1 else features
    named = RankingDataset.from_arrays(features, data.labels, qid=data.qid, feature_names=["a", "clicks", "b", "c"])
    choice = choose_scaling("auto", named)
    assert choice.scaling.kind == ("max-abs" if density < 1 else "standard")
    assert "'clicks'" in choice.why
    assert np.ptp(dense(choice.scaling.apply(features)), axis=0).max() < 20


def test_auto_takes_no_notice_of_a_column_that_never_varies():
    data = RankingDataset.from_arrays([[1.0, 1e30], [2.0, 1e30], [3.0, 1e30]], [0, 1, 2], qid=[1, 1, 1])
    assert choose_scaling("auto", data).scaling is None
    assert choose_scaling("auto", RankingDataset.from_arrays([[1.0], [1.0]], [0, 1], qid=[1, 1])).scaling is None


def test_every_name_is_known_and_no_other():
    data, weights = make_ranking(3, 5, 4)
    for name in SCALINGS:
        choose_scaling(name, data)
    with pytest.raises(LinrankError, match="unknown scaling 'z-score'; use one of auto, none, standard"):
        choose_scaling("z-score", data)
    scaling = choose_scaling("standard", data).scaling
    np.testing.assert_allclose(scaling.unfold(scaling.fold(weights)), weights, rtol=1e-15)


def test_the_command_line_offers_every_scaling():
    from linrank.cli import methods

    assert methods.SCALINGS == SCALINGS


@pytest.mark.parametrize("matrix", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_column_too_large_to_be_scaled_is_named(matrix):
    features = matrix([[1.0, 1.7e308], [2.0, -1.7e308], [3.0, 0.0]])
    data = RankingDataset.from_arrays(features, [1, 2, 3], qid=[1, 1, 1], feature_names=["a", "b"])
    with pytest.raises(
        LinrankError, match=r"feature 'b' is from -1\.7e\+308 to 1\.7e\+308: too far for min-max scaling"
    ):
        fit_scaling("min-max", data)
