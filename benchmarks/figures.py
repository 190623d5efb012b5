"""What the pictures of the documentation share: data to draw them from, and where they go."""

from __future__ import annotations

from pathlib import Path

from letor import first_folds

from linrank import make_ranking

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"


def datasets():
    """The real data where it is to be had, and synthetic data of the paper's two kinds: few labels and many."""
    made = first_folds()
    made["5 labels, 200,000 x 136"] = make_ranking(2_000, 100, 136, dtype="float32")[0]
    made["all labels different, 100,000 x 46"] = make_ranking(100, 1_000, 46, levels=None, dtype="float32")[0]
    return made


def save(figure, name):
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
    print(PICTURES / f"{name}.svg")


def subplots(rows, columns):
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "linrank"
    from matplotlib import pyplot as plt

    return plt.subplots(
        rows, columns, figsize=(3.4 * columns, 2.7 * rows), layout="constrained", squeeze=False, sharey="row"
    )
