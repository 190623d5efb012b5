"""Compiled loops of the measures, over queries whose documents stand in order of descending score.

Everywhere `ranked_…` is in that order, document by document, and query q has the documents
`query_starts[q]:query_starts[q + 1]`. A cut-off k counts the first k documents of each query.
"""

from __future__ import annotations

import math

from linrank.compiled import kernel

STANDARD_DISCOUNT = 0
LETOR_DISCOUNT = 1


@kernel
def fill_gains(labels, exponential, gains):  # type: ignore[no-untyped-def]
    """Write the gain 2^y - 1 if `exponential`, else y, of each label y; 0 for a label below 0."""
    for i in range(len(labels)):
        gains[i] = _gain(labels[i], exponential)


@kernel
def _gain(label, exponential):  # type: ignore[no-untyped-def]
    if label <= 0.0:
        return 0.0
    if not exponential:
        return label
    if label <= 62.0 and label == math.floor(label):
        # Whole labels are the rule, and a shift is exact and many times faster than a power.
        return float((1 << int(label)) - 1)
    return 2.0**label - 1.0


@kernel
def count_labels_descending(labels, query_starts, counts, descending):  # type: ignore[no-untyped-def]
    """Sort each query's labels by counting them; False if one of them is not a whole number below len(counts).

    Grades are small whole numbers, and counting them is ten times faster than sorting. `counts` must be 0.
    """
    for q in range(len(query_starts) - 1):
        start, stop = query_starts[q], query_starts[q + 1]
        for i in range(start, stop):
            label = labels[i]
            if not 0.0 <= label < len(counts) or label != math.floor(label):
                return False
            counts[int(label)] += 1
        i = start
        for grade in range(len(counts) - 1, -1, -1):
            for _ in range(counts[grade]):
                descending[i] = grade
                i += 1
            counts[grade] = 0
    return True


@kernel
def fill_discounts(kind, numerators, divisors):  # type: ignore[no-untyped-def]
    """The discount of rank i is numerators[i - 1] / divisors[i - 1]: 1 / log2(i + 1), or LETOR's 1 / log2(max(i, 2)).

    LETOR's is kept as log(2) / log(i), and applied as gain * numerator / divisor: so its official scripts compute it,
    and so their last digit comes out.
    """
    for i in range(len(divisors)):
        if kind == STANDARD_DISCOUNT:
            numerators[i] = 1.0
            divisors[i] = math.log2(i + 2.0)
        elif i < 2:
            numerators[i] = 1.0
            divisors[i] = 1.0
        else:
            numerators[i] = math.log(2.0)
            divisors[i] = math.log(i + 1.0)


@kernel
def discounted_sums(ranked_gains, query_starts, numerators, divisors, cutoff, sums):  # type: ignore[no-untyped-def]
    """Sum over the first k documents of gain times discount."""
    for q in range(len(query_starts) - 1):
        start = query_starts[q]
        total = 0.0
        for i in range(min(cutoff, query_starts[q + 1] - start)):
            total += ranked_gains[start + i] * numerators[i] / divisors[i]
        sums[q] = total


@kernel
def mean_ndcgs(ranked_gains, ideal_gains, query_starts, ideal_starts, numerators, divisors, means):  # type: ignore[no-untyped-def]
    """Mean over positions i = 1..n of NDCG@i; a position whose ideal sum is 0 counts 0."""
    for q in range(len(query_starts) - 1):
        start = query_starts[q]
        n = query_starts[q + 1] - start
        reached = 0.0
        ideal = 0.0
        total = 0.0
        for i in range(n):
            reached += ranked_gains[start + i] * numerators[i] / divisors[i]
            ideal += ideal_gains[ideal_starts[q] + i] * numerators[i] / divisors[i]
            if ideal > 0.0:
                total += reached / ideal
        means[q] = total / n


@kernel
def _tie_stop(ranked_scores, i, stop, averaged):  # type: ignore[no-untyped-def]
    """Where the documents that share i's score end; where ties are not averaged each document stands alone."""
    end = i + 1
    if averaged:
        while end < stop and ranked_scores[end] == ranked_scores[i]:
            end += 1
    return end


@kernel
def sums_of_precisions(ranked_labels, ranked_scores, query_starts, rel, averaged, cutoff, values):  # type: ignore[no-untyped-def]
    """Sum over relevant documents of (relevant ones up to it) / rank, to be divided by the number of relevant ones.

    McSherry & Najork (2008): the j-th of n tied documents, r of them relevant, is relevant with probability r / n, and
    then has (j - 1) (r - 1) / (n - 1) relevant ones of its group before it on average.
    """
    for q in range(len(query_starts) - 1):
        start, stop = query_starts[q], query_starts[q + 1]
        found = 0
        total = 0.0
        i = start
        while i < stop:
            end = _tie_stop(ranked_scores, i, stop, averaged)
            relevant = 0
            for document in range(i, end):
                if ranked_labels[document] >= rel:
                    relevant += 1
            if relevant > 0:
                n = end - i
                share = relevant / n
                before_each = (relevant - 1) / (n - 1) if n > 1 else 0.0
                for j in range(min(n, start + cutoff - i)):
                    total += share * (found + j * before_each + 1.0) / (i - start + j + 1)
            found += relevant
            i = end
        values[q] = total


@kernel
def reciprocal_ranks(ranked_labels, ranked_scores, query_starts, rel, averaged, cutoff, values):  # type: ignore[no-untyped-def]
    """1 / rank of the first relevant document; 0 if there is none up to the cut-off."""
    for q in range(len(query_starts) - 1):
        start, stop = query_starts[q], query_starts[q + 1]
        values[q] = 0.0
        i = start
        while i < stop:
            end = _tie_stop(ranked_scores, i, stop, averaged)
            relevant = 0
            for document in range(i, end):
                if ranked_labels[document] >= rel:
                    relevant += 1
            if relevant > 0:
                # The chance that none of the tied documents drawn so far is relevant.
                missed = 1.0
                for j in range(min(end, start + cutoff) - i):
                    left = end - i - j
                    hit = relevant / left
                    values[q] += missed * hit / (i - start + j + 1)
                    missed *= 1.0 - hit
                    if left == relevant:
                        break
                break
            i = end


@kernel
def expected_reciprocal_ranks(  # type: ignore[no-untyped-def]
    ranked_labels, ranked_scores, query_starts, scale, averaged, cutoff, misses, values
):
    """Sum over ranks i of (1/i) R_i prod_{j<i} (1 - R_j), where R = gain / scale is the chance to be satisfied.

    R_i prod_{j<i} (1 - R_j) is a difference of two products, so over all orders of n tied documents its mean needs only
    `misses[j]`, the mean over subsets of j of them of prod (1 - R). O(n * min(n, cutoff)) for such a group.
    """
    for q in range(len(query_starts) - 1):
        start, stop = query_starts[q], query_starts[q + 1]
        total = 0.0
        unsatisfied = 1.0
        i = start
        while i < stop and i - start < cutoff:
            end = _tie_stop(ranked_scores, i, stop, averaged)
            depth = min(end, start + cutoff) - i
            misses[0] = 1.0
            for t in range(end - i):
                miss = 1.0 - _gain(ranked_labels[i + t], True) / scale
                if t < depth:
                    misses[t + 1] = 0.0
                # Of t + 1 documents a subset of j holds the last one with probability j / (t + 1).
                for j in range(min(t + 1, depth), 0, -1):
                    misses[j] += (miss * misses[j - 1] - misses[j]) * j / (t + 1)
            for j in range(depth):
                total += unsatisfied * (misses[j] - misses[j + 1]) / (i - start + j + 1)
            unsatisfied *= misses[depth]
            i = end
        values[q] = total


@kernel
def count_levels(sorted_labels, label_order, query_starts, levels):  # type: ignore[no-untyped-def]
    """Number the distinct labels of each query, its highest one 0; `label_order` puts them in descending order."""
    for q in range(len(query_starts) - 1):
        level = 0
        for i in range(query_starts[q], query_starts[q + 1]):
            if i > query_starts[q] and sorted_labels[i] != sorted_labels[i - 1]:
                level += 1
            levels[label_order[i]] = level


@kernel
def count_pairs(  # type: ignore[no-untyped-def]
    ranked_levels, ranked_scores, query_starts, seen, in_tie, in_query, pairs, concordant, tied, score_pairs
):
    """Count for each query the pairs that differ in level; of them, those in the right order and those tied in score.

    `score_pairs` are the pairs that differ in score. `seen` is a Fenwick tree over levels: O(n log k) for n documents
    of k levels. It and the counts by level `in_tie` and `in_query` must be 0 and have room for k + 1; they are left so.
    """
    for q in range(len(query_starts) - 1):
        start, stop = query_starts[q], query_starts[q + 1]
        n_levels = 0
        for i in range(start, stop):
            n_levels = max(n_levels, ranked_levels[i] + 1)
        right_way = same_score = same_level = same_both = 0
        i = start
        while i < stop:
            end = _tie_stop(ranked_scores, i, stop, True)
            for document in range(i, end):
                level = ranked_levels[document]
                same_both += in_tie[level]
                in_tie[level] += 1
                same_level += in_query[level]
                in_query[level] += 1
                # Better levels have lower numbers: those among the higher scores are in the right order.
                node = level
                while node > 0:
                    right_way += seen[node]
                    node -= node & -node
            for document in range(i, end):
                level = ranked_levels[document]
                in_tie[level] = 0
                node = level + 1
                while node <= n_levels:
                    seen[node] += 1
                    node += node & -node
            same_score += (end - i) * (end - i - 1) // 2
            i = end
        for level in range(n_levels):
            in_query[level] = 0
            seen[level + 1] = 0
        n = stop - start
        pairs[q] = n * (n - 1) // 2 - same_level
        concordant[q] = right_way
        tied[q] = same_score - same_both
        score_pairs[q] = n * (n - 1) // 2 - same_score
