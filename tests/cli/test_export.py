"""linrank export: the file, its vectors, what is said, and what is refused before anything is lost."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from linrank import LinearModel, RankSVM, make_ranking
from linrank.cli import main
from linrank.dataset.scaling import fit_scaling
from linrank.reading.write_svmlight import write_svmlight


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data, _ = make_ranking(20, 10, 4, random_state=1)
    write_svmlight("judged.txt", data)
    LinearModel(np.array([0.5, 0.0, -2.0, 1.0]), data.names, fit_scaling("standard", data)).save("m.json")

    def call(*words):
        code = main([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_a_model_for_solr_comes_with_its_commands_and_vectors(run):
    code, out, _ = run("export", "m.json", "--to", "solr", "--set", "store=it's", "--data", "judged.txt")
    assert code == 0
    written = json.loads(Path("m.solr.json").read_text())
    raw = LinearModel.load("m.json").raw_weights()
    assert written["store"] == "it's"
    assert written["params"]["weights"] == {"1": raw[0], "3": raw[2], "4": raw[3]}
    assert "no longer needed, 1 of 4 features: 2\n" in out
    assert "0 change order" in out
    vectors = json.loads(Path("m.solr.json.vectors.json").read_text())
    assert len(vectors["vectors"]) == 8
    # Every line is a comment, or words that a shell understands.
    commands = [shlex.split(line) for line in out.splitlines() if line.startswith("curl ")]
    assert any("@m.solr.json" in words for words in commands)


def test_json_says_all_of_it(run):
    record = json.loads(run("export", "m.json", "--to", "opensearch", "--json", "--shift", "4")[1])
    assert record["unused"] == ["2"]
    assert record["weights"]["linrank_constant"] == 4.0
    assert record["order"] is None
    assert "_createmodel" in record["commands"]


def test_standard_output_has_the_file_alone(run):
    code, out, err = run("export", "m.json", "--to", "json", "--out", "-")
    assert code == 0
    assert list(json.loads(out)) == ["1", "3", "4"]
    assert "no longer needed" in err


def test_what_was_exported_is_replaced_and_nothing_else(run):
    assert run("export", "m.json", "--to", "csv")[0] == 0
    assert run("export", "m.json", "--to", "csv")[0] == 0
    mended = Path("m.weights.csv")
    mended.write_text(mended.read_text() + "bonus,1.0\n")
    code, _, err = run("export", "m.json", "--to", "csv")
    assert code == 1
    assert "m.weights.csv: is there already, and is not as linrank export wrote it. Name another file" in err
    assert mended.read_text().endswith("bonus,1.0\n")
    assert run("export", "m.json", "--to", "json", "--out", "m.json")[0] == 1


def test_names_of_the_target_come_from_a_file(run):
    Path("names.json").write_text('{"1": "bm25(title)", "3": "age"}')
    assert run("export", "m.json", "--to", "json", "--names", "names.json")[0] == 0
    assert list(json.loads(Path("m.weights.json").read_text())) == ["bm25(title)", "age", "4"]


@pytest.mark.parametrize("text", ['{"1": 3}', "[1]", '{"1": "a", "1": "b"}', "{", '{"1": ' + "[" * 100000])
def test_a_file_of_names_that_is_none_is_refused(run, text):
    Path("names.json").write_text(text)
    code, _, err = run("export", "m.json", "--to", "json", "--names", "names.json")
    assert code == 1
    assert "names.json: " in err
    assert 'Write {"feature": "name", …}.' in err


def test_settings_are_told_and_checked(run):
    assert "featureset : the feature set" in run("export", "--to", "elasticsearch", "--settings")[1]
    assert (
        "solr has no setting 'shop'; its settings are" in run("export", "m.json", "--to", "solr", "--set", "shop=1")[2]
    )
    assert not Path("m.solr.json").exists()


def test_a_setting_that_is_given_twice_is_refused(run):
    code, _, err = run("export", "m.json", "--to", "solr", "--set", "store=a", "--set", "store=b")
    assert code == 1
    assert "--set store: it is given twice, as a and as b. Keep one." in err
    code, _, err = run("train", "judged.txt", "t.json", "-C", "2", "--set", "C=3")
    assert code == 1
    assert "--set C: it is given twice, as 2.0 and as 3.0. Keep one." in err
    assert not Path("t.json").exists()


def test_settings_are_told_with_what_they_are_unless_set(run):
    out = run("export", "--to", "solr", "--settings")[1]
    assert "\nstore : the feature store" in out
    assert "store=_DEFAULT_" in out


def test_weights_of_features_that_were_transformed_before(run):
    data, _ = make_ranking(20, 10, 4, random_state=1)
    model = RankSVM(C=0.01, transforms="rank-gauss").fit(data).to_model()
    model.save("curved.json")
    code, _, err = run("export", "curved.json", "--to", "solr")
    assert code == 1
    assert "export with --transformed" in err.replace("\n", " ")
    code, out, _ = run("export", "curved.json", "--to", "solr", "--transformed", "--data", "judged.txt")
    assert code == 0
    weights = json.loads(Path("curved.solr.json").read_text())["params"]["weights"]
    assert weights == dict(zip(model.feature_names, model.weights.tolist(), strict=True))
    vectors = json.loads(Path("curved.solr.json.vectors.json").read_text())
    assert vectors["features"] == list(model.feature_names)
    for vector in vectors["vectors"]:
        assert vector["score"] == pytest.approx(np.dot(vector["inputs"], model.weights), rel=1e-5, abs=1e-5)
    assert "0 change order" in out
    assert "and not raw ones" in out
    assert "go through no transform" in run("export", "m.json", "--to", "solr", "--transformed")[2]


def test_remedies_are_in_the_words_of_the_command_line(run):
    err = run("export", "m.json", "--to", "vespa")[2]
    assert 'Say what the engine calls it, --names …, such as {"1": "its name there"}.' in err
    err = run("export", "m.json", "--to", "elasticsearch-script", "--data", "judged.txt", "--names", _named())[2]
    assert "room for documents that score lower: --shift " in err
    assert "(--shift)" not in err


def test_printing_a_model_says_that_there_are_no_vectors(run):
    err = run("export", "m.json", "--to", "json", "--out", "-")[2]
    assert err.startswith("standard output: 3 weights for JSON")
    assert "no test vectors, which go beside a file" in err


def _named():
    Path("fields.json").write_text('{"1": "a", "3": "b", "4": "c"}')
    return "fields.json"
