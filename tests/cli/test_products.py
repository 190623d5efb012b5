"""A model with products on the command line: trained, shown, explained, checked, exported and scored."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from linrank import LinearModel, make_shaped_ranking
from linrank.cli import main
from linrank.reading.write_svmlight import write_svmlight

MADE = make_shaped_ranking(80, 15, 6, shares={"line": 0.4, "product": 0.6}, n_informative=6, correlation=0.0, noise=0.2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("products")
    write_svmlight(made / "data.txt", MADE.data)
    settings = ["--set", "interactions=8", "--set", "smoothing=1", "--set", "cv=2", "--set", "C=0.003"]
    assert main(["train", f"{made}/data.txt", f"{made}/m.json", "--method", "additive", *settings, "--quiet"]) == 0
    return made


@pytest.fixture
def printed(run):
    """What a command printed that did what it was asked for."""

    def call(*words):
        code, out, err = run(*words)
        assert code == 0, err
        return out

    return call


def test_a_trained_model_has_the_products_and_says_how_many(folder):
    model = LinearModel.load(folder / "m.json")
    places = [str(place + 1) for place, effect in enumerate(MADE.effects) if effect == "product"]
    found = [f"{one} * {other}" for one, other in zip(places[::2], places[1::2], strict=True)]
    assert set(found) <= set(model.products.names(model.feature_names))
    assert model.parameters["interactions"] == len(model.products)
    assert model.training["features_used"] == 6
    assert any("products have ndcg@10" in remark for remark in model.training["remarks"])


def test_show_lists_them(printed, folder):
    model = LinearModel.load(folder / "m.json")
    shown = printed("show", "m.json")
    assert f"alone or in {len(model.products)} product" in shown
    for name, weight in zip(model.products.names(model.feature_names), model.products.weights, strict=True):
        line = next(line for line in shown.splitlines() if line.strip().startswith(name))
        assert f"{weight:+.6g}" in line
    if len(model.products) > 1:
        assert f"and {len(model.products) - 1} more products" in printed("show", "m.json", "--top", "1")
        assert "more products" not in printed("show", "m.json", "--top", "1", "--all")
    record = json.loads(printed("show", "m.json", "--json"))
    assert [product["weight"] for product in record["products"]] == sorted(
        model.products.weights.tolist(), key=lambda weight: -abs(weight)
    )
    rows, total = MADE.data.features.astype(np.float64), 0.0
    for product in record["products"]:
        lines = [np.interp(rows[:, int(name) - 1], line["knots"], line["values"])
                 for name, line in zip(product["features"], product["lines"], strict=True)]  # fmt: skip
        total = total + product["weight"] * lines[0] * lines[1]
    np.testing.assert_allclose(total, model.products.scores(rows), atol=1e-9)


def test_explain_adds_up_with_them(printed):
    explained = json.loads(printed("explain", "m.json", "data.txt", "--qid", "3", "--json"))
    parts = explained["explanation"]["contributions"]
    scores = [document["score"] for document in explained["ranking"][:2]]
    # (Curves of float32 features are rounded as they are scored.)
    assert sum(part["amount"] for part in parts) == pytest.approx(scores[0] - scores[1], abs=1e-4)
    products = [part for part in parts if "*" in part["feature"]]
    assert products
    assert all("above" not in part and "curved_above" in part for part in products)
    shown = printed("explain", "m.json", "data.txt", "--qid", "3")
    assert products[0]["feature"] in shown
    assert any("*" in name for document in explained["ranking"] for name in document["contributions"])


def test_other_verbs_know_them(printed, folder):
    model = LinearModel.load(folder / "m.json")
    printed("predict", "m.json", "data.txt", "scores.txt")
    scores = np.loadtxt("scores.txt")
    np.testing.assert_allclose(scores, model.predict(MADE.data), rtol=1e-5, atol=1e-5)
    checked = json.loads(printed("check", "m.json", "m.json", "--data", "data.txt", "--json"))
    assert checked["passed"]
    printed("export", "m.json", "--to", "sql", "--data", "data.txt", "--out", "m.sql")
    assert Path("m.sql").read_text().count("CASE WHEN") > 0


def test_a_table_is_asked_for_the_features_of_products(printed, folder):
    """Where those have no curve, too."""
    model = LinearModel.load(folder / "m.json")
    only = model.weights.copy()
    only[model.products.columns] = 0.0
    LinearModel(only, model.feature_names, model.scaling, products=model.products).save("only.json")
    with Path("table.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["label", "qid", *model.feature_names, "more"])
        for label, qid, row in zip(MADE.data.labels, MADE.data.qid, MADE.data.features.tolist(), strict=True):
            writer.writerow([label, qid, *row, 1.0])
    printed("predict", "only.json", "table.csv", "scores.txt")
    expected = LinearModel.load("only.json").predict(MADE.data)
    np.testing.assert_allclose(np.loadtxt("scores.txt"), expected, rtol=1e-5, atol=1e-5)
