"""The report's page in a real browser: what its readers do with it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.report_browser import Page, opened
from experiments.report_sample import HOSTILE, hostile_content, sample
from linrank.experiments.report import write_page


def shown_weights(page):
    names = page.attributes("#feature_curve .bars tr", "data-name")
    return dict(zip(names, map(float, page.attributes("#feature_curve .bars tr", "data-value")), strict=True))


def test_nothing_is_asked_of_the_network_and_nothing_goes_wrong(page):
    for part in ("#queries .open", "summary", "thead button"):
        page.click(part)
    messages = [json.loads(entry["message"])["message"] for entry in page.driver.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert page.path.as_uri() in asked
    assert all(url.startswith(("file:", "data:")) for url in asked)
    assert page.driver.get_log("browser") == []
    assert page.path.stat().st_size < 2_000_000


def test_the_advice_and_every_part_are_there(page):
    assert page.texts("h2")[:5] == [
        "Which ranker should I use?",
        "How many features do I need?",
        "What does it weigh?",
        "Where does it win and lose?",
        "How did training go?",
    ]
    recommended = next(row.name for row in sample().leaderboard.rows if row.recommended)
    assert page.texts(".verdict") == [f"Use {recommended}."]
    for part in ("feature_curve", "queries", "training"):
        assert page.all(f"#{part} .drawing svg")


def test_the_leaderboard_sorts_both_ways(page):
    rows = sample().leaderboard.rows
    for name, key in {"MAP": lambda row: -row.means["MAP"], "features": lambda row: row.n_features}.items():
        expected = [row.name for row in sorted(rows, key=key)]
        page.click(".leaderboard thead button", name)
        assert page.attributes(".leaderboard tbody tr", "data-name") == expected
        page.click(".leaderboard thead button", name)
        assert page.attributes(".leaderboard tbody tr", "data-name") == expected[::-1]
    assert page.attributes(".leaderboard th[aria-sort='descending']", "aria-sort") == ["descending"]


def test_a_ranker_without_a_value_stands_last_either_way(driver, tmp_path):
    board = sample().leaderboard
    rows = (replace(board.rows[0], seconds=None), *board.rows[1:])
    page = opened(driver, tmp_path, replace(sample(), leaderboard=replace(board, rows=rows)))
    for _ in range(2):
        page.click(".leaderboard thead button", "training")
        assert page.attributes(".leaderboard tbody tr", "data-name")[-1] == rows[0].name


def test_what_must_be_known_of_a_ranker_is_marked_and_stands_below_the_table(driver, tmp_path):
    board = sample().leaderboard
    remarks = ("C = 16 is the largest value tried in 4 of 5 folds", "while choosing, 3 of 9 trainings stopped")
    rows = (replace(board.rows[0], remarks=remarks), *board.rows[1:])
    page = opened(driver, tmp_path, replace(sample(), leaderboard=replace(board, rows=rows)))
    assert page.texts(".leaderboard .remarked") == ["†"]
    assert f"† {rows[0].name}: {remarks[0]}; {remarks[1]}." in page.texts("#leaderboard .remark")


def test_the_slider_shows_the_model_of_each_size(page):
    from selenium.webdriver.common.keys import Keys

    curve = sample().feature_curve
    assert shown_weights(page) == dict(curve.points[curve.chosen].weights)
    for key, place in ((Keys.ARROW_LEFT, curve.chosen - 1), (Keys.HOME, 0), (Keys.ARROW_RIGHT, 1)):
        page.press("#size", key)
        point = curve.points[place]
        assert shown_weights(page) == dict(point.weights)
        assert f"{point.mean:.4f}" in page.texts("#feature_curve .figures")[0]
        assert page.one("#size").get_attribute("aria-valuetext").startswith(f"{point.n_features} features")


def test_a_click_on_the_curve_moves_the_slider(page):
    from selenium.webdriver import ActionChains

    figure = page.one("#feature_curve .drawing")
    page.run("arguments[0].scrollIntoView({ block: 'center' })", figure)
    right = figure.size["width"] // 2 - 20
    ActionChains(page.driver).move_to_element_with_offset(figure, right, 0).click().perform()
    assert page.one("#size").get_attribute("value") == str(len(sample().feature_curve.points) - 1)


def test_weights_are_copied_exactly(page):
    curve = sample().feature_curve
    weights = dict(curve.points[curve.chosen].weights)
    page.run("window.copied = []; navigator.clipboard.writeText = async (text) => window.copied.push(text)")
    page.click("#feature_curve button", "Copy JSON")
    page.click("#feature_curve button", "Copy CSV")
    as_json, as_csv = page.run("return window.copied")
    assert json.loads(as_json) == weights
    lines = as_csv.splitlines()
    assert lines[0] == "feature,weight"
    assert {name: float(value) for name, value in (line.rsplit(",", 1) for line in lines[1:])} == weights


def test_weights_are_shown_scaled_or_raw(page):
    rows = {row.feature: row for row in sample().weights.rows}
    page.click("#weights button", "Show all")
    for kind in ("scaled", "raw"):
        page.click("#weights .choice label", kind.capitalize())
        if kind == "raw":
            page.click("#weights button", "Show all")
        names = page.attributes("#weights .bars tr", "data-name")
        shown = map(float, page.attributes("#weights .bars tr", "data-value"))
        assert dict(zip(names, shown, strict=True)) == {name: getattr(row, kind) for name, row in rows.items()}


def differences():
    return {row.qid: round(row.ours, 6) - round(row.baseline, 6) for row in sample().queries.rows}


def test_queries_are_sorted_searched_and_paged(page):
    expected = sorted(differences(), key=lambda qid: -differences()[qid])
    first = page.attributes("#queries tr[data-query]", "data-query")
    assert [differences()[qid] for qid in first] == [differences()[qid] for qid in expected[: len(first)]]
    page.click(".queries thead button", "difference")
    assert differences()[page.attributes("#queries tr[data-query]", "data-query")[0]] == min(differences().values())
    page.click("#queries button", "Next")
    assert page.texts("#queries [role='status']") == [f"{len(first) + 1}\N{EN DASH}{2 * len(first)} of {len(expected)}"]
    wanted = expected[3]
    page.type_into("#queries input[type='search']", wanted)
    found = page.attributes("#queries tr[data-query]", "data-query")
    assert found
    assert set(found) <= {qid for qid in expected if wanted in qid}
    page.type_into("#queries input[type='search']", "no such query")
    assert page.texts("#queries [role='status']") == ["No query found"]
    assert page.all("#queries tr[data-query]") == []


def test_only_better_or_only_worse_queries_are_shown_when_asked(page):
    for kind, sign in (("Better", 1), ("Worse", -1)):
        page.click("#queries .choice label", kind)
        shown = page.attributes("#queries tr[data-query]", "data-query")
        assert shown
        assert all(sign * differences()[qid] > 0 for qid in shown)


def open_first(page):
    qid = page.attributes("#queries tr[data-query]", "data-query")[0]
    page.click("#queries .open")
    return next(row for row in sample().queries.rows if row.qid == qid)


def test_a_query_opens_both_orders(page):
    row = open_first(page)
    page.click("#queries button", "Show all")
    for side, scores in zip((1, 3), (row.documents.scores_ours, row.documents.scores_baseline), strict=True):
        shown = page.attributes(f".orders > :nth-child({side}) .document", "data-document")
        assert [int(place) for place in shown] == np.argsort(-np.array(scores), kind="stable").tolist()
        grades = page.texts(f".orders > :nth-child({side}) .grade")
        assert [float(grade) for grade in grades] == [row.documents.labels[int(place)] for place in shown]
    page.click("#queries .open")
    assert page.all(".orders") == []


def test_why_one_document_is_above_another_adds_up_to_the_difference_of_their_scores(page):
    queries, documents = sample().queries, open_first(page).documents
    for first, second in ((0, 3), (5, 2)):
        for place in page.attributes(".orders > :first-child .document[aria-pressed='true']", "data-document"):
            page.click(f".orders > :first-child .document[data-document='{place}']")
        if page.all(".documents > button"):
            page.click(".documents > button", "Show all")
        for place in (first, second):
            page.click(f".orders > :first-child .document[data-document='{place}']")
        for side, scores in ((1, documents.scores_ours), (2, documents.scores_baseline)):
            difference = abs(scores[first] - scores[second])
            why = f".why:nth-child({side})"
            if page.texts(f"{why} button"):
                page.click(f"{why} button")
            total = float(page.attributes(why, "data-total")[0])
            parts = np.array(list(map(float, page.attributes(f"{why} .bars tr", "data-value"))))
            assert total == pytest.approx(difference, abs=1e-3)
            assert parts.sum() == pytest.approx(total, abs=2e-3 * np.abs(parts).sum())
            weights = (queries.weights_ours, queries.weights_baseline)[side - 1][0]
            sign = 1.0 if scores[first] > scores[second] else -1.0
            gaps = sign * (np.array(documents.features[first]) - np.array(documents.features[second]))
            expected = dict(zip(queries.feature_names, weights * gaps, strict=True))
            # No rest makes up for features that do not explain the scores.
            for name, part in zip(page.attributes(f"{why} .bars tr", "data-name"), parts, strict=True):
                assert part == pytest.approx(expected[name], abs=1e-3 * np.abs(parts).max())
            upper = documents.ids[first if scores[first] > scores[second] else second]
            assert f"puts {upper} above" in page.texts(f"{why} h5")[0]


def test_a_ranker_that_is_no_sum_of_features_is_not_taken_apart(driver, tmp_path):
    queries = replace(sample().queries, weights_baseline=None)
    page = opened(driver, tmp_path, replace(sample(), queries=queries))
    page.click("#queries .open")
    assert page.all(".why:nth-child(1) .bars")
    assert not page.all(".why:nth-child(2) .bars")
    assert "no weighted sum of features" in page.texts(".why:nth-child(2)")[0]


def test_each_fold_is_explained_by_its_own_weights(driver, tmp_path):
    queries = sample().queries
    first, second = queries.weights_ours[0], [2.0 * weight for weight in queries.weights_ours[0]]
    rows = tuple(replace(row, fold=1) for row in queries.rows)
    folds = replace(queries, rows=rows, weights_ours=[second, first], weights_baseline=None)
    page = opened(driver, tmp_path, replace(sample(), queries=folds))
    page.click("#queries .open")
    assert "the rest" not in page.attributes(".why:nth-child(1) .bars tr", "data-name")
    wrong = replace(folds, weights_ours=[first, second])
    page = opened(driver, tmp_path, replace(sample(), queries=wrong))
    page.click("#queries .open")
    assert "the rest" in page.attributes(".why:nth-child(1) .bars tr", "data-name")


def test_the_strip_of_queries_is_used_with_the_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    page.type_into("#queries input[type='search']", "no such query")
    page.press(".strip", Keys.END, Keys.ENTER)
    worst = page.attributes("#queries [aria-expanded='true']", "title")
    assert [differences()[qid] for qid in worst] == [min(differences().values())]


def test_colours_follow_the_system_until_the_button_says_otherwise(page):
    light = page.colour("body", "backgroundColor")
    page.prefer("dark")
    dark = page.colour("body", "backgroundColor")
    assert dark != light
    page.click("#theme")
    assert page.colour("body", "backgroundColor") == light
    page.click("#theme")
    assert page.colour("body", "backgroundColor") == dark
    page.prefer("light")
    assert page.colour("body", "backgroundColor") == light
    page.click("#theme")
    assert page.colour("body", "backgroundColor") == dark
    assert page.texts("#theme") == ["Light"]


def luminance(colour):
    parts = [int(part) / 255 for part in colour.strip("rgba()").split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(page, scheme):
    page.prefer(scheme)
    page.click("#queries .open")
    behind = {"body": ("h2", ".subtitle", ".remark", ".verdict", ".better", ".worse"), ".documents": (".score", "h5")}
    pairs = [(text, ground) for ground, texts in behind.items() for text in texts]
    pairs += [(f".grade.level-{level}",) * 2 for level in range(5) if page.all(f".grade.level-{level}")]
    assert len(pairs) > 9
    for text, ground in pairs:
        one, other = luminance(page.colour(text, "color")), luminance(page.colour(ground, "backgroundColor"))
        assert (max(one, other) + 0.05) / (min(one, other) + 0.05) >= 4.5, text


def test_everything_that_can_be_used_has_a_name(page):
    page.click("#queries .open")
    nameless = page.run(
        "return [...document.querySelectorAll('button, input, [role=slider], [role=region]')].filter((e) =>"
        " !(e.textContent.trim() || e.getAttribute('aria-label') || e.closest('label')?.textContent.trim()))"
        ".map((e) => e.outerHTML)"
    )
    assert nameless == []


@pytest.mark.parametrize("width", [320, 768])
def test_a_narrow_page_does_not_scroll_sideways(page, width):
    page.resize(width)
    page.click("#queries .open")
    page.run("for (const part of document.querySelectorAll('details')) part.open = true")
    assert page.width() == width


def test_printing_opens_what_is_folded_and_hides_what_is_for_the_screen(page):
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.all("details")
    assert page.all("details:not([open])") == []
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.all("details[open]") == []
    page.prefer("dark", media="print")
    assert page.colour(".top", "display") == "none"
    assert page.colour("#size", "display") == "inline-block"
    assert page.colour(".slider", "display") == "none"
    assert luminance(page.colour("body", "backgroundColor")) > 0.9


def test_hostile_text_is_shown_and_not_run(driver, tmp_path):
    page = opened(driver, tmp_path, hostile_content())
    page.click("#queries .open")
    # A lone surrogate becomes the sign for what cannot be shown.
    said = HOSTILE.replace("\ud800", "\ufffd")
    assert page.texts("h1") == [said]
    assert page.texts(".leaderboard .name") == [said]
    assert page.texts("#queries .id")[0] == said
    assert page.all("img") == []
    assert len(page.all("script")) == 2
    page.resize(320)
    assert page.width() == 320
    assert page.driver.get_log("browser") == []


def test_parts_that_are_missing_leave_no_frame(driver, tmp_path):
    content = replace(sample(), feature_curve=None, weights=None, queries=None, training=None, notes=(), facts=())
    page = opened(driver, tmp_path, content)
    assert page.attributes("section", "id") == ["leaderboard"]
    assert page.texts(".links a") == ["Ranker"]
    assert page.driver.get_log("browser") == []


def test_the_page_says_whose_documents_were_left_out(driver, tmp_path):
    path = tmp_path / "small.html"
    write_page(path, sample(), limit=200_000)
    assert Path(path).stat().st_size <= 200_000
    page = Page(driver, path)
    left_out = len(sample().queries.rows) - len(
        page.run("return Object.keys(JSON.parse(data.textContent).queries.documents)")
    )
    assert left_out > 0
    assert f"The documents of {left_out} queries" in page.texts("#queries")[0]
