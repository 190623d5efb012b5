"""ONNX: a graph of one product, for onnxruntime and whatever else reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linrank.errors import MissingDependencyError
from linrank.exporting.arithmetic import FLOAT32_ANY_ORDER, Arithmetic
from linrank.exporting.engine import Accepts, Target
from linrank.exporting.weighted_sum import WeightedSum

# Of 2020: what reads ONNX at all reads these.
_OPSET, _IR_VERSION = 13, 7


@dataclass(frozen=True)
class ONNX(Target):
    """A graph from float32 `features`, a column a feature with a weight, to one column of `scores`."""

    name: ClassVar[str] = "onnx"
    title: ClassVar[str] = "ONNX"
    ending: ClassVar[str] = "onnx"
    accepts: ClassVar[Accepts] = Accepts()
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ANY_ORDER
    run_by: ClassVar[str] = "onnxruntime"

    def write(self, ranking: WeightedSum) -> bytes:
        onnx = _onnx()
        helper = onnx.helper
        weights = [onnx.numpy_helper.from_array(ranking.weights.astype("<f4")[:, None], "weights")]
        nodes = [helper.make_node("MatMul", ["features", "weights"], ["scores"])]
        if ranking.shift:
            weights.append(onnx.numpy_helper.from_array(np.array(ranking.shift, dtype="<f4"), "shift"))
            nodes = [
                helper.make_node("MatMul", ["features", "weights"], ["sums"]),
                helper.make_node("Add", ["sums", "shift"], ["scores"]),
            ]
        kind = onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            nodes,
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


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise MissingDependencyError("onnx", "onnx", "exporting to ONNX") from None
    return onnx
