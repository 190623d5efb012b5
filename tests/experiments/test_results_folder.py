"""A results folder may come from anybody: nothing in it is run, nothing leaves it, and everything in it is checked."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linrank import Comparison, RankSVM, compare, make_ranking
from linrank.cli import main
from linrank.errors import DataFormatError, LinrankError
from linrank.experiments.folds import Part, dealt_folds
from linrank.experiments.results import Results
from linrank.reading.write_svmlight import write_svmlight


class ByOneFeature:
    """An estimator of a user's own, which knows nothing of scikit-learn."""

    def fit(self, X, y, qid):
        self.column = int(np.argmax(np.abs(np.corrcoef(X.T, y)[-1, :-1])))
        return self

    def predict(self, X):
        return X[:, self.column]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    made, _ = make_ranking(18, 6, n_features=3, n_informative=2, noise=0.3)
    path = tmp_path_factory.mktemp("data") / "judged.txt"
    write_svmlight(path, made)
    return path


@pytest.fixture(scope="module")
def made(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "results"
    rankers = {"ranksvm": ("ranksvm", {"C": [0.1, 1.0]}), "one": "single-feature"}
    compare(data, rankers, measures="ndcg@10", n_folds=3, out=folder).write()
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "results"))


def rewritten(path, change):
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


@pytest.mark.parametrize("verb", [["report"], ["compare", "--replay"]])
def test_a_folder_that_names_code_is_refused_and_the_code_is_not_loaded(folder, verb, tmp_path, capsys):
    (tmp_path / "stranger.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Ranker: pass\n")
    plan = folder / "comparison.json"
    for name, value in (("method", "stranger:Ranker"), ("estimator", "stranger:Ranker")):
        rewritten(plan, lambda record, n=name, v=value: record["contenders"][0].update({n: v}))
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        subprocess.run(
            [sys.executable, "-m", "linrank", *verb, str(folder)], env=environment, check=False, capture_output=True
        )
        assert not (tmp_path / "ran").exists()
    assert main([*verb, str(folder)]) == 1
    assert "'stranger:Ranker', which is no method of linrank" in capsys.readouterr().err


def test_a_folder_of_an_earlier_form_is_refused(folder):
    rewritten(folder / "comparison.json", lambda record: record.pop("schema_version"))
    with pytest.raises(DataFormatError, match="schema version None; this linrank reads 3"):
        Results.open(folder)


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "..", ".hidden", "a/b", "a\\b", "C:x", "", "a\nb", "a" * 200])
def test_names_that_lead_out_of_the_folder_are_refused(folder, name, data):
    plan = folder / "comparison.json"
    rewritten(plan, lambda record: record["folds"][0].update(name=name))
    with pytest.raises(DataFormatError, match=r"folds\[0\]\.name: .* cannot name a fold"):
        Results.open(folder)
    with pytest.raises(LinrankError, match="cannot name a ranker"):
        compare(data, {name: RankSVM()}, n_folds=3)


def test_a_link_that_leads_out_of_the_folder_is_not_written_through(folder, tmp_path, capsys):
    treasure = tmp_path / "treasure"
    treasure.write_text("gold")
    (folder / "report.html").symlink_to(treasure)
    assert main(["report", str(folder)]) == 1
    assert "leads out of the results folder" in capsys.readouterr().err
    outside = tmp_path / "outside"
    shutil.move(folder / "Fold1", outside)
    (folder / "Fold1").symlink_to(outside)
    with pytest.raises(LinrankError, match="leads out of the results folder"):
        Results.open(folder)
    assert treasure.read_text() == "gold"


WRONG = [None, True, "x", -1, 1e400, [], {}, [None], {"x": []}, [[[]]]]


def places(value, path=()):
    """Every value in a JSON document; of a list the first element only."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, element in inner:
        yield from places(element, (*path, name))


VIEWS = ("to_markdown", "to_latex", "to_csv", "to_json", "to_frame", "_repr_html_", "__repr__")


# Of what a file does not hold, and of data that is elsewhere.
SAID = ("has not been run", "Check the path of the data", "cannot be drawn")


def what_is_refused(folder):
    try:
        opened = Comparison.open(folder)
        assert all(len(getattr(opened, view)()) > 0 for view in VIEWS)
        assert opened.report().stat().st_size > 0
        opened.results.scores("ranksvm", "Fold1")
    except LinrankError as error:
        return str(error)
    return None


@pytest.fixture
def soon(monkeypatch):
    """Without the page's curve, which takes long and has nothing of results, and with few intervals."""

    def left_out(_):
        raise LinrankError("left out.")

    monkeypatch.setattr("linrank.experiments.comparison_page.compared_curve", left_out)
    monkeypatch.setattr("linrank.experiments.comparison_weights.RESAMPLES", 2)


@pytest.mark.parametrize("file", ["comparison.json", "Fold1/ranksvm.json"])
def test_whatever_is_wrong_in_a_file_is_refused_with_its_name_and_nothing_else_goes_wrong(folder, file, soon):
    path = folder / file
    whole = path.read_text()
    n_refused = 0
    for where in list(places(json.loads(whole)))[1:]:
        for wrong in WRONG:
            record = json.loads(whole)
            inner = record
            for name in where[:-1]:
                inner = inner[name]
            inner[where[-1]] = wrong
            path.write_text(json.dumps(record))
            said = what_is_refused(folder)
            n_refused += said is not None
            assert said is None or any(word in said for word in (file, *SAID)), (where, wrong, said)
    assert n_refused > 200


@pytest.mark.parametrize("wrong", [{}, {"l2": 1.0}, {"C": 0.5, "tol": 1e-3}])
def test_what_was_tried_has_the_settings_of_what_was_chosen(folder, wrong):
    job = folder / "Fold3" / "ranksvm.json"
    rewritten(job, lambda record: record["tried"].append({**record["tried"][0], "settings": wrong}))
    with pytest.raises(DataFormatError, match=r"ranksvm\.json: tried\[2\]\.settings does not have the .* of chosen"):
        Comparison.open(folder)


@pytest.mark.parametrize("name", ["means", "per_query"])
def test_values_that_no_mean_can_be_taken_of_are_refused(folder, name):
    wrong = {"means": {"ndcg@10": -1e308}, "per_query": {"ndcg@10": [1e308] * 6}}[name]
    rewritten(folder / "Fold1" / "ranksvm.json", lambda record: record.update({name: wrong}))
    with pytest.raises(DataFormatError, match=rf"ranksvm\.json: {name}\.ndcg@10.* is -?1e\+308, which is"):
        Comparison.open(folder)


def test_a_folder_says_by_which_linrank_it_was_made(folder):
    rewritten(folder / "comparison.json", lambda record: record.update(versions={"numpy": "2"}))
    with pytest.raises(DataFormatError, match="versions has no 'linrank'"):
        Comparison.open(folder)


def test_there_is_no_page_of_a_comparison_that_was_not_run_on_every_fold(folder):
    for job in (folder / "Fold1").glob("*.json"):
        job.unlink()
    with pytest.raises(LinrankError, match="'ranksvm' has not been run on every fold; there are none"):
        Comparison.open(folder).report()


def test_a_method_with_weights_on_some_folds_alone_has_a_page(folder, soon):
    rewritten(folder / "Fold2" / "one.json", lambda record: record.update(weights=None))
    page = Comparison.open(folder).report().read_text()
    assert "This could not be made" not in page.replace("This could not be made. left out.", "")


def test_a_model_that_is_not_of_these_results_is_made_again(folder):
    known = Comparison.open(folder).recommended_model()
    of_others = [
        replace(known, training={**known.training, "chosen": {"C": "x"}}),
        replace(known, training={name: value for name, value in known.training.items() if name != "chosen"}),
        replace(known, feature_names=(*known.feature_names, "x"), weights=np.ones(4), scaling=None),
    ]
    for other in of_others:
        other.save(folder / "recommended.json")
        made = Comparison.open(folder).recommended_model()
        assert made.training["chosen"] == known.training["chosen"]
        assert made.weights.tolist() == known.weights.tolist()


@pytest.mark.parametrize("settings", [{"C": [1]}, {"C": None}, {"executor": "x"}, {"progress": [1]}, {"self": 1}])
def test_settings_that_nothing_can_be_trained_with_are_said_of_the_folder(folder, settings, soon):
    (folder / "recommended.json").unlink()
    rewritten(folder / "comparison.json", lambda record: record["contenders"][0].update(settings=settings))
    for job in folder.glob("Fold*/ranksvm.json"):
        rewritten(job, lambda record: record.update(chosen={}, tried=[]))
    opened = Comparison.open(folder)
    with pytest.raises(LinrankError, match=r"results: 'ranksvm' cannot be trained with its settings \("):
        opened.trained("ranksvm")
    assert opened.report().exists()


@pytest.mark.parametrize("options", [{"missing": [[1]]}, {"dtype": 5}, {"n_features": True}, {"features": [1]}])
def test_ways_of_reading_are_of_their_kinds(folder, options):
    rewritten(folder / "comparison.json", lambda record: record["folds"][0]["train"].update(options=options))
    with pytest.raises(DataFormatError, match=r"folds\[0\]\.train\.options\.\w+(\[0\])? is (of another kind|not text)"):
        Comparison.open(folder)


def test_weights_are_not_shown_of_data_with_other_features(folder, soon):
    rewritten(
        folder / "comparison.json", lambda record: record["folds"][0]["train"].update(options={"zero_based": True})
    )
    assert "the data has other features than the model" in Comparison.open(folder).report().read_text()


@pytest.mark.parametrize("wrong", [[], "x", {}, {"class": "a", "source": "b", "settings": {"C": 1}}, 3])
def test_words_on_an_own_estimator_are_words(folder, wrong):
    rewritten(folder / "comparison.json", lambda record: record["contenders"][0].update(own=wrong))
    with pytest.raises(DataFormatError, match=r"contenders\[0\]\.own"):
        Results.open(folder)


def test_results_of_other_queries_are_not_compared(folder):
    rewritten(folder / "Fold1" / "one.json", lambda record: record["qids"].reverse())
    with pytest.raises(DataFormatError, match=r"one\.json: is of other queries"):
        Results.open(folder)


def test_scores_are_numbers_and_nothing_that_is_run_or_huge(folder):
    place = folder / "Fold1" / "ranksvm.scores.npy"
    whole = place.read_bytes()
    for scores in (np.array([print], dtype=object), np.array([np.nan]), np.zeros((2, 2)), np.array(["x"])):
        np.save(place, scores, allow_pickle=True)
        with pytest.raises(DataFormatError, match=r"ranksvm\.scores\.npy"):
            Results.open(folder).scores("ranksvm", "Fold1")
    place.write_bytes(whole.replace(b"(36,)", b"(10000000000000,)").replace(b"             ", b" ", 1))
    with pytest.raises(DataFormatError, match="holds no scores"):
        Results.open(folder).scores("ranksvm", "Fold1")


@pytest.mark.parametrize("path", ["nowhere.txt", "a" * 300, "a\0b", "/dev/null/x"])
def test_data_that_is_not_where_the_folder_says_is_named(folder, path):
    def point_nowhere(record):
        for fold in record["folds"]:
            fold["train"]["path"] = path

    rewritten(folder / "comparison.json", point_nowhere)
    opened = Comparison.open(folder)
    assert opened.to_markdown()
    with pytest.raises(LinrankError, match="Check the path of the data"):
        opened.write()


def test_scores_of_a_job_that_was_not_run_are_asked_for_in_vain(folder):
    (folder / "Fold1" / "one.json").unlink()
    with pytest.raises(LinrankError, match="'one' has not been run on 'Fold1'"):
        Results.open(folder).scores("one", "Fold1")


def test_ways_of_reading_are_those_of_the_reader(folder):
    rewritten(folder / "comparison.json", lambda record: record["folds"][0]["train"]["options"].update(progress="x"))
    with pytest.raises(DataFormatError, match="is no way of reading data"):
        Results.open(folder)


def test_data_that_is_not_what_was_compared_on_is_not_shown(folder, tmp_path, capsys):
    other = tmp_path / "private.txt"
    write_svmlight(other, make_ranking(18, 6, n_features=3, random_state=9)[0])

    def point_at_other(record):
        for fold in record["folds"]:
            for part in ("train", "vali", "test"):
                fold[part]["path"] = str(other)

    rewritten(folder / "comparison.json", point_at_other)
    assert main(["report", str(folder)]) == 0
    assert f"reading the data that {folder} names: {other}" in capsys.readouterr().err
    page = (folder / "report.html").read_text()
    assert "has changed since it was compared on" in page
    assert '"documents":{}' in page


def test_an_own_estimator_is_read_without_it_and_trained_only_with_it(data, tmp_path, capsys):
    folder = tmp_path / "r"
    made = compare(data, {"mine": ByOneFeature(), "svm": RankSVM()}, measures="ndcg@10", n_folds=3, out=folder)
    made.write()
    assert "ByOneFeature" not in [
        one["method"] for one in json.loads((folder / "comparison.json").read_text())["contenders"]
    ]
    opened = Comparison.open(folder)
    assert opened.to_markdown() == made.to_markdown()
    assert main(["report", str(folder)]) == 0
    capsys.readouterr()
    assert main(["compare", "--replay", str(folder), "--jobs", "1"]) == 1
    assert "'mine' was compared as an object" in capsys.readouterr().err
    assert Comparison.open(folder, {"mine": ByOneFeature(), "svm": RankSVM()}).replay() == []


def test_a_fold_of_data_in_memory_cannot_be_read_again(tmp_path):
    data, _ = make_ranking(12, 5, n_features=3)
    compare(data, {"svm": RankSVM()}, n_folds=3, out=tmp_path / "r")
    part = Results.open(tmp_path / "r").plan.folds[0].train
    with pytest.raises(LinrankError, match="was passed in memory"):
        part.load()
    assert dealt_folds(Part("", data=data), n_folds=3)[0].train.load().n_queries == 4
    assert Comparison.open(tmp_path / "r", {"svm": RankSVM()}).replay(data) == []
