"""Figure 7 of Lee & Lin (2014): the same comparison for C = 100, 1 and 10^-4.

python benchmarks/figure7.py        writes docs/pictures/figure7.svg
"""

from __future__ import annotations

from figures import datasets, save, subplots

from linrank.papers.figures.ranksvm import curves, draw_curves

if __name__ == "__main__":
    data = datasets()
    Cs = (100.0, 1.0, 1e-4)
    figure, axes = subplots(len(Cs), len(data))
    for row, C in zip(axes, Cs, strict=True):
        for place, (name, part) in zip(row, data.items(), strict=True):
            draw_curves(place, curves(part, C), f"{name}, C = {C:g}")
        row[0].set_ylabel("(f - min f) / min f")
    for place in axes[-1]:
        place.set_xlabel("seconds")
    axes[0, 0].legend(fontsize=7, frameon=False)
    save(figure, "figure7")
