"""Gradient descent with momentum on pairwise least squares, with rates that cannot diverge: GDM and eGDM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from linrank.arrays import Vector
from linrank.objective.least_squares import LeastSquares
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_smooth_penalty

# Too large an upper eigenvalue costs its square root in iterations, too small a one everything.
_HEADROOM = 1.02
# The lower eigenvalue is lowered where a step proves it at least twice too large, and then to a quarter of what was
# proved: the next steps would prove more, and each new beginning loses the momentum.
_PROVED, _BEYOND = 0.5, 0.25
# Beyond this ratio of eigenvalues 1 - momentum has no digits left.
_LARGEST_RATIO = 1e20
# Differences of gradients prove something only where they are well above the rounding of the gradients.
_TRUSTED = 1e-11
_ROUNDING = 16 * float(np.finfo(np.float64).eps)


def wants_least_squares(objective: RankingObjective) -> str | None:
    """Why other losses, whose curvature changes from point to point, and other penalties are refused."""
    if not isinstance(objective.loss, LeastSquares):
        return f"this solver is for least squares, not for {objective.loss}. Use solver='newton'."
    reason = wants_smooth_penalty(objective)
    if reason is not None:
        return reason
    penalty = objective.weight_penalty
    if np.ndim(penalty.strengths):
        return f"the penalty must be gamma / 2 |w - prior|², not {penalty}. Use solver='newton'."
    if not penalty.strength > 0.0:
        return f"gamma={penalty.strength}; use a positive number: it makes the solution unique."
    return None


def certified_gap(point: EvaluatedPoint) -> float:
    """|gradient|² / (2 gamma): never less than F - min F, since F - gamma w.w / 2 is convex."""
    return float(point.gradient @ point.gradient) / (2.0 * point.objective.weight_penalty.strength)


@dataclass(frozen=True, slots=True)
class Eigenvalues:
    """Estimates of the largest and smallest eigenvalue of the Hessian, iteration by iteration; the last ones count."""

    largest: float
    smallest: float
    estimates: tuple[tuple[float, float], ...] = ()


def power_iteration(point: EvaluatedPoint, iterations: int, seed: int) -> Eigenvalues:
    """kappa_1 by power iteration on H, and kappa_n by power iteration on H - kappa_1 I.

    Algorithm 1 of the paper, with the centring it forgets. Power iteration approaches kappa_1 from below; what it may
    still lack is added: the residual |H v - (v.H v) v|.
    """
    random = np.random.default_rng(seed)
    v, omega = (vector / np.linalg.norm(vector) for vector in random.standard_normal((2, len(point.weights))))
    gamma = point.objective.weight_penalty.strength
    largest, smallest, residual = gamma, gamma, 0.0
    estimates = []
    for _ in range(iterations):
        product = point.hessian_product(v)
        largest = float(np.linalg.norm(product))
        residual = float(np.linalg.norm(product - (v @ product) * v))
        v = product / largest
        product = point.hessian_product(omega)
        smallest = min(largest, max(gamma, float(omega @ product)))
        estimates.append((largest, smallest))
        product -= largest * omega
        length = float(np.linalg.norm(product))
        if length <= _ROUNDING * largest:
            break
        omega = product / length
    return Eigenvalues(largest + residual, smallest, tuple(estimates))


@dataclass(frozen=True, slots=True)
class Rates:
    """w_{t+1} = w_t - (1 - momentum) learning_rate gradient + momentum (w_t - w_{t-1})."""

    learning_rate: float
    momentum: float

    @classmethod
    def best(cls, largest: float, smallest: float) -> Rates:
        """The fastest where all eigenvalues lie between the two: eta = 1 / sqrt(kappa_1 kappa_n)."""
        root = np.sqrt(min(max(1.0, largest / smallest), _LARGEST_RATIO))
        return cls.safe(((root - 1.0) / (root + 1.0)) ** 2, largest)

    @classmethod
    def safe(cls, momentum: float, largest: float) -> Rates:
        """The longest learning rate for a momentum with which F stays below its first value: see `HeavyBall`."""
        root = np.sqrt(momentum)
        return cls(float((1.0 + root) / ((1.0 - root) * largest)), float(momentum))

    @property
    def step(self) -> float:
        return (1.0 - self.momentum) * self.learning_rate

    @property
    def first_step(self) -> float:
        return self.step / (1.0 + float(np.sqrt(self.momentum)))


@dataclass(frozen=True, repr=False, kw_only=True)
class HeavyBallSolution(Solution):
    """A solution, with the eigenvalues and rates of the last steps."""

    eigenvalues: Eigenvalues
    rates: Rates


@dataclass(frozen=True)
class HeavyBall(Solver):
    """Gradient descent with momentum; stops where |gradient|² / (2 gamma), no less than F - min F, is <= tolerance x F.

    Without a momentum it is eGDM: both rates come from the eigenvalues, estimated by `power_iterations`. With a
    momentum and no learning rate, that is the longest safe one. F is quadratic, so that a component of the error with
    eigenvalue kappa follows e_{t+1} = (1 + mu - a kappa) e_t - mu e_{t-1}, a = (1 - mu) eta. With a first step of
    a / (1 + sqrt(mu)) no |e_t| ever exceeds |e_0| as long as a kappa_1 <= (1 + sqrt(mu))², which eGDM's rates meet with
    equality. (With a first step of a, as in the paper, F may rise by a factor in proportion to kappa_1 / kappa_n.)
    Hence each of these proves that an estimate is wrong, and it is corrected and the descent begun anew:

    - F above its value at the beginning, or a step with |change of gradient| > kappa_1 |step|: kappa_1 is too small;
    - a step whose curvature, step.(change of gradient) / |step|², is less than kappa_n: kappa_n is too large.

    A descent that diverges grows along the first eigenvector, and so measures kappa_1 itself.

    One that ends before it has converged returns the lowest point met, which need not be the last.
    """

    solution: ClassVar = HeavyBallSolution

    momentum: float | None = None
    learning_rate: float | None = None
    tolerance: float = 1e-6
    max_iterations: int = 10_000
    max_seconds: float = np.inf
    power_iterations: int = 20
    seed: int = 0

    def refuses(self, objective: RankingObjective) -> str | None:
        return wants_least_squares(objective)

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        point = objective.start(start)
        estimated = self._estimate(point)
        descent = _Descent(self, point, estimated)
        journal.also(descent.told)
        return journal.solution(**self._descend(descent, journal, 2 * len(estimated.estimates)))

    def _estimate(self, point: EvaluatedPoint) -> Eigenvalues:
        gamma = point.objective.weight_penalty.strength
        if self.learning_rate is not None or not point.gradient.any():
            return Eigenvalues(gamma, gamma)
        return power_iteration(point, self.power_iterations, self.seed)

    def rates(self, eigenvalues: Eigenvalues) -> Rates:
        """The rates for what is known of the eigenvalues."""
        if self.momentum is None:
            return Rates.best(eigenvalues.largest, eigenvalues.smallest)
        safe = Rates.safe(self.momentum, eigenvalues.largest)
        return safe if self.learning_rate is None else Rates(min(self.learning_rate, safe.learning_rate), self.momentum)

    def _descend(self, descent: _Descent, journal: Journal, products: int) -> dict[str, Any]:
        """Step until one of the rules ends it; return what is to be said of the last point noted."""
        for number in range(self.max_iterations + 1):
            stop = descent.note(journal, products if number == 0 else 0)
            if certified_gap(descent.point) <= self.tolerance * descent.point.value:
                descent.has_converged = True
                return {"message": "the certified gap is below the tolerance", "converged": True}
            if stop is None and descent.at_the_limit():
                stop = "the gradient is zero but for the rounding of float64"
            if stop is None and number == self.max_iterations:
                stop = f"out of iterations (max_iter={self.max_iterations})"
            if stop:
                break
            descent.go_on()
        return {"message": stop}


class _Descent:
    """Where the descent is, what it knows of the eigenvalues, and the rates that follow."""

    def __init__(self, solver: HeavyBall, point: EvaluatedPoint, eigenvalues: Eigenvalues) -> None:
        self._solver = solver
        # Of the features as they are: a product with them rounds what it sums, and that is not centred.
        self._size_of_features = float(np.sqrt(np.sum(point.crude_hessian_diagonal())))
        self._best = point
        self.has_converged = False
        self._begin(point, eigenvalues)

    def _begin(self, point: EvaluatedPoint, eigenvalues: Eigenvalues) -> None:
        self.point = self._beginning = point
        self.eigenvalues = eigenvalues
        self.rates = self._solver.rates(eigenvalues)
        self._velocity: Vector | None = None

    def note(self, journal: Journal, products: int) -> str | None:
        """Add a line to the journal; return why to stop, if there is a reason beside convergence."""
        point, gap = self.point, certified_gap(self.point)
        norm = float(np.linalg.norm(point.gradient))
        return journal.note(
            point.weights, point.value, norm, gap=gap, certified_gap=gap, inner=products, step=self.rates.step
        )

    def told(self) -> dict[str, Any]:
        """What a solution tells beside its last line: an unfinished descent may have been lower before."""
        known = {"eigenvalues": self.eigenvalues, "rates": self.rates}
        if self.has_converged:
            return known
        best, gap = self._best, certified_gap(self._best)
        lowest = {"weights": best.weights, "value": best.value, "certified_gap": gap, "estimated_gap": gap}
        return {**known, **lowest, "gradient_norm": float(np.linalg.norm(best.gradient))}

    def at_the_limit(self) -> bool:
        """Whether the gradient is no longer than its own rounding errors."""
        return float(np.linalg.norm(self.point.gradient)) <= _ROUNDING * self._summed()

    def _summed(self) -> float:
        """The size of what is summed to make a gradient: X' times centred slopes, with the rounding of the scores."""
        scores = np.sqrt(self.eigenvalues.largest) * float(np.linalg.norm(self.point.weights))
        return self._size_of_features * float(np.sqrt(2.0 * self.point.value) + scores)

    def go_on(self) -> None:
        """Take a step; where it proves an eigenvalue wrong, begin anew with a better one."""
        before = self.point
        # Rates that the caller chose may be wrong by any factor; what is not finite has risen.
        with np.errstate(over="ignore", invalid="ignore"):
            if self._velocity is None:
                self._velocity = -self.rates.first_step * before.gradient
            else:
                self._velocity = self.rates.momentum * self._velocity - self.rates.step * before.gradient
            self.point = before.objective.at(before.weights + self._velocity)
            change = self.point.gradient - before.gradient
            size, length = float(np.linalg.norm(change)), float(np.linalg.norm(self._velocity))
            proved = size / length if length > 0.0 and size > _TRUSTED * self._summed() else 0.0
        if self.point.value < self._best.value:
            self._best = self.point
        if self._has_risen() or (
            self._solver.learning_rate is None and proved > (1.0 + 1e-9) * self.eigenvalues.largest
        ):
            self._raise_largest(proved if np.isfinite(proved) else 0.0)
        elif self._solver.momentum is None and proved > 0.0:
            self._lower_smallest(float(self._velocity @ change) / length**2)

    def _has_risen(self) -> bool:
        first = self._beginning.value
        # F is a sum of squares of differences s - y, which are rounded as the scores are.
        scores = self._size_of_features * float(np.linalg.norm(self.point.weights))
        return not self.point.value <= first * (1.0 + 1e-9) + 1e3 * _ROUNDING * float(np.sqrt(first)) * scores

    def _raise_largest(self, proved: float) -> None:
        root = np.sqrt(self.rates.momentum)
        # What the present rates would be safe for.
        refuted = float((1.0 + root) / ((1.0 - root) * self.rates.learning_rate))
        largest = _HEADROOM * proved if proved > refuted else 1.1 * refuted
        self._begin(self._best, replace(self.eigenvalues, largest=largest))

    def _lower_smallest(self, proved: float) -> None:
        known, gamma = self.eigenvalues.smallest, self.point.objective.weight_penalty.strength
        if known > gamma and proved < _PROVED * known:
            self._begin(self.point, replace(self.eigenvalues, smallest=max(gamma, _BEYOND * proved)))
