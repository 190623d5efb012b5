"""linrank explain, as a person and a script use it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from linrank import LinearModel, LinrankError, read
from linrank.cli import explain
from linrank.dataset.applied_scaling import QueryScaling
from linrank.dataset.scaling import fit_scaling
from linrank.dataset.synthetic import make_ranking
from linrank.dataset.text_column import TextColumn
from linrank.reading.write_svmlight import write_svmlight

DATA, WEIGHTS = make_ranking(6, (1, 9), 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """data.txt with document ids, bare.txt without, and a model for each scaling."""
    folder = tmp_path_factory.mktemp("explain")
    write_svmlight(folder / "bare.txt", DATA)
    named = replace(DATA, comments=TextColumn.from_texts(f"docid = D{row}" for row in range(DATA.n_documents)))
    write_svmlight(folder / "data.txt", named)
    for name, scaling in (("none", None), ("standard", fit_scaling("standard", DATA)), ("query", QueryScaling())):
        LinearModel(WEIGHTS, DATA.names, scaling).save(folder / f"{name}.json")
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)

    def call(*words):
        explain.run(explain.parser().parse_args([str(word) for word in words]))
        return capsys.readouterr().out

    return call


def query_of_size(least):
    number = int(np.flatnonzero(DATA.queries.sizes >= least)[0])
    return str(DATA.queries.ids[number]), DATA.queries.rows_of(np.array([number]))


@pytest.mark.parametrize("scaling", ["none", "standard", "query"])
def test_the_ranking_and_its_first_two_add_up(run, folder, scaling):
    query, rows = query_of_size(4)
    record = json.loads(run(f"{scaling}.json", "data.txt", "--qid", query, "--json"))
    data = read(folder / "data.txt")
    scores = LinearModel.load(folder / f"{scaling}.json").predict(data.features, data.queries)[rows]
    order = np.argsort(-scores, kind="stable")
    assert [line["score"] for line in record["ranking"]] == scores[order].tolist()
    assert [line["docid"] for line in record["ranking"]] == [f"D{rows[place]}" for place in order]
    assert [line["label"] for line in record["ranking"]] == DATA.labels[rows][order].tolist()
    assert [line["row"] for line in record["ranking"]] == (order + 1).tolist()
    assert record["scaled_by_query"] == (scaling == "query")
    told = record["explanation"]
    assert (told["above"], told["below"]) == (order[0] + 1, order[1] + 1)
    assert told["difference"] == pytest.approx(scores[order[0]] - scores[order[1]])
    assert sum(part["amount"] for part in told["contributions"]) == pytest.approx(told["difference"])
    # Against the mean document, contributions add up to the score's distance from the mean score.
    for line in record["ranking"]:
        assert sum(line["contributions"].values()) == pytest.approx(line["score"] - scores.mean())


def test_two_documents_by_id_or_by_row(run):
    query, rows = query_of_size(4)
    by_id = run("none.json", "data.txt", "--qid", query, "--above", f"D{rows[2]}", "--below", f"D{rows[0]}")
    assert by_id == run("none.json", "data.txt", "--qid", query, "--above", 3, "--below", 1)
    difference = WEIGHTS @ (DATA.features[rows[2]] - DATA.features[rows[0]])
    assert by_id.startswith(f"D{rows[2]} {'above' if difference > 0 else 'not above'} D{rows[0]}\n")
    assert by_id.rstrip().endswith(f"{difference:+.6g}")


def test_people_see_the_ranking_first(run):
    query, rows = query_of_size(4)
    out = run("none.json", "data.txt", "--qid", query, "--top", 3)
    assert out.startswith(f"query {query}, {len(rows)} documents")
    assert f"… and {len(rows) - 3} more; --top shows them." in out
    assert "difference of scores" in out
    assert sum(f"D{row} " in out for row in rows) == 3
    assert "scaled within the query" in run("query.json", "data.txt", "--qid", query)


def test_data_without_ids_and_sparse_data_are_explained_too(run):
    query, _ = query_of_size(4)
    record = json.loads(run("none.json", "bare.txt", "--qid", query, "--json"))
    assert record["ranking"][0]["docid"] is None
    assert "row " in run("none.json", "bare.txt", "--qid", query)
    thin = json.loads(run("none.json", "bare.txt", "--qid", query, "--json", "--layout", "sparse"))
    assert thin["explanation"]["difference"] == pytest.approx(record["explanation"]["difference"])


def test_a_query_of_one_document_has_nothing_to_compare(run):
    number = int(np.flatnonzero(DATA.queries.sizes == 1)[0])
    query = str(DATA.queries.ids[number])
    assert "nothing to compare" in run("none.json", "data.txt", "--qid", query)
    assert json.loads(run("none.json", "data.txt", "--qid", query, "--json"))["explanation"] is None


def test_a_table_may_call_its_queries_otherwise(run, folder):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DATA.features, columns=list(DATA.names))
    frame.assign(label=DATA.labels, search=DATA.qid).to_csv(folder / "data.csv", index=False)
    query, _ = query_of_size(4)
    record = json.loads(run("none.json", "data.csv", "--qid", query, "--qid-column", "search", "--json"))
    assert record["explanation"]["difference"] == pytest.approx(
        json.loads(run("none.json", "data.txt", "--qid", query, "--json"))["explanation"]["difference"]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--qid", "nowhere"], "data.txt: there is no query 'nowhere'; there are 1, 2, 3"),
        (["--qid", "{query}", "--above", "1"], "give both, or neither"),
        (["--qid", "{query}", "--above", "1", "--below", "Dx"], r"--below Dx: .* use a row from 1 to \d or one of D"),
        (["--qid", "{query}", "--above", "0", "--below", "1"], "--above 0"),
        (["--qid", "{query}", "--top", "0"], "--top 0"),
    ],
)
def test_what_is_not_there_is_named(run, words, message):
    query, _ = query_of_size(4)
    with pytest.raises(LinrankError, match=message):
        run("none.json", "data.txt", *(word.format(query=query) for word in words))


def test_help_says_which_qid_is_which():
    shown = explain.parser().format_help()
    assert "examples:\n  linrank explain" in shown
    assert "--qid Q " in shown
    assert "--qid COLUMN" not in shown
    with pytest.raises(SystemExit):
        explain.parser().parse_args(["model.json", "data.txt"])


def test_the_curves_of_what_is_compared_are_drawn(run, folder):
    from linrank.dataset.feature_shapes import FeatureShapes

    curves = [([0.0, 1.0, 2.0], [0.0, rise, 0.0]) for rise in (1.0, -1.0, 2.0, 3.0, 4.0)]
    LinearModel(np.ones(5), DATA.names, FeatureShapes.of("additive", curves)).save(folder / "curves.json")
    query, _ = query_of_size(4)
    shown = run("curves.json", "data.txt", "--qid", query, "--above", 1, "--below", 2, "--top", 5)
    *_, drawn = shown.partition("difference of scores")
    parts = json.loads(run("curves.json", "data.txt", "--qid", query, "--above", 1, "--below", 2, "--json"))
    for part in parts["explanation"]["contributions"]:
        expected = "█▁█" if part["feature"] == DATA.names[1] else "▁█▁"
        line = [line.split() for line in drawn.splitlines() if line.split()[:1] == [part["feature"]]]
        assert line == ([[part["feature"], expected, "0", "2"]] if part["amount"] else [])
    assert "f(x)" not in run("none.json", "data.txt", "--qid", query, "--above", 1, "--below", 2)
