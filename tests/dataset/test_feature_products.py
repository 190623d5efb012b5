"""Products of two features: sums written out in plain Python, and nothing but sound ones are read."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from linrank import LinrankError
from linrank.dataset.binned_features import BinnedFeatures, codes_of
from linrank.dataset.feature_products import FeatureProducts
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.features import DenseFeatures
from linrank.dataset.promising_pairs import check_pairs_can_be_compared, promising_pairs
from linrank.dataset.with_products import WithProducts

pytestmark = pytest.mark.kernels

LINES = FeatureShapes.of("additive", [([0.0, 1.0, 4.0], [-1.0, 0.5, 2.0]), ([-1.0, 1.0], [1.0, -1.0]), ([2.0], [0.5])])
PRODUCTS = FeatureProducts(np.array([0.5, -2.0]), np.array([[0, 3], [3, 4]]), LINES)
ROWS = np.random.default_rng(0).normal(size=(5000, 6)) * (1.0, 9.0, 9.0, 1.0, 5.0, 1.0)


def line(number, x):
    """Straight between knots, constant beyond them, looked for one by one."""
    knots, values = (side.tolist() for side in LINES.curve(number))
    if x <= knots[0]:
        return values[0]
    for k in range(len(knots) - 1):
        if x < knots[k + 1]:
            return values[k] + (x - knots[k]) * (values[k + 1] - values[k]) / (knots[k + 1] - knots[k])
    return values[-1]


def test_scores_are_the_sum_written_out():
    expected = [0.5 * line(0, row[0]) * line(1, row[3]) - 2.0 * line(1, row[3]) * line(2, row[4]) for row in ROWS]
    np.testing.assert_allclose(PRODUCTS.scores(ROWS), expected, rtol=1e-12, atol=1e-14)


def test_parts_and_forms_of_rows_have_the_same_bits():
    whole = PRODUCTS.scores(ROWS)
    np.testing.assert_array_equal(np.concatenate([PRODUCTS.scores(part) for part in np.split(ROWS, 50)]), whole)
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        np.testing.assert_array_equal(PRODUCTS.scores(form(ROWS)), whole)
    np.testing.assert_array_equal(PRODUCTS.scores(np.asfortranarray(ROWS)), whole)
    rounded = ROWS.astype(np.float32)
    np.testing.assert_array_equal(PRODUCTS.scores(rounded), PRODUCTS.scores(rounded.astype(np.float64)))
    assert PRODUCTS.scores(ROWS[:0]).shape == (0,)


def test_a_record_is_read_back_to_the_bit():
    record = PRODUCTS.record()
    record = {**record, "weights": record["weights"].tolist()}
    record["lines"] = {
        name: getattr(part, "tolist", lambda part=part: part)() for name, part in record["lines"].items()
    }
    read = FeatureProducts.of_record(record, 6)
    np.testing.assert_array_equal(read.scores(ROWS), PRODUCTS.scores(ROWS))
    wrong = [
        ({"pairs": [[0, 3], [3, 6]]}, "pairs of features, by numbers from 0 to 5"),
        ({"pairs": [[0, 3], [3, -1]]}, "pairs of features"),
        ({"pairs": [[0, 3], [3, 4, 5]]}, "pairs of features"),
        ({"pairs": [[0, 3], [3, True]]}, "pairs of features"),
        ({"pairs": [[0, 3], 4]}, "pairs of features"),
        ({"pairs": None}, "pairs of features"),
        ({"pairs": [[0, 3], [4, 3]]}, "two different features, the lower number first"),
        ({"pairs": [[0, 3], [3, 3]], "lines": {**record["lines"], "sizes": [3, 2], "knots": [0.0, 1.0, 4.0, 0.0, 1.0],
                                               "values": [0.0] * 5}}, "two different features"),
        ({"weights": [0.5]}, "1 weights of products, but 2 pairs"),
        ({"weights": [0.5, None]}, "lists of finite numbers"),
        ({"weights": [], "pairs": []}, "needs? "),
        ({"lines": None}, "a line for each of their features"),
        ({"lines": {"kind": "query"}}, "a line for each of their features"),
        ({"lines": {**record["lines"], "sizes": [3, 2]}}, "a number of knots a feature"),
    ]  # fmt: skip
    for change, said in wrong:
        with pytest.raises(LinrankError, match=said):
            FeatureProducts.of_record({**record, **change}, 6)
    with pytest.raises(LinrankError, match="stands there once"):
        replace(PRODUCTS, pairs=np.array([[0, 3], [0, 3]]))
    with pytest.raises(LinrankError, match="not a finite number"):
        replace(PRODUCTS, weights=np.array([0.5, np.inf]))
    with pytest.raises(LinrankError, match="3 features are in products, but 1 have lines"):
        replace(PRODUCTS, lines=FeatureShapes.of("additive", [([0.0], [0.0])]))


def slow_pairs(lines, slopes, weights):
    """The slope of the loss along each product per unit of its size, pair by pair and row by row."""
    found = {}
    for a in range(lines.shape[1]):
        for b in range(a + 1, lines.shape[1]):
            along = sum(slope * row[a] * row[b] for slope, row in zip(slopes, lines, strict=True))
            size = sum(weight * (row[a] * row[b]) ** 2 for weight, row in zip(weights, lines, strict=True)) ** 0.5
            found[a, b] = abs(along) / size if size else 0.0
    return sorted(found, key=lambda pair: -found[pair]), found


@pytest.mark.parametrize("n_rows", [1, 7, 128, 301])
def test_pairs_are_in_the_order_of_their_slopes(n_rows):
    rng = np.random.default_rng(n_rows)
    lines, slopes, weights = rng.normal(size=(n_rows, 7)), rng.normal(size=n_rows), rng.random(n_rows)
    slopes[::3] = weights[::4] = 0.0
    lines[:, 2] = 0.0
    expected, known = slow_pairs(lines, slopes, weights)
    found = promising_pairs(lambda rows: lines[rows], slopes, weights, 100)
    # Of a row without a weight alone, and of a column without a line, there is nothing to be had.
    assert len(found) == sum(value > 0.0 for value in known.values())
    np.testing.assert_allclose(
        [known[tuple(pair)] for pair in found.tolist()], [known[pair] for pair in expected][: len(found)]
    )
    assert promising_pairs(lambda rows: lines[rows], slopes, weights, 3).tolist() == found[:3].tolist()


def test_equal_pairs_keep_the_order_of_the_features():
    rng = np.random.default_rng(5)
    lines, slopes = rng.normal(size=(200, 3)), rng.normal(size=200)
    lines = np.column_stack([lines, lines])
    found = promising_pairs(lambda rows: lines[rows], slopes, np.ones(200), 100).tolist()
    order = {tuple(pair): place for place, pair in enumerate(found)}
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert order[a, b] < order[a, b + 3] < order[a + 3, b + 3]


def test_too_many_features_to_compare_their_pairs_are_refused():
    check_pairs_can_be_compared(5_792)
    with pytest.raises(LinrankError, match="interactions among 6,000 features: there are 17,997,000 pairs"):
        check_pairs_can_be_compared(6_000)


def test_columns_beside_binned_ones_multiply_as_those_written_out():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 2))
    knots = np.array([-1.0, 0.0, 1.0, -1.0, 1.0])
    at_knots = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0], [1.0, -1.0, 0.0]])
    codes = codes_of(rows, knots, np.array([0, 3, 5]))
    products = DenseFeatures(rng.normal(size=(40, 3)).astype(np.float32))
    features = WithProducts(BinnedFeatures(codes, at_knots, np.array([0, 2, 3])), products)
    dense = features.to_dense()
    assert dense.shape == (features.n_rows, features.n_features) == (40, 6)
    np.testing.assert_array_equal(dense[:, 3:], products.values)
    np.testing.assert_array_equal(features.to_dense(np.array([4, 1, 3])), dense[:, [4, 1, 3]])
    weights, slopes = rng.normal(size=6), rng.normal(size=40)
    np.testing.assert_allclose(features.product(weights, np.empty(40)), dense @ weights)
    start = np.ones(6)
    np.testing.assert_allclose(features.transposed_product(slopes, start.copy()), 1.0 + slopes @ dense)
    np.testing.assert_allclose(features.transposed_square_product(slopes, start.copy()), 1.0 + slopes @ dense**2)
    assert (features.magnitudes().to_dense() >= np.abs(dense) - 1e-12).all()
    np.testing.assert_array_equal(features.rows(5, 9).to_dense(), dense[5:9])
    np.testing.assert_array_equal(features.take(np.array([7, 3])).to_dense(), dense[[7, 3]])
    joined = features.rows(0, 4).joined([features.rows(4, 10), features.rows(10, 12)])
    np.testing.assert_array_equal(joined.to_dense(), dense[:12])
    assert features.n_bytes == codes.nbytes + products.n_bytes
    assert features.in_memory() is features
