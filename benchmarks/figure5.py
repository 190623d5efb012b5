"""Figure 5 of Lee & Lin (2014): value, pairwise accuracy and NDCG against time, for Tree-TRON, PRSVM+ and TreeRankSVM.

python benchmarks/figure5.py        writes docs/pictures/figure5.svg

The C of each method is the paper's for MQ2008 and for Yahoo's second set, which the generated data is like, if smaller.
"""

from __future__ import annotations

from figures import generated_parts, save, subplots, train_and_test

from linrank.papers.figures.ranksvm import draw_methods

if __name__ == "__main__":
    data = {
        "MQ2008 Fold1": ("MQ2008", train_and_test("MQ2008")),
        "generated as Yahoo's set 2": ("Yahoo-LTRC2", generated_parts(400, 27, 300)),
    }
    data = {title: found for title, found in data.items() if found[1] is not None}
    figure, axes = subplots(len(data), 3, sharey=False)
    for row, (title, (like, parts)) in zip(axes, data.items(), strict=True):
        draw_methods(row, title, parts, ("pairwiseaccuracy", "meanndcg"), Cs_of=like, max_seconds=5.0)
    save(figure, "figure5")
