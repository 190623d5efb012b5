"""Models that transform features, and those with products beside their curves, in the words of other programs."""

import json
import math
import re
import runpy
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from linrank import LinearModel, LinrankError, RankingDataset, RankSVM, export, make_ranking
from linrank.dataset.feature_products import FeatureProducts
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.signed_log import SignedLog
from linrank.exporting.curves import Logarithm, Piecewise
from linrank.exporting.engine import Accepts, solr_function
from linrank.exporting.registry import TARGETS, engine_class

NAMES = ("title_bm25", "age", "clicks", "price")
WEIGHTS = np.array([1.5, -0.25, 0.0, 3.0])
CAN = ("elasticsearch-script", "vespa", "qdrant", "sql", "onnx", "json", "python")
# Those that have curves as trees come near to them only: tests/exporting/test_trees.py.
ENGINES = [engine for engine in map(engine_class, TARGETS) if engine.accepts.lines]


def a_model(kind, missing="error"):
    rng = np.random.default_rng(0)
    if kind == "signed-log":
        transform = SignedLog(np.array([1.0, 0.1, 5.0, 30.0]), np.array([1.0, 2.0, 3.0, 0.5]))
    else:
        knots = [np.sort(rng.normal(size=size) * scale) for size, scale in ((40, 2), (1, 1), (3, 1), (2, 50))]
        of = "additive" if kind == "products" else kind
        transform = FeatureShapes.of(of, [(each, np.cumsum(rng.random(len(each)))) for each in knots])
    products = None
    if kind == "products":
        # Clicks are in products only, and age in none.
        lines = [
            ([-2.0, 0.0, 3.0], [-1.5, 0.1, 1.2]),
            ([-1.0, 1.0], [2.0, -1.0]),
            ([-50.0, 10.0, 60.0], [-1.0, 0.0, 3.0]),
        ]
        pairs = np.array([[2, 3], [0, 3], [0, 2]])
        products = FeatureProducts(np.array([0.7, -1.25, 2.0]), pairs, FeatureShapes.of("additive", lines))
    return LinearModel(WEIGHTS, NAMES, transform, method="ranksvm", missing=missing, products=products)


def used_names(model):
    """The features that a target is given."""
    return tuple(name for name, is_used in zip(NAMES, model.used.tolist(), strict=True) if is_used)


def some_data(model, n_rows=60):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, 4)) * (3, 0.5, 1, 60)
    # At knots, and where there are none.
    X[:20, 0] = np.resize(getattr(model.scaling, "knots", np.zeros(1))[:40], 20)
    X[20:25] = 0.0
    return RankingDataset.from_arrays(X, rng.integers(0, 3, n_rows), qid=np.arange(n_rows) // 10, feature_names=NAMES)


KINDS = pytest.mark.parametrize("kind", ["rank-gauss", "additive", "signed-log", "products"])


@KINDS
@pytest.mark.parametrize("target", ENGINES, ids=lambda engine: engine.name)
def test_a_target_computes_the_curves_or_says_what_to_do(target, kind):
    model = a_model(kind)
    data = some_data(model)
    shift = 0.0 if target.accepts.negative_scores else 64.0
    if target.name not in CAN and kind == "products":
        with pytest.raises(LinrankError, match=r"cannot compute the curves and products .* vespa.* interactions=0"):
            export(model, target())
        return
    if target.name not in CAN:
        with pytest.raises(
            LinrankError, match=r"weighs features as they are.*indexed.*f\(price\) = .*vespa"
        ) as refused:
            export(model, target())
        assert ("as trees: solr-trees, elasticsearch-trees" in str(refused.value)) == (kind != "signed-log")
        return
    made = export(model, target(), data=data, shift=shift)
    expected = model.predict(np.asarray(data.features[:8], dtype=np.float32).astype(np.float64))
    np.testing.assert_allclose(made.vectors.scores.astype(float) - shift, expected, atol=2e-5)
    assert made.order_changes.reversed == 0
    assert made.ranking.unused == (() if kind == "products" else ("clicks",))
    assert made.ranking.names == made.vectors.features == used_names(model)
    assert made.content == export(model, target(), shift=shift).content
    # Without data there are numbers to try it with, too.
    assert np.isfinite(export(model, target(), shift=shift).vectors.scores.astype(float)).all()


@KINDS
def test_the_python_module_has_the_models_scores(kind, tmp_path):
    model = a_model(kind, missing=0.75)
    data = some_data(model)
    export(model, "python", out=tmp_path / "ranker.py", shift=2.0)
    module = runpy.run_path(str(tmp_path / "ranker.py"))
    rows = np.asarray(data.features).copy()
    scores = [module["score"](dict(zip(NAMES, row.tolist(), strict=True))) for row in rows]
    if kind == "signed-log":
        np.testing.assert_allclose(scores, model.predict(rows) + 2.0, rtol=1e-13, atol=1e-13)
    else:
        plain = export(model, "python").engine.arithmetic.scores(
            export(model, "python", shift=2.0).ranking, rows[:, model.used]
        )
        assert scores == plain.tolist()
        np.testing.assert_allclose(scores, model.predict(rows) + 2.0, rtol=1e-13, atol=1e-13)
    rows[:, 0] = 0.75
    lacking = {"title_bm25": None, "age": 0.25, "price": math.nan, "clicks": None}
    assert module["score"](lacking) == module["score"]({"title_bm25": 0.75, "age": 0.25, "price": 0.75, "clicks": 0.75})


@KINDS
def test_sqlite_ranks_as_the_model_does(kind):
    model = a_model(kind, missing=0.5)
    data = some_data(model)
    expression = str(export(model, "sql", shift=-1.5))
    connection = sqlite3.connect(":memory:")
    connection.create_function("ln", 1, math.log)
    connection.execute("CREATE TABLE documents (id INTEGER, title_bm25 REAL, age REAL, clicks REAL, price REAL)")
    rows = np.asarray(data.features)
    connection.executemany(
        "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
        [(number, *row) for number, row in enumerate(rows.tolist())],
    )
    connection.execute("INSERT INTO documents VALUES (1000, NULL, 0.25, NULL, 1)")
    found = dict(connection.execute(f"SELECT id, {expression} FROM documents"))
    expected = model.predict(rows) - 1.5
    np.testing.assert_allclose([found[number] for number in range(len(rows))], expected, rtol=1e-12, atol=1e-12)
    assert found[1000] == pytest.approx(model.predict(np.array([[0.5, 0.25, 0.5, 1.0]]))[0] - 1.5)


@KINDS
def test_json_has_all_that_is_computed_with(kind):
    model = a_model(kind)
    document = json.loads(str(export(model, "json")))
    products = {name: document.pop(name) for name in list(document) if "*" in name}
    assert list(document) == ["title_bm25", "age", "price"]
    for name, product in products.items():
        assert [line["feature"] for line in product["product"]] == name.split(" * ")
    if kind == "products":
        rows, total = np.asarray(some_data(model).features), 0.0
        for product in products.values():
            lines = [np.interp(rows[:, NAMES.index(line["feature"])], line["knots"], line["values"])
                     for line in product["product"]]  # fmt: skip
            total = total + product["weight"] * lines[0] * lines[1]
        np.testing.assert_allclose(total, model.products.scores(rows), rtol=1e-12, atol=1e-12)
    for name, record in document.items():
        j = NAMES.index(name)
        assert record.pop("weight") == model.weights[j]
        curve = Logarithm(**record) if kind == "signed-log" else Piecewise(*map(np.array, record.values()))
        x = np.linspace(-5, 70, 40)
        np.testing.assert_array_equal(curve.at(x), model.scaling.at(x, j))


def test_knots_that_are_one_in_float32_are_one_knot_there():
    curve = Piecewise(np.array([0.0, 1.0, 1.0 + 1e-12, 2.0]), np.array([0.0, 1.0, 5.0, 6.0])).rounded()
    assert curve.knots.tolist() == [0.0, 1.0, 2.0]
    assert curve.values.tolist() == [0.0, 5.0, 6.0]


def test_a_function_of_solrs_is_the_signed_logarithm():
    curve = Logarithm(2.0, 4.0)
    text = solr_function(curve, "x")
    assert text.startswith("{!func}")
    known = {
        "div": lambda a, b: a / b, "sub": lambda a, b: a - b, "product": lambda a, b: a * b, "sum": lambda a, b: a + b,
        "ln": math.log, "abs": abs, "lt": lambda a, b: a < b, "choose": lambda test, a, b: a if test else b,
    }  # fmt: skip
    for x in (-3.0, 0.0, 7.5):
        found = eval(re.sub(r"\bif\(", "choose(", text.removeprefix("{!func}")), {**known, "x": x})
        assert found == pytest.approx(float(curve.at(x)))


def test_a_feature_with_a_number_for_a_name_is_a_field_of_solrs_not_the_number():
    text = solr_function(Logarithm(2.0, 4.0), "134")
    assert text.count('field("134")') == text.count("134") == 3


@pytest.mark.parametrize("target", [name for name in TARGETS if name not in CAN])
def test_a_refusal_of_logarithms_names_all_that_compute_them_and_solrs_way_for_solr_alone(target):
    with pytest.raises(LinrankError) as refused:
        export(a_model("signed-log"), target)
    listed = re.search(r"computes logarithms: ([a-z, -]+)\.", str(refused.value))[1].split(", ")
    assert set(listed) == set(CAN)
    assert ("{!func}" in str(refused.value)) == (target == "solr")


@pytest.mark.parametrize("target", [engine for engine in map(engine_class, TARGETS) if not engine.accepts.lines])
def test_trees_are_of_one_feature_each(target):
    with pytest.raises(LinrankError, match=rf"{target.name} has no product .*'clicks' and 'price': each of its trees"):
        export(a_model("products"), target())


def test_a_target_that_knows_nothing_of_products_is_not_given_any():
    class Unaware(engine_class("python")):
        accepts = Accepts(curves=True)

    with pytest.raises(LinrankError, match="python has no product of two features, such as 'clicks' and 'price'"):
        export(a_model("products"), Unaware())
    with pytest.raises(LinrankError, match=r"a feature is called 'clicks \* price', as a product is"):
        export(a_model("products"), "json", names={"age": "clicks * price"})


def test_a_product_that_a_target_cannot_hold_is_refused():
    model = a_model("products")
    tiny = replace(model, products=replace(model.products, weights=np.array([0.7, 1e-44, 2.0])))
    with pytest.raises(
        LinrankError, match=r"the weight of feature 'title_bm25' \* 'price' .* 1e-44, which ONNX cannot"
    ):
        export(tiny, "onnx")
    assert export(tiny, "sql")


def test_test_vectors_move_products():
    """Without data, too: their scores are not those of the curves alone."""
    model = a_model("products")
    with_products, alone = (export(one, "python") for one in (model, replace(model, products=None)))
    inputs = with_products.vectors.inputs
    lacking = alone.engine.arithmetic.scores(alone.ranking, inputs[:, [0, 1, 3]])
    moved = with_products.vectors.scores - lacking
    assert (np.abs(moved - np.median(moved)) > 1e-3).sum() >= 5


@pytest.mark.parametrize("size", [1e-38, 1e-50])
def test_curves_that_float32_cannot_hold_are_refused(size):
    data, _ = make_ranking(40, 20, 3)
    X = data.features * np.array([1.0, size, 1.0])
    ranker = RankSVM(transforms="rank-gauss").fit(X, data.labels, qid=data.qid)
    with pytest.raises(LinrankError, match=r"the curve of feature '2' has steps or slopes that .* cannot hold"):
        export(ranker, "onnx")
    export(ranker, "python")
