"""The command line as a person and a script use it."""

import csv
import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from linrank import LinearModel, RankingDataset, RankSVM, open_dataset, read, save_dataset, scan
from linrank.cli import VERBS, main
from linrank.dataset.synthetic import make_ranking
from linrank.dataset.text_column import TextColumn
from linrank.experiments.compare import Comparison
from linrank.experiments.comparison_curve import compared_curve
from linrank.measures import NDCG, evaluate, parse_measures
from linrank.reading.scores import read_scores, write_scores
from linrank.reading.write_svmlight import write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """train.txt, vali.txt and test.txt, with scores of the test documents."""
    folder = tmp_path_factory.mktemp("data")
    data, weights = make_ranking(60, (5, 15), 8)
    data = replace(data, comments=TextColumn.from_texts(f"docid = D{row}" for row in range(data.n_documents)))
    for name, part in zip(("train", "vali", "test"), data.split(0.6, 0.2, 0.2), strict=True):
        write_svmlight(folder / f"{name}.txt", part)
    write_scores(folder / "test.scores", part.features @ weights)
    return folder


def test_help_teaches(run):
    code, out, _ = run("--help")
    assert code == 0
    for verb in VERBS:
        assert f"  {verb}" in out
    assert "Exit codes" in out
    assert run()[0] == 2
    assert run("--version")[1].startswith("linrank ")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_examples(verb, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([verb, "--help"])
    assert stopped.value.code == 0
    assert f"examples:\n  linrank {verb}" in capsys.readouterr().out


def test_a_wrong_verb_gets_a_hint(run):
    code, _, err = run("trian")
    assert code == 2
    assert "Did you mean 'train'?" in err


def test_info_says_what_is_in_the_file(run, folder):
    code, out, _ = run("info", "train.txt")
    data = read(folder / "train.txt")
    assert code == 0
    assert f"{data.n_queries} queries" in out
    assert f"{data.n_documents} documents" in out
    assert f"{data.describe().n_pairs:,} pairs" in out
    code, out, _ = run("info", "train.txt", "--json")
    assert json.loads(out)["n_pairs"] == data.describe().n_pairs


@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED"])
def test_info_says_the_known_counts(run, letor, name):
    _, out, _ = run("info", letor.path(name, "Fold1", "train.txt"))
    known = letor.known[name]
    counts = (known.n_queries, known.n_documents, known.n_features, known.n_pairs)
    for count, what in zip(counts, ("queries", "documents", "features", "pairs"), strict=True):
        assert f" {count:,} {what}" in f" {out}"


def test_info_describes_useless_features_and_missing_values(run, tmp_path):
    path = tmp_path / "odd.txt"
    path.write_text("1 qid:1 1:1 2:5 3:1 4:NULL\n0 qid:1 1:2 2:5 3:2 4:1\n")
    code, out, _ = run("info", path)
    assert code == 0
    assert "constant, so no use: 2" in out
    assert "3 = 1" in out
    assert "missing in some documents: 4 (1)" in out


def test_info_is_a_first_look_at_the_data(run, tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text(
        "query,grade,doc,bm25,price,cents,shelf,age,one\n"
        "red shoes,2,x,9,1.5,150,4,3,1\nred shoes,0,y,2,2.5,250,4,,1\nred shoes,1,z,5,9,900,4,8,1\n"
        "hat,1,x,7,3,300,6,1,1\nhat,0,y,1,2,200,6,2,1\nhat,0,x,7,3,300,6,1,1\nred shoes,0,y,2,2.5,250,4,,1\n"
    )
    words = ["info", path, "--label", "grade", "--qid", "query", "--docid", "doc"]
    code, out, err = run(*words)
    assert code == 0, err
    assert (
        "2 documents with the features of an earlier one of their query, 1 of them with another label (query hat" in out
    )
    assert (
        "2 documents with the id of an earlier one of their query, 1 of them with another label (query hat, x: 1" in out
    )
    assert "cents = 100 x price" in out
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    assert rows["bm25"][1:5] == ["1", "9", "0.9077", "highest"]
    assert rows["age"][1:4] == ["1", "8", "28.6%"]
    assert rows["cents"][-2:] == ["as", "price"]
    assert rows["one"][-1] == "constant"
    assert "the same within each query" in " ".join(rows["shelf"])
    record = json.loads(run(*words, "--json")[1])
    assert [feature["name"] for feature in record["features"]] == ["bm25", "price", "cents", "shelf", "age", "one"]
    bm25, _, _, shelf, age, _ = record["features"]
    assert bm25.pop("ndcg@10") == pytest.approx((1 + (1 + 1 / np.log2(3)) / 2) / 2)
    assert bm25 == {
        "name": "bm25", "least": 1, "most": 9, "missing": 0, "direction": 1, "varies_within_queries": True,
    }  # fmt: skip
    assert not shelf["varies_within_queries"]
    assert age["missing"] == 2 / 7
    assert record["repeated_documents"]["contradictory"] == 1
    _, out, _ = run(*words, "--top", "2")
    assert "… and 4 more features; --all shows every one." in out
    assert "more features" not in run(*words, "--top", "2", "--all")[1]


def test_info_does_without_labels_and_without_ndcg(run, tmp_path):
    save_dataset(RankingDataset.from_arrays([[1.0], [2.0]], None, qid=[1, 1]), tmp_path / "docs.linrank")
    code, out, _ = run("info", tmp_path / "docs.linrank")
    assert code == 0
    assert "no labels" in out
    assert "ndcg" not in out
    (tmp_path / "large.txt").write_text("5000 qid:1 1:1\n0 qid:1 1:2\n")
    code, out, _ = run("info", tmp_path / "large.txt", "--json")
    assert code == 0
    assert json.loads(out)["features"] == [{"name": "1", "least": 1.0, "most": 2.0, "missing": 0.0}]


def test_convert_there_and_back_loses_nothing(run, folder):
    assert run("convert", "train.txt", "train.linrank", "--verify")[0] == 0
    assert run("convert", "train.linrank", "again.txt")[0] == 0
    assert (folder / "again.txt").read_bytes() == (folder / "train.txt").read_bytes()
    np.testing.assert_array_equal(open_dataset("train.linrank").features, read("train.txt").features)


def test_convert_within_a_budget_groups_queries(run, folder, tmp_path):
    lines = (folder / "train.txt").read_text().splitlines(keepends=True)
    (tmp_path / "mixed.txt").write_text("".join(lines[::2] + lines[1::2]))
    assert run("convert", tmp_path / "mixed.txt", tmp_path / "as-it-is.linrank")[0] == 0
    assert open_dataset(tmp_path / "as-it-is.linrank").queries.order is not None
    code, out, _ = run("convert", tmp_path / "mixed.txt", tmp_path / "a.linrank", "--memory", "8GB", "--verify")
    assert code == 0
    assert f"{len(lines)} documents" in out.replace(",", "")
    assert run("convert", tmp_path / "as-it-is.linrank", tmp_path / "b.linrank", "--verify")[0] == 0
    assert (tmp_path / "a.linrank").read_bytes() == (tmp_path / "b.linrank").read_bytes()
    assert scan(tmp_path / "b.linrank").n_documents == len(lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["convert", "train.txt", "once.txt", "--memory", "2GB"], "--memory is for a .linrank file, which is written"),
        (["convert", "train.txt", "once.linrank", "--resume"], "Give it, as in the run that ended"),
        (["convert", "-", "once.linrank", "--memory", "2GB", "--resume"], "standard input is read once"),
        (["convert", "train.txt", "once.linrank", "--memory", "much"], "is no amount of memory"),
        (["convert", "train.txt", "once.linrank", "--memory", "2GB", "--label", "x"], "has no option --label"),
        (["convert", "train.txt", "train.xyz"], "cannot tell the form from the ending '.xyz'"),
        (["convert", "train.txt", "nowhere/train.linrank"], "no such folder"),
        (["convert", "train.txt", "train.txt"], "is read by this command"),
        (["info", "none.txt"], "none.txt"),
        (["evaluate", "test.txt", "train.txt"], "scores, but the data has"),
        (["evaluate", "test.txt", "test.scores", "--measures", "ndgc@10"], "ndcg"),
        (["train", "train.txt", "nowhere/model.json"], "no such folder"),
        (["train", "train.txt", "."], "is a folder"),
        (["train", "train.txt", "train.txt"], "is read by this command"),
        (["train", "train.txt", "vali.txt"], "is there already, and is not a model"),
        (["train", "train.txt", "vali.txt", "--validate", "vali.txt"], "is read by this command"),
        (["predict", "model.json", "test.txt", "test.txt"], "is read by this command"),
        (["train", "train.txt", "m.json", "-C", "-1"], "-C -1.0"),
        (["train", "train.txt", "m.json", "--patience", "3"], "--patience needs --validate"),
        (["train", "train.txt", "m.json", "--loss", "hinge", "--solver", "tron"], "cannot minimise"),
        (["train", "train.txt", "m.json", "--label", "grade"], "has no option --label"),
        (["tune", "train.txt", "m.json", "--cv", "999"], "train.txt: --cv 999, folds of 36 queries; use from 2 to the"),
        (["predict", "train.txt", "test.txt"], "is not a model"),
        (["path", "train.txt", "--picture", "curve.xyz"], "cannot draw that"),
        (["path", "train.txt", "--model", "nowhere/m.json"], "no such folder"),
        (["path", "train.txt", "--max-cost", "0.1"], "no model fits the budget"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_says_what_and_exits_with_1(run, folder, words, message):
    before = sorted(folder.iterdir())
    code, _, err = run(*words)
    assert code == 1
    assert message in err
    assert err.startswith(f"linrank {words[0]}: ")
    assert "Traceback" not in err
    assert sorted(folder.iterdir()) == before


def test_a_wrong_option_exits_with_2(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["tune", "train.txt", "--range", "2^a..2^b"])
    assert stopped.value.code == 2
    assert "neither 2^a..2^b nor numbers" in capsys.readouterr().err


def test_evaluate_prints_table_json_and_csv(run, folder):
    test, scores = read(folder / "test.txt"), read_scores(folder / "test.scores")
    mean = (NDCG @ 10).mean(scores, test)
    _, out, _ = run("evaluate", "test.txt", "test.scores", "--measures", "ndcg@10", "p(rel=2)@5")
    assert f"{mean:.4f}" in out
    assert "p(rel=2)@5" in out
    _, out, _ = run("evaluate", "test.txt", "test.scores", "--measures", "ndcg@1,10", "--json", "--per-query", "q.csv")
    assert f"{mean}" in out
    assert json.loads(out)
    with (folder / "q.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["qid"] for row in rows] == test.queries.ids.tolist()
    assert np.mean([float(row["ndcg@10"]) for row in rows]) == pytest.approx(mean)
    _, out, _ = run("evaluate", "test.txt", "test.scores", "--per-query", "-", "--measures", "map")
    assert out.startswith("qid,map\n")


def test_train_predict_evaluate(run, folder):
    code, out, _ = run("train", "train.txt", "model.json", "-C", "0.5", "--validate", "vali.txt")
    assert code == 0
    assert "iter   0" in out
    train = read(folder / "train.txt")
    for word in ("objective", "|gradient|", f"{train.describe().n_pairs:,} pairs", "vali.txt", "ndcg@10"):
        assert word in out
    model = LinearModel.load(folder / "model.json")
    ranker = RankSVM(0.5).fit(train.features, train.labels, qid=train.qid)
    np.testing.assert_array_equal(model.weights, ranker.coef_)
    assert model.parameters["C"] == 0.5
    assert model.data_fingerprint == train.fingerprint()
    assert model.training["objective"] == ranker.objective_
    assert run("predict", "model.json", "test.txt", "out.scores")[0] == 0
    test = read(folder / "test.txt")
    np.testing.assert_array_equal(read_scores(folder / "out.scores"), ranker.predict(test.features))
    _, out, _ = run("predict", "model.json", "test.txt")
    assert out == (folder / "out.scores").read_text()
    run("predict", "model.json", "test.txt", "run.txt", "--trec", "--tag", "mine")
    first = (folder / "run.txt").read_text().splitlines()[0].split()
    assert first[1] == "Q0"
    assert first[3] == "1"
    assert first[5] == "mine"


@pytest.mark.parametrize("scaling", ["standard", "min-max", "max-abs", "query"])
def test_scaling_travels_with_the_model(run, folder, scaling):
    assert run("train", "train.txt", "scaled.json", "--scaling", scaling, "--quiet")[0] == 0
    run("predict", "scaled.json", "vali.txt", "vali.scores")
    vali = read(folder / "vali.txt")
    evaluation = evaluate(read_scores(folder / "vali.scores"), vali, parse_measures("ndcg@10"))
    assert evaluation.mean[NDCG @ 10] > 0.7


def test_the_default_model_name_is_the_datas(run, folder):
    _, out, _ = run("train", "train.txt", "--json", "--loss", "hinge")
    record = json.loads(out)
    assert record["model"] == "train.model.json"
    assert (folder / "train.model.json").exists()
    assert record["converged"]


def test_tune_chooses_and_trains(run, folder):
    code, out, _ = run("tune", "train.txt", "tuned.json", "--range", "2^-6..2^2", "--cv", "3", "--measure", "map")
    assert code == 0
    assert out.count("chosen") == 1
    assert LinearModel.load(folder / "tuned.json").parameters["C"] in [2.0**power for power in range(-6, 3)]
    code, out, _ = run("tune", "train.txt", "t.json", "--validate", "vali.txt", "--range", "0.01,2^0", "--json")
    assert LinearModel.load(folder / "t.json").parameters["C"] in (0.01, 1.0)


@pytest.mark.parametrize("weighting", ["queries", "ndcg"])
def test_weighting_is_trained_tuned_and_remembered(run, folder, weighting):
    assert run("train", "train.txt", "weighed.json", "-C", "0.5", "--weighting", weighting, "--json")[0] == 0
    model = LinearModel.load(folder / "weighed.json")
    assert model.parameters["weighting"] == weighting
    assert "sum over queries of the mean" in model.objective
    expected = RankSVM(C=0.5, weighting=weighting).fit(read(folder / "train.txt"))
    np.testing.assert_array_equal(model.weights, expected.coef_)
    words = ("--validate", "vali.txt", "--range", "0.1,1", "--weighting", weighting)
    assert run("tune", "train.txt", "t.json", *words)[0] == 0
    assert LinearModel.load(folder / "t.json").parameters["weighting"] == weighting


def test_path_shows_quality_against_features(run, folder):
    code, out, _ = run(
        "path", "train.txt", "--cv", "3", "--max-features", "4", "--model", "sparse.json", "--picture", "curve.svg"
    )
    assert code == 0
    assert out.count("chosen") == 1
    assert "features" in out
    model = LinearModel.load(folder / "sparse.json")
    assert 1 <= np.count_nonzero(model.weights) <= 4
    assert "<svg" in (folder / "curve.svg").read_text()
    code, out, _ = run("path", "train.txt", "--validate", "vali.txt", "--json", "--picture", "curve.html", "--one-se")
    assert sum(step["chosen"] for step in json.loads(out)["steps"]) == 1
    page = (folder / "curve.html").read_text()
    assert "How many features does train.txt need?" in page
    assert "https:" not in page


def test_path_ends_with_a_page_unless_told_not_to(run, folder, tmp_path):
    assert run("path", "vali.txt", "--steps", "5", "--no-report")[0] == 0
    assert not (folder / "vali.features.html").exists()
    _, out, _ = run("path", "vali.txt", "--steps", "5")
    assert "wrote vali.features.html" in out
    assert (folder / "vali.features.html").exists()
    code, _, err = run("path", "vali.txt", "--report", "page.pdf")
    assert code == 1
    assert "the page is an .html file" in err


def test_path_takes_costs_by_name(run, folder, tmp_path):
    (tmp_path / "costs.txt").write_text("1 2.5\n\n2 0.5\n")
    _, out, _ = run("path", "train.txt", "--costs", tmp_path / "costs.txt", "--json", "--steps", "10")
    assert any(step["cost"] != step["n_features"] for step in json.loads(out)["steps"])
    for bad in ("nine 1", "1 x", "1", "1 2\f", "1 2\v", "2 3", "1 1e308", "1 5e-324"):
        (tmp_path / "costs.txt").write_text(f"2 1\n{bad}\n")
        code, _, err = run("path", "train.txt", "--costs", tmp_path / "costs.txt")
        assert code == 1
        assert "costs.txt:2:" in err


def test_test_files_with_fewer_features_are_padded(run, tmp_path):
    (tmp_path / "wide.txt").write_text("1 qid:1 1:1 9:2\n0 qid:1 1:2\n")
    (tmp_path / "narrow.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    assert run("train", tmp_path / "wide.txt", tmp_path / "m.json", "--validate", tmp_path / "narrow.txt")[0] == 0
    assert run("predict", tmp_path / "m.json", tmp_path / "narrow.txt")[0] == 0
    assert run("train", tmp_path / "narrow.txt", tmp_path / "n.json", "--validate", tmp_path / "wide.txt")[0] == 1
    assert run("predict", tmp_path / "n.json", tmp_path / "wide.txt")[0] == 1


def test_demo_and_warmup(run, tmp_path):
    code, out, _ = run("demo", "--out", tmp_path / "demo", "--queries", "30")
    assert code == 0
    assert "ndcg@10" in out
    # The ring is where it says, on an axis that ends where the curve does.
    said = int(re.search(r"\(o: (\d+) features?\)", out)[1])
    curve = compared_curve(Comparison.open(tmp_path / "demo" / "comparison"))
    assert said == curve.chosen.n_features
    assert (tmp_path / "demo" / "train.linrank").exists()
    assert "kernel" in run("warmup")[1]


def test_output_that_nobody_reads_to_the_end_is_no_error(folder):
    command = f"{sys.executable} -m linrank evaluate test.txt test.scores --per-query - | head -1"
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert [line for line in result.stderr.splitlines() if "compiling kernels" not in line] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX only")
def test_an_interrupted_command_exits_with_130(run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("linrank.cli.info.read_data", interrupted)
    code, _, err = run("info", "train.txt")
    assert code == 130
    assert "interrupted" in err


@pytest.fixture
def tables(tmp_path):
    """The same documents as two Parquet files, one with its columns reversed, with weights and odd names."""
    pandas = pytest.importorskip("pandas")
    data, _ = make_ranking(30, 10, 4, random_state=1)
    frame = pandas.DataFrame(data.features, columns=["a", "len[/x]", "c:smile:", "d"])
    frame["constant[red]"] = 1.0
    frame["label"], frame["qid"] = data.labels, [f"é{query}" for query in data.qid]
    frame["w"] = (np.arange(len(frame)) % 3 > 0).astype(float)
    frame.to_parquet(tmp_path / "data.parquet")
    frame[frame.columns[::-1]].to_parquet(tmp_path / "other.parquet")
    return tmp_path


def test_names_are_printed_as_they_are_and_matched_by_name(run, tables):
    code, out, _ = run("info", tables / "data.parquet")
    assert code == 0
    assert "constant[red]" in out
    code, _, _ = run(
        "train", tables / "data.parquet", tables / "m.json", "--features", "a,len[/x],c:smile:,d", "--quiet"
    )
    assert code == 0
    run("predict", tables / "m.json", tables / "data.parquet", tables / "one.scores")
    run("predict", tables / "m.json", tables / "other.parquet", tables / "two.scores")
    np.testing.assert_allclose(read_scores(tables / "one.scores"), read_scores(tables / "two.scores"), rtol=1e-12)
    code, _, err = run("predict", tables / "m.json", tables / "data.parquet", "--features", "a,d")
    assert code == 1
    assert "there is no column 'len[/x]'" in err


def test_weights_of_documents_count(run, tables):
    features = ("--features", "a,d", "--quiet")
    run("train", tables / "data.parquet", tables / "plain.json", *features)
    run("train", tables / "data.parquet", tables / "weighted.json", *features, "--weight", "w")
    plain, weighted = (LinearModel.load(tables / f"{name}.json").weights for name in ("plain", "weighted"))
    assert not np.array_equal(plain, weighted)


def test_what_a_library_refuses_is_one_line(run, tables, tmp_path):
    (tmp_path / "gap.txt").write_text("1 qid:1 1:NULL\n0 qid:1 1:2\n")
    code, _, err = run("train", tmp_path / "gap.txt", tmp_path / "m.json", "--missing", "keep")
    assert code == 1
    assert err.count("\n") == 1
    assert "NaN" in err


@pytest.mark.filterwarnings("default::UserWarning")
def test_warnings_are_one_line(run, tmp_path):
    (tmp_path / "flat.txt").write_text("1 qid:1 1:1\n1 qid:1 1:2\n")
    code, _, err = run("train", tmp_path / "flat.txt", tmp_path / "m.json", "--quiet")
    assert code == 0
    assert "no query has two documents with different labels" in err
    assert ".py" not in err
