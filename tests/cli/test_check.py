"""linrank check: what changes, and an exit code for a pipeline."""

import json

import numpy as np
import pytest

from linrank import LinearModel, check, export, read
from linrank.dataset.synthetic import make_ranking
from linrank.reading.write_svmlight import write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """judged.txt and judged.csv; good.json and poor.json, with good.json as Solr and CSV have it."""
    folder = tmp_path_factory.mktemp("check")
    data, weights = make_ranking(40, 12, 4, random_state=2)
    write_svmlight(folder / "judged.txt", data)
    names = ("title", "age", "clicks", "price")
    rows = ["label,qid,comment," + ",".join(names)]
    rows += [
        f"{label:g},{qid},text,{','.join(map(repr, row))}"
        for label, qid, row in zip(data.labels, data.qid, data.features.tolist(), strict=True)
    ]
    (folder / "judged.csv").write_text("\n".join(rows) + "\n")
    for prefix, called in (("", data.names), ("named-", names)):
        good = LinearModel(weights + 0.01, tuple(called))
        good.save(folder / f"{prefix}good.json")
        LinearModel(np.array([0.0, 0.01, 0.0, 0.0]), tuple(called)).save(folder / f"{prefix}poor.json")
        export(good, "solr", out=folder / f"{prefix}good.solr.json")
    return folder


def test_the_exit_code_says_whether_the_new_model_may_go_live(run):
    code, out, _ = run("check", "poor.json", "good.json", "--data", "judged.txt")
    assert code == 0
    assert "passes: a model fails where" in out
    code, out, _ = run("check", "good.json", "poor.json", "--data", "judged.txt")
    assert code == 3
    assert "FAILS: a model fails where the whole 95 % interval of the difference lies below 0" in out
    assert "features no longer used, 3: 1, 3, 4" in out
    assert run("check", "good.json", "poor.json", "--data", "judged.txt", "--at-least", "-0.9")[0] == 0
    assert run("check", "poor.json", "good.json", "--data", "judged.txt", "--at-least", "0.9")[0] == 3


def test_trouble_with_a_file_is_another_code(run, folder):
    code, _, err = run("check", "good.json", "nowhere.json", "--data", "judged.txt")
    assert (code, "nowhere.json: cannot be read" in err) == (1, True)
    code, _, err = run("check", "good.json", "named-good.json", "--data", "judged.txt")
    assert (code, "for the new model: there is no column 'title'" in err) == (1, True)
    code, _, err = run("check", "good.json", "good.json", "--data", "judged.csv")
    assert (code, "'1'" in err) == (1, True)
    with pytest.raises(SystemExit) as stopped:
        run("check", "good.json", "poor.json")
    assert stopped.value.code == 2


def test_another_programs_model_is_checked_on_a_table_by_name(run):
    code, out, _ = run("check", "named-good.solr.json", "named-good.json", "--data", "judged.csv", "--json")
    done = json.loads(out)
    assert code == 0
    assert done["queries"] == {"all": 40, "won": 0, "lost": 0, "tied": 40}
    assert done["old_model"] == "named-good.solr.json"


def test_the_record_is_the_one_of_python(run, folder):
    words = ("--measure", "map", "--movers", "2", "--seed", "7", "--json")
    code, out, _ = run("check", "good.json", "poor.json", "--data", "judged.txt", *words)
    record = json.loads(out)
    data = read(folder / "judged.txt")
    done = check("good.json", "poor.json", data, measure="map", n_movers=2, random_state=7)
    assert code == 3
    assert {name: record[name] for name in done.to_dict()} == json.loads(json.dumps(done.to_dict()))
    assert len(record["losses"]) == len(record["documents"]) == 2


def test_help_lists_the_exit_code(run):
    assert "3 the new model is worse (linrank check)" in run("--help")[1]


def test_unjudged_documents_stop_a_deployment(run, folder):
    (folder / "zeros.txt").write_text("0 qid:1 1:1 2:0 3:0 4:0\n0 qid:1 1:0 2:1 3:0 4:0\n")
    code, out, err = run("check", "poor.json", "good.json", "--data", "zeros.txt")
    assert (code, out) == (1, "")
    assert "zeros.txt: no query has documents of different labels" in err


def test_columns_that_are_taken_by_position_are_told(run):
    assert "taken by position" in run("check", "named-poor.json", "named-good.json", "--data", "judged.txt")[1]
    assert "taken by position" not in run("check", "poor.json", "good.json", "--data", "judged.txt")[1]
    assert "taken by position" not in run("check", "named-poor.json", "named-good.json", "--data", "judged.csv")[1]
