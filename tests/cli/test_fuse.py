"""`linrank fuse` as a new user types it."""

import json
from hashlib import sha256

import pytest

from fusing_cases import made
from linrank.cli import main

QUICK = ["--cv", "2", "--resamples", "2", "--method", "pairwise"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    runs, qrels = made(n_queries=12)
    for name, run in runs.items():
        lines = (
            f"{query} Q0 {document} 1 {score!r} {name}" for query, its in run.items() for document, score in its.items()
        )
        (folder / f"{name}.run").write_text("\n".join(lines) + "\n")
    judged = (
        f"{query} 0 {document} {label:g}" for query, labels in qrels.items() for document, label in labels.items()
    )
    (folder / "qrels.txt").write_text("\n".join(judged) + "\n")
    return folder


@pytest.fixture
def files(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return [str(data / "qrels.txt"), *(str(data / f"{name}.run") for name in ("bm25", "dense", "title"))]


def test_three_runs_and_judgements_become_a_pipeline_and_a_page(files, tmp_path, capsys):
    assert main(["fuse", *files, "--to", "opensearch", "--page", "page.html", *QUICK]) == 0
    said = capsys.readouterr().out
    assert "ndcg@10 on held-out queries, 2 folds" in said
    assert "_search/pipeline/linrank" in said
    pipeline = json.loads((tmp_path / "fusion.opensearch.json").read_text())
    assert "normalization-processor" in pipeline["phase_results_processors"][0]
    assert "hybrid" in json.loads((tmp_path / "fusion.opensearch.json.query.json").read_text())["query"]
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    # Again, over what it wrote; and not over what somebody changed.
    assert main(["fuse", *files, *QUICK]) == 0
    assert "left as it is" not in capsys.readouterr().out
    (tmp_path / "fusion.opensearch.json").write_text("mine")
    assert main(["fuse", *files, *QUICK]) == 1
    assert "is there already" in capsys.readouterr().err


def test_a_query_goes_with_the_weights_whoever_changed_it(files, tmp_path, capsys):
    query = tmp_path / "fusion.opensearch.json.query.json"
    assert main(["fuse", *files, *QUICK]) == 0
    hybrid = json.loads(query.read_text())["query"]["hybrid"]
    # Other legs and another depth, over what it wrote.
    assert main(["fuse", files[0], files[3], files[1], "--depth", "7", *QUICK]) == 0
    other = json.loads(query.read_text())["query"]["hybrid"]
    assert other["pagination_depth"] == 7
    assert str(other["queries"]) != str(hybrid["queries"])
    # Filled in by somebody: left as it is, and of use as long as the legs are the same.
    filled = query.read_text().replace("title", "name")
    query.write_text(filled)
    capsys.readouterr()
    assert main(["fuse", files[0], files[3], files[1], "--depth", "7", *QUICK]) == 0
    assert "query.json: changed since it was written, and left as it is\n" in capsys.readouterr().out
    assert main(["fuse", *files, *QUICK]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "query.json: changed since it was written, and left as it is, but was written for other legs" in said
    assert query.read_text() == filled
    assert json.loads(query.with_name(query.name + ".new").read_text())["query"]["hybrid"] == hybrid


def test_files_of_classes_that_are_no_more_are_named(files, tmp_path, capsys):
    """As an earlier run with --by left them, the second changed since."""
    assert main(["fuse", *files, *QUICK]) == 0
    name, vectors = "fusion.opensearch.json", tmp_path / "fusion.opensearch.json.vectors.json"
    endings = [".1-en.opensearch.json", ".2-fi.opensearch.json"]
    known = json.loads(vectors.read_text()) | {"beside_sha256": dict.fromkeys(endings, sha256(b"theirs").hexdigest())}
    vectors.write_text(json.dumps(known))
    for ending, content in zip(endings, ("theirs", "mine"), strict=True):
        (tmp_path / f"{name}{ending}").write_text(content)
    capsys.readouterr()
    assert main(["fuse", *files, *QUICK]) == 0
    said = capsys.readouterr().out
    assert f"{name}{endings[0]}: of an earlier run's classes, removed" in said
    assert f"{name}{endings[1]}: of an earlier run's classes, and changed since: left as it is" in said
    assert [(tmp_path / f"{name}{ending}").exists() for ending in endings] == [False, True]


def test_one_command_makes_a_query_for_qdrant(files, capsys):
    assert main(["fuse", *files, "--to", "qdrant", "--out", "-", *QUICK]) == 0
    out = capsys.readouterr()
    query = json.loads(out.out)
    assert [leg["using"] for leg in query["prefetch"]] == ["bm25", "dense", "title"]
    assert "ndcg@10 on held-out queries" in out.err


def test_commands_name_no_file_that_is_not_written(files, capsys):
    assert main(["fuse", *files, "--out", "-", *QUICK]) == 0
    said = capsys.readouterr().err
    assert "-.query.json" not in said
    assert "# --out FILE writes what goes beside it too, and says the commands for OpenSearch" in said


def test_legs_are_named_and_everything_is_told_as_json(files, capsys):
    qrels, bm25, dense, _ = files
    assert main(["fuse", qrels, f"words={bm25}", f"meaning={dense}", "--json", *QUICK]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [weight["name"] for weight in said["weights"]] == ["words", "meaning"]
    assert {method["method"] for method in said["methods"]} >= {
        "words alone",
        "equal",
        "rrf",
        "grid",
        "pairwise",
        "auto",
    }
    assert said["verdict"]["headline"]


def test_what_is_wrong_with_the_line_is_said(files, capsys):
    qrels, bm25, dense, _ = files
    for line, code, said in (
        (["fuse", qrels], 2, "give judgements and at least one run"),
        (["fuse", qrels, bm25, "--to", "opensaerch"], 2, "there is no engine 'opensaerch'. Did you mean 'opensearch'?"),
        (["fuse", qrels, bm25, "--to", "typesense"], 1, "takes no linear score"),
        (["fuse", qrels, f"a={bm25}", dense], 1, "Name all of them: NAME=FILE"),
        (["fuse", qrels, bm25, "--by", "language"], 2, "--by COLUMN and --queries FILE go together"),
        (["fuse", qrels, "absent.run", *QUICK], 1, "absent.run"),
        (["fuse", qrels, bm25, "--out", bm25, *QUICK], 1, "is read by this command"),
    ):
        try:
            found = main(line)
        except SystemExit as end:
            found = end.code
        assert found == code, line
        assert said in capsys.readouterr().err


def test_the_settings_of_an_engine_are_told(capsys):
    assert main(["fuse", "--to", "weaviate", "--settings"]) == 0
    assert "vector : which leg is the vector search" in capsys.readouterr().out


def test_a_run_that_is_given_twice_is_refused(files, capsys):
    assert main(["fuse", *files, files[1], *QUICK]) == 1
    assert "bm25.run: is given twice" in capsys.readouterr().err


def test_a_run_in_the_place_of_judgements_is_told(files, capsys):
    assert main(["fuse", *files[1:], *QUICK]) == 1
    assert "bm25.run: is a TREC run, and judges nothing" in capsys.readouterr().err


def test_settings_say_what_is_used_unless_set(capsys):
    assert main(["fuse", "--to", "opensearch", "--settings"]) == 0
    assert "normaliser=min_max, pipeline=linrank" in capsys.readouterr().out
