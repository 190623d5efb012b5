"""Value, gradient and curvature of every loss, against listed pairs, on every shape of data."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from linrank import LinrankError, RankingDataset, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.executors.local import Threads
from linrank.objective import placed_blocks, placement, shard_plan
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import Hinge, SmoothedHinge, SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.sorted_pairs import PairSums
from linrank.objective.structures.eight_way_tree import EightWayTree
from strategies import datasets

pytestmark = pytest.mark.kernels

LOSSES = [
    (SquaredHinge(), oracles.squared_hinge),
    (Hinge(), oracles.hinge),
    (SmoothedHinge(0.5), oracles.smoothed_hinge(0.5)),
]
SMOOTH = [LOSSES[0], LOSSES[2]]
DIRECT, TREE = EightWayTree(10**9), EightWayTree(0)


def objective_of(data, loss, over=None, C=0.75, executor=None):
    loss = loss if over is None else replace(loss, over=over)
    return RankingObjective(loss, L2(), C, PlacedData.of(data, executor or Threads(1)))


def weights_of(data, seed=0):
    return np.random.default_rng(seed).standard_normal(data.n_features)


def expected(data, weights, loss, pairs="all", C=0.75):
    X = oracles.dense(data.features)
    value, slopes, curvature = oracles.loss_at_scores(data, X @ weights, loss, pairs)
    hessian = np.eye(len(weights)) + C * X.T @ curvature @ X
    return 0.5 * weights @ weights + C * value, weights + C * X.T @ slopes, hessian


@pytest.mark.parametrize(("loss", "oracle"), LOSSES, ids=lambda value: str(value)[:20])
@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("structure", [DIRECT, TREE], ids=["direct", "tree"])
@given(data=datasets(weighted=True, max_documents=20), seed=st.integers(0, 99))
def test_every_sum_over_pairs_equals_the_listed_one(loss, oracle, pairs, structure, data, seed):
    weights = weights_of(data, seed)
    point = objective_of(data, loss, PairSums(pairs, structure)).at(weights)
    value, gradient, hessian = expected(data, weights, oracle, pairs)
    assert point.value == pytest.approx(value, rel=1e-11)
    scale = 1e-11 * (1 + abs(gradient).max())
    np.testing.assert_allclose(point.gradient, gradient, atol=scale, rtol=1e-10)
    if not isinstance(loss, Hinge):
        direction = weights_of(data, seed + 1)
        product = hessian @ direction
        np.testing.assert_allclose(point.hessian_product(direction), product, atol=1e-9 * (1 + abs(product).max()))


@pytest.mark.parametrize(("loss", "oracle"), SMOOTH, ids=lambda value: str(value)[:20])
@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@given(data=datasets(weighted=True))
def test_the_hessian_of_a_sample_that_is_everything_is_the_hessian(loss, oracle, pairs, data):
    weights = weights_of(data)
    objective = objective_of(data, loss, PairSums(pairs))
    sample = objective.data.sample(data.n_documents)
    np.testing.assert_allclose(
        objective.at(weights).sampled_hessian(sample), expected(data, weights, oracle, pairs)[2], rtol=1e-9, atol=1e-9
    )


@given(datasets(weighted=True))
def test_the_crude_diagonal_leaves_out_the_cross_terms(data):
    weights = weights_of(data)
    X = oracles.dense(data.features)
    _, _, curvature = oracles.loss_at_scores(data, X @ weights, oracles.squared_hinge)
    diagonal = 1 + 0.75 * np.diag(curvature) @ X**2
    np.testing.assert_allclose(objective_of(data, SquaredHinge()).at(weights).crude_hessian_diagonal(), diagonal)


@pytest.mark.parametrize("loss", [SquaredHinge(), SmoothedHinge(0.5)], ids=str)
def test_gradient_and_hessian_are_numerical_derivatives(loss):
    data, weights = make_ranking(8, 15, 6, levels=7)
    objective = objective_of(data, loss)
    point = objective.at(weights)
    for j in range(6):
        nudge = np.zeros(6)
        nudge[j] = 1e-6
        ahead, behind = objective.at(weights + nudge), objective.at(weights - nudge)
        assert point.gradient[j] == pytest.approx((ahead.value - behind.value) / 2e-6, rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(
            point.hessian_product(nudge / 1e-6), (ahead.gradient - behind.gradient) / 2e-6, rtol=1e-2, atol=0.3
        )


@given(data=datasets(weighted=True, max_documents=20), width=st.sampled_from([0.1, 0.5, 2.0]), seed=st.integers(0, 9))
def test_a_smoothed_hinge_knows_the_hinge_and_the_sizes_of_its_own_slopes(data, width, seed):
    point = objective_of(data, SmoothedHinge(width)).at(weights_of(data, seed))
    margins = oracles.dense(data.features) @ weights_of(data, seed)
    hinge, _, _ = oracles.loss_at_scores(data, margins, oracles.hinge)
    sizes, _, _ = oracles.loss_at_scores(data, margins, lambda m: (-oracles.smoothed_hinge(width)(m)[1], 0.0, 0.0))
    assert point.sums == pytest.approx({"sharp": hinge, "sharp_dual": sizes}, rel=1e-9, abs=1e-9)


def test_a_smoothed_hinge_is_below_the_hinge_by_half_its_width_a_pair_at_most():
    far = RankingDataset.from_arrays([[0.0], [1e9]], [2, 1], qid=[1, 1])
    for width in (1e-3, 0.5, 4.0):
        # Squares of 1e9 have no digits left for a difference of 1.
        value = objective_of(far, SmoothedHinge(width), C=1.0).at(np.ones(1)).value
        assert value == pytest.approx(1e9, rel=3e-9)
    loss = SmoothedHinge(0.5)
    assert [loss._plausible(value, 10.0, 8.0) for value in (-1.0, 7.0, 8.0, 9.0, 10.0, 12.0)] == [8, 8, 8, 9, 10, 10]


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("far", [1e7, 1e12, 1e16, 1e21])
@pytest.mark.parametrize("width", [1e-3, 0.5, 2.0, 4.0])
def test_a_smoothed_hinge_keeps_its_slopes_however_far_scores_are_apart(width, far, pairs):
    rng = np.random.default_rng(3)
    away = far * np.array([1.0, 0.0, -1.0])[rng.integers(3, size=40)]
    # Documents next to each other, whose pairs are in the corner, and others far from them on the wrong side.
    scores = np.where(rng.random(40) < 0.4, away, np.round(8.0 * rng.standard_normal(40)) / 8.0)
    data = RankingDataset.from_arrays(
        scores[:, None], rng.integers(4, size=40), group=[25, 15],
        document_weights=rng.integers(0, 3, 40), query_weights=[1.0, 0.5],
    )  # fmt: skip
    (block,) = cut_into_blocks(data)
    found = SmoothedHinge(width, PairSums(pairs)).at(scores, block)
    value, slopes, _ = oracles.loss_at_scores(data, scores, oracles.smoothed_hinge(width), pairs)
    sizes, _, _ = oracles.loss_at_scores(
        data, scores, lambda m: (-oracles.smoothed_hinge(width)(m)[1], 0.0, 0.0), pairs
    )
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.sums["sharp_dual"] == pytest.approx(sizes, rel=1e-9)
    np.testing.assert_allclose(found.slopes, slopes, atol=1e-11 / width)


@pytest.mark.parametrize("loss", [loss for loss, _ in LOSSES], ids=str)
def test_no_rounding_takes_a_loss_below_zero_whatever_documents_weigh(loss):
    # (Right by a margin but for a few, most of which weigh so little that sums over the others leave only rounding.)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 3, 12)
        scores = labels + 1e-9 * rng.standard_normal(12) + 100.0 * rng.standard_normal()
        weights = 10.0 ** rng.integers(-15, 15, 12)
        data = RankingDataset.from_arrays(scores[:, None], labels, group=[12], document_weights=weights)
        found = loss.at(scores, cut_into_blocks(data)[0])
        assert found.value >= 0.0
        assert found.sums.get("sharp", 0.0) >= 0.0


@pytest.mark.parametrize("levels", [1, 2, 15, 16, 17, 255, 256, 257, 300], ids=lambda k: f"{k} levels")
def test_the_tree_is_right_at_the_borders_of_its_nodes(levels):
    rng = np.random.default_rng(levels)
    labels = rng.permutation(np.arange(600) % levels)
    data = RankingDataset.from_arrays(rng.standard_normal((600, 3)), labels, qid=np.repeat([1, 2], 300))
    direct, tree = (objective_of(data, SquaredHinge(), PairSums("all", how)).at(np.ones(3)) for how in (DIRECT, TREE))
    assert tree.value == pytest.approx(direct.value, rel=1e-12)
    np.testing.assert_allclose(tree.gradient, direct.gradient, rtol=1e-10)
    np.testing.assert_allclose(tree.hessian_product(np.ones(3)), direct.hessian_product(np.ones(3)), rtol=1e-10)


@pytest.mark.parametrize("density", [1.0, 0.3], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("sizes", "spread"),
    [([20] * 40, [False] * 2), ([400], [True]), ([20] * 40 + [400, 500], [False] * 2 + [True] * 2)],
    ids=["many queries", "one large query", "both"],
)
def test_any_number_of_threads_gives_the_same_bits(density, sizes, spread, monkeypatch):
    monkeypatch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 9000)
    monkeypatch.setattr(placement, "cut_into_blocks", lambda data: cut_into_blocks(data, block_bytes=5000))
    monkeypatch.setattr(shard_plan, "_MOST_SHARDS", 2)
    made, weights = make_ranking(1, sum(sizes), 12, density=density)
    data = RankingDataset.from_arrays(made.features, made.labels, group=sizes)
    results = []
    for n_threads in (1, 2, 5):
        with Threads(n_threads) as executor:
            objective = objective_of(data, SquaredHinge(), executor=executor)
            assert [shard.is_spread for shard in objective.data.shards] == spread
            point = objective.at(weights)
            hessian = objective.at(weights).sampled_hessian(objective.data.sample(100))
            results.append((point.value, point.gradient.tobytes(), point.hessian_product(weights).tobytes(),
                            point.crude_hessian_diagonal().tobytes(), hessian.tobytes(),
                            point.toward(weights).at(0.5)))  # fmt: skip
    assert results[0] == results[1] == results[2]


@given(data=datasets(weighted=True, max_documents=20), only_the_largest=st.booleans())
def test_a_query_spread_over_chunks_is_the_same_query(data, only_the_largest):
    weights = weights_of(data)
    usual = objective_of(data, SquaredHinge())
    largest = max(block.features.n_bytes for block in blocks_of_one_query(data))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placed_blocks, "LARGE_QUERY_BYTES", largest - 1 if only_the_largest else 0)
        patch.setattr("linrank.objective.placement.cut_into_blocks", blocks_of_one_query)
        spread = objective_of(data, SquaredHinge())
    assert spread.data.shards[-1].is_spread
    assert spread.at(weights).value == pytest.approx(usual.at(weights).value, rel=1e-12)
    np.testing.assert_allclose(spread.at(weights).gradient, usual.at(weights).gradient, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(
        spread.at(weights).hessian_product(weights), usual.at(weights).hessian_product(weights), rtol=1e-9, atol=1e-10
    )
    line, plain = spread.at(weights).toward(weights), usual.at(weights).toward(weights)
    assert line.at(0.5).slope == pytest.approx(plain.at(0.5).slope, rel=1e-9, abs=1e-9)


def blocks_of_one_query(data):
    return cut_into_blocks(data, block_bytes=1)


@given(data=datasets(weighted=True), step=st.floats(-2, 2))
def test_a_value_on_a_line_is_that_of_the_point(data, step):
    weights, direction = weights_of(data), weights_of(data, 1)
    objective = objective_of(data, SquaredHinge())
    line = objective.at(weights).toward(direction)
    there, anew = line.at(step), objective.at(weights + step * direction)
    assert there.value == pytest.approx(anew.value, rel=1e-9, abs=1e-9)
    np.testing.assert_array_equal(line.point_at(step).gradient, anew.gradient)
    assert there.slope == pytest.approx(anew.gradient @ direction, rel=1e-6, abs=1e-6)


@given(datasets(weighted=True))
def test_renaming_queries_shuffling_rows_and_shifting_scores_change_nothing(data):
    weights = weights_of(data)
    value = objective_of(data, SquaredHinge()).at(weights).value
    order = np.random.default_rng(0).permutation(data.n_documents)
    names = np.array([f"query {name}" for name in data.qid])[order]
    first = {name: place for place, name in reversed(list(enumerate(data.qid)))}
    by_name = dict(zip(data.queries.ids.tolist(), data.query_weights, strict=True))
    assert len(first) == data.n_queries
    shuffled = RankingDataset.from_arrays(
        data.features[order], data.labels[order], qid=names, document_weights=data.document_weights[order],
    )  # fmt: skip
    ids = [name.removeprefix("query ") for name in shuffled.queries.ids]
    shuffled = replace(shuffled, query_weights=np.array([by_name[int(name)] for name in ids]))
    assert objective_of(shuffled, SquaredHinge()).at(weights).value == pytest.approx(value, rel=1e-10)
    shifted = np.hstack([oracles.dense(data.features), np.full((data.n_documents, 1), 1.0)])
    moved = replace(data, features=shifted)
    assert objective_of(moved, SquaredHinge()).at(np.append(weights, 64.0)).loss_value == pytest.approx(
        objective_of(data, SquaredHinge()).at(weights).loss_value, rel=1e-10
    )


def test_another_C_at_the_same_point_computes_nothing_again():
    data, weights = make_ranking(5, 10, 4)
    point = objective_of(data, SquaredHinge(), C=1.0).at(weights)
    other = point.with_C(3.0)
    anew = objective_of(data, SquaredHinge(), C=3.0).at(weights)
    assert other.value == anew.value
    np.testing.assert_array_equal(other.gradient, anew.gradient)
    np.testing.assert_array_equal(other.hessian_product(weights), anew.hessian_product(weights))


def test_a_sample_stands_for_the_whole():
    data, weights = make_ranking(500, 20, 20)
    objective = objective_of(data, SquaredHinge())
    whole = objective.at(weights).sampled_hessian(objective.data.sample(data.n_documents))
    part = objective.data.sample(2000)
    assert sum(block.n_documents for block, _ in part.blocks) < 3000
    estimate = objective.at(weights).sampled_hessian(part)
    assert np.trace(estimate) == pytest.approx(np.trace(whole), rel=0.2)
    smaller = replace(objective, data=objective.data.part(2000))
    assert smaller.at(weights).value == pytest.approx(objective.at(weights).value, rel=0.1)


def test_inputs_are_not_written_to():
    data, weights = make_ranking(5, 10, 4)
    before = data.features.copy(), data.labels.copy(), weights.copy()
    point = objective_of(data, SquaredHinge()).at(weights)
    point.hessian_product(weights)
    point.toward(weights).at(0.5)
    for old, new in zip(before, (data.features, data.labels, weights), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("levels", [2, 5, None])
def test_a_value_keeps_its_digits_where_scores_lie_far_apart(far, levels):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(40)
    labels = rng.random(40) if levels is None else rng.integers(0, levels, size=40) / 1.0
    # The upper half is better than the lower half by far, in labels and in scores.
    scores[20:] += far
    labels[20:] += 10
    data = RankingDataset.from_arrays(scores[:, None], labels, qid=[1] * 40)
    for loss, oracle in LOSSES:
        point = objective_of(data, loss, C=1.0).at(np.ones(1))
        value, _, _ = oracles.loss_at_scores(data, scores, oracle)
        assert point.loss_value == pytest.approx(value, rel=1e-10)


def test_documents_far_apart_in_the_wrong_order_still_count():
    data = RankingDataset.from_arrays(np.array([[0.0], [0.5], [100.0], [100.5]]), [3, 0, 2, 1], qid=[1] * 4)
    for loss, oracle in LOSSES:
        point = objective_of(data, loss, C=1.0).at(np.ones(1))
        value, slopes, _ = oracles.loss_at_scores(data, data.features[:, 0], oracle)
        assert point.loss_value == pytest.approx(value, rel=1e-12)
        assert point.loss_gradient == pytest.approx(data.features.T @ slopes, rel=1e-12)


def test_scores_may_be_large_but_not_infinite():
    data = RankingDataset.from_arrays(np.array([[1.0], [2.0], [4.0]]), [0, 1, 2], group=[3])
    objective = objective_of(data, Hinge())
    # Their squares are beyond float64, and they are not.
    assert objective.at(np.array([-1e200])).loss_value == pytest.approx(6e200)
    # (Without a compiler NumPy warns of it first.)
    with (
        np.errstate(over="ignore"),
        pytest.raises(LinrankError, match="the score of a document is not finite"),
    ):
        objective.at(np.array([1e308]))
