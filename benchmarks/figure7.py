"""Figure 7 of Lee & Lin (2014): Tree-TRON, PRSVM+, TreeRankSVM and ours for C = 100, 1 and 10^-4.

python benchmarks/figure7.py        writes docs/pictures/figure7.svg
"""

from __future__ import annotations

from figures import datasets, save, subplots

from linrank.papers.figures.ranksvm import CS, draw_distances, method_runs
from linrank.papers.figures.traces import traces

if __name__ == "__main__":
    data = datasets()
    figure, axes = subplots(len(CS), len(data))
    for row, C in zip(axes, CS, strict=True):
        for place, (name, part) in zip(row, data.items(), strict=True):
            draw_distances(place, traces(part, C, method_runs(max_seconds=3.0)), f"{name}, C = {C:g}")
        row[0].set_ylabel("(f - min f) / min f")
    axes[0, 0].legend(fontsize=7, frameon=False)
    save(figure, "figure7")
