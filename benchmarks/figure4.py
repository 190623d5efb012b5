"""Figure 4 of Lee & Lin (2014): relative function value against time, for every structure of theirs, and ours.

python benchmarks/figure4.py        writes docs/pictures/figure4.svg
"""

from __future__ import annotations

from figures import datasets, save, subplots

from linrank.papers.figures.ranksvm import draw_distances, structure_runs
from linrank.papers.figures.traces import traces

if __name__ == "__main__":
    data = datasets()
    figure, axes = subplots(1, len(data))
    for place, (name, part) in zip(axes[0], data.items(), strict=True):
        draw_distances(place, traces(part, 1.0, structure_runs(max_seconds=5.0)), f"{name}, C = 1")
    axes[0, 0].set_ylabel("(f - min f) / min f")
    axes[0, 0].legend(fontsize=7, frameon=False)
    save(figure, "figure4")
