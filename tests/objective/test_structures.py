"""Every structure for sums over pairs gives the sums of listed pairs, and the trees are what their names say."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from linrank import LinrankError, RankingDataset, RankSVM, make_ranking, save_dataset, scan
from linrank.executors.local import Threads
from linrank.objective import placed_blocks
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import Hinge, SmoothedHinge, SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.sorted_pairs import PairSums
from linrank.objective.structures import aa_tree, avl_tree, listed_pairs, red_black_tree, search_tree
from linrank.objective.structures.by_name import STRUCTURES
from linrank.objective.structures.search_tree import KEY, LEFT, RANK, RIGHT
from strategies import datasets

pytestmark = pytest.mark.kernels

ALL = pytest.mark.parametrize("name", STRUCTURES)
# A width above 1 has pairs within a negative margin.
LOSSES = [
    (SquaredHinge(), oracles.squared_hinge),
    (Hinge(), oracles.hinge),
    (SmoothedHinge(1.5), oracles.smoothed_hinge(1.5)),
]


def objective_of(data, loss, name, executor=None):
    loss = replace(loss, over=PairSums("all", STRUCTURES[name]))
    return RankingObjective(loss, L2(), 0.75, PlacedData.of(data, executor or Threads(1)))


@ALL
@settings(max_examples=25)
@given(data=datasets(weighted=True, max_documents=20), seed=st.integers(0, 99), losses=st.sampled_from(LOSSES))
def test_sums_are_those_of_listed_pairs(name, data, seed, losses):
    loss, oracle = losses
    weights, direction = np.random.default_rng(seed).standard_normal((2, data.n_features))
    X = oracles.dense(data.features)
    value, slopes, curvature = oracles.loss_at_scores(data, X @ weights, oracle)
    point = objective_of(data, loss, name).at(weights)
    assert point.loss_value == pytest.approx(value, rel=1e-11)
    gradient, product = X.T @ slopes, X.T @ curvature @ X @ direction
    np.testing.assert_allclose(point.loss_gradient, gradient, atol=1e-11 * (1 + abs(gradient).max()), rtol=1e-10)
    if not isinstance(loss, Hinge):
        found = (point.hessian_product(direction) - direction) / 0.75
        np.testing.assert_allclose(found, product, atol=1e-9 * (1 + abs(product).max()))


@ALL
@pytest.mark.parametrize("levels", [1, 2, 16, 17, 300], ids=lambda k: f"{k} levels")
def test_sums_agree_to_the_last_digits_however_many_labels(name, levels):
    rng = np.random.default_rng(levels)
    labels = rng.permutation(np.arange(600) % levels)
    data = RankingDataset.from_arrays(rng.standard_normal((600, 3)), labels, qid=np.repeat([1, 2], 300))
    usual, found = (objective_of(data, SquaredHinge(), how).at(np.ones(3)) for how in ("auto", name))
    assert found.value == pytest.approx(usual.value, rel=1e-13)
    np.testing.assert_allclose(found.gradient, usual.gradient, rtol=1e-11)
    np.testing.assert_allclose(found.hessian_product(np.ones(3)), usual.hessian_product(np.ones(3)), rtol=1e-11)


@ALL
def test_side_by_side_sweeps_have_the_same_bits(name, monkeypatch):
    monkeypatch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 9000)
    data, weights = make_ranking(1, 400, 12, levels=30)
    found = []
    for n_threads in (1, 3):
        with Threads(n_threads) as executor:
            objective = objective_of(data, SquaredHinge(), name, executor)
            assert objective.data.shards[0].is_spread
            point = objective.at(weights)
            found.append((point.value, point.gradient.tobytes(), point.hessian_product(weights).tobytes()))
    assert found[0] == found[1]


@ALL
def test_a_ranker_has_the_same_weights_from_each(name):
    data, _ = make_ranking(20, 15, 5, levels=8)
    usual, found = (RankSVM(sums=sums, solver="tron", tol=1e-10).fit(data) for sums in ("auto", name))
    np.testing.assert_allclose(found.coef_, usual.coef_, rtol=1e-7)


@ALL
def test_products_are_the_same_where_few_documents_have_a_partner(name):
    """In each of 6 queries two documents stand near one another, and the other eight a margin apart or more."""
    scores = np.tile([0.0, 0.5, *range(4, 20, 2)], 6)
    labels = np.tile([1.0, 0.0, *range(2, 10)], 6)
    features = np.column_stack([scores, np.random.default_rng(0).standard_normal((60, 2))])
    data = RankingDataset.from_arrays(features, labels, group=[10] * 6)
    weights, direction = np.array([1.0, 0.0, 0.0]), np.array([0.3, -1.0, 2.0])
    products = objective_of(data, SquaredHinge(), name).at(weights).hessian_product(direction)
    near = features.reshape(6, 10, 3)
    differences = near[:, 0] - near[:, 1]
    expected = direction + 0.75 * 2.0 * differences.T @ (differences @ direction)
    np.testing.assert_allclose(products, expected, rtol=1e-12)


@ALL
def test_it_travels_to_another_process_without_its_code(name):
    sent = pickle.dumps(PairSums("all", STRUCTURES[name]))
    assert len(sent) < 500
    assert pickle.loads(sent).structure == STRUCTURES[name]


def grown(tree, keys):
    """The nodes of a tree after these keys were entered, and its root."""
    keys = np.asarray(keys, np.int32)
    n = len(keys)
    # All are entered, then all are read.
    events = np.concatenate([np.arange(n), ~np.arange(n)]).astype(np.int32)
    values, sums = np.random.default_rng(0).random(n), np.empty(n)
    nodes, of_nodes, path = search_tree.room(n, np.float64)
    tree.sum_events(
        events, keys, keys, values, np.array([0, n]), np.array([n]), nodes, of_nodes, path, sums
    )  # fmt: skip
    np.testing.assert_allclose(sums, [values[keys < key].sum() for key in keys], atol=1e-12)
    return nodes


def walk(nodes, node):
    """(depth below, keys in order) of a subtree."""
    if node == 0:
        return 0, []
    (left, before), (right, after) = walk(nodes, nodes[node, LEFT]), walk(nodes, nodes[node, RIGHT])
    return 1 + max(left, right), [*before, int(nodes[node, KEY]), *after]


def subtree_nodes(nodes, node):
    return (
        [] if node == 0 else [node, *subtree_nodes(nodes, nodes[node, LEFT]), *subtree_nodes(nodes, nodes[node, RIGHT])]
    )


def orders():
    rng = np.random.default_rng(5)
    up = np.arange(500)
    return {
        "rising": up,
        "falling": up[::-1],
        "from both ends": np.where(up % 2, up, 999 - up),
        "random": rng.permutation(500),
        "repeated": rng.integers(0, 40, size=500),
    }


@pytest.mark.parametrize("order", orders())
@pytest.mark.parametrize(
    ("tree", "deepest"),
    [(red_black_tree, lambda n: 2 * np.log2(n + 1)), (avl_tree, lambda n: 1.4405 * np.log2(n + 2)),
     (aa_tree, lambda n: 2 * np.log2(n + 1))],
    ids=["red-black", "AVL", "AA"],
)  # fmt: skip
def test_trees_keep_their_keys_in_order_and_are_as_deep_as_their_kind_allows(tree, deepest, order):
    keys = orders()[order]
    nodes = grown(tree, keys)
    depth, found = walk(nodes, nodes[0, RIGHT])
    assert found == sorted(set(keys.tolist()))
    assert depth <= deepest(len(found))


@pytest.mark.parametrize("order", orders())
def test_no_red_node_has_a_red_child_and_ways_down_meet_as_many_black_ones(order):
    nodes = grown(red_black_tree, orders()[order])

    def black(node):
        if node == 0:
            return 0
        children = nodes[node, LEFT], nodes[node, RIGHT]
        assert nodes[node, RANK] == 0 or not any(nodes[child, RANK] for child in children)
        below, other = map(black, children)
        assert below == other
        return below + 1 - int(nodes[node, RANK])

    assert nodes[nodes[0, RIGHT], RANK] == 0
    assert black(nodes[0, RIGHT]) > 0


@pytest.mark.parametrize("order", orders())
def test_the_heights_of_an_avl_tree_are_true_and_differ_by_one_at_most(order):
    nodes = grown(avl_tree, orders()[order])
    for node in subtree_nodes(nodes, nodes[0, RIGHT]):
        left, right = (int(nodes[nodes[node, side], RANK]) for side in (LEFT, RIGHT))
        assert abs(left - right) <= 1
        assert nodes[node, RANK] == 1 + max(left, right)


@pytest.mark.parametrize("order", orders())
def test_in_an_aa_tree_only_a_right_child_is_level_and_never_two_in_a_row(order):
    nodes = grown(aa_tree, orders()[order])
    for node in subtree_nodes(nodes, nodes[0, RIGHT]):
        level, left, right = (int(nodes[of, RANK]) for of in (node, nodes[node, LEFT], nodes[node, RIGHT]))
        assert left == level - 1
        assert right in (level, level - 1)
        if right == level:
            assert nodes[nodes[nodes[node, RIGHT], RIGHT], RANK] == level - 1


def test_pairs_that_memory_cannot_list_are_refused_before_any_work(monkeypatch):
    data, _ = make_ranking(4, 10, 3, levels=None)
    assert RankSVM(sums="listed-pairs").fit(data).coef_.shape == (3,)
    monkeypatch.setattr(listed_pairs, "memory_bytes", lambda: 1000.0)
    with pytest.raises(LinrankError, match=r"sums='listed-pairs': 180 pairs take 0.0 GB .* Use sums='auto'"):
        RankSVM(sums="listed-pairs").fit(data)


def test_pairs_of_data_on_disk_are_not_listed_but_summed_by_any_other(tmp_path):
    data, _ = make_ranking(8, 10, 3, levels=6)
    save_dataset(data, tmp_path / "data.linrank")
    on_disk = scan(tmp_path / "data.linrank")
    with pytest.raises(LinrankError, match=r"sums='listed-pairs': the data stays on disk, .* Use sums='auto'"):
        RankSVM(sums="listed-pairs").fit(on_disk)
    np.testing.assert_allclose(RankSVM(sums="y-avltree").fit(on_disk).coef_, RankSVM().fit(data).coef_, rtol=1e-4)


@pytest.mark.parametrize("name", ["y-rbtree", "listed-pairs", "two-levels"])
def test_neighbouring_labels_are_refused_where_they_would_not_be_heard_of(name):
    data, _ = make_ranking(4, 10, 3)
    with pytest.raises(LinrankError, match="pairs='adjacent' are summed by one running sum a label alone"):
        RankSVM(pairs="adjacent", sums=name).fit(data)
