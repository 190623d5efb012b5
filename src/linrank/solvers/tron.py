"""TRON: trust-region Newton with Steihaug's conjugate gradients, as in Lee & Lin's Large-scale Linear RankSVM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.solvers.conjugate_gradient import newton_step
from linrank.solvers.newton_cg import IN_DOUBT, NewtonCG
from linrank.solvers.own_units import in_own_units
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_smooth_loss, wants_smooth_penalty, wants_strength

# Lin, Weng & Keerthi (2008), the constants of their trust region: when a step is taken, and how the radius changes.
_TAKE, _POOR, _GOOD = 1e-4, 0.25, 0.75
_SHRINK_MOST, _SHRINK, _GROW = 0.25, 0.5, 4.0
# Conjugate gradients end where the residual is this share of the gradient.
_INNER_TOLERANCE = 0.1
# Where the rule is met, what is left of the objective by the Newton decrement is mostly less than the tolerance: this
# many times as much, up to a share, is still called converged. Finding it out may cost so many products.
_TIMES_THE_TOLERANCE, _MOST_LEFT = 10.0, 0.1
_MOST_PRODUCTS = 50


@dataclass(frozen=True)
class TRON(Solver):
    """Stops where |gradient| is at most `tolerance` x |gradient at 0|, the rule of the paper and of LIBLINEAR.

    With one feature in large units that is soon so, however far the weights of the others are from their best: it has
    converged only where the Newton decrement, which knows of no units, says that hardly anything is left as well.
    """

    tolerance: float = 1e-3
    max_iterations: int = 1000
    max_seconds: float = np.inf

    def refuses(self, objective: RankingObjective) -> str | None:
        return wants_smooth_loss(objective) or wants_smooth_penalty(objective) or wants_strength(objective)

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        origin = objective.start()
        point = origin if start is None else objective.start(start)
        return self._descend(point, float(np.linalg.norm(origin.gradient)), journal)

    def _descend(self, point: EvaluatedPoint, first_norm: float, journal: Journal) -> Solution:
        radius = float(np.linalg.norm(point.gradient))
        inner, ratio = 0, 1.0
        for number in range(self.max_iterations):
            norm = float(np.linalg.norm(point.gradient))
            shown = norm / first_norm if first_norm else 0.0
            stop = journal.note_smooth(point, inner=inner, step=ratio, shown=shown)
            if norm <= self.tolerance * first_norm:
                return self._judged(point, journal)
            if stop:
                return journal.solution(stop)
            direction, residual, inner = _steihaug(point, radius, journal)
            slope = float(point.gradient @ direction)
            promised = -0.5 * (slope - float(direction @ residual))
            trial = point.objective.at(point.weights + direction)
            gained = point.value - trial.value
            length = float(np.linalg.norm(direction))
            if number == 0:
                radius = min(radius, length)
            radius = _next_radius(radius, length, slope, gained, promised)
            ratio = gained / promised if promised > 0.0 else 0.0
            if gained > _TAKE * promised:
                point = trial
            elif promised <= 0.0 or radius <= 1e-15 * (1.0 + float(np.linalg.norm(point.weights))):
                return journal.stalled(point, point.gradient)
        norm = float(np.linalg.norm(point.gradient))
        journal.note_smooth(point, inner=inner, step=ratio, shown=norm / first_norm)
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})")

    def _judged(self, point: EvaluatedPoint, journal: Journal) -> Solution:
        """What is known where the gradient is short: by conjugate gradients, with each feature in units of its own."""
        rule = "|gradient| <= tolerance |gradient at 0|"
        little = min(_MOST_LEFT, _TIMES_THE_TOLERANCE * self.tolerance) * abs(point.value)
        left = newton_step(
            point,
            in_own_units(point),
            forcing=_INNER_TOLERANCE,
            # The rest is known by the diagonal alone, which may take a hundred times too little for what it is.
            enough=0.01 * little,
            max_products=_MOST_PRODUCTS,
            journal=journal,
        ).decrement
        if left <= little and NewtonCG(self.tolerance).is_in_doubt(point):
            return journal.solution(f"{rule}, {IN_DOUBT}")
        if left <= little:
            return journal.solution(rule, converged=True)
        return journal.solution(
            f"{rule}, but about {left / abs(point.value):.1%} of the objective is left to gain; scale the features, or "
            "use another solver"
        )


def _next_radius(radius: float, length: float, slope: float, gained: float, promised: float) -> float:
    """Shrink or grow with how much of the promise was kept; `stretch` is the least point of a parabola through both."""
    excess = -gained - slope
    stretch = _GROW if excess <= 0.0 else max(_SHRINK_MOST, -0.5 * slope / excess)
    if gained < _TAKE * promised:
        return min(stretch * length, _SHRINK * radius)
    if gained < _POOR * promised:
        return max(_SHRINK_MOST * radius, min(stretch * length, _SHRINK * radius))
    if gained < _GOOD * promised:
        return max(_SHRINK_MOST * radius, min(stretch * length, _GROW * radius))
    return max(radius, min(stretch * length, _GROW * radius))


def _steihaug(point: EvaluatedPoint, radius: float, journal: Journal) -> tuple[Vector, Vector, int]:
    """Minimise the quadratic model within the radius, or until the run is out of time.

    Returns the direction, the residual -g - H d, and the products used.
    """
    residual = -point.gradient
    direction = np.zeros_like(residual)
    descent = residual.copy()
    size = float(residual @ residual)
    enough = _INNER_TOLERANCE * np.sqrt(size)
    products = 0
    while np.sqrt(size) > enough:
        curved = point.hessian_product(descent)
        products += 1
        length = size / float(descent @ curved)
        farther = direction + length * descent
        if float(np.linalg.norm(farther)) > radius:
            length = _to_the_border(direction, descent, radius)
            return direction + length * descent, residual - length * curved, products
        direction = farther
        residual = residual - length * curved
        before, size = size, float(residual @ residual)
        if journal.seconds_left == 0.0:
            break
        descent = residual + (size / before) * descent
    return direction, residual, products


def _to_the_border(direction: Vector, descent: Vector, radius: float) -> float:
    """The positive t with |direction + t descent| = radius."""
    across = float(direction @ descent)
    square = float(descent @ descent)
    room = radius * radius - float(direction @ direction)
    root = np.sqrt(across * across + square * room)
    return float(room / (across + root) if across >= 0.0 else (root - across) / square)
