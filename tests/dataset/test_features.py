import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from linrank.dataset.features import DenseFeatures, SparseFeatures, as_features
from strategies import datasets

pytestmark = pytest.mark.kernels


def dense(X):
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


@given(datasets(max_documents=12, max_features=9))
def test_products_equal_numpys_in_float64(data):
    features = as_features(data.features)
    weights = np.linspace(-1, 2, data.n_features)
    slopes = np.linspace(3, -1, data.n_documents)
    X = dense(data.features)
    np.testing.assert_allclose(features.product(weights, np.empty(len(X))), X @ weights, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(
        features.transposed_product(slopes, np.ones(data.n_features)), 1 + X.T @ slopes, rtol=1e-13, atol=1e-13
    )


@given(datasets(max_documents=12))
def test_a_block_of_rows_is_a_view_with_the_same_products(data):
    features = as_features(data.features)
    middle = features.rows(data.n_documents // 3, data.n_documents)
    weights = np.arange(1.0, data.n_features + 1)
    X = dense(data.features)[data.n_documents // 3 :]
    np.testing.assert_allclose(middle.product(weights, np.empty(len(X))), X @ weights, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(dense(middle.to_dense()), X)
    assert np.shares_memory(middle.values, features.values) or middle.values.size == 0


def test_float32_features_are_summed_in_float64():
    features = as_features(np.array([[1e8, 1.0, -1e8]], dtype=np.float32))
    assert features.product(np.ones(3), np.empty(1))[0] == 1.0


def test_read_only_memory_is_used_as_it_is():
    X = np.arange(6.0).reshape(3, 2)
    X.flags.writeable = False
    features = as_features(X)
    assert np.shares_memory(features.values, X)
    assert features.product(np.ones(2), np.empty(3)).tolist() == [1.0, 5.0, 9.0]


def test_what_is_not_in_our_form_is_converted_and_left_alone():
    integers = np.asfortranarray(np.arange(6).reshape(3, 2))
    assert isinstance(as_features(integers), DenseFeatures)
    assert integers.dtype.kind == "i"
    doubled = sparse.csr_array((np.ones(2), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    features = as_features(doubled)
    assert isinstance(features, SparseFeatures)
    assert features.values.tolist() == [2.0]
    assert doubled.data.tolist() == [1.0, 1.0]
