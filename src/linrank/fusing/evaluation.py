"""How good each method is on queries that it has not seen, and which differences are real."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.fusing.fusers import Fuser, WeightedLegs
from linrank.fusing.methods import Method, methods_for
from linrank.fusing.problem import FusionProblem
from linrank.measures import SIGNIFICANT, bootstrap_interval, holm, randomisation_test

MOST_LOST = 0.01
"""A leg that no more can be lost with is not worth a search."""


@dataclass(frozen=True, eq=False)
class Standing:
    """One method on held-out queries.

    Attributes
    ----------
    method, says : its name, and what it is
    fuser : what it learnt of all queries
    per_query : the measure of each query, by what was learnt of others
    mean, interval : over queries, with its 95 % bootstrap interval
    gain, gain_interval : the chosen method's mean minus this one's
    p_value : of no difference to the chosen one, by randomisation, with Holm's correction; NaN for the chosen one
    """

    method: str
    says: str
    fuser: Fuser
    per_query: Vector
    mean: float
    interval: tuple[float, float]
    gain: float
    gain_interval: tuple[float, float]
    p_value: float

    @property
    def is_real(self) -> bool:
        """Whether the difference to the chosen method is more than chance."""
        return self.p_value <= SIGNIFICANT


def held_out(problem: FusionProblem, method: Method, n_folds: int, seed: int) -> Vector:
    """The measure of each query by what a method learnt of the other folds."""
    ones = np.ones(problem.n_queries)
    if not method.learns:
        return problem.per_query(method.learn(problem, ones))
    values = np.full(problem.n_queries, np.nan)
    parts = problem.candidates.queries.dealt(n_folds, seed)
    for fold in range(n_folds):
        out = parts == fold
        values[out] = problem.per_query(method.learn(problem, np.where(out, 0.0, 1.0)))[out]
    return values


def standings(
    problem: FusionProblem, methods: Mapping[str, Method], chosen: str, n_folds: int, seed: int
) -> tuple[Standing, ...]:
    """Every method on held-out queries, the best first, and how much better than each the chosen one is."""
    ones = np.ones(problem.n_queries)
    fusers = {name: method.learn(problem, ones) for name, method in methods.items()}
    values = {name: held_out(problem, method, n_folds, seed) for name, method in methods.items()}
    others = [name for name in methods if name != chosen]
    tests = [randomisation_test(values[chosen], values[name], random_state=seed).p_value for name in others]
    p_value = dict(zip(others, holm(tests).tolist(), strict=True)) if tests else {}
    made = [
        Standing(
            name,
            method.says,
            fusers[name],
            values[name],
            float(np.nanmean(values[name])),
            bootstrap_interval(values[name], random_state=seed),
            float(np.nanmean(values[chosen] - values[name])),
            bootstrap_interval(values[chosen] - values[name], random_state=seed),
            p_value.get(name, math.nan),
        )
        for name, method in methods.items()
    ]
    return tuple(sorted(made, key=lambda standing: (-standing.mean, standing.method != chosen)))


@dataclass(frozen=True)
class LegWeight:
    """A weight with its 95 % bootstrap interval, and what is lost where the leg is not asked at all.

    Attributes
    ----------
    name : of the leg or signal
    weight : in the engine's units
    low, high : the interval's ends; None where nothing is learnt, or queries were not drawn again
    loss, loss_interval : the mean measure with the leg minus that without; None for a signal, the only leg, or where
        the engine does not fuse the others
    """

    name: str
    weight: float
    low: float | None = None
    high: float | None = None
    loss: float | None = None
    loss_interval: tuple[float, float] | None = None

    @property
    def interval(self) -> str:
        """In words; empty where there is none."""
        return "" if self.low is None else f"{self.low:.4g} to {self.high:.4g}"

    @property
    def can_go(self) -> bool:
        """Whether no more than 0.01 of the measure can be lost, by the interval."""
        return self.loss_interval is not None and self.loss_interval[1] <= MOST_LOST


def leg_weights(
    problem: FusionProblem, method: Method, fuser: WeightedLegs, drawn: Sequence[Vector], n_folds: int, seed: int
) -> tuple[LegWeight, ...]:
    """The weights, how far they move when queries are `drawn` again, and what each leg is worth."""
    ends: list[Any] = [(None, None)] * len(fuser.weights)
    if drawn:
        ends = np.quantile(drawn, [0.025, 0.975], axis=0).T.tolist()
    n_legs = len(problem.candidates.legs)
    losses: list[Any] = [None] * len(fuser.weights)
    if n_legs > 1 and method.learns:
        whole = held_out(problem, method, n_folds, seed)
        for leg in range(n_legs):
            fewer = problem.without(leg)
            if fewer is None:
                continue
            losses[leg] = whole - held_out(fewer, methods_for(fewer)[method.name], n_folds, seed)
    made = []
    for place, name in enumerate(problem.candidates.names):
        (low, high), lost = ends[place], losses[place]
        made.append(
            LegWeight(
                name,
                fuser.weights[place],
                low,
                high,
                None if lost is None else float(np.nanmean(lost)),
                None if lost is None else bootstrap_interval(lost, random_state=seed),
            )
        )
    return tuple(made)


def drawn_weights(problem: FusionProblem, method: Method, n_resamples: int, seed: int) -> Sequence[Vector]:
    """The weights learnt of as many queries as there are, drawn with replacement, again and again."""
    rng, order = np.random.default_rng(seed), problem.candidates.queries.drawn(seed)
    made = []
    for _ in range(n_resamples):
        drawn = order[rng.integers(problem.n_queries, size=problem.n_queries)]
        counts = np.bincount(drawn, minlength=problem.n_queries).astype(np.float64)
        if not (counts * problem.training.n_pairs).any():
            continue
        learnt = method.learn(problem, counts)
        assert isinstance(learnt, WeightedLegs)
        made.append(np.array(learnt.weights))
    return made
