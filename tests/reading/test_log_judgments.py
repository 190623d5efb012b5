"""Judgements are the same from wherever they are read, and strict about numbers."""

import gzip
import json

import pytest

from linrank import DataFormatError, LinrankError
from linrank.reading.logs.judgments import read_judgments

LABELS = {"star wars": {"11": 3.0, "1891": 2.0}, "rambo": {"7555": 0.5}}
ROWS = [(query, docid, label) for query, documents in LABELS.items() for docid, label in documents.items()]


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("quepid.csv", "query,docid,rating\nstar wars,11,3.0\nstar wars,1891,2\nrambo,7555,0.5\n"),
        ("bom.csv", "\ufeffquery,docid,rating\r\nstar wars,11,3.0\r\nstar wars,1891,2\r\nrambo,7555,0.5\r\n"),
        ("detail.csv", "Team Name,Query Text,Doc ID,Rating\nt,star wars,11,3\nt,star wars,1891,2\nt,rambo,7555,.5\n"),
        ("excel.csv", 'Query;Doc_ID;Grade\n"star wars";11;3\nstar wars;1891;2\nrambo;7555;5e-1\n'),
        ("judged.tsv", "qid\tdocument-id\tlabel\nstar wars\t11\t3\nstar wars\t1891\t2\nrambo\t7555\t0.5\n"),
        ("rows.json", json.dumps([{"query": q, "docid": d, "rating": r} for q, d, r in ROWS])),
        ("map.json", json.dumps(LABELS)),
        (
            "rre.json",
            json.dumps(
                {
                    "id_field": "id",
                    "topics": [
                        {
                            "query_groups": [
                                {
                                    "queries": [{"placeholders": {"$query": "star wars", "$x": "y"}}],
                                    "relevant_documents": {"3": ["11"], "2": [1891]},
                                },
                                {
                                    "queries": [{"placeholders": {"$text": "rambo"}}],
                                    "relevant_documents": {"7555": {"gain": 0.5}},
                                },
                            ]
                        }
                    ],
                }
            ),
        ),
    ],
)
def test_every_form_of_file_gives_the_same_labels(tmp_path, name, text):
    path = written(tmp_path / name, text)
    assert read_judgments(path).labels == LABELS
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_judgments(path).labels == LABELS


def test_qrels_and_tables(tmp_path):
    qrels = written(tmp_path / "qrels.txt", "1 0 a 2\n1 0 b 0\n2 0 a 1\n")
    assert read_judgments(qrels).labels == {"1": {"a": 2.0, "b": 0.0}, "2": {"a": 1.0}}
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"when": [1, 2], "qid": [1, 2], "docid": ["a", "b"], "label": [1.5, 0.0]})
    assert read_judgments(frame).labels == {"1": {"a": 1.5}, "2": {"b": 0.0}}
    frame.to_parquet(tmp_path / "judged.parquet")
    frame.to_feather(tmp_path / "judged.feather")
    for name in ("judged.parquet", "judged.feather"):
        assert read_judgments(tmp_path / name).labels == {"1": {"a": 1.5}, "2": {"b": 0.0}}
    with pytest.raises(LinrankError, match=r"the docid 1\.5 is neither a text nor a whole number"):
        read_judgments(frame, ["qid", "label", "when"])


def test_columns_are_named_where_their_names_do_not_tell(tmp_path):
    path = written(tmp_path / "judged.csv", "qid,query,doc,stars\n1,star wars,11,3\n2,rambo,7555,1\n")
    with pytest.raises(
        DataFormatError,
        match=r"judged\.csv:1: several columns could be the query.*Name all three with judgment_columns=",
    ):
        read_judgments(path)
    assert read_judgments(path, ["qid", "doc", "stars"]).labels == {"1": {"11": 3.0}, "2": {"7555": 1.0}}
    with pytest.raises(DataFormatError, match="there is no one column 'star'; the columns are 'qid', 'query'"):
        read_judgments(path, ["qid", "doc", "star"])
    with pytest.raises(LinrankError, match=r"judgment_columns=\['qid'\]; name three"):
        read_judgments(path, ["qid"])
    path = written(tmp_path / "judged.csv", "query,docid,stars\n1,a,1\n")
    with pytest.raises(DataFormatError, match="no column is called like the rating"):
        read_judgments(path)


def test_what_is_judged_twice_or_not_at_all_is_counted(tmp_path):
    text = "query,docid,rating\nq,a,1\nq,a,1.0\nq,b,1\nq,b,2\nq,c,\nq,,\n\nr,d,NaN\n"
    with pytest.raises(DataFormatError, match=r"judged\.csv:9: the rating 'NaN' is not a finite number"):
        read_judgments(written(tmp_path / "judged.csv", text))
    judged = read_judgments(written(tmp_path / "judged.csv", text.replace("NaN", "0")))
    assert judged.labels == {"q": {"a": 1.0, "b": 2.0}, "r": {"d": 0.0}}
    assert (judged.repeated, judged.contradicting, judged.unrated) == (1, [("q", "b")], [("q", "c"), ("q", "")])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("query,docid,rating\nq,a,1_0\n", r":2: the rating '1_0' is not a finite number"),
        ("query,docid,rating\nq,a,inf\n", r":2: the rating 'inf' is not a finite number"),
        ("query,docid,rating\nq,a\n", r":2: 2 fields instead of 3"),
        ('query,docid,rating\nq,"a"b,1\n', r":2: is not CSV"),
        ("query,docid,rating\n", "judges no document"),
        ("1 0 a 2\n1 0 a 3\n", r":2: document 'a' was given before"),
        ('{"q": {"a": 1, "a": 2}}', "the key 'a' is there twice"),
        ('{"q": {"a": true}}', "the rating True is not a finite number"),
        ('{"q": [1]}', "is JSON, but neither ratings of RRE"),
        ('{"topics": [1]}', "topics is not a list of objects"),
        ('{"query_groups": [{"queries": [{"x": 1}], "relevant_documents": {"1": ["a"]}}]}', "has no placeholder"),
        ('{"query_groups": [{"queries": [], "relevant_documents": {"x": ["a"]}}]}', "the gain 'x' is not a finite"),
        ('{"query_groups": [{"queries": [], "relevant_documents": {"x": 1}}]}', "has 'x' without a gain"),
        ('{"query_groups": [{"queries": [], "relevant_documents": 7}]}', "relevant_documents is '7', not an object"),
        ("caf\xe9", "is not UTF-8 text"),
    ],
)
def test_judgements_that_cannot_be_used_are_refused_with_their_place(tmp_path, text, fault):
    path = tmp_path / "judged"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataFormatError, match=rf"judged.*{fault}"):
        read_judgments(path)


@pytest.mark.parametrize(("name", "form"), [("j.parquet", "Parquet"), ("j.arrow", "Arrow"), ("j.feather", "Arrow")])
def test_a_damaged_table_is_refused_by_its_name(tmp_path, name, form):
    pytest.importorskip("pyarrow")
    with pytest.raises(DataFormatError, match=f"{name}: is not {form} that can be read"):
        read_judgments(written(tmp_path / name, "nothing of the kind"))
