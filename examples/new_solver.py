"""A new solver in one file: gradient descent, for RankSVM(solver="gradient-descent") and all like it."""

from dataclasses import dataclass

import numpy as np

from linrank import RankSVM, make_ranking
from linrank.solvers.registry import SOLVERS
from linrank.solvers.solver import Solver, wants_smooth_loss, wants_smooth_penalty


@dataclass(frozen=True)
class GradientDescent(Solver):
    """w <- w - step x gradient, a step that halves until f falls by step / 2 x |gradient|² at least.

    Stops where the certified gap is at most `tolerance` x f.
    """

    tolerance: float = 1e-3
    max_iterations: int = 1000
    max_seconds: float = np.inf

    def refuses(self, objective):
        return wants_smooth_loss(objective) or wants_smooth_penalty(objective)

    def _run(self, objective, start, journal):
        point, step = objective.start(start), 1.0
        for _ in range(self.max_iterations):
            stop = journal.note_smooth(point, inner=0, step=step)
            if point.gap() <= self.tolerance * point.value:
                return journal.solution("the certified gap is below the tolerance", converged=True)
            if stop:
                return journal.solution(stop)
            point, step = self._descend(point, 2.0 * step)
            if step == 0.0:
                return journal.stalled(point, point.gradient)
        journal.note_smooth(point, inner=0, step=step)
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})")

    def _descend(self, point, step):
        # One pass over the features for the line, none for any value on it, and one for the point at last.
        line, square = point.toward(-point.gradient), float(point.gradient @ point.gradient)
        while step > 1e-20:
            if line.at(step).value <= point.value - 0.5 * step * square:
                return line.point_at(step), step
            step *= 0.5
        return point, 0.0


SOLVERS["gradient-descent"] = GradientDescent

if __name__ == "__main__":
    data, _ = make_ranking(50, 20, 10, skew=False, random_state=0)
    print(RankSVM(C=0.01, solver="gradient-descent").fit(data).solution_)
