"""Pipelines that end in a linear ranker, converted by skl2onnx and run by onnxruntime."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import linrank
from linrank import AdditiveRanker, LinrankError, RankSVM, RankSVMCV, make_ranking
from linrank.estimators.catalogue import METHODS

LINEAR = sorted(
    {method.class_name for method in METHODS.values() if method.linear and not method.load()().shapes_features}
    | {"PairwiseRidgeCV", "RankSVMCV"}
)
# Enough for weights that are not 0.
SETTINGS = {"RankSVMCV": {"Cs": [0.01, 1.0], "cv": 2}, "FacRankSVM": {"max_iter": 5}, "RegRankSVM": {"max_iter": 5}}


@pytest.fixture(scope="module")
def data():
    return make_ranking(12, 8, 5, random_state=0)[0]


@pytest.fixture(scope="module")
def onnx_scores():
    """What onnxruntime makes of rows by a pipeline that skl2onnx has converted."""
    to_onnx = pytest.importorskip("skl2onnx").to_onnx
    runtime = pytest.importorskip("onnxruntime")
    linrank.register_onnx_converter()

    def run(pipeline, X):
        content = to_onnx(pipeline, X[:1]).SerializeToString()
        session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
        return session.run(None, {session.get_inputs()[0].name: X})[0]

    return run


@pytest.mark.parametrize("name", LINEAR)
def test_a_pipeline_scores_as_it_does_here(name, data, onnx_scores):
    ranker = getattr(linrank, name)(**SETTINGS.get(name, {}))
    pipeline = make_pipeline(StandardScaler(), ranker)
    with warnings.catch_warnings():
        # Few rounds need not converge: any weights will do.
        warnings.simplefilter("ignore")
        pipeline.fit(data.features, data.labels, **{f"{name.lower()}__qid": data.qid})
    X = data.features.astype(np.float32)
    scores = onnx_scores(pipeline, X)
    expected = pipeline.predict(X.astype(np.float64))
    assert np.any(ranker.coef_)
    assert scores.shape == (len(X), 1)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores[:, 0], expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_a_ranker_with_a_transform_of_its_own_is_refused_with_the_remedy(data, onnx_scores):
    ranker = AdditiveRanker(0.01, smoothing=1.0).fit(data)
    with pytest.raises(LinrankError, match=r"AdditiveRanker has transforms.*Export it alone"):
        onnx_scores(ranker, data.features)


def test_float64_stays_float64(data, onnx_scores):
    ranker = RankSVM().fit(data)
    scores = onnx_scores(ranker, data.features)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores[:, 0], ranker.predict(data.features), rtol=1e-13, atol=1e-13)


def test_whole_numbers_are_scored(data, onnx_scores):
    X = np.round(data.features * 10).astype(np.int64)
    ranker = RankSVM().fit(X, data.labels, qid=data.qid)
    np.testing.assert_allclose(onnx_scores(ranker, X)[:, 0], ranker.predict(X), rtol=1e-4, atol=1e-4)


def test_a_ranker_of_ones_own_is_known(data, onnx_scores):
    class Mine(RankSVMCV):
        pass

    linrank.register_onnx_converter()
    ranker = Mine(Cs=[0.1, 1.0], cv=2).fit(data)
    np.testing.assert_allclose(onnx_scores(ranker, data.features)[:, 0], ranker.predict(data.features), atol=1e-12)


def test_without_the_converter_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(LinrankError, match=r"skl2onnx, which is not installed.*linrank\[onnx\]"):
        linrank.register_onnx_converter()
