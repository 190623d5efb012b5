"""The report's page in a real browser: what it looks like."""

from dataclasses import replace
from itertools import combinations, pairwise

import pytest

from experiments.report_browser import opened
from experiments.report_sample import sample
from linrank.experiments.report import RecommendedPoint


@pytest.mark.parametrize("width", [320, 400, 1200])
def test_the_links_fit_beside_the_button(page, width):
    page.resize(width)
    assert page.run("const links = document.querySelector('.links'); return links.scrollWidth <= links.clientWidth")


@pytest.mark.parametrize("width", [400, 1200])
def test_numbers_of_the_leaderboards_axis_are_apart_and_inside(page, width):
    page.resize(width)
    boxes = page.run(
        "return [...document.querySelectorAll('.interval-axis text')].map((e) => e.getBoundingClientRect().toJSON())"
    )
    frame = page.run("return document.querySelector('.interval-axis').getBoundingClientRect().toJSON()")
    assert len(boxes) >= 2
    assert all(left["right"] + 4 < right["left"] for left, right in pairwise(boxes))
    assert boxes[0]["left"] >= frame["left"] - 1
    assert boxes[-1]["right"] <= frame["right"] + 1
    numbers = page.texts(".interval-axis text")
    assert len({len(text.split(".")[-1]) for text in numbers}) == 1


@pytest.mark.parametrize("width", [400, 1200])
def test_no_two_texts_of_the_curve_stand_on_one_another(driver, tmp_path, width):
    curve = replace(sample().feature_curve, recommended=RecommendedPoint("a ranker", 12, sample().feature_curve.dense))
    page = opened(driver, tmp_path, replace(sample(), feature_curve=curve))
    page.resize(width)
    boxes = page.run(
        "return [...document.querySelectorAll('#feature_curve .drawing text, #feature_curve .keys span')]"
        ".map((e) => e.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) > 8
    for one, other in combinations(boxes, 2):
        apart = one["right"] <= other["left"] or other["right"] <= one["left"]
        assert apart or one["bottom"] <= other["top"] + 1 or other["bottom"] <= one["top"] + 1
    assert page.texts("#feature_curve .keys span")[0] == "a ranker, recommended: 12 features"
    assert page.all("#feature_curve .drawing .star")


def test_formulas_are_behind_a_disclosure(page):
    what = sample().leaderboard.rows[0].what
    assert not page.run("return [...document.querySelectorAll('.leaderboard details')].some((e) => e.open)")
    assert what in page.texts(".leaderboard details small")
    assert what not in page.texts(".leaderboard th > small")


def test_bars_of_the_model_compare_features_by_their_spread(page):
    curve = sample().feature_curve
    weights = curve.points[curve.chosen].weights
    expected = sorted(weights, key=lambda name: -abs(weights[name] * curve.spreads[name]))
    assert page.attributes("#feature_curve .bars tr", "data-name") == expected[:20]
    assert "one standard deviation of the feature" in page.texts("#feature_curve .model .remark")[0]


def test_weights_of_what_was_made_of_features_are_not_called_raw(driver, tmp_path):
    curve = replace(sample().feature_curve, is_raw=False)
    said = opened(driver, tmp_path, replace(sample(), feature_curve=curve)).texts("#feature_curve .model .remark")[0]
    assert "not of features as they are" in said
    assert "raw" not in said
