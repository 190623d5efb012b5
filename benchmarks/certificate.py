"""How far the certified gap is above the true one, on features as they come: with scales from 0.01 to a million."""

from __future__ import annotations

from made_data import MADE
from measuring import Figures, Row, seconds_of

from linrank import RankSVM


def certificate(name, C, least):
    data = MADE[name]()
    model = RankSVM(C).fit(data)
    if least is None:
        least = RankSVM(C, tol=1e-12).fit(data).objective_
    least = min(least, model.objective_)
    # A value has rounding: a true gap below that cannot be told from it.
    true = max(model.objective_ - least, 1e-13 * model.objective_)
    ratios = {"certified gap / true gap": model.gap_ / true, "above the least": true / abs(least)}
    said = f"gap_ {model.gap_:.1e} where f is {model.objective_:.1e}"
    return Figures(seconds_of(lambda: RankSVM(C).fit(data)), ratios, least=least, said=said)


ROWS = [
    Row(
        f"certificate, {scale}",
        f"`gap_` of RankSVM, C = 1, 700,029 x 136, {scale}",
        lambda least, name=name: certificate(name, 1.0, least),
        name,
    )
    for scale, name in (("raw features", "mslr-raw"), ("standardised features", "mslr"))
]
