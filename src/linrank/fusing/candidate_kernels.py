"""The union of what legs bring, numbered query by query."""

from __future__ import annotations

import numpy as np

from linrank.compiled import kernel


@kernel
def number_rows(starts, leg_starts, documents, marks, marked, slots, brought_by, rows, found, row_starts):  # type: ignore[no-untyped-def]
    """Number each query's different documents from 0 in ascending order; the first hit that is twice in its leg, or -1.

    `starts[leg, query]` counts from the leg's own first hit, `leg_starts[leg]`. A bit of `marks` is a document's, 32 a
    number; a bit of `marked` says that a number of `marks` has any. To go through those takes a tenth of sorting. All
    bits are 0 before and after. `slots` and `brought_by` are work space: a document's row, and the last leg that
    brought it. `rows` has the row of each hit, `found` the document of each row.
    """
    n_legs, n_queries = starts.shape[0], starts.shape[1] - 1
    n_found = 0
    for query in range(n_queries):
        for leg in range(n_legs):
            for place in range(starts[leg, query], starts[leg, query + 1]):
                document = np.int64(documents[leg_starts[leg] + place])
                marks[document >> 5] |= 1 << (document & 31)
                marked[document >> 10] |= 1 << ((document >> 5) & 31)
        first = n_found
        for group in range(len(marked)):
            words = marked[group]
            marked[group] = 0
            while words != 0:
                word = (group << 5) + _lowest(words)
                words &= words - 1
                bits = marks[word]
                marks[word] = 0
                while bits != 0:
                    document = (word << 5) + _lowest(bits)
                    bits &= bits - 1
                    slots[document] = n_found - first
                    brought_by[n_found - first] = -1
                    found[n_found] = document
                    n_found += 1
        row_starts[query + 1] = n_found
        for leg in range(n_legs):
            for place in range(starts[leg, query], starts[leg, query + 1]):
                hit = leg_starts[leg] + place
                row = slots[documents[hit]]
                if brought_by[row] == leg:
                    return hit
                brought_by[row] = leg
                rows[hit] = row
    return -1


@kernel
def _lowest(bits):  # type: ignore[no-untyped-def]
    """The place of the lowest of 32 bits that is 1: as many bits are below it."""
    below = (bits & -bits) - 1
    below -= (below >> 1) & 0x55555555
    below = (below & 0x33333333) + ((below >> 2) & 0x33333333)
    below = (below + (below >> 4)) & 0x0F0F0F0F
    return ((below * 0x01010101) >> 24) & 63


@kernel
def put_into(matrix, column, row_starts, hit_starts, rows, values):  # type: ignore[no-untyped-def]
    """Write the values of each query's hits into their rows of a column; rows count from the query's first."""
    for query in range(len(row_starts) - 1):
        for hit in range(hit_starts[query], hit_starts[query + 1]):
            matrix[row_starts[query] + rows[hit], column] = values[hit]


@kernel
def put_places(places, column, row_starts, hit_starts, rows):  # type: ignore[no-untyped-def]
    """Write the place of each hit among its query's, from 1 on, into its row of a column."""
    for query in range(len(row_starts) - 1):
        for hit in range(hit_starts[query], hit_starts[query + 1]):
            places[row_starts[query] + rows[hit], column] = hit - hit_starts[query] + 1


@kernel
def mark_rows(made, row_starts, hit_starts, rows):  # type: ignore[no-untyped-def]
    """Mark the rows that have a hit."""
    for query in range(len(row_starts) - 1):
        for hit in range(hit_starts[query], hit_starts[query + 1]):
            made[row_starts[query] + rows[hit]] = True


@kernel
def find_rows(row_starts, documents, queries, wanted, rows):  # type: ignore[no-untyped-def]
    """The row of each wanted document among its query's, which ascend; -1 where it is none."""
    for place in range(len(wanted)):
        first, last = row_starts[queries[place]], row_starts[queries[place] + 1]
        end = last
        while first < last:
            middle = (first + last) // 2
            if documents[middle] < wanted[place]:
                first = middle + 1
            else:
                last = middle
        rows[place] = first if first < end and documents[first] == wanted[place] else -1
