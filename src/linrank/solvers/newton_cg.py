"""Newton's method for smooth objectives: conjugate gradients with a preconditioner from a sample of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from linrank.arrays import Vector
from linrank.objective.duality import NoDual
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.placement import PlacedData
from linrank.objective.samples import Sample
from linrank.solvers.conjugate_gradient import Doubt, NewtonStep, newton_step
from linrank.solvers.curvature import FREE_MULTIPLICATIONS, Curvature
from linrank.solvers.dual_of_part import PartOfDual
from linrank.solvers.line_search import advance, gained_along
from linrank.solvers.rising_strength import Solved, rising_strengths, start_for
from linrank.solvers.sampled_hessian import bends_of
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_smooth_loss, wants_smooth_penalty, wants_strength

# An explicit Hessian of this many features takes 32 MB and a fraction of a second to factor.
MOST_FEATURES_IN_A_MATRIX = 2000
# The Hessian of a sample may cost as many multiplications as this many passes over the data, or as nothing to speak of.
_MOST_PASSES_FOR_A_MATRIX = 10
# It serves from point to point, as long as conjugate gradients take no more products to gain each further digit.
_PRODUCTS_A_DIGIT = 4
# The part of the data from which a better certificate comes: its share, or so many documents a feature; how exactly
# it is solved, and at most in how many steps.
_SHARE_OF_A_PART = 0.06
_LEAST_PART = 20
_FORCING_OF_A_PART = 0.03
_STEPS_OF_A_PART = 16
# Where the certified gap is so many times f, the Newton decrement is not taken at its word: see `_second_opinion`, for
# which the data is read once more, and `is_in_doubt`, which costs all eigenvalues.
_UNSURE, _SUSPICIOUS = 1e-2, 1.0
IN_DOUBT = "but float64 cannot tell some features apart; scale the features, or drop those that are nearly copies"
_LOOSE_FORCING = 0.2
_TINY = float(np.finfo(np.float64).tiny)
# How many times less exactly the problems of smaller C are solved, from whose solutions those of larger C begin.
_LOOSER = 3.0
# A first solution from a sample this many times smaller costs little and is within a few Newton steps of the whole.
_RUNG = 8


@dataclass(frozen=True)
class NewtonCG(Solver):
    """Stops where the Newton decrement says that (f - min f) / f is at most `tolerance`.

    With `certified`, it stops where the duality gap, which is never less than f - min f, is at most `tolerance` x f.
    Conjugate gradients are preconditioned with the Hessian of a sample of the documents where there are few enough
    features for that to pay, and with a diagonal otherwise. Without a starting point, the first one is the solution of
    a sample of the data, or on wide data that of a smaller C.
    """

    tolerance: float = 1e-6
    certified: bool = False
    max_iterations: int = 100
    max_seconds: float = np.inf
    forcing: float = 0.1
    sample_share: float = 0.05
    max_products: int = 250
    makes_sure: bool = True
    """Whether the end is made sure of, and a nearer certificate looked for; False for who goes on from there."""
    curvature: Curvature | None = field(default=None, repr=False, compare=False)
    """That of the last of several problems that differ little: a run begins with it, and leaves its own in it."""

    def refuses(self, objective: RankingObjective) -> str | None:
        return wants_smooth_loss(objective) or wants_smooth_penalty(objective) or wants_strength(objective)

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        known = self.curvature or Curvature()
        point = self._first_point(objective, start, journal, known.of_rests)
        known.begin(point, self.sample_for(objective.data))
        solution, last = self.continue_from(point, journal, known)
        return self.certified_at(last, solution, journal) if self.makes_sure else solution

    def certified_at(self, last: EvaluatedPoint, solution: Solution, journal: Journal) -> Solution:
        """The solution, with a nearer certificate than its gradient's where that is not enough."""
        if last.gap() <= self.tolerance * last.value:
            return solution
        return solution.certified(self.gap_by_part(last, solution.estimated_gap, journal))

    def _first_point(
        self, objective: RankingObjective, start: Vector | None, journal: Journal, doubt: Doubt
    ) -> EvaluatedPoint:
        if start is not None:
            return objective.start(start)
        if objective.data.n_features <= MOST_FEATURES_IN_A_MATRIX:
            return objective.start(self.start_from_samples(objective, journal))
        point = objective.start()
        loose = replace(self, tolerance=_LOOSER * self.tolerance, certified=False)
        solved: list[Solved] = []

        def begun(C: float) -> EvaluatedPoint:
            return start_for(objective.with_C(C), solved) if solved else point.with_C(C)

        for C in rising_strengths(point):
            if journal.seconds_left == 0.0:
                break
            # No point is held here: those on the way may have rows copied out.
            solved = [*solved[-1:], Solved.at(loose.continue_from(begun(C), journal.part(), doubt=doubt)[1])]
        return begun(objective.C)

    def continue_from(
        self, point: EvaluatedPoint, journal: Journal, known: Curvature | None = None, doubt: Doubt | None = None
    ) -> tuple[Solution, EvaluatedPoint]:
        """Minimise from a point that is evaluated already; also return the last point."""
        known = known or Curvature.at(point, self.sample_for(point.objective.data), doubt)
        most_products = _PRODUCTS_A_DIGIT * -np.log10(self.forcing)
        trust, step = np.inf, 1.0
        # A certificate wants the gradient itself short: nothing is gained by steps that are less exact.
        loosens = not known.is_sampled and not self.certified
        left, forcing = None, _LOOSE_FORCING if loosens else self.forcing
        # Whether the last step was one more by the Hessian of a point at the end.
        is_refined = False
        for _ in range(self.max_iterations):
            newton = self._newton_step(point, known, journal, trust, forcing, left)
            stop = journal.note_smooth(point, gap=newton.decrement, inner=newton.products, step=step)
            if self._gap(point, newton) <= self.tolerance * point.value:
                if self.makes_sure and known.is_exact and not (known.is_of(point) or is_refined) and not stop:
                    # What another point's makes of this one is only about right.
                    known.renew(point)
                    trust = np.inf
                    newton = self._newton_step(point, known, journal)
                    nearer, nearer_step = advance(point, newton.direction)
                    if nearer_step > 0.0:
                        point, step, is_refined = nearer, nearer_step, True
                        continue
                farther = self._second_opinion(point, newton)
                if farther is not None:
                    (point, step), left = farther, None
                    continue
                what = f"the {'certified gap' if self.certified else 'Newton decrement'} is below the tolerance"
                if self.is_in_doubt(point):
                    return journal.solution(f"{what}, {IN_DOUBT}"), point
                return journal.solution(what, converged=True), point
            if stop:
                return journal.solution(stop), point
            norm = float(np.linalg.norm(point.gradient))
            point, step = advance(point, newton.direction)
            if step == 0.0:
                return journal.stalled(point, point.gradient, gap=newton.decrement), point
            if loosens:
                # Were no pairs to come in or go out, the rest of the step would be the next one.
                left = (1.0 - step) * newton.direction if step < 1.0 else None
                forcing = self._forcing_after(norm, point)
            trust, is_refined = newton.trust, False
            if known.is_cheap or newton.products > most_products:
                known.renew(point)
                trust = np.inf
        newton = self._newton_step(point, known, journal)
        journal.note_smooth(point, gap=newton.decrement, inner=newton.products, step=step)
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})"), point

    def gap_by_part(
        self,
        point: EvaluatedPoint,
        decrement: float,
        journal: Journal,
        gap: Callable[[PartOfDual, EvaluatedPoint], float] = PartOfDual.gap,
    ) -> float:
        """A bound on f - min f for which the pairs of a sample have weights of their own: where they are moved to.

        It costs a few evaluations of the sample. That is another one than the preconditioner's: along what that one
        does not know well the gradient is longest.
        """
        data = point.objective.data
        documents = max(int(_SHARE_OF_A_PART * data.n_documents), _LEAST_PART * data.n_features)
        if self.documents_for_a_matrix(data) is None or journal.seconds_left == 0.0:
            return np.inf
        sample = data.sample(documents, apart=True)
        part = PartOfDual.of(point, sample)
        if part is None:
            return np.inf
        start = part.with_tangent()
        # What is lost by taking a part alone is not had back by solving it more exactly.
        enough = max(decrement * sample.scale, np.finfo(np.float64).eps * point.value)
        exact = replace(
            self, tolerance=enough / point.value, certified=True, forcing=_FORCING_OF_A_PART,
            max_iterations=_STEPS_OF_A_PART,
        )  # fmt: skip
        return gap(part, exact.continue_from(start, journal.part(), Curvature.at(start, sample.alone()))[1])

    def _forcing_after(self, before: float, point: EvaluatedPoint) -> float:
        """How exactly the next step is worth solving for: as exactly as this one was right about its gradient.

        With a diagonal for a preconditioner a step takes many products, and most would be lost on one whose pairs are
        others than those that count where it leads.
        """
        shrunk = float(np.linalg.norm(point.gradient)) / max(before, _TINY)
        return min(max(self.forcing, shrunk), _LOOSE_FORCING)

    def _gap(self, point: EvaluatedPoint, newton: NewtonStep) -> float:
        return point.gap() if self.certified else newton.decrement

    def _second_opinion(self, point: EvaluatedPoint, newton: NewtonStep) -> tuple[EvaluatedPoint, float] | None:
        """A point beyond the Newton step that is lower than the decrement foretold, if there is one.

        The decrement knows the pairs that count here. With features on very different scales other pairs may count a
        little further on; then the gradient is long, and the certificate says so.
        """
        if point.gap() <= _UNSURE * point.value:
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

    def is_in_doubt(self, point: EvaluatedPoint) -> bool:
        """Whether a mix of features that bends nothing but by rounding, each in units of its own, leads further down.

        Along such a mix slope and curvature are lost in sums over features; the scores along it are not.
        """
        if point.objective.loss.dual == NoDual() or point.gap() <= _SUSPICIOUS * point.value:
            return False
        sample = self.sample_for(point.objective.data)
        if sample is None:
            return False
        scale, bends, axes = bends_of(point.sampled_hessian(sample))
        flat = axes[:, bends <= len(bends) * np.finfo(np.float64).eps * bends[-1]]
        return any(gained_along(point, scale * axis) > 2.0 * self.tolerance * point.value for axis in flat.T)

    def _newton_step(
        self, point: EvaluatedPoint, known: Curvature, journal: Journal, trust: float = np.inf,
        forcing: float | None = None, left: Vector | None = None,
    ) -> NewtonStep:  # fmt: skip
        return newton_step(
            point,
            known.precondition,
            forcing=forcing or self.forcing,
            enough=0.0 if self.certified else self.tolerance * point.value,
            max_products=self.max_products,
            journal=journal,
            trust=trust,
            start=left,
            doubt=known.doubt,
        )

    def sample_for(self, data: PlacedData) -> Sample | None:
        """The sample whose Hessian is worth forming as a matrix; None where the features are too many for that."""
        documents = self.documents_for_a_matrix(data)
        return None if documents is None else data.sample(documents)

    def documents_for_a_matrix(self, data: PlacedData) -> int | None:
        """Of how many documents the Hessian is worth forming as a matrix, if of any."""
        n, documents = data.n_features, data.n_documents
        affordable = max(FREE_MULTIPLICATIONS, _MOST_PASSES_FOR_A_MATRIX * documents * n) / (n * n)
        # Fewer documents than a few times the features say little about the Hessian.
        if n > MOST_FEATURES_IN_A_MATRIX or affordable < min(4 * n, documents):
            return None
        wanted = max(self.sample_share * documents, 10 * n, FREE_MULTIPLICATIONS / (n * n))
        return int(min(wanted, affordable))

    def start_from_samples(self, objective: RankingObjective, journal: Journal | None = None) -> Vector:
        """The solution of a sample of the data, which itself starts from the solution of a smaller one."""
        journal = journal or Journal(max_seconds=self.max_seconds)
        part = part_to_start_from(objective.data)
        if part is None:
            return np.zeros(objective.data.n_features)
        smaller = replace(objective, data=part)
        loose = self.loosened(part)
        start = smaller.at(loose.start_from_samples(smaller, journal))
        return loose.continue_from(start, journal.part())[0].weights

    def loosened(self, part: PlacedData) -> NewtonCG:
        """As exact as is worth while for a part of the data.

        One of m documents differs from the whole by about n / m: nothing is gained by solving it more exactly.
        """
        return replace(self, tolerance=max(self.tolerance, 0.1 * part.n_features / part.n_documents))


def part_to_start_from(data: PlacedData) -> PlacedData | None:
    """A part of the data whose solution is worth having first, if there is one."""
    wanted = data.n_documents // _RUNG
    if data.n_features > MOST_FEATURES_IN_A_MATRIX or wanted < max(5000, 20 * data.n_features):
        return None
    part = data.part(wanted)
    # A few large queries: no smaller sample of whole queries is to be had.
    return part if part.n_documents <= data.n_documents // 2 else None
