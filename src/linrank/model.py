"""LinearModel: the weights, and everything needed to use them elsewhere; a JSON file that is exact to the last bit."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank._version import __version__
from linrank.arrays import Offsets, Vector
from linrank.cached import cached_property
from linrank.dataset.applied_scaling import Scaling, folded, folds
from linrank.dataset.feature_products import FeatureProducts
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.missing_rule import MissingRule, check_missing_rule
from linrank.dataset.queries import Queries
from linrank.dataset.scaling_record import numbers_of, scaling_of_record, scaling_record
from linrank.errors import DataFormatError, LinrankError
from linrank.linear_scores import LinearScores
from linrank.loaded import is_a, is_sparse
from linrank.maps import refuse_cut_maps
from linrank.named_weights import NamedWeights
from linrank.strict_json import strict_json, written_json

FORMAT = "linrank-model"
# That of a model without products, and of one with: who knows only the first refuses what it would leave out.
SCHEMA_VERSION, _WITH_PRODUCTS = 1, 2
_MANY = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel:
    """score(x) = weights . x, with x scaled or transformed first where the model has a scaling, plus products if any.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
    feature_names : tuple of str
    scaling : Scaling or None
        What features go through first; transforms too: `FeatureShapes` and `SignedLog`.
    method : str
        What trained it, such as "ranksvm".
    objective : str
        The formula that was minimised.
    parameters : dict
        The settings of the method.
    training : dict
        What happened: objective value, gaps, iterations, seconds, number of queries and pairs.
    data_fingerprint : str or None
        The hash of the data it was trained on.
    linrank_version : str
    missing : "error", "query_min" or a number
        How missing values of the training data were filled; new data is filled the same way.
    trained_at : str or None
        When, in UTC: "2026-11-16T11:40:00Z".
    products : FeatureProducts or None
        What a model with curves adds to them: products of two features, each through a line of its own.
    """

    weights: Vector
    feature_names: tuple[str, ...]
    scaling: Scaling | None = None
    method: str = ""
    objective: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    data_fingerprint: str | None = None
    linrank_version: str = __version__
    missing: MissingRule = "error"
    trained_at: str | None = None
    products: FeatureProducts | None = None

    def __post_init__(self) -> None:
        # Whoever writes one by hand writes lists.
        object.__setattr__(self, "weights", np.asarray(self.weights, dtype=np.float64))
        object.__setattr__(self, "feature_names", tuple(self.feature_names))
        if len(self.weights) != len(self.feature_names):
            raise LinrankError(f"{len(self.weights)} weights, but {len(self.feature_names)} feature names.")
        if not np.isfinite(self.weights).all():
            name = self.feature_names[int(np.flatnonzero(~np.isfinite(self.weights))[0])]
            raise LinrankError(f"the weight of feature {name!r} is not a finite number.")
        check_missing_rule(self.missing)
        self._check_products()

    def _check_products(self) -> None:
        if self.products is None:
            return
        if not isinstance(self.scaling, FeatureShapes):
            raise LinrankError(
                "the model has products of features as they are, which stand beside curves: without its own curves its "
                "scores would mean something else. Keep its scaling, or leave out the products: products=None."
            )
        if (last := int(self.products.columns[-1])) >= self.n_features:
            raise LinrankError(f"a product is of feature {last + 1}, and the model has {self.n_features}.")

    @property
    def n_features(self) -> int:
        return len(self.weights)

    @cached_property
    def _scores(self) -> LinearScores:
        return LinearScores(self.weights, self.scaling, self.products, self.feature_names)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which features a score depends on: those with a weight, and those that are in a product."""
        return self._scores.used

    def predict(self, X: Any, queries: Queries | None = None, *, qid: Any = None, executor: Any = None) -> Vector:
        """Scores, in the order of the rows; higher is better.

        Parameters
        ----------
        X : RankingDataset, what `linrank.scan` returns (read chunk by chunk), array, CSR matrix, or pandas, polars or
            Arrow table.
            Columns that have names are found by them, whatever their order: those with a weight must be there, others
            may be left out or come on top. Without names they are taken by position, and their number must fit.
        queries, qid : which row belongs to which query, or its id; only where the model scales by query, and never
            for a dataset, which knows
        executor : a `DaskExecutor`, whose workers read and score the chunks of a file; the scores are the same
        """
        if executor is not None or _is_on_disk(X):
            # Here, since scoring rows needs none of it.
            from linrank.executors.pieces import scores_by_chunks
            from linrank.reading.scan import scan

            X = scan(X) if isinstance(X, str | os.PathLike) else X
            return scores_by_chunks(self, X, executor, by_query=self._scores.by_query)
        X, queries = self._rows(X, queries)
        refuse_cut_maps(X)
        if X.ndim != 2:
            raise LinrankError(
                f"the data has shape {X.shape}; a row is a document, so that one alone is [values], and none are "
                f"numpy.empty((0, {self.n_features}))."
            )
        if X.shape[1] != self.n_features:
            raise LinrankError(
                f"the model has {self.n_features} features, but the data has shape {X.shape}. "
                "Use data with the same columns; for svmlight text, pass n_features."
            )
        if qid is not None and self._scores.by_query:
            queries = Queries.from_ids(qid)
        return self._scores.of(X, queries)

    def rank(self, X: Any, queries: Queries | None = None, *, qid: Any = None) -> Offsets:
        """The rows in the order of their scores, the best first; equal scores keep the order of the rows.

        Parameters
        ----------
        X : as for `predict`
        queries, qid : which row belongs to which query, or its id; without them all rows are of one, unless X is a
            dataset, which knows

        Returns
        -------
        ndarray of the row numbers from 0
            Of one query `documents[i] for i in order`; of several, query after query in order of first appearance, each
            from its best document down: `qid[order]` says where each begins.
        """
        if _is_on_disk(X):
            from linrank.executors.pieces import Pieces

            pieces = Pieces.as_they_stand(X, by_query=True)
            return _one_after_another([self.rank(chunk) for piece in pieces for chunk in piece.chunks(to_train=False)])
        X, queries = self._rows(X, queries)
        if qid is not None:
            queries = Queries.from_ids(qid)
        if queries is None:
            queries = Queries(np.zeros(1), np.array([0, X.shape[0]]), None)
        scores = self.predict(X, queries)
        if queries.n_documents != len(scores):
            raise LinrankError(f"there are {len(scores)} rows, but the queries have {queries.n_documents}.")
        return queries.best_first(scores)

    def _rows(self, X: Any, queries: Queries | None) -> tuple[Any, Queries | None]:
        """The features as an array or a SciPy matrix with the model's columns, and the queries that data brings."""
        if isinstance(X, np.ndarray):
            return np.asarray(X), queries
        needed = self.used
        if is_a(X, "linrank.dataset.ranking_dataset", "RankingDataset"):
            return X.with_columns(self.feature_names, needed=needed).features, X.queries
        if not is_sparse(X):
            from linrank.reading.named_columns import columns_by_name

            X = np.asarray(columns_by_name(X, self.feature_names, needed))
        return X, queries

    def raw_weights(self) -> Vector:
        """The weights that rank unscaled features as the model ranks scaled ones; refused where there are none."""
        return folded(self.weights, self.scaling)

    def named_weights(self) -> NamedWeights:
        """The weights by name, the largest first: on features as they are given.

        Where there are no such weights, those on features as the model sees them: scaled within each query, or through
        the curves or the signed logarithms of `scaling`. Products have no part in them.
        """
        weights = self.raw_weights() if folds(self.scaling, self.weights) else self.weights
        return NamedWeights(self.feature_names, weights)

    def __repr__(self) -> str:
        weights = self.named_weights()
        used = f"{np.count_nonzero(self.used)} of {self.n_features} features"
        products = "" if self.products is None else f", {len(self.products)} products"
        return f"LinearModel({self.method or 'linear'}, {used}{products}: {weights.first(5)})"

    def _repr_html_(self) -> str:
        products = "" if self.products is None else f"<p>and {len(self.products)} products of two features</p>"
        return self.named_weights()._repr_html_() + products

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON, whole or not at all."""
        content = self._content()
        version = SCHEMA_VERSION if self.products is None else _WITH_PRODUCTS
        document = {"format": FORMAT, "schema_version": version, "checksum": _checksum(content), **content}
        # What writes files safely is not needed to score.
        from linrank.files import replacing

        with replacing(path) as file:
            file.writelines(written_json(document, indented=True, listed=_writer_of(self.weights)))
            file.write("\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LinearModel:
        """Read a model; nothing in the file is ever executed, and everything in it is checked."""
        source = os.fspath(path)
        try:
            document = strict_json(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataFormatError(source, None, f"cannot be read: {error.strerror}. Check the path.") from None
        except (ValueError, RecursionError) as error:
            raise DataFormatError(source, None, f"is not a model: {error}. Use a file written by linrank.") from None
        return _from_document(source, document)

    def _content(self) -> dict[str, Any]:
        return {
            "linrank_version": self.linrank_version,
            "method": self.method,
            "objective": self.objective,
            "parameters": dict(self.parameters),
            "training": dict(self.training),
            "data_fingerprint": self.data_fingerprint,
            "feature_names": self.feature_names,
            "weights": self.weights,
            "scaling": scaling_record(self.scaling),
            "missing": self.missing,
            "trained_at": self.trained_at,
            **({} if self.products is None else {"products": self.products.record()}),
        }


def load(path: str | os.PathLike[str]) -> LinearModel:
    """Read a model that linrank wrote: `LinearModel.load`."""
    return LinearModel.load(path)


def _one_after_another(orders: list[Offsets]) -> Offsets:
    """Orders of consecutive parts as one of the whole."""
    starts = np.cumsum([0, *map(len, orders)])
    return np.concatenate([start + order for start, order in zip(starts, orders, strict=False)])


def utc_now() -> str:
    """The time for `trained_at`, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _checksum(content: Mapping[str, Any]) -> str:
    digest = hashlib.sha256()
    for piece in written_json(content, indented=False, listed=_writer_of(content["weights"])):
        digest.update(piece.encode())
    return "sha256:" + digest.hexdigest()


def _writer_of(weights: Any) -> Any:
    """What writes many numbers quickly, where a training has loaded the compiler anyway; few are soon written."""
    if "numba" not in sys.modules or len(weights) < _MANY:
        return None
    from linrank.reading.listed_numbers import listed

    return listed


_FIELDS: dict[str, type | tuple[type, ...]] = {
    "checksum": str,
    "linrank_version": str,
    "method": str,
    "objective": str,
    "parameters": dict,
    "training": dict,
    "data_fingerprint": (str, type(None)),
    "feature_names": list,
    "weights": list,
    "scaling": (dict, type(None)),
}
# Files written before these were kept lack them.
_LATER_FIELDS: dict[str, tuple[type, ...]] = {"missing": (str, int, float), "trained_at": (str, type(None))}


def _from_document(source: str, document: Any) -> LinearModel:
    def wrong(message: str) -> DataFormatError:
        return DataFormatError(source, None, message)

    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise wrong(f'is not a model: it lacks "format": "{FORMAT}". Use a file written by linrank.')
    version = document.get("schema_version")
    if type(version) is not int or version not in (SCHEMA_VERSION, _WITH_PRODUCTS):
        raise wrong(
            f"has schema version {version!r}; this linrank reads {SCHEMA_VERSION} and {_WITH_PRODUCTS}. Use a linrank "
            "that wrote it."
        )
    if version == SCHEMA_VERSION and "products" in document:
        raise wrong(f"has products, which schema version {version} does not know. Restore the file.")
    later = {name: kinds for name, kinds in _LATER_FIELDS.items() if name in document}
    fields = _FIELDS | later | ({"products": dict} if version == _WITH_PRODUCTS else {})
    for name, kinds in fields.items():
        if not isinstance(document.get(name, ...), kinds):
            raise wrong(f"field {name!r} is missing or of the wrong kind. Train the model again, or restore the file.")
    content = {name: document[name] for name in fields if name != "checksum"}
    try:
        checksum = _checksum(content)
    except (ValueError, RecursionError) as error:
        raise wrong(f"holds what no model does: {error}. Train the model again, or restore the file.") from None
    if checksum != document["checksum"]:
        raise wrong("was changed after it was written: its checksum does not fit. Train again, or restore the file.")
    names = document["feature_names"]
    if not all(isinstance(name, str) for name in names):
        raise wrong("feature names must be text. Train the model again, or restore the file.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise wrong(f"two features are called {twice!r}. Train the model again, or restore the file.")
    try:
        return LinearModel(
            numbers_of(document["weights"]),
            tuple(names),
            scaling_of_record(document["scaling"], len(names)),
            document["method"],
            document["objective"],
            document["parameters"],
            document["training"],
            document["data_fingerprint"],
            document["linrank_version"],
            **{name: document[name] for name in later},
            products=FeatureProducts.of_record(document["products"], len(names)) if "products" in fields else None,
        )
    except LinrankError as error:
        raise wrong(str(error)) from None


def _is_on_disk(X: Any) -> bool:
    return is_a(X, "linrank.dataset.stored_dataset", "StoredDataset") or is_a(
        X, "linrank.reading.partitions", "PartitionedDataset"
    )
