"""What the report's page and pictures hold, without a browser."""

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.report_sample import HOSTILE, MEASURES, hostile_content, sample
from linrank import LinrankError
from linrank.errors import MissingDependencyError
from linrank.experiments.report import (
    CurvePoint,
    FeatureCurve,
    Leaderboard,
    LeaderboardRow,
    QueryDifferences,
    QueryDocuments,
    QueryRow,
    ReportContent,
    Training,
    TrainingCurve,
    WeightRow,
    Weights,
    fitting,
    render,
    save_pictures,
    verdict,
    write_page,
)

PARTS = ("leaderboard", "feature_curve", "weights", "queries", "training")


def drawn(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def row(name, mean, **rest):
    return LeaderboardRow(name, {"MAP": mean}, **rest)


def board(*rows, baseline=None):
    return Leaderboard(("MAP",), "MAP", rows, baseline)


def test_the_same_content_gives_the_same_bytes():
    assert render(sample()) == render(sample())


def test_what_is_written_is_what_is_rendered(tmp_path):
    write_page(tmp_path / "report.html", sample())
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == render(sample())


def test_a_page_asks_nothing_of_the_network():
    page = render(sample())
    addresses = set(re.findall(r"\w+://[^\s\"'<>]*", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\(|<link(?! rel=\"icon\" href=\"data:,\")|\bfetch\(|XMLHttpRequest|src=", page)


@pytest.mark.parametrize("tag", ["style", "script"])
def test_the_page_allows_its_own_style_and_script_and_no_other(tag):
    page = render(hostile_content())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    text = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert f"{tag}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_text_of_users_stays_text():
    plain = ReportContent("title")
    tags = re.compile(r"<(?=[a-zA-Z/!])[^>]*>")
    # Without its data and its one section a part, the hostile page has the tags of any other.
    page = render(hostile_content())
    assert page.count("</script>") == render(plain).count("</script>") == 2
    assert "<img" not in "".join(tags.findall(page))
    page.encode("utf-8")
    data = drawn(page)
    assert data["leaderboard"]["rows"][0]["name"] == HOSTILE
    assert data["queries"]["qids"] == [HOSTILE]
    assert data["queries"]["documents"]["0"]["ids"][0] == HOSTILE


def test_a_part_that_is_missing_or_empty_leaves_no_trace():
    whole = render(sample())
    for part in PARTS:
        assert f'<section id="{part}"' in whole
        page = render(replace(sample(), **{part: None}))
        assert f'id="{part}"' not in page
        assert f'href="#{part}"' not in page
    nothing = render(
        ReportContent(
            "title",
            leaderboard=Leaderboard(("MAP",), "MAP", ()),
            feature_curve=FeatureCurve("MAP", ()),
            weights=Weights("m", ()),
            queries=QueryDifferences("MAP", "a", "b", ()),
            training=Training(()),
        )
    )
    assert "<section" not in nothing
    assert "<dl" not in nothing
    assert nothing == render(ReportContent("title"))


def test_numbers_of_numpy_are_numbers():
    weights = Weights("m", (WeightRow("f", np.float32(0.5), np.float64(2.0), np.int64(1), np.float64(3.0)),))
    assert drawn(render(ReportContent("t", weights=weights)))["weights"]["rows"] == [
        {"feature": "f", "raw": 0.5, "scaled": 2.0, "low": 1, "high": 3.0}
    ]


def test_weights_on_the_page_are_exact():
    points = drawn(render(sample()))["feature_curve"]["points"]
    assert [point["weights"] for point in points] == [dict(p.weights) for p in sample().feature_curve.points]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_refused_with_its_place(wrong):
    with pytest.raises(LinrankError, match=r"weights\.rows\[0\]\.raw: (nan|inf) cannot be drawn"):
        render(ReportContent("t", weights=Weights("m", (WeightRow("f", wrong, 1.0),))))
    with pytest.raises(LinrankError, match=r"query '7': (nan|inf) cannot be drawn"):
        render(ReportContent("t", queries=QueryDifferences("MAP", "a", "b", (QueryRow("7", wrong, 0.5),))))


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=8), st.floats(1e-3, 1e3))
def test_scores_and_features_are_exact_beside_their_spread(values, factor):
    scores = [value * factor for value in values]
    documents = QueryDocuments([0] * len(scores), scores, scores, None, [[value] for value in scores])
    queries = QueryDifferences("MAP", "a", "b", (QueryRow("1", 0.5, 0.5, documents),), ("f",))
    shown = drawn(render(ReportContent("t", queries=queries)))["queries"]["documents"]["0"]
    spread = max(scores) - min(scores) or abs(scores[0])
    for column, share in ((shown["scores_ours"], 1e-5), (shown["columns"][0], 1e-4)):
        np.testing.assert_allclose(column, scores, rtol=1e-15, atol=share * spread)


def test_a_page_that_fits_is_left_as_it_is():
    assert fitting(sample()) == sample()
    assert len(render(sample()).encode()) < 2_000_000


def test_documents_of_the_queries_that_differ_least_go_first():
    whole = sample()
    limit = 300_000
    content = fitting(whole, limit)
    assert limit - 20_000 < len(render(content).encode()) <= limit
    kept = [abs(row.ours - row.baseline) for row in content.queries.rows if row.documents is not None]
    gone = [abs(row.ours - row.baseline) for row in content.queries.rows if row.documents is None]
    assert min(kept) >= max(gone)
    assert content.queries.left_out == len(gone) > 0
    assert len(content.queries.rows) == len(whole.queries.rows)
    assert drawn(render(content))["queries"]["left_out"] == len(gone)
    assert fitting(content, limit) == content


def test_tens_of_thousands_of_queries_fit():
    rows = tuple(QueryRow(str(100_000 + number), number / 31_000, 0.123456789) for number in range(31_000))
    page = render(ReportContent("t", queries=QueryDifferences("MAP", "a", "b", rows)))
    assert len(page) < 1_000_000


def test_advice_names_the_ranker_and_why():
    tested = {"interval": (0.41, 0.45), "difference": 0.02, "difference_interval": (0.01, 0.03)}
    rows = (
        row("Old", 0.41, n_features=30),
        row("New", 0.43, **tested, p_value=0.0004, n_features=10, recommended=True),
    )
    assert str(verdict(board(*rows, baseline="Old"))) == (
        "Use New. Its mean MAP is 0.4300 (95 % interval 0.4100 to 0.4500). It is significantly better than Old, by "
        "0.0200 (95 % interval +0.0100 to +0.0300), p < 0.001, with a third of its features (10 of 30)."
    )


@pytest.mark.parametrize(
    ("rows", "baseline", "said"),
    [
        (
            [
                row("A", 0.4, n_features=46),
                row("B", 0.39, difference=-0.01, p_value=0.4, n_features=7, recommended=True),
            ],
            "A",
            "It is not significantly different from A (p = 0.400), with 7 features against 46.",
        ),
        (
            [row("A", 0.4), row("B", 0.3, difference=-0.1, p_value=0.03, recommended=True)],
            "A",
            "It is significantly worse than A, by 0.1000, p = 0.030.",
        ),
        ([row("A", 0.4), row("B", 0.5, difference=0.1)], "A", "0.1000 above A; the difference was not tested."),
        ([row("A", 0.4), row("B", 0.3)], "A", "It is the baseline, and no other ranker is significantly better."),
        (
            [row("A", 0.4, recommended=True), row("B", 0.5, difference=0.1, p_value=0.01)],
            "A",
            "It is the baseline, although B ranked significantly better.",
        ),
        (
            [row("A", 0.4, interval=(0.3, 0.5), recommended=True, n_features=5), row("B", 0.45, interval=(0.4, 0.5))],
            None,
            "B has the highest mean, 0.4500.",
        ),
        (
            [
                row("A", 0.4, n_features=40),
                row("B", 0.41, difference=0.01, p_value=0.2, n_features=4, recommended=True),
                row("C", 0.43, difference=0.03, p_value=0.01, n_features=30),
            ],
            "A",
            "C has the highest mean, 0.4300, with 30 features, and is significantly better than A.",
        ),
        ([row("A", 0.4), row("B", 0.5)], None, "Use B. Its mean MAP is 0.5000."),
    ],
)
def test_advice_says_what_the_numbers_say(rows, baseline, said):
    assert said in str(verdict(board(*rows, baseline=baseline)))


def test_a_difference_is_significant_up_to_the_level():
    assert row("A", 0.5, p_value=0.05).differs
    assert not row("A", 0.5, p_value=0.051).differs
    assert not row("A", 0.5).differs


def test_the_answer_is_one_sentence_with_the_ranker_and_its_features():
    rows = (
        row("Old", 0.41, n_features=30),
        row("New", 0.43, n_features=11.2, recommended=True, described="New with 17 of 46 features", model_features=17),
    )
    advice = verdict(board(*rows, baseline="Old"))
    assert advice.headline == "Use New with 17 of 46 features."
    assert "11.2" not in str(advice)


def test_a_model_far_larger_than_what_was_measured_is_said_to_be():
    of_all = {"recommended": True, "described": "New with 131 of 136 features", "model_features": 131}
    advice = verdict(board(row("Old", 0.41), row("New", 0.43, n_features=32, **of_all), baseline="Old"))
    assert "It was measured with 32 features; trained on all queries it has 131." in advice.reasons


def test_the_best_linear_ranker_is_named_where_the_recommended_one_is_not_linear():
    rows = (row("Trees", 0.43, recommended=True), row("Linear", 0.42, best_linear=True), row("Old", 0.4))
    assert str(verdict(board(*rows))).endswith(
        "It is no weighted sum of features; the best linear ranker, Linear, has a mean of 0.4200, 0.0100 below."
    )


def test_a_part_that_is_missing_says_why_where_that_is_known():
    page = render(replace(sample(), weights=None, missing={"weights": "No <ranker> is linear."}))
    assert '<section id="weights"' in page
    assert '<p class="absent">No &lt;ranker&gt; is linear.</p>' in page
    assert 'href="#weights"' in page


def test_facts_stand_at_the_foot_and_formulas_are_folded():
    page = render(sample())
    assert page.index('class="facts"') > page.index("<footer>")
    assert page.index('class="verdict"') < page.index('class="facts"')


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Leaderboard(("MAP",), "NDCG", ()), "main measure 'NDCG' is not among MAP"),
        (lambda: board(row("A", 0.5), baseline="B"), "baseline 'B' has no row"),
        (lambda: Leaderboard(("MAP",), "MAP", (LeaderboardRow("A", {}),)), "'A' has no mean of 'MAP'"),
        (lambda: FeatureCurve("MAP", (CurvePoint(1, 0.5, {}),), chosen=1), "chosen is 1"),
        (lambda: QueryDocuments([1, 0], [0.1], [0.1, 0.2]), "1 scores_ours for 2 labels"),
        (
            lambda: QueryDifferences("MAP", "a", "b", (), ("f", "g"), [[1.0]]),
            "weights_ours has 1 numbers for 2 feature names",
        ),
        (
            lambda: QueryDifferences("MAP", "a", "b", (QueryRow("1", 0, 0, None, 2),), ("f",), [[1.0], [2.0]]),
            "weights_ours has 2 rows for 3 folds",
        ),
        (
            lambda: QueryDifferences(
                "MAP", "a", "b", (QueryRow("9", 0, 0, QueryDocuments([1], [1], [1], None, [[1, 2]])),), ("f",)
            ),
            "query '9': a document's features do not fit the 1 feature names",
        ),
        (lambda: TrainingCurve("A", [1.0], []), "'A': 1 times for 0 objective values"),
    ],
)
def test_content_that_does_not_fit_together_is_refused(make, message):
    with pytest.raises(LinrankError, match=re.escape(message)):
        make()


def test_pictures_are_drawn_of_every_part_and_are_the_same_every_time(tmp_path):
    pytest.importorskip("matplotlib")
    first = save_pictures(sample(), tmp_path / "first")
    second = save_pictures(sample(), tmp_path / "second")
    names = ["leaderboard", "features", "weights", "queries", "training"]
    assert [path.name for path in first] == [f"{name}.{ending}" for name in names for ending in ("png", "svg")]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert all(path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml") for path in first)


def test_pictures_leave_out_what_is_missing_and_take_names_as_they_are(tmp_path):
    pytest.importorskip("matplotlib")
    weights = Weights("m", (WeightRow(r"$\frac{broken", 1.0, 1.0, 0.5, 1.5), WeightRow("b", -1.0, -1.0)))
    content = ReportContent("t", weights=weights, training=Training((TrainingCurve("$", [0.0, 1.0], [100.0, 1.0]),)))
    made = save_pictures(content, tmp_path, ["svg", "pdf"])
    assert [path.name for path in made] == ["weights.svg", "weights.pdf", "training.svg", "training.pdf"]
    assert save_pictures(ReportContent("t"), tmp_path) == ()


def test_pictures_that_cannot_be_drawn_are_refused(tmp_path, monkeypatch):
    with pytest.raises(LinrankError, match=r"cannot draw a '\.gif' file; use one of \.png, \.svg, \.pdf"):
        save_pictures(sample(), tmp_path, ["gif"])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"linrank\[plots\]"):
        save_pictures(sample(), tmp_path)


def test_the_sample_is_a_whole_report():
    content = sample()
    assert all(getattr(content, part) is not None for part in PARTS)
    assert content.leaderboard.measures == MEASURES
