"""The engines themselves compute the curves of a model that transforms features as the model does."""

import json

import numpy as np
import pytest

from exporting.test_curves import KINDS, NAMES, a_model, some_data, used_names
from linrank import export
from linrank.exporting.order_changes import order_changes
from rank_profiles import names_and_expression


def compared(made, model, data, scores, close=1e-12, shift=0.0):
    expected = model.predict(data) + shift
    np.testing.assert_allclose(scores, expected, rtol=close, atol=close * np.abs(expected).max())
    changes = order_changes(model.predict(data), np.asarray(scores), data.queries)
    assert changes.pairs > 100
    assert changes.reversed == 0
    foretold = made.engine.arithmetic.scores(made.ranking, values_of(data, model)).astype(np.float64)
    np.testing.assert_allclose(scores, foretold, rtol=close, atol=close * np.abs(expected).max())


def values_of(data, model):
    return np.asarray(data.features)[:, model.used]


def documents_of(data, model):
    return [dict(zip(used_names(model), row, strict=True)) for row in values_of(data, model).tolist()]


@KINDS
def test_vespa(vespa, kind):
    model = a_model(kind)
    data = some_data(model)
    made = export(model, "vespa", wrap="attribute(%s)")
    names, expression = names_and_expression(made.content)
    scores = [vespa.evaluate(expression, dict(zip(names, row, strict=True))) for row in values_of(data, model).tolist()]
    compared(made, model, data, scores)


@KINDS
def test_lucenes_expressions(lucene, kind):
    model = a_model(kind)
    data = some_data(model)
    made = export(model, "elasticsearch-script", lang="expression", shift=64.0)
    source = json.loads(made.content)["query"]["script_score"]["script"]["source"]
    scores = [
        lucene.evaluate(source, {f"doc['{name}'].value": value for name, value in document.items()})
        for document in documents_of(data, model)
    ]
    compared(made, model, data, scores, close=1e-6, shift=64.0)


@KINDS
@pytest.mark.parametrize("lang", ["painless", "expression"])
def test_opensearch(opensearch, kind, lang):
    model = a_model(kind, missing=0.75)
    data = some_data(model)
    made = export(model, "elasticsearch-script", lang=lang, shift=64.0)
    index = f"curves-{kind}-{lang}"
    opensearch.create_index(index, dict.fromkeys(used_names(model), "double"))
    documents = {str(place): document for place, document in enumerate(documents_of(data, model))}
    documents["lacking"] = {"age": 0.25, "price": 1.0}
    opensearch.index(index, documents)
    scores = opensearch.scores(index, json.loads(made.content))
    compared(made, model, data, [scores[str(place)] for place in range(data.n_documents)], close=1e-6, shift=64.0)
    lacking = model.predict(np.array([[0.75, 0.25, 0.75, 1.0]]))[0] + 64.0
    assert scores["lacking"] == pytest.approx(lacking, rel=1e-6)


@KINDS
def test_onnxruntime(kind, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = a_model(kind)
    data = some_data(model)
    made = export(model, "onnx", shift=-0.5, out=tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    (scores,) = session.run(["scores"], {"features": values_of(data, model).astype(np.float32)})
    compared(made, model, data, scores[:, 0].astype(np.float64), close=1e-6, shift=-0.5)
    (none,) = session.run(None, {"features": np.empty((0, len(used_names(model))), dtype=np.float32)})
    assert none.shape == (0, 1)


@KINDS
def test_duckdb(kind):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    model = a_model(kind)
    data = some_data(model)
    made = export(model, "sql")
    with duckdb.connect() as connection:
        columns = ", ".join(f"{name} DOUBLE" for name in NAMES)
        connection.execute(f"CREATE TABLE documents (place INTEGER, {columns})")
        rows = [[place, *row] for place, row in enumerate(np.asarray(data.features).tolist())]
        connection.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?)", rows)
        scores = connection.execute(f"SELECT {made} FROM documents ORDER BY place").fetchall()
    compared(made, model, data, [score for (score,) in scores])


@KINDS
def test_qdrants_core(kind, tmp_path):
    qdrant = pytest.importorskip("qdrant_edge", reason="qdrant-edge-py, Qdrant's core, is not installed")
    model = a_model(kind, missing=0.75)
    data = some_data(model)
    made = export(model, "qdrant", candidates=1000)
    config = qdrant.EdgeConfig(vectors=qdrant.EdgeVectorParams(size=1, distance=qdrant.Distance.Dot))
    shard = qdrant.EdgeShard.create(str(tmp_path), config)
    payloads = [*documents_of(data, model), {"age": 0.25, "price": 1.0}]
    points = [qdrant.Point(place, [float(place)], payload) for place, payload in enumerate(payloads)]
    shard.update(qdrant.UpdateOperation.upsert_points(points))
    body = json.loads(made.content)
    formula = qdrant.Formula(expression_of(qdrant, body["query"]["formula"]), body["query"]["defaults"])
    found = shard.query(
        qdrant.QueryRequest(limit=1000, query=formula, prefetches=[qdrant.Prefetch(limit=1000, query=None)])
    )
    shard.close()
    *scores, lacking = (score for _, score in sorted((point.id, point.score) for point in found))
    compared(made, model, data, scores, close=2e-6)
    assert lacking == pytest.approx(model.predict(np.array([[0.75, 0.25, 0.75, 1.0]]))[0], rel=1e-5)


def expression_of(qdrant, part):
    """JSON of the REST API, in the words of the core."""
    if isinstance(part, float):
        return qdrant.Expression.Constant(part)
    if isinstance(part, str):
        return qdrant.Expression.Variable(part)
    ((kind, given),) = part.items()
    if kind == "div":
        return qdrant.Expression.Div(expression_of(qdrant, given["left"]), expression_of(qdrant, given["right"]), None)
    made = getattr(qdrant.Expression, kind.capitalize())
    if kind in ("ln", "neg"):
        return made(expression_of(qdrant, given))
    return made([expression_of(qdrant, each) for each in given])


def test_the_score_of_the_query_goes_through_its_curve(opensearch):
    from linrank import LinearModel
    from linrank.dataset.feature_shapes import FeatureShapes

    shapes = FeatureShapes.of("rank-gauss", [([0.0, 2.0], [0.0, 10.0]), ([0.0, 4.0], [0.0, 1.0])])
    model = LinearModel(np.array([1.0, 2.0]), ("_score", "a"), shapes)
    opensearch.create_index("curves-score", {"a": "double"})
    opensearch.index("curves-score", {"0": {"a": 1.0}, "1": {"a": 2.0}})
    for lang in ("painless", "expression"):
        made = export(model, "elasticsearch-script", lang=lang)
        assert opensearch.scores("curves-score", json.loads(made.content)) == {"1": 6.0, "0": 5.5}
