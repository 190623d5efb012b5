"""What the pictures of the documentation share: data to draw them from, and where they go."""

from __future__ import annotations

from pathlib import Path

from letor import first_folds, is_here, parts

from linrank import make_ranking

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"


def datasets():
    """The real data where it is to be had, and generated data of the paper's two kinds: few labels and many."""
    made = first_folds()
    made["generated as MSLR, 10,000 x 136"] = make_ranking(100, 100, 136, dtype="float32")[0]
    made["generated as lists, 10,000 x 46"] = make_ranking(10, 1_000, 46, levels=None, dtype="float32")[0]
    return made


def train_and_test(name):
    """The parts of a first fold, or None where the data is not to be had."""
    return parts(name, 1, "train", "test") if is_here(name) else None


def generated_parts(n_queries, documents_per_query, n_features, **settings):
    """Generated data, three quarters of its queries to train on and one to test."""
    return make_ranking(n_queries, documents_per_query, n_features, dtype="float32", **settings)[0].split(
        0.75, 0.25, random_state=0
    )


def save(figure, name):
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
    print(PICTURES / f"{name}.svg")


def subplots(rows, columns, sharey="row"):
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "linrank"
    from matplotlib import pyplot as plt

    return plt.subplots(
        rows, columns, figsize=(3.4 * columns, 2.7 * rows), layout="constrained", squeeze=False, sharey=sharey
    )
