"""Compiled loops over the rectangles of RegRankSVM: one number for each pair of a higher and a lower document.

The rectangle of a query has a row for each document that others are below and a column for each that others are above,
both in ascending order of label: the pairs of row r are its first `ends[r]` columns. Kernels take what describes the
rectangles as one run of arguments: rows, columns, ends, row_starts, column_starts, cell_starts, roots.
"""

from __future__ import annotations

import numpy as np

from linrank.compiled import kernel, summing_kernel


@summing_kernel
def add_offset_hinge(  # type: ignore[no-untyped-def]
    scores, first_row, first_query, stop_query, rows, columns, ends, row_starts, column_starts, cell_starts, roots,
    query_weights, anchors, C, coupling, slopes,
):  # fmt: skip
    """Return the sum over pairs of the loss of `OffsetHinge`, and add its slopes in the scores.

    `scores` and `slopes` are those of the documents from `first_row` on.
    """
    widest = _widest(column_starts, first_query, stop_query)
    column_scores, column_roots, column_slopes = np.empty(widest), np.empty(widest), np.empty(widest)
    alphas = np.empty(widest)
    value = 0.0
    for q in range(first_query, stop_query):
        start, width = column_starts[q], column_starts[q + 1] - column_starts[q]
        for c in range(width):
            column_scores[c] = scores[columns[start + c] - first_row]
            column_roots[c] = roots[columns[start + c]]
            column_slopes[c] = 0.0
        for r in range(row_starts[q], row_starts[q + 1]):
            cell = cell_starts[q] + (r - row_starts[q]) * width
            beyond = 1.0 - scores[rows[r] - first_row]
            root_of_row = roots[rows[r]]
            part, slope = 0.0, 0.0
            for c in range(ends[r]):
                root = root_of_row * column_roots[c]
                pull = root * (beyond + column_scores[c])
                alphas[c] = min(max(anchors[cell + c] + pull / (2.0 * coupling), 0.0), C * root)
                column_slopes[c] += root * alphas[c]
            for c in range(ends[r]):
                root = root_of_row * column_roots[c]
                pull = root * (beyond + column_scores[c])
                part += alphas[c] * (pull + coupling * (2.0 * anchors[cell + c] - alphas[c]))
                slope += root * alphas[c]
            value += query_weights[q] * part
            slopes[rows[r] - first_row] -= query_weights[q] * slope
        for c in range(width):
            slopes[columns[start + c] - first_row] += query_weights[q] * column_slopes[c]
    return value


@summing_kernel
def add_laplacian(  # type: ignore[no-untyped-def]
    scores, first_row, first_query, stop_query, rows, columns, ends, row_starts, column_starts, cell_starts, roots,
    query_weights, anchors, C, coupling, values, sign, products,
):  # fmt: skip
    """Add the second derivative of `add_offset_hinge` times a vector; with sign = 0, of its diagonal alone."""
    widest = _widest(column_starts, first_query, stop_query)
    column_scores, column_roots = np.empty(widest), np.empty(widest)
    column_values, column_products = np.empty(widest), np.empty(widest)
    weights = np.empty(widest)
    for q in range(first_query, stop_query):
        start, width = column_starts[q], column_starts[q + 1] - column_starts[q]
        for c in range(width):
            column_scores[c] = scores[columns[start + c] - first_row]
            column_roots[c] = roots[columns[start + c]]
            column_values[c] = values[columns[start + c] - first_row]
            column_products[c] = 0.0
        scale = query_weights[q] / (2.0 * coupling)
        for r in range(row_starts[q], row_starts[q + 1]):
            cell = cell_starts[q] + (r - row_starts[q]) * width
            beyond = 1.0 - scores[rows[r] - first_row]
            value, root_of_row = values[rows[r] - first_row], roots[rows[r]]
            product = 0.0
            for c in range(ends[r]):
                root = root_of_row * column_roots[c]
                wish = anchors[cell + c] + root * (beyond + column_scores[c]) / (2.0 * coupling)
                weights[c] = root * root if 0.0 < wish < C * root else 0.0
                column_products[c] += weights[c] * (column_values[c] - sign * value)
            for c in range(ends[r]):
                product += weights[c] * (value - sign * column_values[c])
            products[rows[r] - first_row] += scale * product
        for c in range(width):
            products[columns[start + c] - first_row] += scale * column_products[c]


@summing_kernel
def add_laplacian_of_columns(  # type: ignore[no-untyped-def]
    scores, first_row, first_query, stop_query, rows, columns, ends, row_starts, column_starts, cell_starts, roots,
    query_weights, anchors, C, coupling, matrix, products,
):  # fmt: skip
    """Add the second derivative of `add_offset_hinge` times a matrix with one row a document."""
    difference = np.empty(matrix.shape[1])
    for q in range(first_query, stop_query):
        start, width = column_starts[q], column_starts[q + 1] - column_starts[q]
        scale = query_weights[q] / (2.0 * coupling)
        for r in range(row_starts[q], row_starts[q + 1]):
            cell = cell_starts[q] + (r - row_starts[q]) * width
            i = rows[r] - first_row
            for c in range(ends[r]):
                j = columns[start + c] - first_row
                root = roots[rows[r]] * roots[columns[start + c]]
                wish = anchors[cell + c] + root * (1.0 - scores[i] + scores[j]) / (2.0 * coupling)
                if 0.0 < wish < C * root:
                    weight = scale * root * root
                    for k in range(matrix.shape[1]):
                        difference[k] = weight * (matrix[i, k] - matrix[j, k])
                    for k in range(matrix.shape[1]):
                        products[i, k] += difference[k]
                    for k in range(matrix.shape[1]):
                        products[j, k] -= difference[k]


@kernel
def fill_rectangle(  # type: ignore[no-untyped-def]
    scores, q, rows, columns, ends, row_starts, column_starts, cell_starts, roots, anchors, C, coupling, alphas
):  # fmt: skip
    """Write the best alpha of every pair of query q for the given scores and anchors; zero where there is no pair."""
    start, width = column_starts[q], column_starts[q + 1] - column_starts[q]
    for r in range(row_starts[q], row_starts[q + 1]):
        cell = cell_starts[q] + (r - row_starts[q]) * width
        beyond = 1.0 - scores[rows[r]]
        for c in range(width):
            alpha = 0.0
            if c < ends[r]:
                root = roots[rows[r]] * roots[columns[start + c]]
                wish = anchors[cell + c] + root * (beyond + scores[columns[start + c]]) / (2.0 * coupling)
                alpha = min(max(wish, 0.0), C * root)
            alphas[r - row_starts[q], c] = alpha


@summing_kernel
def settle(  # type: ignore[no-untyped-def]
    scores, q, rows, columns, ends, row_starts, column_starts, cell_starts, roots, anchors, C, coupling, alphas, shrunk,
    settled, sums,
):  # fmt: skip
    """Put the shrunk matrix of query q in the place of its anchors; write what is known of the two to `sums`.

    The sums: of the alphas, the linear term; of (alpha - A) ** 2; of the share of the duality gap, at the given scores;
    of (A - anchor) ** 2; and of (anchor - A) (A - settled), which is positive where the momentum points uphill.
    """
    start, width = column_starts[q], column_starts[q + 1] - column_starts[q]
    linear, distance, gap, moved, uphill = 0.0, 0.0, 0.0, 0.0, 0.0
    for r in range(row_starts[q], row_starts[q + 1]):
        row = r - row_starts[q]
        cell = cell_starts[q] + row * width
        for c in range(width):
            apart = alphas[row, c] - shrunk[row, c]
            distance += apart * apart
            change = shrunk[row, c] - anchors[cell + c]
            moved += change * change
            uphill -= change * (shrunk[row, c] - settled[cell + c])
        for c in range(width):
            anchors[cell + c] = shrunk[row, c]
        short = scores[rows[r]] - 1.0
        for c in range(ends[r]):
            root = roots[rows[r]] * roots[columns[start + c]]
            alpha = alphas[row, c]
            slope = root * (short - scores[columns[start + c]]) + 2.0 * coupling * (alpha - shrunk[row, c])
            linear += root * alpha
            gap += max(alpha * slope, (alpha - C * root) * slope)
    sums[0], sums[1], sums[2], sums[3], sums[4] = linear, distance, gap, moved, uphill


@kernel
def look_ahead(anchors, settled, momentum):  # type: ignore[no-untyped-def]
    """Settle on the matrices in `anchors`, and put the anchors ahead of them in the direction of the last step."""
    for cell in range(len(anchors)):
        new = anchors[cell]
        anchors[cell] = new + momentum * (new - settled[cell])
        settled[cell] = new


@kernel
def _widest(column_starts, first_query, stop_query):  # type: ignore[no-untyped-def]
    widest = 0
    for q in range(first_query, stop_query):
        widest = max(widest, column_starts[q + 1] - column_starts[q])
    return widest
