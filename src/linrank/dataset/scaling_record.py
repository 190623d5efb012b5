"""A scaling as a model file has it: plain numbers, and read back with everything checked."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from linrank.arrays import Vector, offsets_from_sizes
from linrank.dataset.applied_scaling import ColumnScaling, QueryScaling, Scaling
from linrank.dataset.feature_shapes import FeatureShapes, ShapeKind
from linrank.dataset.signed_log import SignedLog
from linrank.errors import LinrankError
from linrank.strict_json import finite


def scaling_record(scaling: Scaling | None) -> dict[str, Any] | None:
    """What is written of a scaling."""
    if scaling is None:
        return None
    if isinstance(scaling, ColumnScaling):
        return {"kind": scaling.kind, "shift": scaling.shift, "scale": scaling.scale}
    if isinstance(scaling, SignedLog):
        return {"kind": scaling.kind, "unit": scaling.unit, "scale": scaling.scale}
    if isinstance(scaling, FeatureShapes):
        sizes = np.diff(scaling.starts).tolist()
        return {"kind": scaling.kind, "sizes": sizes, "knots": scaling.knots, "values": scaling.values}
    return {"kind": scaling.kind}


def scaling_of_record(record: dict[str, Any] | None, n_features: int) -> Scaling | None:
    """The scaling that was written, for so many features."""
    if record is None:
        return None
    kind = record.get("kind")
    if kind == "query":
        return QueryScaling()
    if kind in get_args(ShapeKind):
        return _shapes(kind, record, n_features)
    if kind == "signed-log":
        logarithm = SignedLog(numbers_of(record.get("unit")), numbers_of(record.get("scale")))
        if logarithm.n_features != n_features:
            raise LinrankError("the logarithms need one unit and one scale a feature.")
        return logarithm
    if kind not in ("standard", "min-max", "max-abs"):
        raise LinrankError(f"unknown scaling {kind!r}.")
    shift, scale = numbers_of(record.get("shift")), numbers_of(record.get("scale"))
    if len(shift) != n_features or len(scale) != n_features or not (scale > 0).all():
        raise LinrankError("the scaling needs one shift and one positive scale a feature.")
    return ColumnScaling(kind, shift, scale)


def _shapes(kind: Any, record: dict[str, Any], n_features: int) -> FeatureShapes:
    sizes = record.get("sizes")
    if not isinstance(sizes, list) or not all(type(size) is int and 0 < size < 2**31 for size in sizes):
        raise LinrankError("the curves need a number of knots a feature, 1 at least.")
    knots, values = numbers_of(record.get("knots")), numbers_of(record.get("values"))
    if len(sizes) != n_features or sum(sizes) != len(knots) or len(knots) != len(values):
        raise LinrankError("the curves need a number of knots a feature, and a value a knot.")
    return FeatureShapes.checked(kind, knots, values, offsets_from_sizes(np.array(sizes, dtype=np.int64)))


def numbers_of(values: Any) -> Vector:
    """A list of finite numbers, and nothing else."""
    numbers = [finite(value) for value in values] if isinstance(values, list) else [None]
    if None in numbers:
        raise LinrankError("weights and scales must be lists of finite numbers.")
    return np.asarray(numbers, dtype=np.float64)
