"""Curves of an additive model in the report: what is drawn is what the model adds to a score."""

import re
from dataclasses import replace

import numpy as np
import pytest

from experiments.report_browser import opened
from experiments.report_sample import sample
from linrank import AdditiveRanker, RankSVM, make_shaped_ranking
from linrank.experiments.comparison_weights import shapes_of
from linrank.experiments.report import ReportContent, Shape, WeightRow, Weights, render, save_pictures

SHAPES = (Shape("age", (0.0, 1.0, 500.0), (0.5, 0.0, -1.5)), Shape("$clicks", (3.0,), (0.25,)))
WEIGHTS = Weights("additive", (WeightRow("age", None, 1.0),), shapes=SHAPES)


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


def test_the_page_has_them_and_the_picture_too(tmp_path):
    page = render(ReportContent("t", weights=WEIGHTS))
    assert re.search(r'"shapes":\s*\[\{"feature":\s*"age"', page)
    pytest.importorskip("matplotlib")
    made = save_pictures(ReportContent("t", weights=WEIGHTS), tmp_path, ["svg"])
    assert [path.name for path in made] == ["weights.svg", "shapes.svg"]


def test_a_browser_draws_a_line_for_each(driver, tmp_path):
    page = opened(driver, tmp_path, replace(sample(), weights=replace(sample().weights, shapes=SHAPES)))
    drawn = page.attributes("#weights .shapes svg", "aria-label")
    assert drawn[0].startswith("age: adds \u22121.5 to +0.5 to a score, for values from 0 to 500")
    heights = [point.split(",")[1] for point in page.attributes("#weights .shapes polyline", "points")[0].split()]
    assert sorted(map(float, heights)) == list(map(float, heights))
    assert page.driver.get_log("browser") == []
