import numpy as np
import pytest
from scipy import sparse

from linrank import LinrankError, make_ranking
from linrank.dataset.synthetic import MSLR_SHARES


def ordered_rightly(data, weights):
    """Share of preference pairs that the weights put in order, pair by pair."""
    scores, labels = data.features @ weights, data.labels
    right = total = 0
    for a, b in zip(data.queries.starts, data.queries.starts[1:], strict=False):
        better = labels[a:b, None] > labels[None, a:b]
        right += np.count_nonzero(better & (scores[a:b, None] > scores[None, a:b]))
        total += np.count_nonzero(better)
    return right / total


def test_without_noise_the_known_weights_order_every_pair():
    for density in (1.0, 0.2):
        data, weights = make_ranking(20, 30, 12, noise=0.0, density=density)
        assert ordered_rightly(data, weights) == 1.0


def test_noise_makes_the_best_weights_less_than_perfect():
    data, weights = make_ranking(20, 30, 12, noise=1.0)
    assert 0.6 < ordered_rightly(data, weights) < 0.95


def test_labels_have_the_shares_asked_for():
    data, _ = make_ranking(200, 50, 5)
    np.testing.assert_allclose(np.bincount(data.labels.astype(int)) / 10000, MSLR_SHARES, atol=0.002)
    assert len(np.unique(make_ranking(5, 10, 3, levels=None)[0].labels)) == 50
    assert np.bincount(make_ranking(10, 10, 3, levels=4)[0].labels.astype(int)).tolist() == [25] * 4


def test_sizes_sparsity_and_types_are_as_asked():
    data, weights = make_ranking(50, (2, 9), 40, n_informative=7, density=0.1, dtype="float32")
    assert data.queries.sizes.min() >= 2
    assert data.queries.sizes.max() <= 9
    assert np.count_nonzero(weights) == 7
    assert sparse.issparse(data.features)
    assert data.features.dtype == np.float32
    assert data.features.has_canonical_format


def test_features_are_correlated_and_skewed_unless_told_not_to_be():
    plain, _ = make_ranking(100, 50, 16, correlation=0.0, skew=False)
    usual, _ = make_ranking(100, 50, 16, correlation=0.8)
    away = ~np.eye(16, dtype=bool)
    assert np.abs(np.corrcoef(plain.features.T)[away]).max() < 0.1
    assert np.abs(np.corrcoef(usual.features.T)[away]).max() > 0.3
    assert usual.features[:, 0].min() > 0


def test_the_same_seed_gives_the_same_data():
    first, again, other = (make_ranking(5, 5, 5, random_state=seed)[0].features for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    "arguments",
    [{"n_queries": 0}, {"documents_per_query": (3, 2)}, {"n_features": 0}, {"n_informative": 99}, {"levels": (0, -1)}],
    ids=str,
)
def test_impossible_wishes_are_refused(arguments):
    with pytest.raises(LinrankError):
        make_ranking(**arguments)
