"""Whether a fusion is worth deploying, in words."""

from __future__ import annotations

from dataclasses import dataclass

from linrank.fusing.enough import queries_needed, smallest_gain
from linrank.fusing.evaluation import Standing


@dataclass(frozen=True)
class Verdict:
    """What to do, and why.

    Attributes
    ----------
    worth_it : True, False, or None where these queries cannot tell
    headline : one sentence
    reasons : further ones
    rival : the simplest thing that does as well, or that it was held against
    """

    worth_it: bool | None
    headline: str
    reasons: tuple[str, ...]
    rival: str


def verdict(standings: tuple[Standing, ...], chosen: str, simple: tuple[str, ...], measure: str) -> Verdict:
    """The chosen method against the best of those that learn no weights."""
    ours = next(standing for standing in standings if standing.method == chosen)
    rivals = [standing for standing in standings if standing.method in simple and standing.method != chosen]
    if not rivals:
        return Verdict(None, "There is nothing to hold it against.", (), "")
    rival = max(rivals, key=lambda standing: standing.mean)
    low, high = rival.gain_interval
    said = f"{rival.gain:+.4f} {measure} against {rival.says} (95 % interval {low:+.4f} to {high:+.4f})"
    differences = ours.per_query - rival.per_query
    least, needed = smallest_gain(differences), queries_needed(differences)
    n = len(differences)
    power = f"{n} judged queries find a gain of {least:.4f} or more, 4 times of 5."
    if rival.is_real and rival.gain > 0.0:
        return Verdict(True, f"Worth deploying: {said}.", (power,), rival.method)
    if rival.is_real:
        return Verdict(False, f"Do not deploy: {said}.", (f"Use {rival.says}.", power), rival.method)
    if rival.gain <= 0.0:
        headline = f"Do not bother: {rival.says} is as good, {said}."
        return Verdict(False, headline, (power,), rival.method)
    more = f"If the gain is as large as seen, some {needed:,} judged queries would show it." if needed else ""
    headline = f"Not shown to be better than {rival.says}: {said}."
    return Verdict(None, headline, tuple(filter(None, (power, more))), rival.method)
