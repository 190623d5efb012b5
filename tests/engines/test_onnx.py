"""onnxruntime ranks by the exported graph as the model does."""

import json

import numpy as np
import pytest

from ranked_letor import check_same_ranking, exported

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


@pytest.mark.runs("onnx")
@pytest.mark.parametrize("shift", [0.0, -0.5])
def test_it_ranks_as_the_model_does(made_letor, tmp_path, shift):
    made, rows, data = exported(made_letor, "onnx", shift=shift)
    made.save(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    assert json.loads(session.get_modelmeta().custom_metadata_map["features"]) == list(made.ranking.names)
    (scores,) = session.run(["scores"], {"features": rows.astype(np.float32)})
    assert scores.shape == (len(rows), 1)
    check_same_ranking(made, rows, data, scores[:, 0])
    # One document, or none, is a batch too.
    for few in (rows[:1], rows[:0]):
        (scores,) = session.run(None, {"features": few.astype(np.float32)})
        assert scores.shape == (len(few), 1)
