"""Newton's method for smooth objectives: conjugate gradients with a preconditioner from a sample of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.placement import PlacedData
from linrank.objective.samples import Sample
from linrank.solvers.cholesky import CholeskyFactor
from linrank.solvers.conjugate_gradient import NewtonStep, Preconditioner, newton_step
from linrank.solvers.line_search import advance
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_smooth_loss, wants_smooth_penalty, wants_strength

# An explicit Hessian of this many features takes 32 MB and a fraction of a second to factor.
MOST_FEATURES_IN_A_MATRIX = 2000
# The Hessian of a sample may cost as many multiplications as this many passes over the data, or as nothing to speak of.
_MOST_PASSES_FOR_A_MATRIX = 10
_FREE_MULTIPLICATIONS = 2e7
_RIDGES = (0.0, 1e-12, 1e-8, 1e-4)
# Where the certified gap is so many times f, the Newton decrement is not taken at its word: see `_second_opinion`.
_SUSPICIOUS = 1e4
# A first solution from a sample this many times smaller costs little and is within a few Newton steps of the whole.
_RUNG = 8


@dataclass(frozen=True)
class NewtonCG(Solver):
    """Stops where the Newton decrement says that (f - min f) / f is at most `tolerance`.

    With `certified`, it stops where the duality gap, which is never less than f - min f, is at most `tolerance` x f.
    Conjugate gradients are preconditioned with the Hessian of a sample of the documents where there are few enough
    features for that to pay, and with a diagonal otherwise. Without a starting point, the first one is the solution of
    a sample of the data.
    """

    tolerance: float = 1e-6
    certified: bool = False
    max_iterations: int = 100
    max_seconds: float = np.inf
    forcing: float = 0.1
    sample_share: float = 0.02
    max_products: int = 250

    def refuses(self, objective: RankingObjective) -> str | None:
        return wants_smooth_loss(objective) or wants_smooth_penalty(objective) or wants_strength(objective)

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        weights = self.start_from_samples(objective, journal) if start is None else start
        return self.continue_from(objective.start(weights), journal)[0]

    def continue_from(self, point: EvaluatedPoint, journal: Journal) -> tuple[Solution, EvaluatedPoint]:
        """Minimise from a point that is evaluated already; also return the last point."""
        sample = self.sample_for(point.objective.data)
        step = 1.0
        for _ in range(self.max_iterations):
            newton = self._newton_step(point, sample, journal)
            stop = journal.note_smooth(point, gap=newton.decrement, inner=newton.products, step=step)
            if self._gap(point, newton) <= self.tolerance * point.value:
                farther = self._second_opinion(point, newton)
                if farther is not None:
                    point, step = farther
                    continue
                what = "the certified gap" if self.certified else "the Newton decrement"
                return journal.solution(f"{what} is below the tolerance", converged=True), point
            if stop:
                return journal.solution(stop), point
            point, step = advance(point, newton.direction)
            if step == 0.0:
                return journal.stalled(point, point.gradient, gap=newton.decrement), point
        newton = self._newton_step(point, sample, journal)
        journal.note_smooth(point, gap=newton.decrement, inner=newton.products, step=step)
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})"), point

    def _gap(self, point: EvaluatedPoint, newton: NewtonStep) -> float:
        return point.gap() if self.certified else newton.decrement

    def _second_opinion(self, point: EvaluatedPoint, newton: NewtonStep) -> tuple[EvaluatedPoint, float] | None:
        """A point beyond the Newton step that is lower than the decrement foretold, if there is one.

        The decrement knows the pairs that count here. With features on very different scales other pairs may count a
        little further on; then the gradient is long, and the certificate says so.
        """
        if point.gap() <= _SUSPICIOUS * point.value:
            return None
        line = point.toward(newton.direction)
        least, best_step = point.value, 0.0
        for step in (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0):
            value = line.at(step).value
            if value >= least:
                break
            least, best_step = value, step
        gained = point.value - least
        return (line.point_at(best_step), best_step) if gained > 2.0 * self.tolerance * point.value else None

    def _newton_step(self, point: EvaluatedPoint, sample: Sample | None, journal: Journal) -> NewtonStep:
        return newton_step(
            point,
            _preconditioner(point, sample),
            forcing=self.forcing,
            enough=0.0 if self.certified else self.tolerance * point.value,
            max_products=self.max_products,
            journal=journal,
        )

    def sample_for(self, data: PlacedData) -> Sample | None:
        """The sample whose Hessian is worth forming as a matrix; None where the features are too many for that."""
        documents = self.documents_for_a_matrix(data)
        return None if documents is None else data.sample(documents)

    def documents_for_a_matrix(self, data: PlacedData) -> int | None:
        """Of how many documents the Hessian is worth forming as a matrix, if of any."""
        n, documents = data.n_features, data.n_documents
        affordable = max(_FREE_MULTIPLICATIONS, _MOST_PASSES_FOR_A_MATRIX * documents * n) / (n * n)
        # Fewer documents than a few times the features say little about the Hessian.
        if n > MOST_FEATURES_IN_A_MATRIX or affordable < min(4 * n, documents):
            return None
        wanted = max(self.sample_share * documents, 10 * n, _FREE_MULTIPLICATIONS / (n * n))
        return int(min(wanted, affordable))

    def start_from_samples(self, objective: RankingObjective, journal: Journal | None = None) -> Vector:
        """The solution of a sample of the data, which itself starts from the solution of a smaller one."""
        data, journal = objective.data, journal or Journal(max_seconds=self.max_seconds)
        wanted = data.n_documents // _RUNG
        if data.n_features > MOST_FEATURES_IN_A_MATRIX or wanted < max(5000, 20 * data.n_features):
            return np.zeros(data.n_features)
        part = data.part(wanted)
        if part.n_documents > data.n_documents // 2:
            # A few large queries: no smaller sample of whole queries is to be had.
            return np.zeros(data.n_features)
        smaller = replace(objective, data=part)
        # A sample of m documents differs from the whole by about n / m: nothing is gained by solving it more exactly.
        loose = replace(self, tolerance=max(self.tolerance, 0.1 * data.n_features / wanted))
        start = smaller.at(loose.start_from_samples(smaller, journal))
        return loose.continue_from(start, journal.part())[0].weights


def _preconditioner(point: EvaluatedPoint, sample: Sample | None) -> Preconditioner:
    if sample is None:
        diagonal = point.crude_hessian_diagonal()
        return lambda residual, out: np.divide(residual, diagonal, out=out)
    hessian = point.sampled_hessian(sample)
    # With a unit diagonal, features on different scales do not spoil the factors; a ridge helps where some are copies.
    scale = 1.0 / np.sqrt(np.diagonal(hessian))
    hessian *= scale[:, None]
    hessian *= scale
    for ridge in _RIDGES:
        hessian[np.diag_indices_from(hessian)] = 1.0 + ridge
        try:
            factor = CholeskyFactor.of(hessian)
        except LinAlgError:
            continue
        return lambda residual, out: np.multiply(scale, factor.solve(scale * residual), out=out)
    return lambda residual, out: np.multiply(scale * scale, residual, out=out)
