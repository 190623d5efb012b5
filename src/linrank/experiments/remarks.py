"""What the reader of a leaderboard must know of a method: trainings cut short, choices at the end of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linrank.estimators.searching import Edge, Tried, edges_of, unfinished_said

if TYPE_CHECKING:
    from linrank.experiments.comparison import JobResult

MARK = "†"


def remarks_of(results: Sequence[JobResult]) -> tuple[str, ...]:
    """One sentence for each thing to know of a method's results, fold by fold."""
    return (*_unfinished(results), *_at_edges(results), *_warned(results))


def _unfinished(results: Sequence[JobResult]) -> list[str]:
    said = []
    reasons = [result.unfinished for result in results if result.unfinished]
    if reasons:
        # What is known of the solution, and the remedy, come after the reason.
        reason = reasons[0].removeprefix("not converged: ").partition(";")[0].rstrip(".")
        said.append(f"training stopped before convergence{_in_folds(len(reasons), results)}: {reason}")
    ended = [one["converged"] for result in results for one in result.tried]
    if not all(ended):
        said.append(unfinished_said(ended.count(False), len(ended)))
    return said


def _at_edges(results: Sequence[JobResult]) -> list[str]:
    found: dict[tuple[str, bool], list[Edge]] = {}
    for result in results:
        tried = [Tried(one["settings"], one["validation"]) for one in result.tried]
        for edge in edges_of(result.chosen, tried):
            found.setdefault((edge.setting, edge.is_largest), []).append(edge)
    return [
        edges[0].said(dict.fromkeys(edge.value for edge in edges)) + _in_folds(len(edges), results)
        for edges in found.values()
    ]


def _warned(results: Sequence[JobResult]) -> list[str]:
    said = []
    for what, of_folds in (
        ("settings were passed over", [result.passed_over for result in results]),
        ("training warned", [result.warnings for result in results]),
    ):
        texts = [texts[0] for texts in of_folds if texts]
        if texts:
            said.append(f"{what}{_in_folds(len(texts), results)}: {texts[0].rstrip('.')}")
    return said


def _in_folds(count: int, results: Sequence[JobResult]) -> str:
    return "" if len(results) == 1 else f" in {count} of {len(results)} folds"
