"""The union of what legs bring, numbered query by query."""

from __future__ import annotations

from linrank.compiled import kernel


@kernel
def number_rows(starts, leg_starts, documents, slots, legs_of_rows, rows, found, row_starts):  # type: ignore[no-untyped-def]
    """Number each query's different documents in ascending order; the first hit that is twice in its leg, or -1.

    `starts[leg, query]` counts from the leg's own first hit, `leg_starts[leg]`. `slots`, one a document and all -1 at
    first, holds a document's last row, and `legs_of_rows` the last leg that brought it; `found` has the document of
    each row, `rows` the row of each hit.
    """
    n_legs, n_queries = starts.shape[0], starts.shape[1] - 1
    row = 0
    for query in range(n_queries):
        first = row
        for leg in range(n_legs):
            for place in range(starts[leg, query], starts[leg, query + 1]):
                document = documents[leg_starts[leg] + place]
                if slots[document] < first:
                    slots[document] = row
                    found[row] = document
                    row += 1
                elif legs_of_rows[slots[document]] == leg:
                    return leg_starts[leg] + place
                legs_of_rows[slots[document]] = leg
        found[first:row].sort()
        for place in range(first, row):
            slots[found[place]] = place
        for leg in range(n_legs):
            for place in range(starts[leg, query], starts[leg, query + 1]):
                hit = leg_starts[leg] + place
                rows[hit] = slots[documents[hit]]
        row_starts[query + 1] = row
    return -1


@kernel
def put_into(matrix, column, rows, values):  # type: ignore[no-untyped-def]
    """Write the values of hits into their rows of a column."""
    for hit in range(len(rows)):
        matrix[rows[hit], column] = values[hit]
