"""Every loss in its slowest, plainest form: each pair is listed and visited."""

import itertools

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
