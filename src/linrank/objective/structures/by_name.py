"""The structures by the names that users give them: Lee & Lin's where they have one."""

from __future__ import annotations

from linrank.objective.structures import (
    aa_tree,
    avl_tree,
    fenwick_tree,
    red_black_tree,
    search_tree,
    selection_tree,
)
from linrank.objective.structures.eight_way_tree import EightWayTree
from linrank.objective.structures.keyed_sums import KeyedSums
from linrank.objective.structures.listed_pairs import ListedPairs
from linrank.objective.structures.structure import Structure
from linrank.objective.structures.two_levels import TwoLevels

STRUCTURES: dict[str, Structure] = {
    "auto": EightWayTree(),
    "direct": EightWayTree(direct_up_to=2**62),
    "tree": EightWayTree(direct_up_to=0),
    "selection-tree": KeyedSums("y", selection_tree.sum_events, selection_tree.room),
    "fenwick-tree": KeyedSums("y", fenwick_tree.sum_events, fenwick_tree.room),
    "y-rbtree": KeyedSums("y", red_black_tree.sum_events, search_tree.room),
    "y-avltree": KeyedSums("y", avl_tree.sum_events, search_tree.room),
    "y-aatree": KeyedSums("y", aa_tree.sum_events, search_tree.room),
    "wTx-rbtree": KeyedSums("wTx", red_black_tree.sum_events, search_tree.room),
    "wTx-avltree": KeyedSums("wTx", avl_tree.sum_events, search_tree.room),
    "wTx-aatree": KeyedSums("wTx", aa_tree.sum_events, search_tree.room),
    "two-levels": TwoLevels(),
    "listed-pairs": ListedPairs(),
}
