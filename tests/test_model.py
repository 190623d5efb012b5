import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from linrank import DataFormatError, LinearModel, LinrankError, RankingDataset, RankSVM, explain, export, make_ranking
from linrank.dataset import fingerprint
from linrank.dataset.feature_products import FeatureProducts
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.scaling import fit_scaling, scaling_named

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(weights=hnp.arrays(np.float64, st.integers(1, 6), elements=FINITE))
def test_a_model_reads_back_to_the_last_bit(weights, tmp_path):
    model = LinearModel(weights, tuple(f"f\n{j} ü" for j in range(len(weights))), parameters={"C": 0.1})
    model.save(tmp_path / "model.json")
    again = LinearModel.load(tmp_path / "model.json")
    assert again.weights.tobytes() == weights.tobytes()
    assert again.feature_names == model.feature_names
    assert again.parameters == {"C": 0.1}


@pytest.mark.parametrize("kind", ["standard", "min-max", "max-abs", "query"])
def test_the_scaling_travels_along(kind, tmp_path):
    data, weights = make_ranking(5, 10, 4)
    model = LinearModel(weights, data.names, fit_scaling(kind, data))
    model.save(tmp_path / "model.json")
    again = LinearModel.load(tmp_path / "model.json")
    np.testing.assert_array_equal(
        again.predict(data.features, data.queries), model.predict(data.features, data.queries)
    )
    if kind != "query":
        scores, raw = model.predict(data.features), data.features @ again.raw_weights()
        np.testing.assert_allclose(scores - scores[0], raw - raw[0], atol=1e-10)


def test_a_trained_ranker_becomes_a_model():
    data, _ = make_ranking(20, 10, 4)
    ranker = RankSVM(C=0.25).fit(data.features, data.labels, qid=data.qid)
    model = ranker.to_model(data_fingerprint=data.fingerprint())
    assert model.method == "ranksvm"
    assert "max(0, 1 - w.(x_i - x_j))^2" in model.objective
    assert model.parameters["C"] == 0.25
    np.testing.assert_array_equal(model.predict(data.features), ranker.predict(data.features))
    np.testing.assert_allclose(model.predict(sparse.csr_array(data.features)), ranker.predict(data.features))
    with pytest.raises(LinrankError, match=r"the data has shape \(4,\); a row is a document"):
        model.predict([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(LinrankError, match=r"the model has 4 features, but the data has shape \(200, 3\)"):
        model.predict(data.features[:, :3])


def frames(columns):
    """The same columns as tables of every kind."""
    frame = pd.DataFrame(columns)
    return {
        "pandas": frame,
        "polars": pl.DataFrame(columns),
        "lazy polars": pl.LazyFrame(columns),
        "arrow": pa.table(columns),
        "nullable pandas": frame.convert_dtypes(),
    }


KINDS = list(frames({"a": [1.0]}))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scaling", ["none", "standard", "query"])
def test_columns_are_found_by_their_names(kind, scaling):
    data, _ = make_ranking(4, 5, 3)
    model = LinearModel(np.array([1.0, 0.0, -2.0]), ("a", "b", "c"), scaling_named(scaling, data))
    expected = model.predict(data.features, data.queries)
    a, b, c = data.features.T.tolist()
    for columns in ({"a": a, "b": b, "c": c}, {"c": c, "url": ["x"] * len(a), "a": a}):
        table = frames(columns)[kind]
        np.testing.assert_array_equal(model.predict(table, qid=data.qid), expected)
    renamed = frames({"a": a, "b": b, "C": c})[kind]
    with pytest.raises(
        LinrankError, match=r"no column 'c', which the model has a weight for; there are a, b, C\. Name"
    ):
        model.predict(renamed, qid=data.qid)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_says_which_column_cannot_be_used(kind):
    model = LinearModel(np.array([1.0, 0.0]), ("a", "b"))
    with pytest.raises(LinrankError, match=r"column 'a' holds .*, not numbers\. Encode it as for training\."):
        model.predict(frames({"a": ["x"], "b": [1.0]})[kind])
    with pytest.raises(LinrankError, match=r"feature 'a' is nan in row 1, and has a weight\. Fill it in"):
        model.predict(frames({"a": [0.0, None], "b": [1.0, 2.0]})[kind])
    assert model.predict(frames({"a": [0.0, 3.0], "b": [None, 2.0]})[kind]).tolist() == [0, 3]
    assert LinearModel(np.zeros(2), ("a", "b")).predict(frames({"x": ["y", "z"]})[kind]).tolist() == [0, 0]


def test_columns_without_names_are_taken_by_position():
    model = LinearModel(np.array([1.0, 10.0]), ("a", "b"))
    for X in ([[1.0, 2.0]], pd.DataFrame([[1.0, 2.0]]), sparse.csr_array([[1.0, 2.0]])):
        assert model.predict(X).tolist() == [21]
    with pytest.raises(LinrankError, match=r"the model has 2 features, but the data has shape \(1, 3\)\."):
        model.predict(pd.DataFrame([[1.0, 2.0, 3.0]]))
    with pytest.raises(LinrankError, match="the column 0 has a int for a name, and others have text"):
        model.predict(pd.DataFrame([[1.0, 2.0]], columns=["a", 0]))
    with pytest.raises(LinrankError, match="there are 2 columns 'a'; the model has one"):
        model.predict(pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "b"]))
    with pytest.raises(LinrankError, match=r"no column '1', .* to take the columns by position, pass an array\."):
        LinearModel(np.ones(2), ("1", "2")).predict(pd.DataFrame({"a": [1.0], "b": [2.0]}))


def test_a_missing_value_matters_only_in_a_feature_with_a_weight():
    X = np.array([[1.0, np.nan, 2.0], [np.nan, 0.0, 1.0]])
    assert LinearModel(np.array([0.0, 0.0, 3.0]), ("a", "b", "c")).predict(X).tolist() == [6, 3]
    with pytest.raises(LinrankError, match="feature 'a' is nan in row 1, and has a weight"):
        LinearModel(np.array([1.0, 0.0, 3.0]), ("a", "b", "c")).predict(sparse.csr_array(X))


def test_a_dataset_knows_its_names_and_queries():
    data, weights = make_ranking(4, 5, 3)
    named = replace(data, feature_names=("a", "b", "c"))
    model = LinearModel(weights, ("c", "a", "b"), fit_scaling("query", data))
    expected = model.predict(data.features[:, [2, 0, 1]], data.queries)
    np.testing.assert_array_equal(model.predict(named), expected)
    np.testing.assert_array_equal(model.predict(data), model.predict(data.features, data.queries))


def test_the_fingerprint_tells_data_apart():
    data, _ = make_ranking(5, 10, 4)
    same, _ = make_ranking(5, 10, 4)
    other, _ = make_ranking(5, 10, 4, random_state=1)
    thin, _ = make_ranking(5, 10, 4, density=0.5)
    assert data.fingerprint() == same.fingerprint()
    assert len({data.fingerprint(), other.fingerprint(), thin.fingerprint()}) == 3
    renamed = RankingDataset.from_arrays(data.features, data.labels, qid=[f"é{query}" for query in data.qid])
    assert renamed.fingerprint() != data.fingerprint()


@pytest.mark.parametrize("at_a_time", [1, 7, 1 << 18])
@pytest.mark.parametrize("density", [1.0, 0.5])
def test_the_fingerprint_is_the_hash_of_everything_one_after_the_other(monkeypatch, density, at_a_time):
    """However much of an array is converted at a time."""
    monkeypatch.setattr(fingerprint, "_NUMBERS_AT_A_TIME", at_a_time)
    data, _ = make_ranking(5, 10, 4, density=density)
    X = data.features
    told = hashlib.sha256(f"{X.shape} {X.dtype} {data.is_sparse}".encode())
    for array in (X.data, X.indices.astype("<i8"), X.indptr.astype("<i8")) if data.is_sparse else (X,):
        told.update(array.tobytes())
    told.update(data.labels.tobytes() + np.repeat(np.arange(5), 10).astype("<i8").tobytes())
    for query in data.queries.ids.tolist():
        told.update(f"{len(str(query))} {query}".encode())
    assert data.fingerprint() == f"sha256:{told.hexdigest()}"


def damaged(change, old="", new=""):
    def apply(document):
        change(document)
        return json.dumps(document).replace(old, new, 1)

    return apply


DAMAGE = {
    "not JSON": lambda document: "{",
    "a list": lambda document: "[]",
    "another format": damaged(lambda d: d.update(format="other")),
    "a later schema": damaged(lambda d: d.update(schema_version=3)),
    "products of which it has none": damaged(lambda d: d.update(schema_version=2)),
    "no weights": damaged(lambda d: d.pop("weights")),
    "text for weights": damaged(lambda d: d.update(weights="1")),
    "a changed weight": damaged(lambda d: d["weights"].__setitem__(0, 99.0)),
    "NaN": lambda document: json.dumps(document).replace(str(document["weights"][0]), "NaN"),
    "infinity": lambda document: json.dumps(document).replace(str(document["weights"][0]), "1e999"),
    "too deep": lambda document: "[" * 100_000,
    "too deep within": lambda document: json.dumps(document)[:-1] + ', "more": ' + "[" * 10**5 + "]" * 10**5 + "}",
    "too deep for its checksum": damaged(lambda d: d.update(training={"x": "@"}), '"@"', "[" * 900 + "]" * 900),
    "a key twice": lambda document: json.dumps(document)[:-1] + ', "weights": [1, 2]}',
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_refused(name, tmp_path):
    path = tmp_path / "model.json"
    LinearModel(np.array([1.5, 2.5]), ("a", "b")).save(path)
    path.write_text(DAMAGE[name](json.loads(path.read_text())))
    with pytest.raises(DataFormatError, match=r"model\.json"):
        LinearModel.load(path)


PRODUCTS = {
    "weights": [0.5],
    "pairs": [[0, 1]],
    "lines": {"kind": "additive", "sizes": [2, 1], "knots": [0.0, 1.0, 2.0], "values": [-1.0, 1.0, 0.5]},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature_names": ["a"]}, "2 weights, but 1 feature names"),
        ({"feature_names": ["a", 7]}, "must be text"),
        ({"feature_names": ["a", "a"]}, "two features are called 'a'"),
        ({"feature_names": ["a", "\ud800"]}, "half of a pair of surrogates"),
        ({"schema_version": 3}, "has schema version 3; this linrank reads 1 and 2. Use a linrank that wrote it"),
        ({"schema_version": True}, "has schema version True; this linrank reads 1"),
        ({"products": {}}, "has products, which schema version 1 does not know"),
        ({"schema_version": 2}, "field 'products' is missing or of the wrong kind"),
        ({"schema_version": 2, "products": {}}, "products need pairs of features"),
        ({"schema_version": 2, "products": PRODUCTS}, "products of features as they are, which stand beside curves"),
        ({"schema_version": 2, "products": {**PRODUCTS, "weights": ["x"]}}, "finite numbers"),
        ({"schema_version": 2, "products": {**PRODUCTS, "pairs": [[0, 2]]}}, "by numbers from 0 to 1"),
        ({"schema_version": 1.0}, "has schema version 1.0; this linrank reads 1"),
        ({"weights": [1.0, 10**400]}, "finite numbers"),
        ({"weights": [1.0, -(10**308) * 18 // 10]}, "finite numbers"),
        ({"missing": 10**400}, "is no rule"),
        ({"weights": [1.0, True]}, "finite numbers"),
        ({"weights": [1.0, "x"]}, "finite numbers"),
        ({"missing": "mean"}, "missing='mean' is no rule"),
        ({"missing": True}, "missing=True is no rule"),
        ({"trained_at": 7}, "field 'trained_at' is missing or of the wrong kind"),
        ({"scaling": {"kind": "z"}}, "unknown scaling 'z'"),
        ({"scaling": {"kind": "standard", "shift": [0.0], "scale": [1.0]}}, "one positive scale a feature"),
        ({"scaling": {"kind": "standard", "shift": [0.0, 0.0], "scale": [1.0, 0.0]}}, "one positive scale a feature"),
    ],
    ids=str,
)
def test_a_file_with_a_right_checksum_and_wrong_content_is_refused(change, message, tmp_path):
    from linrank.model import _checksum

    path = tmp_path / "model.json"
    LinearModel(np.array([1.5, 2.5]), ("a", "b")).save(path)
    document = json.loads(path.read_text()) | change
    content = {key: value for key, value in document.items() if key not in ("format", "schema_version", "checksum")}
    document["checksum"] = _checksum(content)
    path.write_text(json.dumps(document))
    with pytest.raises(DataFormatError, match=message):
        LinearModel.load(path)


def test_a_missing_file_and_bad_weights_are_refused(tmp_path):
    with pytest.raises(DataFormatError, match="No such file"):
        LinearModel.load(tmp_path / "none.json")
    with pytest.raises(LinrankError, match="weight of feature 'b' is not a finite number"):
        LinearModel(np.array([1.0, np.nan]), ("a", "b"))


def test_a_failed_save_leaves_the_old_model(tmp_path):
    path = tmp_path / "model.json"
    LinearModel(np.array([1.0]), ("a",)).save(path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        LinearModel(np.array([2.0]), ("a",), parameters={"C": object()}).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_when_and_how_missing_values_are_filled_are_kept(tmp_path):
    data, _ = make_ranking(20, 10, 4)
    trained = RankSVM().fit(data.features, data.labels, qid=data.qid).to_model(missing="query_min")
    trained.save(tmp_path / "model.json")
    again = LinearModel.load(tmp_path / "model.json")
    assert again.missing == "query_min"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", again.trained_at)
    assert again.trained_at == trained.trained_at
    with pytest.raises(LinrankError, match="missing='mean' is no rule"):
        LinearModel(np.array([1.0]), ("a",), missing="mean")


def test_a_model_of_before_these_were_kept_is_read(tmp_path):
    from linrank.model import _checksum

    path = tmp_path / "model.json"
    LinearModel(np.array([1.5, 2.5]), ("a", "b")).save(path)
    document = json.loads(path.read_text())
    for name in ("missing", "trained_at"):
        del document[name]
    content = {key: value for key, value in document.items() if key not in ("format", "schema_version", "checksum")}
    path.write_text(json.dumps(document | {"checksum": _checksum(content)}))
    model = LinearModel.load(path)
    assert (model.missing, model.trained_at) == ("error", None)
    assert model.weights.tolist() == [1.5, 2.5]


def with_products(weights=(1.0, 0.0, 2.0)):
    """Feature c is in a product with a only, and in no curve."""
    curves = FeatureShapes.of("additive", [([0.0, 1.0], [0.0, 2.0]), ([0.0], [0.0]), ([-1.0, 1.0], [-1.0, 1.0])])
    lines = FeatureShapes.of("additive", [([0.0, 2.0], [-1.0, 1.0]), ([0.0, 4.0], [2.0, -2.0])])
    products = FeatureProducts(np.array([0.5]), np.array([[0, 1]]), lines)
    return LinearModel(np.array(weights), ("a", "c", "b"), curves, products=products)


def test_a_model_with_products_is_of_another_version_and_reads_back_to_the_bit(tmp_path):
    model, rows = with_products(), np.random.default_rng(0).normal(size=(50, 3))
    model.save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    # Who reads version 1 alone says so, and does not score without the products.
    assert document["schema_version"] == 2
    again = LinearModel.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    curves = np.interp(rows[:, 0], [0, 1], [0, 2]) + 2.0 * np.interp(rows[:, 2], [-1, 1], [-1, 1])
    lines = np.interp(rows[:, 0], [0, 2], [-1, 1]) * np.interp(rows[:, 1], [0, 4], [2, -2])
    np.testing.assert_allclose(model.predict(rows), curves + 0.5 * lines, rtol=1e-12, atol=1e-12)
    replace(model, products=None).save(tmp_path / "plain.json")
    assert json.loads((tmp_path / "plain.json").read_text())["schema_version"] == 1
    assert "products" not in json.loads((tmp_path / "plain.json").read_text())


def test_a_feature_that_is_in_a_product_only_is_needed():
    model, rows = with_products(), np.random.default_rng(1).normal(size=(4, 3))
    assert model.used.tolist() == [True, True, True]
    assert repr(model).startswith("LinearModel(linear, 3 of 3 features, 1 products: b 2, a 1)")
    lacking = pd.DataFrame(rows[:, [0, 2]], columns=["a", "b"])
    with pytest.raises(LinrankError, match="'c'"):
        model.predict(lacking)
    rows[2, 1] = np.nan
    for X in (rows, sparse.csr_array(rows)):
        with pytest.raises(LinrankError, match="feature 'c' is nan in row 2, and has a weight"):
            model.predict(X)
    assert np.isfinite(replace(model, products=None).predict(rows)).all()


def test_products_without_their_curves_or_features_are_refused():
    model = with_products()
    with pytest.raises(LinrankError, match=r"stand beside curves: .* Keep its scaling, or leave out the products"):
        replace(model, scaling=None)
    with pytest.raises(LinrankError, match="a product is of feature 3, and the model has 2"):
        replace(
            model, weights=np.ones(2), feature_names=("a", "b"),
            products=replace(model.products, pairs=np.array([[0, 2]])),
        )  # fmt: skip


def test_products_that_leave_float64_are_refused_without_a_warning():
    lines = FeatureShapes.of("additive", [([-1.0, 1.0], [-1e200, 1e200])] * 3)
    products = FeatureProducts(np.array([1.0, -1.0]), np.array([[0, 1], [0, 2]]), lines)
    curves = FeatureShapes.of("additive", [([-1.0, 1.0], [-1.0, 1.0])] * 3)
    model = LinearModel(np.ones(3), ("a", "b", "c"), curves, products=products)
    rows = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert model.predict(rows[:1]).tolist() == [0.0]
    with pytest.raises(LinrankError, match="the score of row 1 leaves float64"):
        model.predict(rows)
    with pytest.raises(LinrankError, match=r"what a \* b adds to the score leaves float64"):
        explain(model, rows[1], rows[0])


def test_a_model_may_be_written_by_hand_as_lists():
    model = LinearModel([2, -1], ["a", "b"])
    assert model.predict(np.array([[1.0, 0.5]])).tolist() == [1.5]
    assert str(export(model, "csv")) == str(export(LinearModel(np.array([2.0, -1.0]), ("a", "b")), "csv"))
