"""Documents with awkward feature names and values, and what a linear model makes of them in float32."""

import numpy as np

# Names that break an export which does not quote: as JSON, in a URL, in a script, in a list with commas.
NAMES = ["bm25(title)", "body bm25", "click.rate", "prix d'achat", 'size 5"', "popularité", "文書長", "a/b:c"]
WEIGHTS = [0.13, -0.57, 3.5e-4, 12.25, -1e-7, 0.333333333333, 1.0, -0.0421]


def documents(count: int = 40, *, lowest: float = -1.0) -> np.ndarray:
    """Values of float32 between `lowest` and some millions, some 0, a row a document."""
    draw = np.random.default_rng(0)
    values = draw.uniform(lowest, 1.0, (count, len(NAMES))) * 10.0 ** draw.integers(0, 7, len(NAMES))
    return np.where(draw.random(values.shape) < 0.2, 0.0, values).astype(np.float32)


def running_sums(values: np.ndarray, weights: list[float]) -> np.ndarray:
    """((w_1 x_1 + w_2 x_2) + w_3 x_3) + …, each product and each sum rounded to float32."""
    sums = np.zeros(len(values), dtype=np.float32)
    for column, weight in zip(values.T, weights, strict=True):
        sums = sums + column * np.float32(weight)
    return sums


# What both plugins make of a value before its weight, in float32: as (x - from) / by.
NORMALIZERS = {"standard": (1.1, 0.7), "min-max": (1.5, 4.0)}


def normalized(values: np.ndarray, start: float, by: float) -> np.ndarray:
    return (values - np.float32(start)) / np.float32(by)


def assert_same_ranking(scores: dict[str, float], expected: np.ndarray) -> None:
    """An engine's scores are the expected ones to the bit, and it lists them from the highest."""
    assert {int(key): np.float32(score) for key, score in scores.items()} == dict(enumerate(expected))
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
