"""The one protocol of solvers of whole dual problems."""

from __future__ import annotations

from abc import ABCMeta

from linrank.solvers.solver import Minimizer, Problem, Start


class DualSolver(Minimizer[Problem, Start], metaclass=ABCMeta):
    """Minimises a dual of the hinge RankSVM, f = |w|² / 2 - sum a_ij + …, in a multiplier a_ij for each pair.

    The solution's weights are w = sum a_ij (x_i - x_j), its value is f, below zero, and `certified_gap` bounds what f
    has above the least value of the dual. A start is a point of the dual or what it is found from; `refuses`, limits,
    the watcher, the history and Ctrl-C are those of every `Minimizer`.
    """
