"""FTRL-proximal on the squared hinge of preference pairs: an online method, with a learning rate for each feature."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator

from linrank.arrays import Offsets, Vector
from linrank.dataset.features import SparseFeatures
from linrank.dataset.query_blocks import QueryBlock
from linrank.errors import DataFormatError, LinrankError
from linrank.files import replacing
from linrank.objective.pair_losses import SquaredHinge
from linrank.online import ftrl_kernels as kernels
from linrank.online.learner import Tally
from linrank.online.queries_by_label import LONGEST_VISITED, QueriesByLabel
from linrank.strict_json import strict_json

# Few enough for Ctrl-C to be heard at once, enough for the cost of a call not to matter.
_QUERIES_A_CALL = 128

FORMAT = "linrank-ftrl-state"
SCHEMA_VERSION = 1


@dataclass(eq=False)
class FTRLState:
    """All that the method remembers: it goes on from here exactly as if it had never stopped.

    `z` is the paper's v. `squares` is the sum of the squared gradients of each feature or, with one rate for all
    features, the batch in which it last moved. `clock[0]` is the number of batches so far.
    """

    z: Vector
    squares: Vector
    weights: Vector
    clock: Offsets
    random: Generator

    @classmethod
    def new(cls, n_features: int, seed: int) -> FTRLState:
        z, squares, weights = np.zeros((3, n_features))
        return cls(z, squares, weights, np.zeros(1, dtype=np.int64), Generator(PCG64(seed)))

    @property
    def batches(self) -> int:
        return int(self.clock[0])

    def save(self, path: str | os.PathLike[str], about: Mapping[str, Any]) -> None:
        """Write the state and a JSON record about it, whole or not at all: a line of JSON, then the arrays' bytes."""
        arrays = b"".join(array.astype("<f8").tobytes() for array in (self.z, self.squares, self.weights))
        content = {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "n_features": len(self.weights),
            "batches": self.batches,
            "random": self.random.bit_generator.state,
            "about": dict(about),
        }
        header = {**content, "checksum": _checksum(content, arrays)}
        with replacing(path, "wb") as file:
            file.write(json.dumps(header, allow_nan=False).encode() + b"\n")
            file.write(arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> tuple[FTRLState, dict[str, Any]]:
        """Read what `save` wrote, to the last bit; nothing in the file is ever executed."""
        source = os.fspath(path)
        try:
            line, _, arrays = Path(path).read_bytes().partition(b"\n")
        except OSError as error:
            raise DataFormatError(str(source), None, f"cannot be read: {error.strerror}. Check the path.") from None
        try:
            return cls._from_parts(strict_json(line.decode()), arrays)
        # NumPy has its own ways of refusing a generator's state.
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            remedy = "Use a file written by save_state, or train again."
            raise DataFormatError(str(source), None, f"is not a saved state ({error}). {remedy}") from None

    @classmethod
    def _from_parts(cls, header: dict[str, Any], arrays: bytes) -> tuple[FTRLState, dict[str, Any]]:
        if (header["format"], header["schema_version"]) != (FORMAT, SCHEMA_VERSION):
            raise ValueError("another format or version")
        if header.pop("checksum") != _checksum(header, arrays):
            raise ValueError("it was changed after it was written")
        z, squares, weights = np.frombuffer(arrays, dtype="<f8").reshape(3, header["n_features"]).astype(np.float64)
        # What has a square in float64, or is one.
        if not ((np.abs([z, weights]) < 1e150).all() and ((squares >= 0) & (squares < 1e300)).all()):
            raise ValueError("it holds numbers that no training comes to")
        random = PCG64()
        random.state = header["random"]
        if type(header["batches"]) is not int or header["batches"] < 0 or not isinstance(header["about"], dict):
            raise TypeError("it does not say how many batches there were, or of what")
        clock = np.array([header["batches"]], dtype=np.int64)
        return cls(z, squares, weights, clock, Generator(random)), header["about"]


def _checksum(content: Mapping[str, Any], arrays: bytes) -> str:
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode())
    digest.update(arrays)
    return f"sha256:{digest.hexdigest()}"


@dataclass(frozen=True)
class FTRL:
    """Online minimisation of sum over pairs of max(0, 1 - (s_i - s_j)) ** 2 + l1 |w|_1, one batch a query.

    A batch of gradient g, a sum over the batch's pairs, moves every feature j with g_j != 0:

        N_j <- N_j + g_j ** 2,   H_j <- sqrt(rho + N_j)
        z_j <- z_j + g_j - (H_j - H_j before) / learning_rate x w_j
        w_j <- 0 where |z_j| <= l1, else -learning_rate / H_j x (z_j - sign(z_j) l1)

    Without `feature_rates`, H_j is sqrt(t) in batch t. A batch is all pairs of a query or, with `batch_pairs`, so many
    drawn from them with replacement, each pair with a chance in proportion to its weight. It is online: how long it
    runs is the caller's decision. Cheng et al. (2018), Algorithms 1 and 2, without their misprints.
    """

    l1: float
    learning_rate: float
    rho: float = 1.0
    feature_rates: bool = True
    batch_pairs: int | None = None

    def learn(self, state: FTRLState, data: QueriesByLabel, order: Offsets) -> Tally:
        """Learn from the queries numbered in `order`, one after the other; how they are cut into calls is all one."""
        work = _Work(self, state, data)
        for turns, is_long in self._calls(data, order):
            if is_long:
                work.learn_long(int(order[turns.start]))
            else:
                work.learn(order[turns])
        # Not the weights: where z is not a number, they are 0.
        if not (np.isfinite(state.z).all() and np.isfinite(work.tally).all()):
            raise LinrankError(
                f"the weights grew without bound with learning_rate={self.learning_rate:g}. "
                "Use a smaller one, scale the features, or let each feature have its own rate (feature_rates=True)."
            )
        return Tally(*work.tally.tolist())

    def weights_at(self, z: Vector, squares: Vector) -> Vector:
        """The weights of a state: w_j of the formula above."""
        steepness = np.sqrt((self.rho if self.feature_rates else 0.0) + squares)
        beyond = np.where(z > 0.0, z - self.l1, z + self.l1)
        # A feature that never moved may have no steepness, and has no weight.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(np.abs(z) > self.l1, -self.learning_rate / steepness * beyond, 0.0)

    def value(self, tally: Tally, weights: Vector) -> float:
        """The sum that is followed, its first part as some batches told it."""
        return tally.loss + self.l1 * float(np.abs(weights).sum())

    def _calls(self, data: QueriesByLabel, order: Offsets) -> Iterator[tuple[slice, bool]]:
        """Runs of turns for one call of a kernel each, and single queries too long for that."""
        is_long = data.sizes[order] > LONGEST_VISITED if self.batch_pairs is None else np.zeros(len(order), dtype=bool)
        long_turns = np.flatnonzero(is_long)
        bounds = np.concatenate([np.arange(0, len(order), _QUERIES_A_CALL), long_turns, long_turns + 1, [len(order)]])
        for first, last in pairwise(np.unique(bounds).tolist()):
            yield slice(first, last), bool(is_long[first])


@dataclass(eq=False)
class _Work:
    """One call of `FTRL.learn`: what is learnt from, what is changed, and room to work in."""

    method: FTRL
    state: FTRLState
    data: QueriesByLabel
    tally: Vector = field(default_factory=lambda: np.zeros(2))

    def __post_init__(self) -> None:
        method = self.method
        n_pairs = method.batch_pairs or 0
        rho = method.rho if method.feature_rates else 0.0
        self.settings = np.array([method.l1, method.learning_rate, rho, not method.feature_rates])
        self.pairs = np.empty((n_pairs, 2), dtype=np.int64)
        self.room = np.empty((kernels.ROWS_OF_ROOM, int(self.data.sizes.max(initial=0)) + 1))
        self.gradient = np.zeros(self.data.features.n_features)

    @property
    def changed(self) -> tuple[Offsets, Vector, Vector, Vector]:
        return self.state.clock, self.state.z, self.state.squares, self.state.weights

    def learn(self, chosen: Offsets) -> None:
        data, features = self.data, self.data.features
        # Two for each pair whether or not it is drawn: then the same numbers meet the same query however the stream
        # is cut.
        shares = self.state.random.random((len(chosen), len(self.pairs), 2))
        told = (data.document_weights, data.query_weights, data.query_starts, data.rows, data.lower, chosen, shares)
        kept = (self.settings, *self.changed, self.pairs, self.room, self.gradient, self.tally)
        if isinstance(features, SparseFeatures):
            kernels.learn_sparse(features.values, features.columns, features.starts, *told, *kept)
        else:
            kernels.learn_dense(features.values, *told, *kept)

    def learn_long(self, query: int) -> None:
        """All pairs of a query by the sweeps in order of score that the exact methods use."""
        data = self.data
        first, last = (int(bound) for bound in data.query_starts[query : query + 2])
        weights, scale = data.document_weights[first:last], data.query_weights[query : query + 1]
        weight = kernels.weigh_pairs(weights, data.rows[first:last], data.lower[first:last], self.room)
        if scale[0] * weight == 0.0:
            return
        features = data.features.rows(first, last)
        block = QueryBlock.of(features, data.labels[first:last], np.array([0, last - first]), weights, scale)
        scores = features.product(self.state.weights, np.empty(last - first))
        at = SquaredHinge().at(scores, block)
        features.transposed_product(at.slopes, self.gradient)
        if isinstance(features, SparseFeatures):
            ends = int(features.starts[0]), int(features.starts[-1])
            kernels.move_some(features.columns, *ends, self.gradient, self.settings, *self.changed)
        else:
            kernels.move_all(self.gradient, self.settings, *self.changed)
        self.tally += (at.value, scale[0] * weight)
