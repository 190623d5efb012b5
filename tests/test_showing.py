"""What a notebook and a terminal show of datasets, models and paths: short, by name, and safe as HTML."""

import csv
import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import linrank
from linrank import LinearModel, LinrankError, RankingDataset, RankSVM, feature_path, make_ranking
from linrank.cli import main
from linrank.cli.show import certificate_in_words
from linrank.named_weights import NamedWeights
from linrank.showing import above_minimum, for_spreadsheet

WIDE = 10_000


@pytest.fixture(scope="module")
def data():
    made, _ = make_ranking(20, 6, 4, density=0.7)
    return made


@pytest.fixture(scope="module")
def path():
    made, _ = make_ranking(30, 8, 6, n_informative=3)
    return feature_path(made.features, made.labels, qid=made.qid, cv=3, n_steps=8)


def test_a_dataset_has_the_length_of_its_rows(data):
    assert len(data) == data.n_documents == 120


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_a_dataset_becomes_a_frame_and_a_dataset_again(data, layout):
    features = data.features.toarray() if layout == "dense" else data.features
    comments = [f"docid = d{row}" for row in range(len(data))]
    full = RankingDataset.from_arrays(
        features,
        data.labels,
        qid=data.qid,
        feature_names=["bm25", "age", "url", "pr"],
        comments=comments,
        document_weights=np.arange(len(data)),
    )
    frame = full.to_frame()
    assert list(frame.columns) == ["qid", "label", "docid", "weight", "bm25", "age", "url", "pr"]
    again = linrank.read(frame, docid="docid", weight="weight")
    np.testing.assert_array_equal(again.features, data.features.toarray())
    np.testing.assert_array_equal(again.document_weights, full.document_weights)
    assert again.labels.tolist() == full.labels.tolist()
    assert again.docids == full.docids
    assert again.qid.tolist() == full.qid.tolist()


def test_a_frame_does_not_mix_up_columns_of_one_name():
    data = RankingDataset.from_arrays(np.eye(2), [0, 1], qid=[1, 1], feature_names=["label", "b"])
    with pytest.raises(LinrankError, match=r"a feature is called 'label', .* such as to_frame\(label='label_'\)"):
        data.to_frame()
    assert list(data.to_frame(label="grade").columns) == ["qid", "grade", "label", "b"]


def test_what_is_shown_is_short_however_many_numbers_there_are(path):
    wide, _ = make_ranking(3, 4, WIDE, density=0.01)
    model = LinearModel(np.arange(WIDE, dtype=float), tuple(f"f{n}" for n in range(WIDE)), method="ranksvm")
    ranker = RankSVM().fit(wide.features, wide.labels, qid=wide.qid)
    for thing in (wide, model, path, path.steps[-1], ranker, ranker.solution_, ranker.weights_):
        assert len(repr(thing)) < 1000, type(thing)
        if not isinstance(thing, RankSVM) and hasattr(thing, "_repr_html_"):
            assert len(thing._repr_html_()) < 4000, type(thing)
    assert repr(model) == (
        "LinearModel(ranksvm, 9999 of 10000 features: f9999 9999, f9998 9998, f9997 9997, f9996 9996, f9995 9995, …)"
    )
    assert repr(ranker.solution_).startswith("Solution(converged: ")


def test_names_are_never_taken_for_html(data):
    named = replace(data, feature_names=("<script>", "b", "c", "d"))
    model = LinearModel(np.ones(4), named.feature_names)
    for thing in (named, model, model.named_weights()):
        assert "<script>" not in thing._repr_html_()
        assert "&lt;script&gt;" in thing._repr_html_()


def test_weights_are_a_mapping_by_name_the_largest_first(data):
    frame = pd.DataFrame(data.features.toarray(), columns=["bm25", "age", "url", "pr"])
    ranker = RankSVM().fit(frame, data.labels, qid=data.qid)
    weights = ranker.weights_
    assert isinstance(weights, NamedWeights)
    assert dict(weights) == dict(zip(frame.columns, ranker.coef_.tolist(), strict=True))
    assert [abs(weight) for weight in weights.values()] == sorted(map(abs, ranker.coef_), reverse=True)
    assert weights.to_series().to_dict() == dict(weights)
    assert next(iter(weights)) in str(weights).splitlines()[1]
    assert list(ranker.to_model().named_weights().items()) == list(weights.items())
    assert not hasattr(RankSVM(), "weights_")
    assert list(RankSVM().fit(data.features, data.labels, qid=data.qid).weights_.keys() - set("1234")) == []


def test_weights_say_how_many_are_not_shown():
    weights = NamedWeights([f"f{n}" for n in range(50)], np.maximum(np.arange(50.0) - 10, 0))
    assert repr(weights).splitlines()[-1] == "and 19 smaller, 11 of weight 0"
    with pytest.raises(LinrankError, match="two features are called 'a'"):
        NamedWeights(["a", "a"], np.ones(2))


def test_a_path_is_a_frame_with_a_row_for_each_size(path):
    frame = path.to_frame()
    steps = path.by_size()
    assert frame["n_features"].tolist() == [step.n_features for step in steps]
    assert frame["ndcg@10"].tolist() == [step.mean for step in steps]
    assert (frame["low"] <= frame["ndcg@10"]).all()
    assert [len(names) for names in frame["features"]] == frame["n_features"].tolist()
    assert "ndcg@10" in repr(path)
    assert path._repr_html_().count("<tr>") == len(steps) + 1


def test_a_path_is_drawn_on_axes(path):
    mpl.use("agg")
    from matplotlib import pyplot as plt
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    assert path.plot(axes) is axes
    line = axes.get_lines()[0]
    assert line.get_xdata().tolist() == [step.n_features for step in path.by_size()]
    own = path.plot()
    assert own.get_ylabel() == "ndcg@10"
    plt.close(own.figure)


def test_what_is_not_installed_is_named(data, path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for make in (data.to_frame, path.to_frame, NamedWeights(["a"], np.ones(1)).to_series):
        with pytest.raises(LinrankError, match=r"needs pandas, .* pip install 'linrank\[pandas\]'"):
            make()


@pytest.mark.parametrize(
    ("value", "gap", "words"),
    [
        (100.0, 0.3, "at most 0.3 % above its minimum"),
        (100.0, 50.0, "at most 1e+02 % above its minimum"),
        (2e4, 1e-5, "at its minimum to 9 digits"),
        (5.0, 0.0, "at its minimum to 15 digits"),
        (0.0, 0.0, "at its minimum"),
        (-8.0, 2.0, "at most 20 % above its minimum"),
        (3.0, 900.0, None),
        (3.0, 3.0, None),
        (3.0, np.inf, None),
        (3.0, None, None),
        (0.0, 1.0, None),
    ],
)
def test_a_bound_is_told_in_words_where_it_says_something(value, gap, words):
    assert above_minimum(value, gap) == words


def test_a_vacuous_bound_is_nowhere_printed():
    """On features in large units |gradient|² / 2 is a true bound, and far above the objective."""
    data, _ = make_ranking(30, 10, 4)
    data = replace(data, features=1e4 * data.features)
    # The paper's solver has no nearer one.
    ranker = RankSVM(C=1.0, solver="tron").fit(data)
    assert ranker.gap_ > ranker.objective_
    assert "minimum" not in repr(ranker.solution_)
    summary = {"objective": ranker.objective_, "certified_gap": ranker.gap_, "estimated_gap": 1e-4 * ranker.objective_}
    assert certificate_in_words(summary) == (
        "not certified: the bound that is known is larger than the objective itself; by the solver's estimate it is "
        "at most 0.01 % above its minimum"
    )
    assert "gap unknown" in str(replace(ranker.history_[0], gap=3e2))


@pytest.mark.parametrize(
    "text",
    [
        *("=cmd|' /C calc'!A0", "+1+1", "-2+3", "-x", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "'=1"),
        *(" =cmd", "  \t@x", "\xa0=1", "\u200b=1", "\ufeff+a", "\x1f=1", " '=1"),
    ],
)
def test_a_field_that_a_spreadsheet_would_run_is_text_there(text):
    assert for_spreadsheet(text) == f"'{text}"


@pytest.mark.parametrize("value", ["q=1", "-1", "+2.5e-3", "a@b", "", " ", " a =1", "\u200bq", -1, 0.5, None])
def test_any_other_field_is_as_it_was(value):
    assert for_spreadsheet(value) == value


def test_the_table_of_queries_runs_nothing_in_a_spreadsheet(tmp_path, capsys):
    (tmp_path / "data.txt").write_text("1 qid:=cmd|'/C_calc'!A0 1:1\n0 qid:=cmd|'/C_calc'!A0 1:2\n1 qid:b 1:1\n")
    (tmp_path / "scores").write_text("1\n2\n3\n")
    assert main(["evaluate", str(tmp_path / "data.txt"), str(tmp_path / "scores"), "--per-query", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("'=cmd|'/C_calc'!A0,")
    assert lines[2].startswith("b,")


def test_whoever_reads_the_table_of_queries_gets_the_ids(tmp_path):
    ids = ["+1", "-2+3", "-7", "=a", "'=a", "''", "@", "b", "007", "q,1", 'q"1']
    (tmp_path / "data.txt").write_text("".join(f"1 qid:{qid} 1:1\n0 qid:{qid} 1:2\n" for qid in ids))
    (tmp_path / "scores").write_text("1\n2\n" * len(ids))
    out = tmp_path / "queries.csv"
    assert main(["evaluate", str(tmp_path / "data.txt"), str(tmp_path / "scores"), "--per-query", str(out)]) == 0
    with out.open(newline="") as file:
        fields = [row[0] for row in csv.reader(file)][1:]
    assert fields[0] == "+1"
    assert [field.removeprefix("'") for field in fields] == ids
