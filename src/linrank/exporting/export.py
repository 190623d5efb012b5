"""export: a model as a target takes it, with what is needed to install it, to test it and to trust it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.applied_scaling import ColumnScaling
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.exporting.arithmetic import Arithmetic
from linrank.exporting.engine import Engine, check
from linrank.exporting.order_changes import OrderChanges, order_changes
from linrank.exporting.registry import engine_named
from linrank.exporting.vectors import TestVectors, finite_scores, made_up_rows
from linrank.exporting.weighted_sum import WeightedSum
from linrank.files import replacing
from linrank.model import LinearModel

VECTORS_ENDING = ".vectors.json"

# As much of the data is dense in memory at a time.
_NUMBERS_AT_A_TIME = 1 << 22
_ROWS_OF_DATA = 8


@dataclass(frozen=True, eq=False, repr=False)
class Export:
    """A model in the words of another program.

    Attributes
    ----------
    engine : the target, with its settings
    content : str or bytes
        What goes into the file.
    ranking : WeightedSum
        The names and weights in it, and `unused`: the features that are no longer needed.
    vectors : TestVectors
        Documents, and the scores that the target must give them.
    order_changes : OrderChanges or None
        What the target's arithmetic does to the order of the given data.
    notes : tuple of str
        What was assumed.
    """

    engine: Engine
    content: str | bytes
    ranking: WeightedSum
    vectors: TestVectors
    order_changes: OrderChanges | None
    notes: tuple[str, ...]
    model: LinearModel

    def commands(self, file: str | os.PathLike[str]) -> str:
        """What to type to install the file and to use it; empty where a file is all there is."""
        return self.engine.commands(self.ranking, os.fspath(file))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file, and the test vectors beside it; return where those are."""
        content = self.content.encode() if isinstance(self.content, str) else self.content
        return save_with_vectors(path, content, self.vectors_json())

    def vectors_json(self) -> str:
        """The test vectors, and of which file they are."""
        content = self.content.encode() if isinstance(self.content, str) else self.content
        return self.vectors.to_json(
            target=self.engine.name,
            arithmetic=self.engine.arithmetic.says,
            file_sha256=hashlib.sha256(content).hexdigest(),
            method=self.model.method,
            data_fingerprint=self.model.data_fingerprint,
            trained_at=self.model.trained_at,
        )

    def __str__(self) -> str:
        if isinstance(self.content, bytes):
            raise LinrankError(f"what {self.engine.title} takes is not text. Use save, or content.")
        return self.content

    def __repr__(self) -> str:
        return f"Export({self.engine!r}, {len(self.ranking)} features)"


def export(
    model: Any,
    to: str | Engine,
    /,
    *,
    out: str | os.PathLike[str] | None = None,
    names: Mapping[str, str] | None = None,
    shift: float = 0.0,
    data: RankingDataset | None = None,
    **settings: Any,
) -> Export:
    """A model as another program takes it: scaling folded into the weights, features of weight 0 left out.

    Where the model transforms features, a target that can computes the curves: weight x f(feature).

    Parameters
    ----------
    model : LinearModel, a trained linear ranker, or the path of a model file
    to : "solr", "opensearch", "sql", "onnx" …, or such an engine as a value
    out : where to write the file, with its test vectors beside it
    names : what the target calls features that have other names in the model
    shift : a constant to add to every score, for targets that refuse negative ones; it changes no order
    data : judged or unjudged documents: the order that the target's arithmetic gives them is compared with the model's
    **settings : of the target, such as `store="products"` for Solr

    Returns
    -------
    Export
        What cannot be expressed in the target is refused with the remedy.
    """
    if not isinstance(to, str) and settings:
        raise LinrankError(f"{', '.join(settings)}: set it where the engine is made, {type(to).__name__}(…).")
    engine = engine_named(to, **settings) if isinstance(to, str) else to
    trained = as_model(model)
    plain = WeightedSum.of(trained, names, shift)
    check(engine, plain)
    ranking = engine.prepare(plain)
    rows, changes, least = _of_data(engine, ranking, trained, data)
    made = Export(
        engine,
        engine.write(ranking),
        ranking,
        TestVectors.of(engine, ranking, rows),
        changes,
        (*engine.notes(ranking), *_said_of_signs(engine, ranking, least)),
        trained,
    )
    if out is not None:
        made.save(out)
    return made


def save_with_vectors(file: str | os.PathLike[str], content: bytes, vectors: str) -> Path:
    """Write a file, and beside it the test vectors that have its hash; return where those are."""
    beside = vectors_path(file)
    # The vectors say that the file is ours. They are on the disk before it is, and if the process is killed between
    # the two, what is left of them says so.
    with replacing(beside) as about:
        about.write(vectors)
        about.flush()
        os.fsync(about.fileno())
        with replacing(file, "wb") as made:
            made.write(content)
    return beside


def vectors_path(file: str | os.PathLike[str]) -> Path:
    """Where the test vectors of an exported file are."""
    place = Path(file)
    return place.with_name(place.name + VECTORS_ENDING)


def as_model(model: Any) -> LinearModel:
    """The linear model that something is, has become by training, or is the file of."""
    if isinstance(model, LinearModel):
        return model
    if isinstance(model, str | os.PathLike):
        return LinearModel.load(model)
    if not hasattr(model, "to_model"):
        raise LinrankError(
            f"{type(model).__name__} has no weights to export. Give a LinearModel, a linear ranker or a model file."
        )
    made = model.to_model()
    assert isinstance(made, LinearModel)
    return made


def _of_data(
    engine: Engine, ranking: WeightedSum, model: LinearModel, data: RankingDataset | None
) -> tuple[Any, OrderChanges | None, float | None]:
    """Rows to test with; what becomes of the order of the data, and its least score, where there is data."""
    if data is None:
        return _with_constant(ranking, made_up_rows(_usual_sizes(ranking, model))), None, None
    known = data.with_columns(model.feature_names, needed=model.used)
    scores = scores_of_data(engine.arithmetic, engine.title, ranking, known)
    changes = order_changes(model.predict(known), scores, known.queries)
    return _rows(ranking, known, 0, _ROWS_OF_DATA), changes, float(scores.min())


def scores_of_data(arithmetic: Arithmetic, title: str, ranking: WeightedSum, data: RankingDataset) -> Any:
    """The scores of documents, whose columns are those of the model, as `title` computes them; finite, or refused."""
    step = max(1, _NUMBERS_AT_A_TIME // max(1, len(ranking)))
    return np.concatenate(
        [
            finite_scores(arithmetic, title, ranking, _rows(ranking, data, first, first + step), first)
            for first in range(0, data.n_documents, step)
        ]
    )


def _rows(ranking: WeightedSum, data: RankingDataset, first: int, last: int) -> Any:
    """Some documents, one column a feature of the sum."""
    part = data.features[first:last][:, [column for column in ranking.columns if column >= 0]]
    return _with_constant(ranking, np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64))


def _with_constant(ranking: WeightedSum, values: Any) -> Any:
    """The documents with a column of ones for the feature that carries the shift, where there is one."""
    rows = np.ones((len(values), len(ranking)))
    rows[:, [place for place, column in enumerate(ranking.columns) if column >= 0]] = values
    return rows


def _usual_sizes(ranking: WeightedSum, model: LinearModel) -> Vector:
    """How large the features usually are, as far as the model knows; 1 where it does not."""
    if ranking.curves:
        sizes = [curve.usual_size for curve in ranking.curves]
        for _, places, lines in ranking.products:
            for place, line in zip(places, lines, strict=True):
                # (The curve of a feature that is in products only has one knot.)
                sizes[place] = line.usual_size
        return np.array(sizes)
    scale = model.scaling.scale if isinstance(model.scaling, ColumnScaling) else np.ones(model.n_features)
    return scale[[column for column in ranking.columns if column >= 0]]


def _said_of_signs(engine: Engine, ranking: WeightedSum, least: float | None) -> tuple[str, ...]:
    """Refuse scores that the engine would, where they are known; otherwise say what it needs."""
    if engine.accepts.negative_scores:
        return ()
    if least is not None and least < 0.0:
        raise LinrankError(
            f"{engine.title} refuses negative scores, and the least of this data is {least:g}. Add a constant, with "
            f"room for documents that score lower: shift={float(np.ceil(-2.0 * least)) + ranking.shift:g}."
        )
    if least is not None:
        return (f"{engine.title} refuses negative scores; the least of this data is {least:g}",)
    return (
        f"{engine.title} refuses negative scores: give data to see whether there are any, and a shift if there are",
    )
