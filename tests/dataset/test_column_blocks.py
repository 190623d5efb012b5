import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linrank import RankSVM, make_ranking
from linrank.dataset import column_blocks
from linrank.dataset.column_blocks import ColumnBlocks, in_column_blocks
from linrank.dataset.features import DenseFeatures, as_features

N_FEATURES = 3 * 2**16 + 5


@pytest.fixture(autouse=True)
def also_few(monkeypatch):
    """Blocks for little data too."""
    monkeypatch.setattr(column_blocks, "_FEWEST_FEATURES", 2**16)
    monkeypatch.setattr(column_blocks, "_FEWEST_ENTRIES", 1)


def rows_of(seed, n_rows=40, dtype=np.float64):
    rng = np.random.default_rng(seed)
    columns = np.minimum((N_FEATURES * rng.random((n_rows, 9)) ** 3).astype(np.int64), N_FEATURES - 1)
    columns[::3, 0], columns[1::3, 0] = 0, N_FEATURES - 1
    matrix = sparse.csr_array(
        (rng.standard_normal(columns.size).astype(dtype), columns.ravel(), np.arange(0, columns.size + 1, 9)),
        shape=(n_rows, N_FEATURES),
    )
    matrix.sum_duplicates()
    return as_features(matrix)


@given(seed=st.integers(0, 99), dtype=st.sampled_from([np.float32, np.float64]), start=st.integers(0, 20))
def test_products_have_the_bits_of_those_by_rows(seed, dtype, start):
    # Rows of the middle are a view, whose offsets are those of the whole.
    features = rows_of(seed, dtype=dtype).rows(start, 35)
    blocks = in_column_blocks(features)
    assert isinstance(blocks, ColumnBlocks)
    rng = np.random.default_rng(seed)
    weights, slopes = rng.standard_normal(N_FEATURES), rng.standard_normal(features.n_rows) * rng.integers(0, 2)
    scores = np.full(features.n_rows, 7.0)
    np.testing.assert_array_equal(blocks.product(weights, scores), features.product(weights, np.empty(len(scores))))
    for product in ("transposed_product", "transposed_square_product"):
        sums = [getattr(of, product)(slopes, np.arange(float(N_FEATURES))) for of in (blocks, features)]
        assert sums[0].tobytes() == sums[1].tobytes()


def test_what_would_gain_nothing_or_change_bits_stays_as_it_is(monkeypatch):
    features = rows_of(0)
    dense = DenseFeatures(np.ones((3, 2)))
    assert in_column_blocks(dense) is dense
    backwards = as_features(sparse.csr_array((np.ones(2), [9, 3], [0, 2]), shape=(1, N_FEATURES)))
    if backwards.columns[0] > backwards.columns[1]:
        assert in_column_blocks(backwards) is backwards
    monkeypatch.setattr(column_blocks, "_FEWEST_ENTRIES", 1000)
    assert in_column_blocks(features) is features
    monkeypatch.setattr(column_blocks, "_FEWEST_FEATURES", N_FEATURES + 1)
    assert in_column_blocks(features) is features


@pytest.mark.parametrize("threads", [1, 2])
def test_a_training_has_the_same_bits_with_blocks_and_without(threads, monkeypatch):
    monkeypatch.setattr("linrank.objective.placed_blocks.LARGE_QUERY_BYTES", 1000)
    data, _ = make_ranking(1, 300, N_FEATURES, density=30 / N_FEATURES, levels=4)
    blocked = RankSVM(C=1e-3, n_threads=threads).fit(data).coef_
    monkeypatch.setattr(column_blocks, "_FEWEST_FEATURES", 2**31)
    assert RankSVM(C=1e-3, n_threads=1).fit(data).coef_.tobytes() == blocked.tobytes()
