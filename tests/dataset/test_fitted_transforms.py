"""Transforms fitted to data: normal scores of ranks, and signed logarithms."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import ndtri

from linrank import RankingDataset, scan
from linrank.dataset import column_values as counted
from linrank.dataset.fitted_transforms import fit_transform
from linrank.dataset.scaling import scaled
from linrank.dataset.signed_log import SignedLog
from linrank.dataset.storage import save_dataset
from linrank.dataset.transform_choice import AskedTransform, choose_transform
from linrank.errors import LinrankError, UnusableNumberError

N_ROWS = 3000


def columns_of_all_kinds(dtype=np.float64, n_rows=N_ROWS):
    """Normal, heavy-tailed, zero-inflated, counted, constant, rare, with one large tie among others, of both signs."""
    rng = np.random.default_rng(0)
    uniform = rng.random(n_rows)
    columns = [
        rng.normal(size=n_rows),
        np.exp(3 * rng.normal(size=n_rows)),
        np.where(uniform < 0.8, 0.0, rng.random(n_rows)),
        rng.poisson(2, size=n_rows),
        np.full(n_rows, 7.0),
        uniform < 0.01,
        np.where(uniform < 0.5, 3.0, rng.normal(3, 2, size=n_rows)),
        rng.standard_cauchy(n_rows),
    ]
    return np.stack(columns, axis=1).astype(dtype)


def dataset_of(features):
    labels = np.random.default_rng(1).integers(0, 3, size=features.shape[0])
    sizes = [10] * (features.shape[0] // 10) + [features.shape[0] % 10] * (features.shape[0] % 10 > 0)
    return RankingDataset.from_arrays(features, labels, group=sizes)


def normal_scores(column):
    """The normal score of each value's mid-rank, as slowly as it is said."""
    scores = {}
    for value in set(column.tolist()):
        below, equal = np.sum(column < value), np.sum(column == value)
        scores[value] = ndtri((below + equal / 2) / len(column))
    return np.array([scores[value] for value in column.tolist()])


@pytest.mark.kernels
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("knots", "rms"), [(64, 0.01), (4000, 1e-12)])
def test_rank_gauss_is_the_normal_score_of_the_mid_rank(dtype, knots, rms):
    features = columns_of_all_kinds(dtype)
    fitted = fit_transform("rank-gauss", dataset_of(features), knots=knots)
    shaped = fitted.apply(features.astype(np.float64))
    for j in range(features.shape[1]):
        # But for a constant: 0 stays where it is.
        assert np.std(shaped[:, j] - normal_scores(features[:, j])) <= rms
    np.testing.assert_allclose(fitted.apply(np.zeros((1, features.shape[1]))), 0.0, atol=1e-15)


def test_curves_ascend_have_no_more_knots_than_asked_for_and_keep_constants():
    features = columns_of_all_kinds()
    fitted = fit_transform("rank-gauss", dataset_of(features), knots=20)
    for knots, values in fitted.curves():
        assert 1 <= len(knots) <= 20
        assert (np.diff(knots) > 0).all()
        assert (np.diff(values) > 0).all()
    assert fitted.curve(4)[1].tolist() == [0.0]
    # Two values are two knots; a value that half of the rows have is a knot, and all counts are.
    assert fitted.curve(5)[0].tolist() == [0.0, 1.0]
    assert 3.0 in fitted.curve(6)[0]
    assert 0.0 in fitted.curve(2)[0]
    # Beyond the training range they are as at its end.
    beyond = fitted.apply(np.stack([features.min(axis=0) - 1e6, features.min(axis=0)]))
    np.testing.assert_array_equal(beyond[0], beyond[1])


@pytest.mark.parametrize("kind", ["rank-gauss", "signed-log"])
def test_neither_the_order_of_rows_nor_the_number_of_threads_matters(kind):
    features = columns_of_all_kinds()
    shuffled = np.random.default_rng(2).permutation(features)
    first = fit_transform(kind, dataset_of(features), n_threads=1)
    for other in (fit_transform(kind, dataset_of(features), n_threads=3), fit_transform(kind, dataset_of(shuffled))):
        np.testing.assert_array_equal(first.apply(features), other.apply(features))


@pytest.mark.parametrize("kind", ["rank-gauss", "signed-log"])
@pytest.mark.parametrize("scaling", ["none", "standard", "max-abs", "auto"])
def test_sparse_data_has_the_values_of_dense_data_and_its_zeros(kind, scaling):
    features = columns_of_all_kinds()
    features[:, 4] = 0.0
    sparse = scipy.sparse.csr_array(features)
    dense_fit = fit_transform(kind, dataset_of(features), scaling=scaling)
    sparse_fit = fit_transform(kind, dataset_of(sparse), scaling=scaling)
    shaped = sparse_fit.apply(sparse)
    assert shaped.nnz == sparse.nnz
    np.testing.assert_allclose(dense_fit.apply(np.zeros((1, 8))), 0.0, atol=1e-15)
    np.testing.assert_allclose(shaped.toarray(), dense_fit.apply(features), atol=1e-12)
    if scaling == "max-abs":
        largest = np.abs(shaped.toarray()).max(axis=0)
        np.testing.assert_allclose(largest[largest > 0], 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", ["rank-gauss", "signed-log"])
def test_a_scaling_that_follows_is_part_of_the_transform(kind):
    data = dataset_of(columns_of_all_kinds())
    standard = fit_transform(kind, data, scaling="standard").apply(data.features)
    np.testing.assert_allclose(np.delete(standard, 4, axis=1).std(axis=0), 1.0, rtol=1e-9)
    least_to_most = fit_transform(kind, data, scaling="min-max").apply(data.features)
    np.testing.assert_allclose(np.ptp(np.delete(least_to_most, 4, axis=1), axis=0), 1.0, rtol=1e-12)
    with pytest.raises(LinrankError, match="scaling 'query' does not follow"):
        fit_transform(kind, data, scaling="query")


@pytest.mark.kernels
def test_a_signed_logarithm_is_in_units_of_the_median_size_and_so_without_units():
    features = columns_of_all_kinds()
    data = dataset_of(features)
    fitted = fit_transform("signed-log", data, scaling="none")
    for j, unit in enumerate(fitted.unit):
        sizes = np.abs(features[:, j])
        sizes = sizes[sizes > 0]
        assert np.sum(sizes >= unit) >= len(sizes) / 2
        assert np.sum(sizes > unit) < len(sizes) / 2
    expected = np.sign(features) * np.log1p(np.abs(features) / fitted.unit)
    np.testing.assert_allclose(fitted.apply(features), expected, rtol=1e-12)
    in_other_units = dataset_of(features * 1024.0)
    other = fit_transform("signed-log", in_other_units)
    np.testing.assert_array_equal(
        other.apply(in_other_units.features), fit_transform("signed-log", data).apply(features)
    )


@pytest.mark.parametrize("kind", ["rank-gauss", "signed-log"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_file_is_gone_through_once_in_parts_and_ranks_are_off_by_no_more_than_is_said(
    kind, sparse, tmp_path, monkeypatch
):
    monkeypatch.setattr("linrank.dataset.scaling._NUMBERS_AT_A_TIME", 1500)
    monkeypatch.setattr("linrank.dataset.scaling._ROWS_AT_A_TIME", 200)
    monkeypatch.setattr(counted, "_MOST_A_COLUMN", 256)
    monkeypatch.setattr(counted, "_ALL_HELD", 0)
    features = columns_of_all_kinds()
    data = dataset_of(scipy.sparse.csr_array(features) if sparse else features)
    save_dataset(data, tmp_path / "data.linrank")
    stored = scan(tmp_path / "data.linrank")
    exact, from_file = fit_transform(kind, data, knots=3000), fit_transform(kind, stored, knots=3000)
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(exact.apply(features), from_file.apply(features))
    np.testing.assert_allclose(exact.apply(features)[:, 3:6], from_file.apply(features)[:, 3:6], rtol=1e-9)
    if kind == "rank-gauss":
        from scipy.special import ndtr

        level = np.stack([normal_scores(column) for column in features.T], axis=1) - exact.apply(features)
        shaped = from_file.apply(features)
        shaped += np.median(exact.apply(features) - shaped, axis=0)
        off = np.abs(ndtr(exact.apply(features) + level) - ndtr(shaped + level))
        # Sixteen parts, merged in four steps, of which 256 values are held.
        assert off.max() <= (1 + 4) / 256
    # What is trained on as it is read is what it would be in memory.
    block = next(iter(scaled(stored, from_file).chunks(to_train=False)))
    expected = from_file.apply(data.features)
    np.testing.assert_array_equal(_dense(block.features), _dense(expected)[: block.n_documents])


@pytest.mark.parametrize("kind", ["rank-gauss", "signed-log"])
def test_a_file_that_can_be_held_is_fitted_to_as_the_same_data_in_memory(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("linrank.dataset.scaling._ROWS_AT_A_TIME", 200)
    monkeypatch.setattr(counted, "_MOST_A_COLUMN", 256)
    data = dataset_of(columns_of_all_kinds())
    save_dataset(data, tmp_path / "data.linrank")
    in_memory, of_file = fit_transform(kind, data), fit_transform(kind, scan(tmp_path / "data.linrank"))
    np.testing.assert_array_equal(in_memory.apply(data.features), of_file.apply(data.features))


def _dense(features):
    return features.toarray() if scipy.sparse.issparse(features) else features


@pytest.mark.kernels
@settings(max_examples=50, deadline=None)
@given(
    hnp.arrays(np.int64, st.tuples(st.integers(1, 120)), elements=st.integers(0, 30)),
    st.integers(1, 20),
    st.integers(1, 6),
)
def test_what_is_made_fewer_keeps_its_rows_its_ends_and_its_bound(numbers, most, n_parts):
    parts = [part for part in np.array_split(numbers.astype(np.float64), n_parts) if len(part)]
    fewer = counted.merged([counted.column_values(part[:, None], most=most) for part in parts]).thinned(most)
    values, counts = fewer.column(0)
    assert counts.sum() == len(numbers)
    assert (np.diff(values) > 0).all()
    assert (values[0], values[-1]) == (numbers.min(), numbers.max())
    for value in values:
        exact = np.sum(numbers < value) + np.sum(numbers == value) / 2
        kept = counts[values < value].sum() + counts[values == value].sum() / 2
        assert abs(exact - kept) <= fewer.error + 1e-9


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 40), st.just(1)),
        elements=st.floats(-1e150, 1e150, allow_subnormal=True),
    ),
    st.sampled_from(["rank-gauss", "signed-log"]),
)
def test_whatever_the_numbers_a_transform_is_finite_and_keeps_their_order(features, kind):
    fitted = fit_transform(kind, dataset_of(features), knots=5)
    shaped = fitted.apply(features)[:, 0]
    assert np.isfinite(shaped).all()
    order = np.argsort(features[:, 0], kind="stable")
    assert (np.diff(shaped[order]) >= -1e-12).all()


def test_what_cannot_be_fitted_is_refused():
    features = columns_of_all_kinds()
    features[3, 1] = np.nan
    with pytest.raises(UnusableNumberError, match="feature '2' is NaN"):
        fit_transform("rank-gauss", dataset_of(features))
    features[3, 1], features[4, 1] = 1.7e308, -1.7e308
    with pytest.raises(UnusableNumberError, match=r"feature '2' is from .* to .*: too far"):
        fit_transform("rank-gauss", dataset_of(features))
    with pytest.raises(LinrankError, match="knots=1"):
        fit_transform("rank-gauss", dataset_of(features), knots=1)
    with pytest.raises(LinrankError, match="positive unit"):
        SignedLog(np.array([0.0]), np.ones(1))


@pytest.mark.parametrize("name", ["gauss", "signed-log:3", "rank-gauss:", "rank-gauss:1", "rank-gauss:x"])
def test_a_transform_that_there_is_not_is_refused(name):
    with pytest.raises(LinrankError, match="transform"):
        AskedTransform.named(name)


@pytest.mark.kernels
def test_auto_transforms_long_tails_and_says_so():
    rng = np.random.default_rng(0)
    tails = dataset_of(np.exp(2 * rng.normal(size=(2000, 4))))
    chosen = choose_transform("auto", "auto", tails)
    assert chosen.scaling.kind == "rank-gauss"
    assert "4 of 4 features" in chosen.why
    # Zeros, however many, hide no tail.
    sparse = scipy.sparse.csr_array(tails.features * (rng.random((2000, 4)) < 0.1))
    assert choose_transform("auto", "auto", dataset_of(sparse)).scaling.kind == "rank-gauss"
    even = dataset_of(rng.random((2000, 4)))
    chosen = choose_transform("auto", "auto", even)
    assert chosen.scaling is None
    assert "no transform, auto: 0 of 4 features" in chosen.why
