"""Curves and products of an additive model in the report: what is drawn is what the model adds to a score."""

import re
from dataclasses import replace

import numpy as np
import pytest

from experiments.report_browser import opened
from experiments.report_sample import sample
from linrank import AdditiveRanker, RankSVM, make_shaped_ranking
from linrank.experiments.comparison import number_of_features
from linrank.experiments.comparison_weights import products_of, shapes_of
from linrank.experiments.final import described
from linrank.experiments.report import ReportContent, Shape, WeightRow, Weights, render, save_pictures

SHAPES = (Shape("age", (0.0, 1.0, 500.0), (0.5, 0.0, -1.5)), Shape("$clicks", (3.0,), (0.25,)))
PRODUCTS = (WeightRow("age * $clicks", None, -0.75),)
WEIGHTS = Weights("additive", (WeightRow("age", None, 1.0),), shapes=SHAPES, products=PRODUCTS)


def test_shapes_are_what_a_model_adds_to_a_score_the_largest_first():
    data = make_shaped_ranking(30, 10, 6, n_informative=4).data
    ranker = AdditiveRanker(0.05, smoothing=1.0).fit(data)
    shapes = shapes_of(ranker.to_model())
    assert [shape.feature for shape in shapes] == ranker.weights_.to_series().index.tolist()
    for shape in shapes:
        for found, expected in zip((shape.knots, shape.values), ranker.curves_[shape.feature], strict=True):
            np.testing.assert_array_equal(found, expected)
    # A document's score is the sum of what is drawn.
    columns = [data.features[:, int(shape.feature) - 1].astype(np.float64) for shape in shapes]
    total = sum(np.interp(x, shape.knots, shape.values) for x, shape in zip(columns, shapes, strict=True))
    np.testing.assert_allclose(total, ranker.predict(data), atol=1e-5)
    assert shapes_of(RankSVM().fit(data).to_model()) == ()


def test_products_are_as_large_as_what_they_add_varies_and_their_features_count():
    made = make_shaped_ranking(60, 15, 6, shares={"line": 0.4, "product": 0.6}, n_informative=6, noise=0.2)
    ranker = AdditiveRanker(0.003, smoothing=1.0, interactions=4, cv=2, one_se=False).fit(made.data)
    model = ranker.to_model()
    rows = products_of(model, made.data)
    assert len(rows) == len(model.products) > 0
    assert [abs(row.scaled) for row in rows] == sorted((abs(row.scaled) for row in rows), reverse=True)
    by_name = dict(zip(model.products.names(model.feature_names), range(len(rows)), strict=True))
    for row in rows:
        place = by_name[row.feature]
        added = model.products.weights[place] * model.products.values(made.data.features)[:, place]
        assert row.scaled == pytest.approx(np.sign(model.products.weights[place]) * added.std())
    assert products_of(replace(model, products=None), made.data) == ()
    # Without a curve a feature of a product is counted all the same.
    ranker.coef_ = np.where(ranker.used_, 0.0, ranker.coef_)
    assert number_of_features(ranker, 6) == len(model.products.columns)
    assert described("additive", ranker.to_model()) == f"additive with {len(model.products.columns)} of 6 features"


def test_the_page_has_them_and_the_picture_too(tmp_path):
    page = render(ReportContent("t", weights=WEIGHTS))
    assert re.search(r'"shapes":\s*\[\{"feature":\s*"age"', page)
    assert re.search(r'"products":\s*\[\{"feature":\s*"age \* \$clicks"', page)
    pytest.importorskip("matplotlib")
    made = save_pictures(ReportContent("t", weights=WEIGHTS), tmp_path, ["svg"])
    assert [path.name for path in made] == ["weights.svg", "shapes.svg"]


def test_a_browser_draws_a_line_for_each(driver, tmp_path):
    weights = replace(sample().weights, shapes=SHAPES, products=PRODUCTS)
    page = opened(driver, tmp_path, replace(sample(), weights=weights))
    drawn = page.attributes("#weights .shapes svg", "aria-label")
    assert drawn[0].startswith("age: adds \u22121.5 to +0.5 to a score, for values from 0 to 500")
    heights = [point.split(",")[1] for point in page.attributes("#weights .shapes polyline", "points")[0].split()]
    assert sorted(map(float, heights)) == list(map(float, heights))
    assert "age * $clicks" in page.texts("#weights .products")[0]
    # Sizes of curves have no sign; those of products do.
    assert not any("+" in text for text in page.texts("#weights .weights td.number"))
    assert page.texts("#weights .products td.number") == ["\u22120.75"]
    assert page.driver.get_log("browser") == []
