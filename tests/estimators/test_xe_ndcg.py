"""XENDCG: the expectation over all draws, to the last digits, and the minimum that it leads to."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.utils.estimator_checks import parametrize_with_checks

from linrank import XENDCG, RankingDataset, RankSVM, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.objective.list_kernels import _integrals
from linrank.objective.list_losses import GainCrossEntropy

DATA, _ = make_ranking(30, 12, 5, skew=False)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([XENDCG(0.5)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def block_of(labels, **weights):
    data = RankingDataset.from_arrays(np.zeros((len(labels), 1)), labels, group=[len(labels)], **weights)
    (block,) = cut_into_blocks(data)
    return block


def targets_of(block):
    """With equal scores the slopes are chances that are all alike, less the targets."""
    chances = block.document_weights / block.document_weights.sum()
    return chances - GainCrossEntropy().at(np.zeros(block.n_documents), block).slopes


def drawn(labels, n_draws):
    """The mean over a fine grid of all that can be drawn."""
    gains = 2.0 ** np.maximum(labels, 0.0)
    middles = (np.arange(n_draws) + 0.5) / n_draws
    total = np.zeros(len(labels))
    for draw in itertools.product(middles, repeat=len(labels)):
        left = gains - np.array(draw)
        total += left / left.sum()
    return total / n_draws ** len(labels)


@pytest.mark.parametrize("labels", [[0.0, 1.0], [2.0, 0.0, 0.0], [-3.0, 1.5, 4.0]], ids=str)
def test_targets_are_the_mean_over_all_draws(labels):
    coarse, fine = (drawn(np.array(labels), n_draws) for n_draws in (20, 40))
    # The middles of ever finer cells err by a quarter of what they did.
    expected = fine + (fine - coarse) / 3.0
    np.testing.assert_allclose(targets_of(block_of(labels)), expected, atol=2e-6)


def integrals(count, share):
    """The two that the targets come from, by quadrature of what they are defined as."""

    def log_mean(h):
        return math.log(math.expm1(h) / h) if h > 1e-4 else h / 2.0 + h * h / 24.0

    def left(h):
        return 1.0 / h - 1.0 / math.expm1(h) if h > 1e-4 else 0.5 - h / 12.0

    def part(u, factor):
        h = share * u / count
        # (Beyond, what is left of the integral is below any rounding.)
        return math.exp(count * log_mean(h) - u) * factor(h) if h < 300.0 else 0.0

    ends = [(0.0, 1.0), (1.0, 5.0), (5.0, 20.0), (20.0, 60.0), (60.0, 900.0)]
    return [
        sum(quad(part, *each, args=(factor,), epsabs=0.0, epsrel=1e-12, limit=500)[0] for each in ends)
        for factor in (lambda h: 1.0, left)
    ]


@pytest.mark.kernels
@pytest.mark.parametrize(("count", "share"), [(1, 0.5), (2, 0.9), (30, 0.9), (300, 0.9), (1000, 0.3), (5, 0.01)])
def test_integrals_are_those_of_quadrature(count, share):
    np.testing.assert_allclose(_integrals(float(count), share), integrals(float(count), share), rtol=1e-11)


def test_targets_of_many_documents_are_those_of_draws():
    labels = np.repeat([0.0, 1.0, 2.0, 4.0], [60, 20, 15, 5])
    rng = np.random.default_rng(0)
    left = 2.0**labels - rng.random((20_000, 100))
    shares = left / left.sum(axis=1, keepdims=True)
    found = targets_of(block_of(labels))
    assert np.abs((found - shares.mean(axis=0)) / shares.std(axis=0)).max() < 5 / np.sqrt(20_000)
    assert found.sum() == pytest.approx(1.0, abs=1e-13)


def test_a_document_twice_is_one_of_weight_two_and_large_labels_are_no_matter():
    twice = targets_of(block_of([0.0, 1.0, 1.0, 3.0]))
    once = targets_of(block_of([0.0, 1.0, 3.0, 5.0], document_weights=[1.0, 2.0, 1.0, 0.0]))
    np.testing.assert_allclose(once, [twice[0], twice[1] + twice[2], twice[3], 0.0], rtol=1e-12)
    np.testing.assert_allclose(targets_of(block_of([0.0, 1.0, 2000.0])), [0.0, 0.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(targets_of(block_of([0.0, -1.0, 0.0])), np.full(3, 1 / 3), rtol=1e-12)


def test_it_is_the_loss_of_that_name_and_its_minimum_is_certified():
    model = XENDCG(C=2.0, tol=1e-10).fit(DATA)
    np.testing.assert_array_equal(model.coef_, RankSVM(C=2.0, loss="xe_ndcg", tol=1e-10).fit(DATA).coef_)
    rough = XENDCG(C=2.0, tol=1e-2).fit(DATA)
    assert 0.0 <= rough.objective_ - model.objective_ <= rough.gap_
    assert model.score(DATA) > 0.85
    assert "g uniform, and softmax(X w)" in model.objective
