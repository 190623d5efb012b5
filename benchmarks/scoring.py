"""A model in production: the first score in a new process, and what `predict` adds to NumPy's own product of a query.

Processes take turns, and the least of their times is printed, since others may use the machine; of calls the median.

    python benchmarks/scoring.py [n_documents] [n_features]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path

import numpy as np
from measuring import Figures, Row, Turns, run, start

from linrank.dataset.applied_scaling import ColumnScaling, QueryScaling
from linrank.dataset.queries import Queries
from linrank.model import LinearModel

RUNS = 15
SCRIPTS = {
    "python": "",
    "import numpy": "import numpy",
    "load and predict": (
        "import sys, numpy, linrank; linrank.load(sys.argv[1]).predict(numpy.ones((10, int(sys.argv[2]))))"
    ),
}


def first_score(model: LinearModel) -> None:
    """Print the seconds from nothing to a score, beside those of Python and NumPy alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save(path)
        seconds: dict[str, list[float]] = {name: [] for name in SCRIPTS}
        # Once more than is counted: the first run writes the compiled modules.
        for _ in range(1 + RUNS):
            for name, script in SCRIPTS.items():
                start = time.perf_counter()
                subprocess.run([sys.executable, "-c", script, str(path), str(model.n_features)], check=True)
                seconds[name].append(time.perf_counter() - start)
    for name, of_runs in seconds.items():
        print(f"{name:24} {min(of_runs[1:]):.3f} s")


def loading(_):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        LinearModel(np.ones(50), tuple(f"f{feature}" for feature in range(50))).save(path)
        command = (sys.executable, "-c", SCRIPTS["load and predict"], path, 50)
        turns = Turns({"score": lambda: run(*command).times, "start": start}, RUNS)
    return Figures(turns.least("score"), turns.ratios("score", "start", "starts"))


ROWS = [Row("loading", "loading a model and scoring, in a new process", loading)]


def microseconds(call) -> float:
    return float(np.median(timeit.repeat(call, number=20, repeat=200))) / 20 * 1e6


def one_query(n_documents: int, n_features: int, models: dict[str, LinearModel]) -> None:
    """Print what a query's scores cost, above `X @ weights`."""
    rng = np.random.default_rng(0)
    queries = Queries.from_sizes([n_documents], n_documents)
    print(f"\n{'microseconds':24} {'X @ w':>8} {'predict':>8} {'more':>8} {'rank':>8}")
    for dtype in (np.float64, np.float32):
        X = rng.normal(size=(n_documents, n_features)).astype(dtype)
        for name, model in models.items():
            product = microseconds(lambda: X @ model.weights)  # noqa: B023 - called here and now
            scored = microseconds(lambda: model.predict(X, queries))  # noqa: B023
            ranked = microseconds(lambda: model.rank(X))  # noqa: B023
            row = f"{np.dtype(dtype).name}, {name}"
            print(f"{row:24} {product:8.1f} {scored:8.1f} {scored - product:8.1f} {ranked:8.1f}")


def main() -> None:
    n_documents, n_features = (int(word) for word in (sys.argv[1:] or ["1000", "50"]))
    weights = np.random.default_rng(1).normal(size=n_features)
    names = tuple(f"f{feature}" for feature in range(n_features))
    scalings = {
        "raw": None,
        "scaled by column": ColumnScaling("standard", np.ones(n_features), np.full(n_features, 2.0)),
        "scaled by query": QueryScaling(),
    }
    models = {name: LinearModel(weights, names, scaling) for name, scaling in scalings.items()}
    first_score(models["scaled by column"])
    one_query(n_documents, n_features, models)


if __name__ == "__main__":
    main()
