"""linrank show, and what train and tune say of the weights."""

import json
import re

import numpy as np
import pytest

from linrank import LinearModel, make_ranking
from linrank.dataset.scaling import fit_scaling
from linrank.reading.write_svmlight import write_svmlight


@pytest.mark.parametrize("verb", ["show", "info"])
def test_a_trained_model_is_shown(run, verb):
    data, _ = make_ranking(30, 10, 5)
    write_svmlight("train.txt", data)
    assert run("train", "train.txt", "m.json", "--scaling", "standard", "--quiet")[0] == 0
    model = LinearModel.load("m.json")
    code, out, _ = run(verb, "m.json")
    assert code == 0
    for words in (
        "ranksvm",
        model.objective,
        "C=1",
        "5 of 5 have a weight",
        "scaling         standard",
        "missing values  refused",
        "converged",
        "certified       the objective is at",
        f"{model.trained_at}, by linrank {model.linrank_version}",
        model.data_fingerprint,
        f"{model.training['pairs']:,} pairs of 300 documents, 30 queries",
    ):
        assert words in out
    order = np.argsort(-np.abs(model.weights))
    rows = re.findall(r"^ ?(\d) +([+-][\d.e+-]+) +([+-][\d.e+-]+) *$", out, re.MULTILINE)
    assert [int(name) - 1 for name, _, _ in rows] == order.tolist()
    np.testing.assert_allclose([float(scaled) for _, scaled, _ in rows], model.weights[order], rtol=1e-5)
    np.testing.assert_allclose([float(raw) for _, _, raw in rows], model.raw_weights()[order], rtol=1e-5)


@pytest.mark.parametrize("remarks", [["the first of two", "the other"], "no list", [7]], ids=str)
def test_each_remark_of_a_training_has_a_line_of_its_own(run, remarks):
    LinearModel(np.ones(2), ("a", "b"), training={"remarks": remarks}).save("m.json")
    _, out, _ = run("show", "m.json")
    if isinstance(remarks, str):
        assert "record          remarks=no list" in out
    else:
        assert [f"  remark          {remark}" for remark in remarks] == re.findall(r"^  remark.*\S", out, re.MULTILINE)


def test_the_record_is_whole(run):
    data, _ = make_ranking(5, 10, 4)
    weights = np.array([0.5, 0.0, -2.0, 1.0])
    LinearModel(weights, data.names, fit_scaling("max-abs", data), missing=2.5).save("m.json")
    record = json.loads(run("show", "m.json", "--json")[1])
    assert record["features_used"] == 3
    assert record["n_features"] == 4
    assert record["missing"] == 2.5
    assert record["scaling"] == "max-abs"
    assert record["trained_at"] is None
    by_name = {row["feature"]: row["weight"] for row in record["weights"]}
    assert [by_name[name] for name in data.names] == weights.tolist()
    assert record == json.loads(run("info", "m.json", "--json")[1])


def test_the_largest_weights_are_shown_and_the_rest_counted(run):
    LinearModel(np.arange(30.0), tuple(f"f{j}" for j in range(30))).save("m.json")
    _, out, _ = run("show", "m.json", "--top", "4")
    assert "f29" in out
    assert "f25" not in out
    assert "and 25 more" in out
    _, out, _ = run("show", "m.json", "--all")
    assert "f0 " in out
    assert "more" not in out
    assert run("show", "m.json", "--top", "0")[0] == 1


def test_a_file_that_is_no_model_is_refused(run, tmp_path):
    (tmp_path / "x.json").write_text("{}")
    code, _, err = run("show", "x.json")
    assert code == 1
    assert "is not a model" in err


def test_training_names_the_largest_weights(run):
    data, _ = make_ranking(30, 10, 8)
    write_svmlight("train.txt", data)
    _, out, _ = run("train", "train.txt", "m.json", "--scaling", "max-abs", "--quiet")
    model = LinearModel.load("m.json")
    largest = int(np.argmax(np.abs(model.weights)))
    assert "8 of 8 have a weight" in out
    assert "scaling       max-abs" in out
    assert f"largest       {largest + 1} {model.weights[largest]:+.4g}, " in out
    assert "and 3 more" in out
    _, out, _ = run("tune", "train.txt", "m.json", "--range", "0.1,1", "--cv", "2")
    assert "  largest  " in out


@pytest.mark.parametrize(
    "training",
    [
        {"pairs": [], "documents": None, "queries": {}},
        {"pairs": 3},
        {"objective": [], "certified_gap": 1.0},
        {"objective": 10**400},
        {"objective": 1.0, "certified_gap": "x"},
        {"objective": "x", "pairs": "x", "documents": "x", "queries": "x"},
        {"tried": [{"C": 1.0, "mean": 1.0, "gain": 1.0, "standard_error_of_gain": 1.0, "smoothing": []}]},
    ],
    ids=str,
)
def test_whatever_a_file_says_of_its_training_is_shown(run, tmp_path, training):
    LinearModel(np.ones(1), ("a",), training=training).save(tmp_path / "odd.json")
    code, out, err = run("show", tmp_path / "odd.json")
    assert code == 0, err
    assert "1 of 1 have a weight" in out
    assert "trained on" not in out


def test_names_tell_the_terminal_nothing(run, tmp_path):
    LinearModel(np.ones(1), ("\x1b[31mred",), method="\x1b]0;x\x07").save(tmp_path / "odd.json")
    code, out, _ = run("show", tmp_path / "odd.json")
    assert code == 0
    assert "\x1b" not in out
    assert "\\x1b[31mred" in out
    assert "\\x1b]0;x\\x07" in out
