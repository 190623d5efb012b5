"""What became of every logged document and every judgement is counted and listed."""

import json

import pytest

from linrank import LinrankError, evaluate, read_logs
from log_writing import plugin_hit, plugin_response, solr_document, solr_response, vespa_response, write_lines


@pytest.fixture
def log(tmp_path):
    """A log with all that can be the matter with one."""

    def answer(*documents, **params):
        return solr_response([solr_document(docid, features) for docid, features in documents], **params)

    lines = [
        answer(("a", {"f": 1.0, "g": 5.0}), ("b", {"f": 2.0, "g": 5.0}), ("c", {"f": 3.0, "g": 5.0}), q="one"),
        answer(("a", {"g": 5.0, "f": 1.0}), ("b", {"f": 2.5, "g": 5.0}), q="one"),
        answer(("x", {"f": 1.0, "g": 5.0}), q="two"),
        answer(("y", {"f": 1.0, "g": 5.0}), q="three"),
        answer(q="four"),
        answer(("d", {"g": 5.0}), ("e", {"f": 4.0, "g": 5.0}), q="five"),
        {"responseHeader": {"status": 400, "params": {"q": "six"}}, "error": {"msg": "undefined field"}},
    ]
    lines[5]["response"]["docs"].append({"id": "bare"})
    return write_lines(tmp_path / "log.jsonl", *lines)


JUDGED = {"one": {"a": 2, "b": 1, "gone": 3}, "two": {"z": 1}, "five": {"d": 1, "e": 0}, "seven": {"a": 1}}


def test_every_document_and_judgement_is_accounted_for(log):
    dataset, account = read_logs(log, JUDGED)
    assert list(zip(dataset.qid, dataset.docids, dataset.labels, dataset.features[:, 0], strict=True)) == [
        ("one", "a", 2.0, 1.0),
        ("one", "b", 1.0, 2.5),
        ("five", "d", 1.0, 0.0),
        ("five", "e", 0.0, 4.0),
    ]
    assert (account.logged_queries, account.logged_documents) == (4, 9)
    assert account.repeated == 1
    assert account.contradicting == (("one", "b"),)
    assert account.unjudged == (("one", "c"), ("two", "x"))
    assert account.unjudged_queries == ("three",)
    assert account.no_judged_document == ("two",)
    assert account.empty == ("four",)
    assert account.without_log == (("five", "bare"),)
    assert account.failed == (f"{log}:7: {{'msg': 'undefined field'}}",)
    assert account.judged_not_logged == (("one", "gone"),)
    assert account.queries_not_logged == ("seven",)
    assert account.missing == {"f": 1}
    assert account.constant_features == ("g",)
    assert (account.queries, account.documents, account.features) == (2, 4, 2)
    json.dumps(account.as_dict(), allow_nan=False)


def test_logs_and_judgements_add_up(log):
    for unjudged in ("drop", "zero"):
        dataset, account = read_logs(log, JUDGED, unjudged=unjudged)
        of_unjudged_queries = 1
        dropped = len(account.unjudged) if unjudged == "drop" else 0
        again = account.repeated + len(account.contradicting)
        assert account.logged_documents == dataset.n_documents + again + dropped + of_unjudged_queries
        left_out = {*account.queries_not_logged, *(account.no_judged_document if unjudged == "drop" else ())}
        judged = sum(len(documents) for query, documents in JUDGED.items() if query not in left_out)
        rated = dataset.n_documents - (0 if unjudged == "drop" else len(account.unjudged))
        assert judged == rated + len(account.judged_not_logged)


def test_what_nobody_judged_may_have_the_label_0(log):
    dataset, account = read_logs(log, JUDGED, unjudged="zero")
    assert list(zip(dataset.qid, dataset.docids, dataset.labels, strict=True))[2:4] == [
        ("one", "c", 0.0),
        ("two", "x", 0.0),
    ]
    assert account.no_judged_document == ("two",)
    assert account.unjudged_queries == ("three",)
    with pytest.raises(LinrankError, match='unjudged=\'one\'; use "drop" or "zero"'):
        read_logs(log, JUDGED, unjudged="one")


def test_measures_count_judged_documents_in_no_log_as_missed(log):
    dataset, _ = read_logs(log, {"one": {"a": 1, "gone": 1}})
    assert dataset.unretrieved.labels.tolist() == [1.0]
    assert list(evaluate([1.0], dataset, "map").mean.values()) == [0.5]


def test_the_account_is_short_in_words(log):
    _, account = read_logs(log, JUDGED)
    assert str(account).splitlines() == [
        "logs: Solr [features] (9); 9 documents of 4 queries, known by 'params.q'",
        "judgements: 7 documents of 4 queries",
        "- documents logged again with the same values, one kept: 1",
        f"- responses that only say what went wrong: 1 ({log}:7: {{'msg': 'undefined field'}})",
        "- responses without documents: 1 (four)",
        "- documents of responses without features, left out: 1 (five / bare)",
        "- documents logged again with other values, the last kept: 1 (one / b)",
        "- logged queries without judgements, left out: 1 (three)",
        "- queries with no judged document among those logged, left out: 1 (two)",
        "- logged documents not judged, left out: 2 (one / c, two / x)",
        "- judged queries without a logged document, left out: 1 (seven)",
        "- judged documents in no log, which measures count as missed: 1 (one / gone)",
        "- features missing from some documents, filled with 0: 1 (f from 1)",
        "- features with one value everywhere, which cannot rank: 1 (g)",
    ]


def test_responses_without_documents_are_told_in_every_form(tmp_path):
    hit = {"qid": "x", **plugin_hit("a", {"f": 1.0})}
    empties = [solr_response([]), plugin_response([]), vespa_response([])]
    log = write_lines(tmp_path / "log", hit, *({"qid": n, "response": empty} for n, empty in enumerate(empties)))
    assert read_logs(log, {"x": {"a": 1}})[1].empty == ("0", "1", "2")


def test_an_engines_error_is_no_empty_response(tmp_path):
    errors = [
        {"error": {"type": "index_not_found_exception"}, "status": 404},
        {"root": {"id": "toplevel", "errors": [{"code": 12, "summary": "Timed out"}]}},
    ]
    hit = {"qid": "x", **plugin_hit("a", {"f": 1.0})}
    log = write_lines(tmp_path / "log", *errors, hit, {"qid": 3, "response": errors[0]})
    account = read_logs(log, {"x": {"a": 1}})[1]
    assert [said.split(":")[1] for said in account.failed] == ["1", "2", "4"]
    assert account.empty == ()


def test_judgements_of_other_documents_are_refused(log):
    with pytest.raises(LinrankError, match=r"no logged document is judged: 'a', 'b', 'c' … are logged.*docid="):
        read_logs(log, {"one": {"A": 1}})


def test_a_log_without_a_single_feature_is_refused(tmp_path):
    log = write_lines(tmp_path / "log", {"qid": 1, "id": "a", "[features]": ""})
    with pytest.raises(LinrankError, match="no document has a feature"):
        read_logs(log, {"1": {"a": 1}})
