"""A new loss in one file: a smooth ramp over preference pairs, for RankSVM and for `linrank train --loss ramp`."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linrank import RankSVM, make_ranking
from linrank.objective.duality import ConvexDual
from linrank.objective.pair_losses import LossAtScores
from linrank.objective.registry import register_loss


@dataclass(frozen=True)
class Ramp:
    """Sum over preference pairs (i above j) of (u + sqrt(1 + u ** 2)) / 2, with u = 1 - (s_i - s_j)."""

    # What is known of its conjugate, from which the certificate comes: for any convex loss, this.
    dual: ClassVar = ConvexDual()

    def at(self, scores, block):
        higher, lower, weights = pairs_of(block)
        u = 1.0 - (scores[higher] - scores[lower])
        root = np.sqrt(1.0 + u * u)
        slopes = np.zeros(len(scores))
        pulls = weights * 0.5 * (1.0 + u / root)
        np.add.at(slopes, higher, -pulls)
        np.add.at(slopes, lower, pulls)
        bends = Bends(higher, lower, weights * 0.5 / root**3, len(scores))
        return LossAtScores(0.5 * float(weights @ (u + root)), slopes, bends)


@dataclass(frozen=True)
class Bends:
    """The second derivative: each pair bends along the difference of its two scores."""

    higher: np.ndarray
    lower: np.ndarray
    bends: np.ndarray
    n_documents: int

    def matrix_product(self, matrix):
        products = np.zeros_like(matrix)
        changes = self.bends[:, None] * (matrix[self.higher] - matrix[self.lower])
        np.add.at(products, self.higher, changes)
        np.add.at(products, self.lower, -changes)
        return products

    def product(self, values):
        return self.matrix_product(values[:, None])[:, 0]

    def diagonal(self):
        each = np.concatenate([self.higher, self.lower])
        return np.bincount(each, np.concatenate([self.bends, self.bends]), minlength=self.n_documents)


def pairs_of(block):
    """The pairs (i above j) of each query as two columns of rows, and what each weighs."""
    higher, lower, weights = [], [], []
    for start, stop, weight in zip(block.query_starts, block.query_starts[1:], block.query_weights, strict=False):
        labels, of_documents = block.labels[start:stop], block.document_weights[start:stop]
        i, j = np.nonzero(labels[:, None] > labels)
        higher.append(start + i)
        lower.append(start + j)
        weights.append(weight * of_documents[i] * of_documents[j])
    return np.concatenate(higher), np.concatenate(lower), np.concatenate(weights)


register_loss("ramp", Ramp, "sum over pairs of (u + sqrt(1 + u^2)) / 2, u = 1 - w.(x_i - x_j)")

if __name__ == "__main__":
    data, _ = make_ranking(50, 20, 10, random_state=0)
    print(RankSVM(loss="ramp").fit(data).solution_)
