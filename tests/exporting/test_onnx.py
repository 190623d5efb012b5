"""ONNX: the graph, and its library where that is not installed."""

import json
import sys

import numpy as np
import pytest

from linrank import LinearModel, export
from linrank.dataset.signed_log import SignedLog
from linrank.errors import MissingDependencyError
from ranked_letor import AWKWARD

MODEL = LinearModel(np.array([0.5, 0.0, -2.0]), ("price", "age", "a, b"), missing=3.0)


def test_the_graph_is_one_product():
    onnx = pytest.importorskip("onnx")
    graph = onnx.load_from_string(export(MODEL, "onnx").content)
    assert [node.op_type for node in graph.graph.node] == ["MatMul"]
    assert [node.op_type for node in onnx.load_from_string(export(MODEL, "onnx", shift=1.0).content).graph.node] == [
        "MatMul",
        "Add",
    ]
    facts = {fact.key: fact.value for fact in graph.metadata_props}
    assert facts == {"features": '["price", "a, b"]', "missing": "3.0"}
    assert "price, a, b" in graph.doc_string
    assert [(each.domain, each.version) for each in graph.opset_import] == [("", 13)]


def test_names_are_kept_whatever_is_in_them():
    onnx = pytest.importorskip("onnx")
    model = LinearModel(np.arange(1.0, len(AWKWARD) + 1), AWKWARD)
    facts = {fact.key: fact.value for fact in onnx.load_from_string(export(model, "onnx").content).metadata_props}
    assert tuple(json.loads(facts["features"])) == AWKWARD


def test_logarithms_of_the_largest_numbers_are_the_models():
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    # Divided by such units, they have no number in float32.
    model = LinearModel(np.array([1.0, -2.0]), ("a", "b"), scaling=SignedLog(np.full(2, 1e-3), np.ones(2)))
    rows = np.array([[3e38, 3e38], [-3e38, 1.0], [0.0, 0.0]], dtype=np.float32)
    session = runtime.InferenceSession(export(model, "onnx").content, providers=["CPUExecutionProvider"])
    (scores,) = session.run(["scores"], {"features": rows})
    # (A quotient that float32 has no number for counts as its largest.)
    np.testing.assert_allclose(scores[:, 0], model.predict(rows), atol=2 * np.log(1e4))
    np.testing.assert_allclose(scores[2], 0.0)


def test_where_onnx_is_not_installed_its_name_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r"needs onnx, .* pip install 'linrank\[onnx\]'"):
        export(MODEL, "onnx")
