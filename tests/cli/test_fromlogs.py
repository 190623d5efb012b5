"""linrank fromlogs: from a folder of logs and judgements to a model, and every word it says on the way."""

import json

import pytest

import linrank
from linrank import LinearModel
from linrank.cli import main
from log_writing import plugin_hit, plugin_response, solr_document, solr_response, write_lines


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        try:
            code = main(words)
        except SystemExit as stopped:
            code = stopped.code
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture
def logs(tmp_path):
    """A folder with a saved response a query, and judgements as Quepid exports them."""
    folder = tmp_path / "responses"
    folder.mkdir()
    judged = ["query,docid,rating"]
    for number, query in enumerate(["star wars", "rambo", "rocky ii"]):
        documents = [
            solr_document(f"d{number}{row}", {"bm25(title)": float(row % 4), "recency": row / 7}) for row in range(8)
        ]
        answer = solr_response(documents, q=query)
        (folder / f"{number}.json").write_text(json.dumps(answer, indent=2))
        judged += [f"{query},d{number}{row},{row % 4}" for row in range(7)]
    (tmp_path / "judged.csv").write_text("\n".join([*judged, "jaws,x,1", ""]))
    return folder


def test_a_folder_of_logs_and_judgements_becomes_a_model(call, logs, tmp_path):
    code, out, err = call("fromlogs", "responses", "--judgments", "judged.csv", "--out", "train.linrank")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "logs: Solr [features] (24); 24 documents of 3 queries, known by 'params.q'",
        "judgements: 22 documents of 4 queries",
        "- logged documents not judged, left out: 3 (star wars / d07, rambo / d17, rocky ii / d27)",
        "- judged queries without a logged document, left out: 1 (jaws)",
        "train.linrank: 3 queries, 21 documents, 2 features",
        "next: linrank train train.linrank model.json",
    ]
    code, _, err = call("train", "train.linrank", "model.json", "--quiet")
    assert code == 0, err
    model = LinearModel.load(tmp_path / "model.json")
    assert model.feature_names == ("bm25(title)", "recency")
    assert model.weights[0] > 0


def test_what_is_said_to_come_next_works_where_missing_values_are_kept(call, logs):
    code, out, _ = call(
        "fromlogs", str(logs), "--judgments", "judged.csv", "--missing", "keep", "--out", "kept.linrank"
    )
    assert code == 0
    following = out.splitlines()[-1]
    assert following == "next: linrank train kept.linrank model.json --missing 0"
    assert call(*following.split()[2:], "--quiet")[0] == 0


def test_a_table_and_text_hold_the_same_documents(call, logs, tmp_path):
    arguments = ("fromlogs", str(logs), "--judgments", "judged.csv", "--unjudged", "zero")
    code, out, err = call(*arguments, "--out", "train.parquet")
    assert (code, err) == (0, "")
    assert "next: linrank train train.parquet model.json --docid docid\n" in out
    table = linrank.read(tmp_path / "train.parquet", docid="docid")
    code, out, _ = call(*arguments, "--out", "train.txt")
    assert code == 0
    assert "they are numbered in this order: bm25(title), recency\n" in out
    assert "queries whose names text cannot hold are numbered in it" in out
    text = linrank.read(tmp_path / "train.txt")
    assert table.features.tolist() == text.features.tolist()
    assert (table.labels.tolist(), table.docids) == (text.labels.tolist(), text.docids)
    assert table.queries.ids.tolist() == ["star wars", "rambo", "rocky ii"]
    assert text.queries.ids.tolist() == ["1", "2", "3"]
    assert text.comments[0] == "docid = d00 query = star wars"


def test_text_on_standard_output_has_nothing_else_in_it(call, logs):
    code, out, err = call("fromlogs", str(logs), "--judgments", "judged.csv", "--out", "-")
    assert code == 0
    assert all(line.split()[1].startswith("qid:") for line in out.splitlines())
    assert "logs: Solr [features] (24)" in err


def test_the_whole_account_is_had_as_json(call, logs, tmp_path):
    arguments = ("fromlogs", str(logs), "--judgments", "judged.csv")
    code, out, _ = call(*arguments, "--json", "--account", "account.json")
    assert code == 0
    printed = json.loads(out)
    assert printed == json.loads((tmp_path / "account.json").read_text())
    assert printed["unjudged"] == [["star wars", "d07"], ["rambo", "d17"], ["rocky ii", "d27"]]
    assert call(*arguments, "--account", "account.json")[0] == 0, "what the verb wrote it may write over"
    code, _, err = call(*arguments, "--account", "judged.csv")
    assert code == 1
    assert "judged.csv: is read by this command" in err
    code, _, err = call(*arguments, "--json", "--out", "-")
    assert (code, "--json prints the account" in err) == (2, True)


def test_without_an_output_it_only_says_what_there_is(call, logs, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    code, out, _ = call("fromlogs", str(logs), "--judgments", "judged.csv")
    assert (code, out.splitlines()[-1]) == (0, "would keep 3 queries, 21 documents, 2 features; --out DATA writes them")
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_wrong_is_said_in_the_words_of_the_command_line(call, logs, tmp_path):
    write_lines(tmp_path / "bare.jsonl", *[plugin_response([plugin_hit("a", {"f": 1.0})])] * 2)
    code, _, err = call("fromlogs", "bare.jsonl", "--judgments", "judged.csv", "--out", "train.linrank")
    assert code == 1
    assert err.startswith("linrank fromlogs: bare.jsonl:1: nothing says which query it is.")
    assert "--query-from … says where" in err
    assert not (tmp_path / "train.linrank").exists()
    code, _, err = call("fromlogs", str(logs), "--judgments", "judged.csv", "--out", "train.xlsx")
    assert (code, "cannot tell the form from the ending '.xlsx'" in err) == (1, True)
    code, _, err = call("fromlogs", str(logs))
    assert (code, "--judgments" in err) == (2, True)


def test_options_reach_the_reader(call, tmp_path):
    documents = [{"sku": f"s{row}", "feats": f"f={row}"} for row in range(3)]
    write_lines(tmp_path / "log", {"who": "q", "docs": documents})
    (tmp_path / "judged.csv").write_text("a,b,c\nq,s0,1\nq,s2,0\n")
    words = ["fromlogs", "log", "--judgments", "judged.csv", "--form", "solr", "--log", "feats", "--docid", "sku"]
    words += ["--query-from", "who", "--judgment-columns", "a,b,c", "--out", "-", "--missing", "query_min"]
    code, out, err = call(*words)
    assert code == 0, err
    assert out == "1 qid:q 1:0 # docid = s0\n0 qid:q 1:2 # docid = s2\n"


def test_data_of_any_form_is_converted_to_a_table(call, logs, tmp_path):
    call("fromlogs", str(logs), "--judgments", "judged.csv", "--out", "train.linrank")
    code, out, err = call("convert", "train.linrank", "train.parquet")
    assert (code, err) == (0, "")
    assert out.startswith("train.parquet: 3 queries, 21 documents, 2 features")
    table, data = linrank.read(tmp_path / "train.parquet", docid="docid"), linrank.read(tmp_path / "train.linrank")
    assert table.features.tolist() == data.features.tolist()
    assert (table.names, table.docids) == (data.names, data.docids)
    assert call("convert", "train.linrank", "train.parquet")[0] == 1, "a table cannot be told from a user's own"
