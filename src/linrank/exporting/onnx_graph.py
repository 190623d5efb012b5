"""ONNX: a graph of one product, for onnxruntime and whatever else reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from linrank.errors import MissingDependencyError
from linrank.exporting.arithmetic import FLOAT32_ANY_ORDER, Arithmetic
from linrank.exporting.curves import Curve, Logarithm, Piecewise
from linrank.exporting.engine import Accepts, Target
from linrank.exporting.weighted_sum import WeightedSum

# Of 2020: what reads ONNX at all reads these.
_OPSET, _IR_VERSION = 13, 7
_ALONG_COLUMNS = {"Gather": {"axis": 1}, "Concat": {"axis": 1}}


@dataclass(frozen=True)
class ONNX(Target):
    """A graph from float32 `features`, a column a feature with a weight, to one column of `scores`."""

    name: ClassVar[str] = "onnx"
    title: ClassVar[str] = "ONNX"
    ending: ClassVar[str] = "onnx"
    accepts: ClassVar[Accepts] = Accepts(curves=True, products=True)
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ANY_ORDER
    run_by: ClassVar[str] = "onnxruntime"

    def write(self, ranking: WeightedSum) -> bytes:
        onnx = _onnx()
        helper = onnx.helper
        weights = [onnx.numpy_helper.from_array(ranking.all_weights.astype("<f4")[:, None], "weights")]
        before, constants = _before_weights(ranking)
        of_curves = [
            helper.make_node(name, inputs, [output], **_ALONG_COLUMNS.get(name, {})) for name, inputs, output in before
        ]
        weights += [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
        seen = before[-1][2] if before else "features"
        nodes = [helper.make_node("MatMul", [seen, "weights"], ["scores"])]
        if ranking.shift:
            weights.append(onnx.numpy_helper.from_array(np.array(ranking.shift, dtype="<f4"), "shift"))
            nodes = [
                helper.make_node("MatMul", [seen, "weights"], ["sums"]),
                helper.make_node("Add", ["sums", "shift"], ["scores"]),
            ]
        kind = onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            [*of_curves, *nodes],
            "linrank",
            [helper.make_tensor_value_info("features", kind, ["documents", len(ranking)])],
            [helper.make_tensor_value_info("scores", kind, ["documents", 1])],
            weights,
        )
        model = helper.make_model(
            graph,
            producer_name="linrank",
            doc_string=f"scores of documents; the columns of features are: {', '.join(ranking.names)}",
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
        )
        facts = {"features": json.dumps(ranking.names, ensure_ascii=False), "missing": repr(ranking.missing)}
        helper.set_model_props(model, facts)
        onnx.checker.check_model(model, full_check=True)
        written: bytes = model.SerializeToString(deterministic=True)
        return written

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        return (
            f"input `features` has {len(ranking)} columns, in the order of the file's metadata: features, a JSON list",
            f"a NaN makes a score NaN: fill in {ranking.missing:g}, as the model counts a missing value",
        )


# Operations with their inputs and output, and the constants by name.
_Operations: TypeAlias = tuple[list[tuple[str, list[str], str]], dict[str, Any]]


def _before_weights(ranking: WeightedSum) -> _Operations:
    """What becomes of features before they are weighed: their curves, and products of lines beside these."""
    curves = [curve.rounded() for curve in ranking.curves]
    if not ranking.products:
        return _curves(curves, "features")
    # Lines are curves of further columns: first those of one factor of each product, then those of the other.
    places = [product.places[factor] for factor in (0, 1) for product in ranking.products]
    lines = [product.lines[factor].rounded() for factor in (0, 1) for product in ranking.products]
    columns = np.array([*range(len(ranking)), *places], dtype=np.int64)
    operations, constants = _curves([*curves, *lines], "columns")
    n_products = len(ranking.products)
    bounds = np.cumsum([0, len(ranking), n_products, n_products])
    parts = {
        f"places_of_{name}": np.arange(*bounds[k : k + 2], dtype=np.int64)
        for k, name in enumerate(("features", "one", "other"))
    }
    return [
        ("Gather", ["features", "column_numbers"], "columns"),
        *operations,
        ("Gather", ["curved", "places_of_features"], "of_features"),
        ("Gather", ["curved", "places_of_one"], "one"),
        ("Gather", ["curved", "places_of_other"], "other"),
        ("Mul", ["one", "other"], "products"),
        ("Concat", ["of_features", "products"], "terms"),
    ], {**constants, **parts, "column_numbers": columns}


def _curves(curves: Sequence[Curve], of: str) -> _Operations:
    """What takes columns through their curves."""
    if not curves:
        return [], {}
    if isinstance(curves[0], Logarithm):
        records = [curve.record() for curve in curves]
        numbers = {name: np.array([record[name] for record in records], dtype="<f4") for name in records[0]}
        operations = [
            ("Abs", [of], "sizes"),
            ("Div", ["sizes", "unit"], "in_units"),
            # What is too far from 0 to be divided by its unit has a logarithm nevertheless.
            ("Min", ["in_units", "largest"], "bounded"),
            ("Add", ["bounded", "one"], "from_one"),
            ("Log", ["from_one"], "logs"),
            ("Sign", [of], "signs"),
            ("Mul", ["signs", "logs"], "signed"),
            ("Div", ["signed", "scale"], "curved"),
        ]
        numbers |= {"one": np.array(1.0, dtype="<f4"), "largest": np.array(np.finfo(np.float32).max, dtype="<f4")}
        return operations, numbers
    # value_0 + sum over segments of slope_k (x, kept within the segment, - knot_k), as many segments for all features.
    n_segments = max(1, *(len(curve.knots) - 1 for curve in curves if isinstance(curve, Piecewise)))
    starts, ends, slopes = (np.zeros((len(curves), n_segments), dtype="<f4") for _ in range(3))
    firsts = np.zeros(len(curves), dtype="<f4")
    for j, curve in enumerate(curves):
        assert isinstance(curve, Piecewise)
        used = len(curve.knots) - 1
        starts[j, :used], ends[j, :used], slopes[j, :used] = curve.knots[:-1], curve.knots[1:], curve.slopes
        firsts[j] = curve.values[0]
    operations = [
        ("Unsqueeze", [of, "last"], "each"),
        ("Max", ["each", "starts"], "not_before"),
        ("Min", ["not_before", "ends"], "within"),
        ("Sub", ["within", "starts"], "runs"),
        ("Mul", ["runs", "slopes"], "rises"),
        ("ReduceSum", ["rises", "last"], "risen"),
        ("Squeeze", ["risen", "last"], "risen_of_features"),
        ("Add", ["risen_of_features", "firsts"], "curved"),
    ]
    constants = {"starts": starts, "ends": ends, "slopes": slopes, "firsts": firsts}
    return operations, {**constants, "last": np.array([2], dtype=np.int64)}


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise MissingDependencyError("onnx", "onnx", "exporting to ONNX") from None
    return onnx
