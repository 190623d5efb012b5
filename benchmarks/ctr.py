"""Tables 8 and 9 of Lee & Lin (2014): RankSVM and a random forest on sparse click-through rates, one query each.

Their data are not to be had, so these are generated to the shape of their subsets: rows, features, non-zeros, levels
and pairs. How well anything ranks them says how the generator was set, not how it would do on theirs.

python benchmarks/ctr.py                    both shapes, at their subsets' size
python benchmarks/ctr.py --scale 10         ten times the rows and features
python benchmarks/ctr.py --no-forest
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

from linrank import RandomForest, RankSVM
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.synthetic_clicks import make_clicks
from linrank.measures import evaluate
from linrank.papers.published import published, published_statistics

MEASURES = ("pairwise_accuracy", "mean_ndcg")


@dataclass(frozen=True)
class Shape:
    """How to generate a data set of Table 8: its own sizes, and views and clicks that give its levels and pairs."""

    nonzero: float
    click_rate: float
    views: float
    views_spread: float
    effect: float = 2.0

    def made(self, name: str, scale: float) -> tuple[RankingDataset, RankingDataset]:
        """A training and a test part of the same size, made by the same weights."""
        sizes = {one.measure: one.value for one in published_statistics("ranksvm", name)}
        data, _ = make_clicks(
            2 * round(scale * sizes["n_documents"]),
            round(scale * sizes["n_features"]),
            n_queries=2,
            nonzero=self.nonzero,
            click_rate=self.click_rate,
            views=self.views,
            views_spread=self.views_spread,
            effect=self.effect,
        )
        train, test = data.subset([0]), data.subset([1])
        return train, test


SHAPES = {
    "CTR-0.1%": Shape(23.0, 0.014, 20.0, 1.25),
    "KDD2012b-0.025%": Shape(36.3, 0.007, 1.0, 0.93),
}


def shape_of(data: RankingDataset) -> dict[str, float]:
    """The columns of Table 8."""
    counts = np.unique(data.labels, return_counts=True)[1].astype(np.float64)
    return {
        "n_documents": data.n_documents,
        "n_features": data.n_features,
        "n_nonzero": data.features.nnz / data.n_documents,
        "n_levels": len(counts),
        "n_pairs": 0.5 * (data.n_documents**2 - float(counts @ counts)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="times the rows and features of their subsets (1)")
    parser.add_argument("--no-forest", action="store_true", help="RankSVM alone")
    arguments = parser.parse_args()
    made = {name: shape.made(name, arguments.scale) for name, shape in SHAPES.items()}
    print("Table 8, printed / generated")
    for name, (train, _) in made.items():
        ours = shape_of(train)
        told = [
            f"{one.measure} {one.value:,.10g} / {ours[one.measure]:,.10g}"
            for one in published_statistics("ranksvm", name)
        ]
        print(f"| {name} | " + " | ".join(told) + " |", flush=True)
    print("Table 9, printed on their data / ours on generated data")
    rankers = {
        "ranksvm": RankSVM(C=1.0),
        "ranksvm, TRON to their tolerance": RankSVM(C=1.0, solver="tron", tol=1e-3),
        "random-forest": RandomForest(40, n_threads=1),
    }
    if arguments.no_forest:
        del rankers["random-forest"]
    for name, (train, test) in made.items():
        for title, ranker in rankers.items():
            # Of all threads together, which is what a machine that others use can tell.
            started = time.process_time()
            ranker.fit(train.features, train.labels, qid=train.qid)
            found = {"seconds": time.process_time() - started}
            found |= {str(m): v for m, v in evaluate(ranker.predict(test.features), test, MEASURES).mean.items()}
            told = [
                f"{one.measure} {one.value:,.6g} / {found[one.measure]:.4g}"
                for one in published("ranksvm", name)
                if title.startswith(one.method)
            ]
            print(f"| {name} | {title} | " + " | ".join(told) + " |", flush=True)


if __name__ == "__main__":
    main()
