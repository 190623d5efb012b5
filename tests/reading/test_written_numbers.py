"""A number in a file is one in every file: the same spellings are taken, and the same refused, with file and line."""

import json

import pytest

from linrank import DataFormatError, LinrankError, import_model, read, read_logs
from linrank.cli.path import read_costs
from linrank.cli.wanted import read_bounds
from linrank.fusing.columns import columns_of
from linrank.reading.logs.judgments import read_judgments
from linrank.reading.scores import read_scores
from linrank.reading.trec import read_qrels, read_run
from log_writing import solr_response

NUMBERS = ["1", "-2", "+3", ".5", "4.", "1e3", "-1.25E-2", "007", "0", "1" + "0" * 60]
# What Python's float() takes besides, and what it takes for infinite or for no number at all.
NO_NUMBERS = ["1_0", "٣", "\uff11", "0x10", "infinity", "1e999", "-1e999", "1e", "e1", "1.5.2", "--1", "1,5", ".", "x"]


def log_of(text):
    return json.dumps({"qid": "q", **solr_response([{"id": "d", "[features]": f"a={text}"}])})


def csv_of(path):
    return path.rename(path.with_suffix(".csv"))


def hit_score(path):
    return columns_of(csv_of(path)).numbers(("score",))[0]


# Of each reader, a text with a number on line 1 (or on `line`), and how to get at it.
READERS = {
    "a score of a table of hits": (
        lambda text: f'query,document,leg,score\nq,d,a,"{text}"\n', 2, hit_score,
    ),
    "a signal": (
        lambda text: f'document,clicks\nd,"{text}"\n', 2, lambda path: columns_of(csv_of(path)).numbers_of("clicks")[0],
    ),
    "a label of text": (lambda text: f"{text} qid:1 1:1\n", 1, lambda path: read(path).labels[0]),
    "a value of text": (lambda text: f"1 qid:1 1:{text}\n", 1, lambda path: read(path).features[0, 0]),
    "a score": (lambda text: f"{text}\n", 1, lambda path: read_scores(path)[0]),
    "a label of qrels": (lambda text: f"q 0 d {text}\n", 1, lambda path: read_qrels(path)["q"]["d"]),
    "a score of a run": (lambda text: f"q Q0 d 1 {text} t\n", 1, lambda path: read_run(path)["q"]["d"]),
    "a cost": (lambda text: f"a {text}\n", 1, lambda path: read_costs(str(path), ["a"])[0]),
    "a bound": (lambda text: f"a {text} *\n", 1, lambda path: read_bounds(str(path), ["a"])["a"][0]),
    "a rating": (
        lambda text: f'query,docid,rating\nq,d,"{text}"\n', 2, lambda path: read_judgments(path).labels["q"]["d"],
    ),
    "a weight of CSV": (lambda text: f'feature,weight\na,"{text}"\n', 2, lambda path: import_model(path).weights[0]),
    "a weight of RankLib": (
        lambda text: f"## Coordinate Ascent\n1:{text}\n", 2, lambda path: import_model(path).weights[0],
    ),
    "a weight of LIBLINEAR": (
        lambda text: f"solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 1\nbias -1\nw\n{text}\n", 6,
        lambda path: import_model(path).weights[0],
    ),
    "a feature of Solr's log": (
        log_of, 1, lambda path: read_logs(path, {"q": {"d": 1}})[0].features[0, 0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_numbers_are_what_python_makes_of_them(reader, tmp_path):
    written, _, number_in = READERS[reader]
    for text in NUMBERS:
        path = tmp_path / "file"
        path.write_text(written(text), encoding="utf-8")
        assert float(number_in(path)) == float(text)


@pytest.mark.parametrize("text", NO_NUMBERS)
@pytest.mark.parametrize("reader", READERS)
def test_what_only_looks_like_a_number_is_refused_by_file_and_line(reader, text, tmp_path):
    written, line, number_in = READERS[reader]
    path = tmp_path / "file"
    path.write_text(written(text), encoding="utf-8")
    if reader == "a feature of Solr's log" and text == "1,5":
        pytest.skip("a comma ends the feature")
    with pytest.raises(LinrankError) as refused:
        number_in(path)
    assert isinstance(refused.value, DataFormatError)
    name = path if path.exists() else path.with_suffix(".csv")
    assert str(refused.value).startswith(f"{name}:{line}: ")


@pytest.mark.parametrize("text", [*NO_NUMBERS[:4], "1e999", "infinity", "x"])
@pytest.mark.parametrize("column", ["label", "a"])
def test_tables_of_text_refuse_them_too(column, text, tmp_path):
    path = tmp_path / "table.csv"
    row = {"label": "1", "qid": "1", "a": "1", "b": "2"} | {column: text}
    path.write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n", encoding="utf-8")
    with pytest.raises(DataFormatError, match=r"table\.csv"):
        read(path)
