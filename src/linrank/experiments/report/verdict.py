"""Which ranker to use and whether the difference is real, in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from linrank.experiments.report.content import Leaderboard, LeaderboardRow

_SHARES = {
    0.75: "three quarters",
    2 / 3: "two thirds",
    0.5: "half",
    1 / 3: "a third",
    0.25: "a quarter",
    0.2: "a fifth",
    0.1: "a tenth",
}


@dataclass(frozen=True)
class Verdict:
    """The advice, and the sentences that give its grounds."""

    headline: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.headline, *self.reasons))


def verdict(board: Leaderboard) -> Verdict:
    """Advise the recommended ranker, or the best by the main measure where none is."""
    best = max(board.rows, key=lambda row: row.means[board.main])
    chosen = next((row for row in board.rows if row.recommended), best)
    baseline = next((row for row in board.rows if row.name == board.baseline), None)
    band = "" if chosen.interval is None else f" (95 % interval {chosen.interval[0]:.4f} to {chosen.interval[1]:.4f})"
    reasons = [f"Its mean {board.main} is {chosen.means[board.main]:.4f}{band}."]
    if chosen is baseline:
        reasons.append(_better_than_baseline(board))
    elif baseline is not None:
        reasons.append(_against(chosen, baseline))
    if best is not chosen and best is not baseline:
        reasons.append(_against_best(chosen, best, board))
    model = chosen.model_features
    if model and chosen.n_features and not 0.5 < chosen.n_features / model < 2.0:
        reasons.append(
            f"It was measured with {_count(chosen.n_features)} features; trained on all queries it has {model}."
        )
    linear = next((row for row in board.rows if row.best_linear), None)
    if linear is not None:
        reasons.append(_best_linear(chosen, linear, board))
    return Verdict(f"Use {chosen.described or chosen.name}.", tuple(reasons))


def _best_linear(chosen: LeaderboardRow, linear: LeaderboardRow, board: Leaderboard) -> str:
    behind = chosen.means[board.main] - linear.means[board.main]
    return (
        f"It is no weighted sum of features; the best linear ranker, {linear.described or linear.name}, has a mean of "
        f"{linear.means[board.main]:.4f}, {abs(behind):.4f} {'below' if behind >= 0 else 'above'}."
    )


def _better_than_baseline(board: Leaderboard) -> str:
    better = [row.name for row in board.rows if row.differs and (row.difference or 0.0) > 0.0]
    if not better:
        return "It is the baseline, and no other ranker is significantly better."
    return f"It is the baseline, although {_listed(better)} ranked significantly better."


def _against(chosen: LeaderboardRow, baseline: LeaderboardRow) -> str:
    features = _features(chosen, baseline)
    if chosen.difference is None:
        return f"It was not compared with {baseline.name}{features}."
    size = f"{abs(chosen.difference):.4f}"
    if chosen.difference_interval is not None:
        low, high = chosen.difference_interval
        size += f" (95 % interval {_signed(low)} to {_signed(high)})"
    if chosen.p_value is None:
        way = "above" if chosen.difference >= 0.0 else "below"
        return f"That is {size} {way} {baseline.name}{features}; the difference was not tested."
    chance = "p < 0.001" if chosen.p_value < 0.001 else f"p = {chosen.p_value:.3f}"
    if not chosen.differs:
        return f"It is not significantly different from {baseline.name} ({chance}){features}."
    way = "better" if chosen.difference > 0.0 else "worse"
    return f"It is significantly {way} than {baseline.name}, by {size}, {chance}{features}."


def _against_best(chosen: LeaderboardRow, best: LeaderboardRow, board: Leaderboard) -> str:
    sentence = f"{best.name} has the highest mean, {best.means[board.main]:.4f}"
    if best.n_features and _features(chosen, best):
        sentence += f", with {_count(best.model_features or best.n_features)} features"
    if best.differs and not chosen.differs:
        sentence += f", and is significantly better than {board.baseline}"
    return f"{sentence}. {board.rule}".rstrip()


def _features(chosen: LeaderboardRow, other: LeaderboardRow) -> str:
    """Say how many features the chosen ranker needs beside the other, where that is far from as many."""
    few, many = chosen.model_features or chosen.n_features, other.model_features or other.n_features
    if not few or not many or 0.85 < few / many < 1.15:
        return ""
    share = next((word for value, word in _SHARES.items() if abs(few / many / value - 1) < 0.08), None)
    if share is None:
        return f", with {_count(few)} features against {_count(many)}"
    return f", with {share} of its features ({_count(few)} of {_count(many)})"


def _count(number: float) -> str:
    return f"{number:,.0f}" if number == round(number) else f"{number:,.1f}"


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
