"""Feature logs of every form become the same dataset, whatever they are wrapped in."""

import gzip
import json
import random

import numpy as np
import pytest

import linrank
from linrank import DataFormatError, LinrankError, read_logs
from log_writing import (
    FORMS,
    plugin_hit,
    plugin_response,
    solr_document,
    solr_response,
    vespa_hit,
    vespa_response,
    write_lines,
)

JUDGED = {"rambo": {"7555": 4.0, "1370": 3.0}, "rocky ii": {"1371": 2.0, "1366": 1.0}}


def made_up(seed):
    """Queries with documents and features, some missing, zeros among them; and ratings of most."""
    draw = random.Random(seed)
    names = [f"f{number}" for number in range(6)]
    logged = {
        f"query {q}": {
            f"d{d}": {name: draw.choice([None, 0.0, round(draw.uniform(-2, 2), 4), 3.5e-5]) for name in names}
            for d in draw.sample(range(9), draw.randrange(2, 7))
        }
        for q in range(8)
    }
    judged = {
        query: {docid: float(draw.randrange(4)) for docid in [*documents, "d99"] if draw.random() < 0.7}
        for query, documents in logged.items()
        if query != "query 3"
    }
    return names, logged, {query: documents for query, documents in judged.items() if documents}


def check(dataset, names, logged, judged):
    """By the plainest way: each row is what was logged, with 0 for what is missing, and what was judged."""
    expected = [
        (query, docid, judged[query][docid], {name: value or 0.0 for name, value in features.items()})
        for query, documents in logged.items()
        for docid, features in documents.items()
        if docid in judged.get(query, {})
    ]
    rows = zip(dataset.qid, dataset.docids, dataset.labels, np.asarray(dataset.features), strict=True)
    found = [(q, d, label, dict(zip(dataset.names, row.tolist(), strict=True))) for q, d, label, row in rows]
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    for row, wanted in zip(found, expected, strict=True):
        assert {name: row[3].get(name, 0.0) for name in names} == wanted[3]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wrapping", ["lines", "wrapped", "pretty", "files", "hits", "list", "gz", "named"])
def test_every_form_in_every_wrapping_is_the_same_data(tmp_path, form, wrapping, seed):
    names, logged, judged = made_up(seed)
    document, response = FORMS[form]
    answers = {q: response([document(d, f) for d, f in documents.items()]) for q, documents in logged.items()}
    path = tmp_path / "log.json"
    if wrapping == "lines":
        write_lines(path, *({"qid": query, **answer} for query, answer in answers.items()))
    elif wrapping in ("wrapped", "gz"):
        write_lines(path, *({"query": query, "response": answer} for query, answer in answers.items()))
        if wrapping == "gz":
            path.write_bytes(gzip.compress(path.read_bytes()))
    elif wrapping == "named":
        write_lines(path, *({"when": {"day": 1}, "qid": q, "what it said": {"it": a}} for q, a in answers.items()))
    elif wrapping == "pretty":
        path.write_text("\n".join(json.dumps({"qid": q, "response": a}, indent=1) for q, a in answers.items()))
    elif wrapping == "files":
        path = tmp_path / "logs"
        path.mkdir()
        for query, answer in answers.items():
            (path / f"{query}.json").write_text(json.dumps(answer, indent=2))
    elif wrapping == "hits":
        write_lines(path, *({"qid": q, **document(d, f)} for q, docs in logged.items() for d, f in docs.items()))
    else:
        path.write_text(json.dumps([{"query_id": query, "result": answer} for query, answer in answers.items()]))
    dataset, account = read_logs(path, judged)
    check(dataset, names, logged, judged)
    assert account.logged_documents == sum(map(len, logged.values()))
    assert account.unjudged_queries == ("query 3",)


@pytest.mark.parametrize("form", FORMS)
def test_features_keep_the_engines_names_and_order(tmp_path, form):
    document, response = FORMS[form]
    features = {"with space": 1.0, "com,ma": 2.0, "eq=ual": 3.0, "ünï 日本": 4.0, "bm25(title)": 5.0, "a_1": 6.5e-7}
    log = write_lines(tmp_path / "log", {"qid": 1, "response": response([document("a", features)])})
    dataset, _ = read_logs(log, {"1": {"a": 1.0}})
    assert dataset.names == tuple(features)
    assert np.asarray(dataset.features).tolist() == [list(features.values())]


def test_solrs_query_is_named_by_its_header(tmp_path):
    log = write_lines(
        tmp_path / "log.jsonl",
        solr_response([solr_document("7555", {"f": 1.0})], q="rambo", user="ann"),
        solr_response([solr_document("1371", {"f": 2.0})], q="rocky ii", user="bob"),
    )
    dataset, account = read_logs(log, JUDGED)
    assert dataset.qid.tolist() == ["rambo", "rocky ii"]
    assert account.named_by == "params.q"
    dataset, account = read_logs(log, {"ann": {"7555": 1.0}}, query_from="params.user")
    assert (account.named_by, account.unjudged_queries) == ("params.user", ("bob",))


def test_queries_go_by_the_name_that_is_judged(tmp_path):
    line = {"qid": 17, "query": "rambo", "response": plugin_response([plugin_hit("7555", {"f": 1.0})])}
    log = write_lines(tmp_path / "log", line)
    assert read_logs(log, JUDGED)[1].named_by == "query"
    assert read_logs(log, {"17": {"7555": 1.0}})[1].named_by == "qid"
    with pytest.raises(LinrankError, match="judges none of the queries of the logs: 'x' against '17' by 'qid'"):
        read_logs(log, {"x": {"7555": 1.0}})
    nested = write_lines(tmp_path / "nested", {"request": {"text": "rambo"}, "response": line["response"]})
    assert read_logs(nested, JUDGED, query_from="request.text")[0].n_documents == 1


def test_a_response_whose_query_nobody_names_is_refused_with_its_place(tmp_path):
    answer = plugin_response([plugin_hit("7555", {"f": 1.0})])
    log = write_lines(tmp_path / "log", answer, answer)
    with pytest.raises(DataFormatError, match=r'log:1: nothing says which query it is. Write {"qid"'):
        read_logs(log, JUDGED)
    log = write_lines(tmp_path / "log", {"qid": "rambo", **answer}, answer)
    with pytest.raises(DataFormatError, match="log:2: 'qid' names the query of others, and is not here"):
        read_logs(log, JUDGED)
    several = tmp_path / "rambo.json"
    several.write_text(json.dumps({"responses": [answer, answer]}))
    with pytest.raises(DataFormatError, match="nothing says which query"):
        read_logs(several, JUDGED)
    assert read_logs(several, JUDGED, query_from="file")[1].repeated == 1


def test_a_folder_is_its_logs_and_its_judgements_are_none(tmp_path):
    for name in ("b/rocky ii.json", "a/rambo.json"):
        (tmp_path / name).parent.mkdir()
        docid = "7555" if "rambo" in name else "1366"
        (tmp_path / name).write_text(json.dumps(vespa_response([vespa_hit(docid, {"f": 1.0})])))
    (tmp_path / "README.md").write_text("how they were made")
    judgments = tmp_path / "judged.json"
    judgments.write_text(json.dumps(JUDGED))
    dataset, account = read_logs(tmp_path, judgments)
    assert dataset.qid.tolist() == ["rambo", "rocky ii"]
    assert (account.named_by, account.files) == ("file", 2)
    assert account.not_read == (str(tmp_path / "README.md"),)


def test_documents_of_vespa_are_judged_by_their_whole_id_or_what_the_user_chose(tmp_path):
    hits = [vespa_hit("a:1", {"f": 1.0}), vespa_hit("b", {"f": 2.0}), vespa_hit("c", {"f": 3.0})]
    hits[2]["fields"]["sku"] = "s-3"
    log = write_lines(tmp_path / "log", {"qid": "q", **vespa_response(hits)})
    dataset, _ = read_logs(log, {"q": {"a:1": 1.0, "id:shop:doc::b": 2.0}})
    assert dataset.docids == ["a:1", "id:shop:doc::b"]
    for hit in hits[:2]:
        hit["fields"]["sku"] = hit["id"]
    log = write_lines(tmp_path / "log", {"qid": "q", **vespa_response(hits)})
    assert read_logs(log, {"q": {"s-3": 1.0}}, docid="sku")[0].docids == ["s-3"]


def test_vespas_groups_and_summaries_are_read_and_tensors_refused(tmp_path):
    hit = vespa_hit("a", {"bm25(title)": 1.5, "vespa.summaryFeatures.cached": 0.0}, "summaryfeatures")
    groups = {"root": {"children": [{"id": "group:root:0", "children": [{"id": "hitlist:x", "children": [hit]}]}]}}
    dataset, account = read_logs(write_lines(tmp_path / "log", {"qid": 1, **groups}), {"1": {"a": 1}})
    assert dataset.names == ("bm25(title)",)
    assert account.forms == {"Vespa summaryfeatures": 1}
    hit["fields"]["matchfeatures"] = {"closest(embedding)": {"4": 1.0}}
    log = write_lines(tmp_path / "log", {"qid": 1, **groups})
    with pytest.raises(DataFormatError, match=r"log:1: feature 'closest\(embedding\)' is a tensor.*reduce"):
        read_logs(log, {"1": {"a": 1}})
    assert read_logs(log, {"1": {"a": 1}}, log="summaryfeatures")[0].n_features == 1


def test_solrs_groups_and_a_field_of_another_name(tmp_path):
    document = {"sku": ["s1"], "feats": "a=1.5,b=2.0E-5", "query": "another"}
    grouped = {
        "responseHeader": {"params": {"q": "x y"}},
        "grouped": {"brand": {"groups": [{"doclist": {"docs": [document]}}]}},
    }
    log = write_lines(tmp_path / "log", grouped)
    dataset, account = read_logs(log, {"x y": {"s1": 2.0}}, log="feats", docid="sku")
    assert account.logged_documents == 1
    assert (dataset.names, dataset.features.tolist()) == (("a", "b"), [[1.5, 2e-5]])
    with pytest.raises(DataFormatError, match=r"log:1: a document has no id: its id is None.*docid=…; there are 'sku'"):
        read_logs(log, {"x y": {"s1": 2.0}}, log="feats")


def test_hits_of_an_aggregation_are_no_documents_of_the_response(tmp_path):
    answer = plugin_response([plugin_hit("a", {"f": 1.0})])
    answer["aggregations"] = {"top": {"hits": {"hits": [{"_id": "b", "_source": {}}]}}}
    _, account = read_logs(write_lines(tmp_path / "log", {"qid": 1, **answer}), {"1": {"a": 1}})
    assert (account.logged_documents, account.without_log) == (1, ())


def test_of_several_logs_of_a_hit_one_is_named(tmp_path):
    hit = plugin_hit("a", {"f": 1.0})
    hit["fields"]["_ltrlog"][0]["other"] = [{"name": "g", "value": 2.0}, {"name": "extra_logging", "value": {"x": "y"}}]
    alone = write_lines(tmp_path / "hits", {"qid": 1, **hit})
    log = write_lines(tmp_path / "log", {"qid": 1, **plugin_response([hit])})
    for file in (alone, log):
        with pytest.raises(DataFormatError, match=r":1: there are the logs 'log_entry1', 'other'. Say which with log="):
            read_logs(file, {"1": {"a": 1}})
    dataset, account = read_logs(log, {"1": {"a": 1}}, log="other")
    assert dataset.names == ("g",)
    assert account.forms == {"Elasticsearch / OpenSearch _ltrlog other": 1}


def test_a_form_that_is_told_is_the_only_one_looked_for(tmp_path):
    log = write_lines(tmp_path / "log", {"qid": 1, **solr_response([solr_document("a", {"f": 1.0})])})
    assert read_logs(log, {"1": {"a": 1}}, form="solr")[0].n_documents == 1
    with pytest.raises(
        DataFormatError, match=r"log:1: .* holds no documents of a search engine; looked for _ltrlog of E"
    ):
        read_logs(log, {"1": {"a": 1}}, form="opensearch")
    with pytest.raises(LinrankError, match="form='lucene' is none of solr"):
        read_logs(log, {"1": {"a": 1}}, form="lucene")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"qid": 1, "id": "a", "[features]": "f=1_0"}', "feature 'f' is '1_0', which is no finite number"),
        ('{"qid": 1, "id": "a", "[features]": "f=NaN"}', "feature 'f' is 'NaN', which is no finite number"),
        ('{"qid": 1, "id": "a", "[features]": "f=1e999"}', "feature 'f' is '1e999', which is no finite number"),
        ('{"qid": 1, "id": "a", "[features]": "f=\u0661"}', "feature 'f' is '\u0661', which is no finite number"),
        ('{"qid": 1, "id": "a", "[features]": "f=1,f=1"}', "feature 'f' is there twice for document 'a'"),
        ('{"qid": 1, "id": "a", "[features]": "f:1;g:2"}', "is not of the form name=value"),
        ('{"qid": 1, "id": "a", "[features]": "=1"}', "a feature is called ''"),
        ('{"qid": 1, "id": "a", "[features]": {"f": NaN}}', "feature 'f' of document 'a' is nan, no finite number"),
        ('{"qid": 1, "id": "a", "[features]": {"f": true}}', "is True, no finite number"),
        ('{"qid": 1, "id": "a", "[features]": {"f": "1"}}', "is '1', no finite number"),
        ('{"qid": 1, "id": "a", "[features]": {"f": 1, "f": 2}}', "the key 'f' is there twice in one object"),
        ('{"qid": 1, "qid": 2, "id": "a", "[features]": "f=1"}', "the key 'qid' is there twice in one object"),
        ('{"qid": 1, "id": "a b", "[features]": "f=1"}', "the document id 'a b' is not one word"),
        ('{"qid": 1, "id": "\\ud800", "[features]": "f=1"}', "a document has no id"),
        ('{"qid": 1, "id": "a", "[features]": "f=1"', "is not JSON"),
        ('{"qid": 1, "id": "a", "[features]": "f=' + "1" * 5000 + '"}', "no finite number"),
        ('{"qid": 1, "id": ' + "1" * 5000 + ', "[features]": "f=1"}', "is not JSON"),
        ("[" * 100_000, "is nested too deep"),
        ('{"response": ' * 900 + "1" + "}" * 900, "is nested too deep|holds no documents"),
        ('"text"', "'text' holds no documents of a search engine; looked for Solr's '\\[features\\]', _ltrlog of"),
        ('{"_id": "a", "qid": 1, "fields": {"_ltrlog": [{"x": [{"value": 1}]}]}}', "no name with a value"),
        ('{"_id": "a", "qid": 1, "fields": {"_ltrlog": [{"x": 3}]}}', "not a list of names and values"),
    ],
)
def test_a_line_that_cannot_be_used_is_refused_with_its_place(tmp_path, line, fault):
    log = tmp_path / "log.jsonl"
    good = '{"qid": 1, "id": "z", "[features]": "f=1"}'
    log.write_text(f"{good}\n\n{line}\n{good}\n", encoding="utf-8")
    with pytest.raises(DataFormatError, match=rf"log\.jsonl:3: .*(?:{fault})"):
        read_logs(log, {"1": {"z": 1}})


def test_what_is_no_text_is_refused_with_its_place(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b'{"qid": 1, "id": "a", "[features]": "f=1"}\n{"qid": "caf\xe9"}\n')
    with pytest.raises(DataFormatError, match=r"log:2: .*caf.* is not UTF-8 text"):
        read_logs(log, {"1": {"a": 1}})
    log.write_bytes(b"PAR1 and so on")
    with pytest.raises(DataFormatError, match="this is a Parquet file, not JSON"):
        read_logs(log, {"1": {"a": 1}})
    log.write_bytes(b" \n\n")
    with pytest.raises(DataFormatError, match="holds no JSON, only blanks"):
        read_logs(log, {"1": {"a": 1}})
    with pytest.raises(LinrankError, match="there is no such file"):
        read_logs(tmp_path / "none", {"1": {"a": 1}})
    (tmp_path / "empty").mkdir()
    with pytest.raises(LinrankError, match="this folder holds no"):
        read_logs(tmp_path / "empty", {"1": {"a": 1}})


def test_a_first_line_that_is_cut_off_is_the_one_to_blame(tmp_path):
    log = tmp_path / "log"
    log.write_text('{"qid": 1, "id": "a", "[features]": "f=1"\n{"qid": 1, "id": "b", "[features]": "f=1"}\n')
    with pytest.raises(DataFormatError, match="log:1: is not JSON"):
        read_logs(log, {"1": {"a": 1}})
    log.write_text('{"qid": 1,\n "id": "a",\n "[features]" "f=1"}')
    with pytest.raises(DataFormatError, match="log:3: is not JSON"):
        read_logs(log, {"1": {"a": 1}})


def test_large_numbers_whose_sum_is_not_finite_are_numbers(tmp_path):
    features = {"f": 1.7e308, "g": 1.7e308, "h": 3}
    log = write_lines(tmp_path / "log", *({"qid": 1, **made("a", features)} for made in (solr_document, plugin_hit)))
    dataset, account = read_logs(log, {"1": {"a": 1}})
    assert dataset.features.tolist() == [[1.7e308, 1.7e308, 3.0]]
    assert account.repeated == 1


def test_keys_given_twice_matter_only_where_they_are_read(tmp_path):
    log = tmp_path / "log"
    log.write_text('{"qid": 1, "facets": {"a": 1, "a": 2}, "response": {"docs": [{"id": "a", "[features]": "f=1"}]}}')
    assert read_logs(log, {"1": {"a": 1}})[0].n_documents == 1


def test_many_features_of_which_few_are_there_are_held_sparse(tmp_path):
    rows = ({"qid": 1, **solr_document(f"d{n}", {f"f{n}": 1.0 + n, "all": 0.5})} for n in range(60))
    log = write_lines(tmp_path / "log", *rows)
    judged = {"1": {f"d{n}": n % 3 for n in range(60)}}
    sparse, _ = read_logs(log, judged)
    dense, _ = read_logs(log, judged, missing="query_min")
    assert sparse.is_sparse
    assert not dense.is_sparse
    there = sparse.features.toarray() != 0
    assert (sparse.features.toarray()[there] == dense.features[there]).all()
    assert dense.features[0, 3] == 3.0


def test_what_is_missing_follows_the_rule(tmp_path):
    hits = [plugin_hit("a", {"f": 2.0, "g": None}), plugin_hit("b", {"f": None, "g": 1.0})]
    log = write_lines(tmp_path / "log", {"qid": 1, **plugin_response(hits)})
    judged = {"1": {"a": 1, "b": 0}}
    dataset, account = read_logs(log, judged)
    assert dataset.features.tolist() == [[2.0, 0.0], [0.0, 1.0]]
    assert (dataset.missing, account.missing) == (0.0, {"f": 1, "g": 1})
    assert read_logs(log, judged, missing="query_min")[0].features.tolist() == [[2.0, 1.0], [2.0, 1.0]]
    assert np.isnan(read_logs(log, judged, missing="keep")[0].features).sum() == 2
    with pytest.raises(LinrankError, match="feature 'g' has no value"):
        read_logs(log, judged, missing="error")
    with pytest.raises(LinrankError, match="is no rule"):
        read_logs(log, judged, missing="nothing")


def test_what_is_read_can_be_saved_with_its_names(tmp_path):
    names, logged, judged = made_up(7)
    log = write_lines(
        tmp_path / "log",
        *({"qid": q, **solr_response([solr_document(d, f) for d, f in docs.items()])} for q, docs in logged.items()),
    )
    dataset, _ = read_logs(log, judged)
    linrank.save_dataset(dataset, tmp_path / "train.linrank")
    again = linrank.read(tmp_path / "train.linrank")
    assert set(again.names) == set(names)
    assert again.docids == dataset.docids
    assert again.fingerprint() == dataset.fingerprint()
