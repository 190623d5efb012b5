"""What every loss owes: derivatives, what must not matter to it, and a bound that is one."""

import numpy as np
import pytest

from contracts.products import CONVEX, DATA, LOSSES, SMOOTH, WEIGHTED
from linrank import RankingDataset
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.executors.local import Threads
from linrank.objective.duality import NoDual
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.pointwise_losses import SquaredEpsilonInsensitive
from linrank.objective.registry import LOSSES as NAMED_LOSSES

pytestmark = pytest.mark.kernels

ALL = pytest.mark.parametrize("name", LOSSES)
SEEDS = range(3)


def block_of(data):
    (block,) = cut_into_blocks(data)
    return block


BLOCKS = {"plain": block_of(DATA), "weighted": block_of(WEIGHTED)}
DATASETS = pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)


def scores_of(block, seed, size=1.5):
    return size * np.random.default_rng(seed).standard_normal(block.n_documents)


def value_of(name, scores, block):
    return LOSSES[name].at(scores, block).value


def objective_on(name, data):
    return RankingObjective(LOSSES[name], L2(), 1.0, PlacedData.of(data, Threads(1)))


@pytest.mark.parametrize("named", NAMED_LOSSES)
def test_those_that_a_ranker_takes_are_convex_and_compare_documents(named):
    loss = NAMED_LOSSES[named].make()
    assert NAMED_LOSSES[named].ranks == (loss.dual != NoDual() and getattr(loss, "compares", "pairs") != "labels")
    assert NAMED_LOSSES[named].formula.startswith("sum over ")


@ALL
@DATASETS
def test_slopes_are_the_derivative_of_the_value(name, block):
    # At scores of which no two are apart by just the width of a corner, which random ones are not.
    for seed in SEEDS:
        scores, direction = scores_of(block, seed), scores_of(block, seed + 100)
        at = LOSSES[name].at(scores, block)
        ahead, behind = (value_of(name, scores + way * 1e-6 * direction, block) for way in (1, -1))
        assert at.slopes @ direction == pytest.approx((ahead - behind) / 2e-6, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", SMOOTH)
@DATASETS
def test_curvature_is_the_derivative_of_the_slopes_or_lies_above_it(name, block):
    for seed in SEEDS:
        scores, direction = scores_of(block, seed), scores_of(block, seed + 100)
        curvature = LOSSES[name].at(scores, block).curvature
        ahead, behind = (LOSSES[name].at(scores + way * 1e-6 * direction, block).slopes for way in (1, -1))
        product, numerical = curvature.product(direction), (ahead - behind) / 2e-6
        if name in CONVEX:
            np.testing.assert_allclose(product, numerical, atol=1e-4 * (1.0 + np.abs(product).max()))
        else:
            assert product @ direction >= numerical @ direction - 1e-4 * abs(product @ direction)


@pytest.mark.parametrize("name", SMOOTH)
@DATASETS
def test_every_view_of_the_curvature_is_of_one_symmetric_matrix(name, block):
    at = LOSSES[name].at(scores_of(block, 0), block)
    matrix = at.curvature.matrix_product(np.eye(block.n_documents))
    size = 1e-12 * (1.0 + np.abs(matrix).max())
    np.testing.assert_allclose(matrix, matrix.T, atol=size)
    np.testing.assert_allclose(at.curvature.diagonal(), np.diag(matrix), atol=size)
    direction = scores_of(block, 1)
    np.testing.assert_allclose(at.curvature.product(direction), matrix @ direction, atol=100 * size)
    assert np.linalg.eigvalsh(matrix).min() >= -1e3 * size
    if hasattr(at.curvature, "half_product"):
        half = at.curvature.half_product(np.eye(block.n_documents))
        np.testing.assert_allclose((half + half.T) / 2, matrix, atol=size)


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if hasattr(loss, "steepest")])
@DATASETS
def test_no_document_bends_more_than_what_is_said_to_be_steepest(name, block):
    loss, times = LOSSES[name].steepest
    most = times * loss.at(np.zeros(block.n_documents), block).curvature.diagonal()
    assert (most > 0.0).any()
    # (Where all scores are labels, or far below them, other documents bend than at zero.)
    for scores in (*(scores_of(block, seed) for seed in SEEDS), block.labels - 0.3, block.labels - 9.0, -block.labels):
        assert (LOSSES[name].at(scores, block).curvature.diagonal() <= most * (1.0 + 1e-12) + 1e-12).all()
    if isinstance(LOSSES[name], SquaredEpsilonInsensitive):
        # Far from its label every document bends as much as any can.
        np.testing.assert_allclose(LOSSES[name].at(block.labels - 9.0, block).curvature.diagonal(), most)


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if getattr(loss, "compares", "") != "labels"])
@DATASETS
def test_a_constant_added_to_the_scores_of_a_query_changes_nothing(name, block):
    constants = np.repeat(np.random.default_rng(7).integers(-3, 4, size=block.n_queries), np.diff(block.query_starts))
    # Sixteenths, so that adding a whole number rounds nothing.
    scores = np.round(16 * scores_of(block, 0)) / 16
    one, other = LOSSES[name].at(scores, block), LOSSES[name].at(scores + constants, block)
    assert other.value == pytest.approx(one.value, rel=1e-12)
    np.testing.assert_allclose(other.slopes, one.slopes, atol=1e-12 * (1.0 + np.abs(one.slopes).max()))


@ALL
def test_the_order_of_rows_and_the_names_of_queries_do_not_matter(name):
    order = np.random.default_rng(2).permutation(WEIGHTED.n_documents)
    appearing = np.argsort(np.unique(WEIGHTED.qid[order], return_index=True)[1])
    mixed = RankingDataset.from_arrays(
        WEIGHTED.features[order],
        WEIGHTED.labels[order],
        qid=[f"query {query}" for query in WEIGHTED.qid[order]],
        document_weights=WEIGHTED.document_weights[order],
        query_weights=WEIGHTED.query_weights[appearing],
    )
    weights = np.array([0.3, -0.2, 0.5, 0.1])
    one, other = (objective_on(name, data).at(weights) for data in (WEIGHTED, mixed))
    assert other.value == pytest.approx(one.value, rel=1e-12)
    np.testing.assert_allclose(other.gradient, one.gradient, rtol=1e-9, atol=1e-9)


@ALL
@DATASETS
def test_nothing_that_is_given_is_written_to(name, block):
    scores = scores_of(block, 0)
    given = [scores, block.labels, block.levels, block.query_starts, block.document_weights, block.query_weights]
    before = [column.tobytes() for column in given]
    at = LOSSES[name].at(scores, block)
    if at.curvature is not None:
        matrix = np.ones((block.n_documents, 2))
        direction = matrix[:, 0].copy()
        at.curvature.product(direction)
        at.curvature.matrix_product(matrix)
        at.curvature.diagonal()
        assert (matrix == 1.0).all()
        assert (direction == 1.0).all()
    assert [column.tobytes() for column in given] == before


@ALL
def test_a_weight_is_a_repetition(name):
    """Of a query, for every loss; of a document, for those that do not rank it."""
    weights = np.array([0.3, -0.2, 0.5, 0.1])
    times = np.array([1, 2, 0, 3, 1, 1])
    heavy = RankingDataset.from_arrays(DATA.features, DATA.labels, qid=DATA.qid, query_weights=times / 1.0)
    rows = [np.flatnonzero(DATA.qid == query) for query in DATA.queries.ids]
    copies = [place for place, count in enumerate(times) for _ in range(count)]
    written = np.concatenate([rows[place] for place in copies])
    long = RankingDataset.from_arrays(
        DATA.features[written], DATA.labels[written], qid=np.repeat(np.arange(len(copies)), 8)
    )
    one, other = (objective_on(name, data).at(weights) for data in (heavy, long))
    assert other.value == pytest.approx(one.value, rel=1e-12)
    np.testing.assert_allclose(other.gradient, one.gradient, rtol=1e-9, atol=1e-9)
    if name in CONVEX:
        copies = WEIGHTED.document_weights.astype(int)
        written = np.repeat(np.arange(48), copies)
        long = RankingDataset.from_arrays(
            DATA.features[written], DATA.labels[written], qid=DATA.qid[written],
            query_weights=WEIGHTED.query_weights,
        )  # fmt: skip
        one, other = (objective_on(name, data).at(weights) for data in (WEIGHTED, long))
        assert other.value == pytest.approx(one.value, rel=1e-12)
        np.testing.assert_allclose(other.gradient, one.gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CONVEX)
@DATASETS
def test_it_is_convex_along_random_segments(name, block):
    for seed in SEEDS:
        start, end = scores_of(block, seed, 3.0), scores_of(block, seed + 50, 3.0)
        ends = [value_of(name, scores, block) for scores in (start, end)]
        for share in (0.1, 0.5, 0.8):
            between = value_of(name, (1.0 - share) * start + share * end, block)
            assert between <= (1.0 - share) * ends[0] + share * ends[1] + 1e-9 * sum(ends)
        # It lies above each of its tangents, those of a corner too.
        at = LOSSES[name].at(start, block)
        assert ends[1] >= at.value + at.slopes @ (end - start) - 1e-9 * (1.0 + sum(ends))


@pytest.mark.parametrize("name", CONVEX)
@DATASETS
def test_the_dual_bounds_the_loss_from_below(name, block):
    """-L*(share x slopes) <= L(s) - share x slopes . s, for all scores s."""
    loss = LOSSES[name]
    for seed in SEEDS:
        scores = scores_of(block, seed)
        at = loss.at(scores, block)
        along = float(at.slopes @ scores)
        for share in (0.0, 0.3, 1.0, max(0.0, loss.dual.best(at.value, along))):
            bound = loss.dual.at(share, at.value, along, at.sums.get("least", 0.0))
            for other in (scores, scores_of(block, seed + 20), scores_of(block, seed + 40, 10.0), 0.5 * scores):
                assert bound <= value_of(name, other, block) - share * float(at.slopes @ other) + 1e-9 * (1 + at.value)
        whole = loss.dual.at(1.0, at.value, along, at.sums.get("least", 0.0))
        assert whole == pytest.approx(at.value - along, rel=1e-9, abs=1e-9)


def test_a_loss_is_shown_by_its_settings_alone():
    """Errors and journals name it; how its sums are computed is not what it is."""
    assert [repr(NAMED_LOSSES[name].make()) for name in ("squared_hinge", "hinge", "logistic")] == [
        "SquaredHinge()",
        "Hinge()",
        "Logistic()",
    ]
