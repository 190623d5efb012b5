"""Figure 6 of Lee & Lin (2014): Figure 5 for lists, whose labels all differ; without NDCG, as 2^y overflows.

python benchmarks/figure6.py        writes docs/pictures/figure6.svg

The lists are generated, a few of them, and C is the paper's for MQ2008-list.
"""

from __future__ import annotations

from figures import generated_parts, save, subplots

from linrank.papers.figures.ranksvm import draw_methods

if __name__ == "__main__":
    figure, axes = subplots(1, 2, sharey=False)
    parts = generated_parts(16, 1_000, 46, levels=None)
    draw_methods(
        axes[0], "generated as MQ2008-list", parts, ("pairwiseaccuracy",), Cs_of="MQ2008-list", max_seconds=30.0
    )
    save(figure, "figure6")
