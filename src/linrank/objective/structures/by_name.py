"""The structures by the names that users give them: Lee & Lin's where they have one."""

from __future__ import annotations

from linrank.objective.structures.eight_way_tree import EightWayTree
from linrank.objective.structures.keyed_sums import KeyedSums
from linrank.objective.structures.listed_pairs import ListedPairs
from linrank.objective.structures.structure import Structure
from linrank.objective.structures.two_levels import TwoLevels

STRUCTURES: dict[str, Structure] = {
    "auto": EightWayTree(),
    "direct": EightWayTree(direct_up_to=2**62),
    "tree": EightWayTree(direct_up_to=0),
    "selection-tree": KeyedSums("y", "selection"),
    "fenwick-tree": KeyedSums("y", "fenwick"),
    "y-rbtree": KeyedSums("y", "red-black"),
    "y-avltree": KeyedSums("y", "avl"),
    "y-aatree": KeyedSums("y", "aa"),
    "wTx-rbtree": KeyedSums("wTx", "red-black"),
    "wTx-avltree": KeyedSums("wTx", "avl"),
    "wTx-aatree": KeyedSums("wTx", "aa"),
    "two-levels": TwoLevels(),
    "listed-pairs": ListedPairs(),
}
