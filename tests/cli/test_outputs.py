"""No verb changes or loses a file that a user has."""

import os
import sys
from pathlib import Path

import pytest

from linrank.cli import main
from linrank.cli.outputs import DATASET, MODEL, PAGE, PER_QUERY, PICTURE, RUN, SCORES, TEXT, check_files
from linrank.dataset.synthetic import make_ranking
from linrank.errors import LinrankError
from linrank.reading.scores import write_scores
from linrank.reading.write_svmlight import write_svmlight


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """train.txt, vali.txt and test.txt, scores of the test documents, costs of features, and a model."""
    data, weights = make_ranking(30, (5, 8), 4)
    for name, part in zip(("train", "vali", "test"), data.split(0.6, 0.2, 0.2), strict=True):
        write_svmlight(tmp_path / f"{name}.txt", part)
    write_scores(tmp_path / "test.scores", part.features @ weights)
    (tmp_path / "costs.txt").write_text("1 2.5\n")
    monkeypatch.chdir(tmp_path)
    assert main(["train", "train.txt", "model.json", "--quiet"]) == 0
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "command",
    [
        "train train.txt train.txt",
        "train train.txt vali.txt --validate vali.txt",
        "train train.txt vali.txt",
        "tune train.txt test.txt --validate vali.txt",
        "path train.txt --model train.txt",
        "path train.txt --costs costs.txt --model costs.txt",
        "path train.txt --validate vali.txt --picture picture.svg --no-report",
        "path train.txt --report page.html",
        "path train.txt --picture same.html --report same.html",
        "path train.txt --model test.scores --no-report",
        "evaluate test.txt test.scores --per-query test.txt",
        "evaluate test.txt test.scores --per-query test.scores",
        "evaluate test.txt test.scores --per-query table.csv",
        "predict model.json test.txt vali.txt",
        "predict model.json test.txt model.json",
        "predict model.json test.txt sizes.txt",
        "predict model.json test.txt test.scores --trec",
        "convert train.txt vali.txt",
        "convert train.txt other.linrank",
        "convert train.txt ./train.txt",
        "compare train.txt --out .",
        "compare train.txt --out notes",
        "compare . --out .",
        "demo --out .",
        "reproduce . --out notes",
    ],
)
def test_a_file_of_another_kind_or_that_is_read_is_never_written(folder, capsys, command):
    (folder / "picture.svg").write_text("<svg><!-- drawn by hand --></svg>")
    (folder / "page.html").write_text("<html>mine</html>")
    (folder / "table.csv").write_text("qid,label,title\n1,0,3\n")
    (folder / "sizes.txt").write_text("3\n4\n")
    (folder / "other.linrank").write_text("mine")
    (folder / "notes").mkdir()
    (folder / "notes" / "leaderboard.md").write_text("mine")
    before = contents(folder)
    assert main(command.split()) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "lost" in said or "Name two different files" in said
    assert contents(folder) == before


@pytest.mark.parametrize("link", ["symbolic", "hard", "relative", "through a linked folder"])
def test_an_input_is_known_by_whatever_name(folder, link):
    (folder / "model.json").rename(folder / "old.json")
    output = folder / "alias.json"
    if link == "symbolic":
        output.symlink_to(folder / "old.json")
    elif link == "hard":
        os.link(folder / "old.json", output)
    elif link == "relative":
        output = folder / "." / ".." / folder.name / "old.json"
    else:
        (folder / "linked").symlink_to(folder)
        output = folder / "linked" / "old.json"
    with pytest.raises(LinrankError, match="is read by this command"):
        check_files([(str(output), MODEL)], ["old.json"])


def test_what_a_verb_wrote_it_may_write_again(folder):
    for _ in range(2):
        for command in (
            "train train.txt m.json --quiet",
            "predict model.json test.txt out.scores",
            "evaluate test.txt test.scores --per-query q.csv --measures ndcg(letor)@1,10 map",
            "convert train.txt train.linrank",
            "path train.txt --steps 5 --model sparse.json --picture p.svg --report r.html",
            "path train.txt --steps 5 --picture p.png --no-report",
            "path train.txt --steps 5 --picture p.pdf --no-report",
        ):
            assert main(command.split()) == 0, command


def test_kinds_are_told_apart(folder):
    main(["path", "train.txt", "--steps", "5", "--picture", "p.svg", "--report", "r.html"])
    main(["evaluate", "test.txt", "test.scores", "--per-query", "q.csv"])
    main(["convert", "train.txt", "d.linrank"])
    (folder / "run.txt").write_text("7 Q0 D1 1 0.5 mine\n7 Q0 D2 2 0.25 mine\n")
    files = {
        "model.json": MODEL,
        "test.scores": SCORES,
        "run.txt": RUN,
        "q.csv": PER_QUERY,
        "r.html": PAGE,
        "p.svg": PICTURE,
        "d.linrank": DATASET,
        "train.txt": None,
    }
    for name, own in files.items():
        for kind in (MODEL, SCORES, RUN, PER_QUERY, PAGE, PICTURE, DATASET, TEXT):
            if kind is own:
                check_files([(name, kind)])
            else:
                with pytest.raises(LinrankError, match="is there already"):
                    check_files([(name, kind)])


def test_an_empty_file_and_a_device_may_be_written(folder):
    (folder / "empty").touch(0o600)
    assert main(["predict", "model.json", "test.txt", "empty"]) == 0
    assert (folder / "empty").stat().st_mode & 0o777 == 0o600
    assert main(["predict", "model.json", "test.txt", "/dev/null"]) == 0
    assert Path("/dev/null").is_char_device()


def test_a_folder_that_cannot_be_written_to_is_refused_before_any_work(folder, monkeypatch, capsys):
    # The superuser may write anywhere, so the question itself is answered here.
    monkeypatch.setattr("os.access", lambda *_: False)
    for command in ("train none.txt m.json", "predict none.json none.txt s", "compare none.txt --out results"):
        assert main(command.split()) == 1
        assert "this folder cannot be written to" in capsys.readouterr().err


def test_a_picture_that_cannot_be_drawn_is_refused_before_any_work(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["path", "none.txt", "--picture", "p.svg"]) == 1
    assert "needs matplotlib" in capsys.readouterr().err


def test_the_demo_is_run_again_but_not_over_other_data(folder, capsys):
    words = ["demo", "--out", "sample", "--queries", "12"]
    assert main(words) == 0
    before = contents(folder / "sample")
    assert main(words) == 0
    assert contents(folder / "sample").keys() == before.keys()
    (folder / "sample" / "train.txt").write_text("1 qid:1 1:1\n")
    before = contents(folder / "sample")
    assert main(words) == 1
    assert "train.txt: is there already, and is other data" in capsys.readouterr().err
    assert contents(folder / "sample") == before


def test_pictures_of_a_report_do_not_replace_others(folder, capsys):
    words = ["compare", "train.txt", "--methods", "ridge", "--folds", "3", "--jobs", "1", "--out", "results"]
    assert main([*words, "--baseline", "ridge", "--no-report"]) == 0
    (folder / "figures").mkdir()
    (folder / "figures" / "leaderboard.svg").write_text("<svg/>")
    before = contents(folder)
    assert main(["report", "results", "--pictures", "figures"]) == 1
    assert "leaderboard.svg: is there already" in capsys.readouterr().err
    assert contents(folder) == before
    assert main(["report", "results", "--out", "train.txt"]) == 1
    assert contents(folder) == before
    for _ in range(2):
        assert main(["report", "results", "--pictures", "drawn"]) == 0
