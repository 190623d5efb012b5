"""Whether a fusion is worth deploying, in words."""

from __future__ import annotations

from dataclasses import dataclass

from linrank.fusing.enough import queries_needed, smallest_gain
from linrank.fusing.evaluation import Standing

_RANKS = ("rrf", "rrf60")


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


def verdict(
    standings: tuple[Standing, ...], chosen: str, simple: tuple[str, ...], measure: str, written: tuple[str, ...] = ()
) -> Verdict:
    """The chosen method against the best of those that learn no weights; `written` are those that can be deployed."""
    ours = next(standing for standing in standings if standing.method == chosen)
    # Reciprocal ranks with another k are no rival of theirs: folds that choose k choose against what they hold out.
    same = _RANKS if chosen in _RANKS else (chosen,)
    rivals = [standing for standing in standings if standing.method in simple and standing.method not in same]
    if not rivals:
        return Verdict(None, "There is nothing to hold it against.", (), "")
    rival = max(rivals, key=lambda standing: standing.mean)
    low, high = rival.gain_interval
    chance = f"p = {rival.p_value:.2g} with Holm's correction"
    said = f"{rival.says}: {rival.gain:+.4f} {measure} (95 % interval {low:+.4f} to {high:+.4f}, {chance})"
    differences = ours.per_query - rival.per_query
    least, needed = smallest_gain(differences), queries_needed(differences)
    n = len(differences)
    power = f"{n} judged queries find a gain of {least:.4f} or more, 4 times of 5."
    if rival.is_real and rival.gain > 0.0:
        return Verdict(True, f"Worth deploying, better than {said}.", (power,), rival.method)
    if rival.gain <= 0.0:
        headline = f"Do not {'deploy it, worse' if rival.is_real else 'bother, no better'} than {said}."
        instead = f"Method {rival.method} writes that configuration instead." if rival.method in written else ""
        return Verdict(False, headline, tuple(filter(None, (instead, power))), rival.method)
    more = f"If the gain is as large as seen, some {needed:,} judged queries would show it." if needed else ""
    headline = f"Not shown to be better than {said}."
    return Verdict(None, headline, tuple(filter(None, (power, more))), rival.method)
