"""Every loss in its slowest, plainest form: each pair is listed and visited."""

import itertools
from dataclasses import replace

import numpy as np
from scipy import sparse


def dense(X):
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def listed_pairs(data, pairs="all"):
    """(i, j, weight) for each preference pair: i above j, rows as given."""
    found = []
    qid, labels = data.qid, data.labels
    documents = np.ones(data.n_documents) if data.document_weights is None else data.document_weights
    for number, query in enumerate(data.queries.ids):
        rows = np.flatnonzero(qid == query)
        levels = sorted(set(labels[rows]))
        of_query = 1.0 if data.query_weights is None else data.query_weights[number]
        for i, j in itertools.product(rows, rows):
            far = levels.index(labels[i]) - levels.index(labels[j])
            if far == 1 or (far > 1 and pairs == "all"):
                found.append((i, j, of_query * documents[i] * documents[j]))
    return found


def squared_hinge(margin):
    return max(0.0, 1.0 - margin) ** 2, -2.0 * max(0.0, 1.0 - margin), 2.0 * (margin < 1.0)


def hinge(margin):
    return max(0.0, 1.0 - margin), -1.0 * (margin < 1.0), 0.0


def smoothed_hinge(width):
    def loss(margin):
        if margin >= 1.0:
            return 0.0, 0.0, 0.0
        if margin >= 1.0 - width:
            return (1.0 - margin) ** 2 / (2 * width), -(1.0 - margin) / width, 1.0 / width
        return 1.0 - margin - width / 2, -1.0, 0.0

    return loss


def loss_at_scores(data, scores, loss, pairs="all"):
    """Value, slopes and curvature matrix of a sum over pairs of loss(s_i - s_j)."""
    value, slopes, curvature = 0.0, np.zeros(len(scores)), np.zeros((len(scores), len(scores)))
    for i, j, weight in listed_pairs(data, pairs):
        at, slope, bend = loss(scores[i] - scores[j])
        value += weight * at
        slopes[i] += weight * slope
        slopes[j] -= weight * slope
        for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            curvature[a, b] += sign * weight * bend
    return value, slopes, curvature


def ndcg_document_weights(data, scores):
    """d_i 2^max(y_i, 0) / log2(1 + rank_i) for whole d_i, of which each document has as many copies; ties share.

    Of equal scores the lower label is ranked first; copies and others of the same score and label have the mean.
    """
    documents = np.ones(data.n_documents) if data.document_weights is None else data.document_weights
    found = np.zeros(data.n_documents)
    for query in data.queries.ids:
        rows = np.flatnonzero(data.qid == query)
        copies = sorted((-scores[row], data.labels[row]) for row in rows for _ in range(int(documents[row])))
        for row in rows:
            alike = (-scores[row], data.labels[row])
            shares = [1.0 / np.log2(1.0 + rank) for rank, other in enumerate(copies, start=1) if other == alike]
            found[row] = documents[row] * 2.0 ** max(data.labels[row], 0.0) * (np.mean(shares) if shares else 0.0)
    return found


def with_equal_queries(data, documents, pairs="all"):
    """The data with these weights of documents, the pairs of a query weighing together what the query did."""
    queries = np.ones(data.n_queries) if data.query_weights is None else data.query_weights
    bare = replace(data, document_weights=documents, query_weights=None)
    totals = dict.fromkeys(data.queries.ids, 0.0)
    for i, _, weight in listed_pairs(bare, pairs):
        totals[data.qid[i]] += weight
    shares = [of_query / total if total else 0.0 for of_query, total in zip(queries, totals.values(), strict=True)]
    return replace(bare, query_weights=np.array(shares))
