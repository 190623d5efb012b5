import gzip
import math
import os
import re
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import DataFormatError, LinrankError
from linrank.reading.trec import read_qrels, read_run, read_trec, write_run

QRELS = "q2 0 d1 1\nq2 0 d9 3\nq1 0 d1 -2\nq1\t0\td2\t0.5\r\n\n"
BM25 = "q1 Q0 d2 1 12.5 bm25\nq1 Q0 d1 2 3e-1 bm25\nq2 Q0 d1 1 7 bm25\n"
DENSE = "q2 Q0 d5 1 -0.5 ann\nq1 Q0 d3 1 0.75 ann\nq1 Q0 d2 2 0.25 ann\n"


@pytest.fixture
def files(tmp_path):
    def write(**texts):
        paths = {name: tmp_path / f"{name}.txt" for name in texts}
        for name, text in texts.items():
            paths[name].write_bytes(text if isinstance(text, bytes) else text.encode())
        return list(paths.values())

    return write


def test_qrels_are_labels_by_query_and_document(files):
    (path,) = files(qrels=QRELS)
    assert read_qrels(path) == {"q2": {"d1": 1, "d9": 3}, "q1": {"d1": -2, "d2": 0.5}}


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_a_pipe_is_read_as_a_file_is(tmp_path, packed):
    os.mkfifo(tmp_path / "pipe")
    writing = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(packed(QRELS.encode()),))
    writing.start()
    assert read_qrels(tmp_path / "pipe") == {"q2": {"d1": 1, "d9": 3}, "q1": {"d1": -2, "d2": 0.5}}
    writing.join()


def test_runs_are_scores_by_query_and_document_in_the_order_of_the_file(files):
    (path,) = files(bm25=BM25)
    run = read_run(str(path))
    assert run == {"q1": {"d2": 12.5, "d1": 0.3}, "q2": {"d1": 7}}
    assert list(run["q1"]) == ["d2", "d1"]


def test_compressed_files_byte_order_marks_and_other_scripts_are_read(files):
    plain, compressed, marked = files(
        plain=QRELS, compressed=gzip.compress(QRELS.encode(), mtime=0), marked="\ufeff" + QRELS
    )
    assert read_qrels(compressed) == read_qrels(marked) == read_qrels(plain)
    (path,) = files(other="größe Q0 文書\N{NO-BREAK SPACE}1 1 2.0 tag\n")
    assert read_run(path) == {"größe": {"文書\N{NO-BREAK SPACE}1": 2.0}}
    assert read_trec(None, [path]).docids == ["文書\N{NO-BREAK SPACE}1"]


@pytest.mark.parametrize(
    ("read", "text", "line", "message"),
    [
        (read_qrels, "q 0 d 1\nq 0 d2\n", 2, r"3 fields instead of 4; a line of qrels is: qid 0 docid label\. Ids"),
        (read_qrels, "\nq 0 d high\n", 2, r"the label 'high' is not a finite number; .* Mend or drop the line\."),
        (read_qrels, "q 0 d nan\n", 1, "the label 'nan' is not a finite number"),
        (read_qrels, "q 0 d 1_0\n", 1, "the label '1_0' is not a finite number"),
        (read_qrels, "q 0 d 1\nq 0 e 1\nq 0 d 1\n", 3, r"document 'd' was given before for query 'q'; .* Drop one"),
        (read_qrels, b"q 0 \xff 1\n", 1, r"b'q 0 \\xff 1' is not UTF-8 text\. Convert the file"),
        (read_qrels, "\n \n", None, r"is empty; a line of qrels is"),
        (read_qrels, "", None, r"the file is empty"),
        (read_run, "q Q0 d 1 0.5\n", 1, r"5 fields instead of 6; a line of a run is: qid Q0 docid rank score tag\."),
        (read_run, "q Q0 d 1 x t\n", 1, "the score 'x' is not a finite number"),
        (read_run, "q Q0 d 1 ٣ t\n", 1, "the score '٣' is not a finite number"),
        (read_run, "q Q0 d ٣ 1 t\n", 1, "the rank '٣' is not a whole number"),
        (read_run, "q Q0 d 1 inf t\n", 1, "the score 'inf' is not a finite number"),
        (read_run, "q Q0 d 0.5 1 t\n", 1, r"the rank '0\.5' is not a whole number; .* Check the order of the fields\."),
        (read_run, "q Q0 d 1 1 t\nq Q0 d 2 0 t\n", 2, "document 'd' was given before"),
        (
            read_qrels,
            gzip.compress(QRELS.encode() * 99, mtime=0)[:40],
            None,
            r"the gzip file is cut off before its end\. Copy or download it again",
        ),
        (read_qrels, b"\x1f\x8b" + b"x" * 40, None, r"the gzip file is damaged "),
    ],
)
def test_errors_name_file_line_value_and_remedy(files, read, text, line, message):
    (path,) = files(data=text)
    place = re.escape(str(path) if line is None else f"{path}:{line}")
    with pytest.raises(DataFormatError, match=f"^{place}: {message}") as error:
        read(path)
    assert error.value.line == line


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataFormatError, match=r"nothing: there is no such file\. Check the path\."):
        read_run(tmp_path / "nothing")


def test_a_dataset_has_one_feature_a_run_and_one_row_a_retrieved_document(files):
    qrels, bm25, dense = files(qrels=QRELS, bm25=BM25, dense=DENSE)
    data = read_trec(qrels, [bm25, dense])
    assert data.feature_names == ("bm25", "dense")
    assert list(zip(data.qid, data.docids, data.labels, strict=True)) == [
        ("q1", "d2", 0.5),
        ("q1", "d1", -2.0),
        ("q1", "d3", 0.0),
        ("q2", "d1", 1.0),
        ("q2", "d5", 0.0),
    ]
    # A missing score is the run's least of the query.
    assert data.features.tolist() == [[12.5, 0.25], [0.3, 0.25], [0.3, 0.75], [7, -0.5], [7, -0.5]]
    assert data.comments[0] == "docid = d2"


def test_runs_may_be_named_and_files_named_twice_must_be(files, tmp_path):
    qrels, bm25, dense = files(qrels=QRELS, bm25=BM25, dense=DENSE)
    assert read_trec(qrels, {"lexical": bm25, "vector": dense}).feature_names == ("lexical", "vector")
    (tmp_path / "bm25.run.gz").write_bytes(gzip.compress(BM25.encode(), mtime=0))
    assert read_trec(qrels, [str(tmp_path / "bm25.run.gz")]).feature_names == ("bm25",)
    with pytest.raises(
        LinrankError, match=r"bm25\.txt and .*bm25\.run\.gz would both be named 'bm25'\. Pass a mapping"
    ):
        read_trec(qrels, [bm25, tmp_path / "bm25.run.gz"])


def test_a_run_that_does_not_know_a_query_scores_it_0(files):
    qrels, bm25, dense = files(qrels=QRELS, bm25=BM25, dense="q1 Q0 d2 1 0.5 ann\n")
    assert read_trec(qrels, [bm25, dense]).features[:, 1].tolist() == [0.5, 0.5, 0]


def test_judged_documents_that_no_run_retrieved_are_kept_as_labels(files):
    qrels, bm25, dense = files(qrels=QRELS + "q1 0 d8 0\nq1 0 d6 2\n", bm25=BM25, dense=DENSE)
    missed = read_trec(qrels, [bm25, dense]).unretrieved
    assert (missed.labels.tolist(), missed.starts.tolist()) == ([0, 2, 3], [0, 2, 3])
    (all_found,) = files(all_found="q1 0 d2 1\nq2 0 d1 1\n")
    assert read_trec(all_found, [bm25, dense]).unretrieved is None


def test_queries_on_one_side_only_are_left_out_with_a_warning(files):
    qrels, bm25 = files(qrels=QRELS, bm25=BM25 + "q3 Q0 d7 1 1 bm25\n")
    with pytest.warns(UserWarning, match=r"1 of the runs' 3 queries are not judged and are left out: 'q3'\. To score"):
        assert read_trec(qrels, [bm25]).queries.ids.tolist() == ["q1", "q2"]
    qrels, bm25 = files(qrels=QRELS + "".join(f"t{n} 0 d 1\n" for n in range(5)), bm25=BM25)
    with pytest.warns(UserWarning, match=r"5 of 7 judged queries .* left out: 't0', 't1', 't2', …\. Means are over"):
        read_trec(qrels, [bm25])
    qrels, dense = files(qrels=QRELS, dense=DENSE)
    with pytest.warns(UserWarning, match="1 of 2 judged queries have no document here and are left out: 'q2'"):
        assert read_trec(qrels, [dense], judged_only=True).docids == ["d2"]


def test_missing_scores_follow_the_rule(files):
    qrels, bm25, dense = files(qrels=QRELS, bm25=BM25, dense=DENSE)
    assert read_trec(qrels, [bm25, dense], missing=-9).features[:, 1].tolist() == [0.25, -9, 0.75, -9, -0.5]
    assert np.isnan(read_trec(qrels, [bm25, dense], missing="keep").features).sum() == 4
    with pytest.raises(LinrankError, match=r"feature 'dense' has no value \(NaN\) in row 1"):
        read_trec(qrels, [bm25, dense], missing="error")
    with pytest.raises(LinrankError, match="missing='zero' is no rule"):
        read_trec("no such file", ["nor this"], missing="zero")


def test_judged_only_leaves_out_what_is_not_judged(files):
    qrels, bm25, dense = files(qrels=QRELS, bm25=BM25, dense=DENSE)
    data = read_trec(qrels, [bm25, dense], judged_only=True)
    assert list(zip(data.qid, data.docids, strict=True)) == [("q1", "d2"), ("q1", "d1"), ("q2", "d1")]
    with pytest.raises(LinrankError, match=r"judged_only=True needs judgements\. Pass qrels\."):
        read_trec(None, [bm25], judged_only=True)


def test_without_qrels_every_label_is_0(files):
    (bm25,) = files(bm25=BM25)
    assert read_trec(None, [bm25]).labels.tolist() == [0, 0, 0]


def test_qrels_of_other_queries_are_refused(files):
    qrels, bm25 = files(qrels="301 0 d1 1\n302 0 d1 1\n303 0 d 1\n304 0 d 1\n", bm25=BM25)
    message = r"qrels\.txt: judges none of the queries of the runs: '301', '302', '303', … against 'q1', 'q2'\."
    with pytest.raises(LinrankError, match=message):
        read_trec(qrels, [bm25])


@pytest.mark.parametrize(("runs", "message"), [("a.txt", "runs='a.txt' is one file; pass a list"), ([], "no runs")])
def test_runs_are_several(runs, message):
    with pytest.raises(LinrankError, match=message):
        read_trec(None, runs)


def ranked(**options):
    """Two interleaved queries with ties."""
    options = {"comments": ["docid = a", "docid = b inc = 1", "c", "docid=d", "docid = e"]} | options
    return RankingDataset.from_arrays(np.zeros((5, 1)), [0, 1, 0, 2, 1], **{"qid": [7, 3, 7, 7, 3]} | options)


def test_a_run_is_written_by_rank_with_ties_in_the_order_of_the_data(tmp_path):
    scores = np.array([0.1, -1.0, 1 / 3, 0.1, 2.0])
    before = scores.copy()
    write_run(tmp_path / "run.txt", ranked(), scores, tag="mine")
    assert (tmp_path / "run.txt").read_text().splitlines() == [
        "7 Q0 c 1 0.3333333333333333 mine",
        "7 Q0 a 2 0.1 mine",
        "7 Q0 d 3 0.1 mine",
        "3 Q0 e 1 2.0 mine",
        "3 Q0 b 2 -1.0 mine",
    ]
    assert scores.tolist() == before.tolist()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=5, max_size=5))
def test_what_is_written_is_read_again_to_the_last_bit(tmp_path, scores):
    data = ranked()
    write_run(tmp_path / "run.txt", data, scores)
    run = read_run(tmp_path / "run.txt")
    assert [run[str(qid)][docid] for qid, docid in zip(data.qid, data.docids, strict=True)] == scores
    for documents in run.values():
        assert sorted(documents.values(), reverse=True) == list(documents.values())


@pytest.mark.parametrize(
    ("data", "scores", "tag", "message"),
    [
        (ranked(), [1, 2], "t", r"scores have shape \(2,\), but there are 5 documents\. Pass one a document\."),
        (ranked(), [1, 2, 3, math.nan, 5], "t", r"the score in row 3 is nan; scores are finite numbers\."),
        (ranked(), [1, 2, 3, 4, math.inf], "t", r"the score in row 4 is inf"),
        (ranked(), [1, 2, 3, 4, 5], "my run", r"the tag is 'my run'; in a run it is one word\. Give it a name without"),
        (ranked(), [1, 2, 3, 4, 5], "", r"the tag is ''"),
        (
            ranked(comments=None),
            [1, 2, 3, 4, 5],
            "t",
            r"the data has no document ids, which a run needs\. Read it with",
        ),
        (ranked(comments=["a", "b", "c", "", "e"]), [1, 2, 3, 4, 5], "t", r"the document id in row 3 is ''"),
        (ranked(comments=["a", "b", "c", "a", "e"]), [1, 2, 3, 4, 5], "t", r"document 'a' is there twice for query 7"),
        (ranked(qid=["x", "y z", "x", "x", "x"]), [1, 2, 3, 4, 5], "t", r"the query id is 'y z'"),
    ],
)
def test_what_no_run_can_hold_is_refused_and_nothing_is_written(tmp_path, data, scores, tag, message):
    with pytest.raises(LinrankError, match=message):
        write_run(tmp_path / "run.txt", data, scores, tag)
    assert list(tmp_path.iterdir()) == []


def test_peers_read_the_same_files(files, tmp_path):
    ir_measures = pytest.importorskip("ir_measures")
    qrels, bm25 = files(qrels=QRELS.replace("0.5", "1"), bm25=BM25)
    theirs = {(line.query_id, line.doc_id): line.score for line in ir_measures.read_trec_run(str(bm25))}
    assert {(q, d): score for q, docs in read_run(bm25).items() for d, score in docs.items()} == theirs
    labels = {(line.query_id, line.doc_id): line.relevance for line in ir_measures.read_trec_qrels(str(qrels))}
    assert {(q, d): label for q, docs in read_qrels(qrels).items() for d, label in docs.items()} == labels
    write_run(tmp_path / "run.txt", ranked(), [5, 4, 3, 2, 1])
    assert [line.doc_id for line in ir_measures.read_trec_run(str(tmp_path / "run.txt"))] == ["a", "c", "d", "b", "e"]
