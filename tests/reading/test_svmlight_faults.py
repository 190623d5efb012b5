"""svmlight text that breaks its format: each fault is named with file, line, value and remedy."""

import gzip
import os
import subprocess
import sys

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linrank.errors import DataFormatError, LinrankError, MissingDependencyError
from linrank.reading import byte_source, svmlight
from linrank.reading.svmlight import read_svmlight

GOOD = "1 qid:7 1:0.5 2:3 # good\n"

# name: the bad line, then what the message says.
BAD_LINES = {
    "missing label": ("qid:7 1:0.5", "starts with 'qid:7'; a label comes first"),
    "missing label and qid": ("1:0.5 2:3", "starts with '1:0.5'; a label comes first"),
    "label is a word": ("good qid:7 1:1", "the label 'good' is not a number"),
    "label is nan": ("nan qid:7 1:1", "the label is 'nan'; every document needs a label"),
    "label is NULL": ("NULL qid:7 1:1", "the label is 'NULL'; every document needs a label"),
    "label is infinite": ("-inf qid:7 1:1", "the label '-inf' is infinite"),
    "label overflows": ("1e999 qid:7 1:1", "the label '1e999' is too large for a double"),
    "label overflows after rounding": ("1.7976931348623159e308 qid:7 1:1", "is too large for a double"),
    "label is hexadecimal": ("0x1F qid:7 1:1", "the label '0x1F' is hexadecimal"),
    "label has two points": ("1.2.3 qid:7 1:1", "the label '1.2.3' is not a number"),
    "label has two signs": ("--1 qid:7 1:1", "the label '--1' is not a number"),
    "label is a sign": ("- qid:7 1:1", "the label '-' is not a number"),
    "label is a point": (". qid:7 1:1", "the label '.' is not a number"),
    "label with a comma": ("0,5 qid:7 1:1", "the label '0,5' holds a comma"),
    "label glued to the qid": ("1qid:7 1:1", "starts with '1qid:7'; a label comes first"),
    "a line of a CSV table": ("1,7,0.5,3", "looks like a table with commas"),
    "the names of a CSV table": ("label,qid,f1", 'Pass format="csv"'),
    "commas between features": ("1 qid:7 1:0.5, 2:3", "the value '0.5,' of feature 1 holds a comma"),
    "words in place of features": ("1 qid:7 0.5 3", "'0.5' has no colon"),
    "word with a comma": ("1 qid:7 0,5", "'0,5' holds a comma"),
    "empty qid": ("1 qid: 1:1", "the qid is empty"),
    "blank after qid:": ("1 qid: 7 1:1", "the qid is empty"),
    "qid without a colon": ("1 qid7 1:1", "'qid7' has no colon"),
    "second qid": ("1 qid:7 qid:8 1:1", "'qid:8' is a second qid"),
    "qid after features": ("1 1:1 qid:7", "'qid:7' comes after features"),
    "no qid on one line": ("1 1:1", "this line has no qid, but lines before it have one"),
    "no qid and no feature on one line": ("1", "this line has no qid, but lines before it have one"),
    "qid too long": (f"1 qid:{'q' * 1025} 1:1", "is 1025 bytes long; 1024 are allowed"),
    "qid in capitals": ("1 QID:7 1:1", "has the key 'QID'; the key of a query is qid"),
    "slack id of SVM-rank": ("1 qid:7 sid:3 1:1", "has the key 'sid'"),
    "cost factor": ("1 qid:7 cost:0.3 1:1", "has the key 'cost'"),
    "named feature": ("1 qid:7 bm25:0.3", "the feature id 'bm25', which is no whole number"),
    "empty id": ("1 qid:7 :0.5", "':0.5' has no feature id"),
    "negative id": ("1 qid:7 -3:0.5", "'-3:0.5' has a negative feature id"),
    "signed id": ("1 qid:7 +3:0.5", "the feature id '+3'; ids are whole numbers"),
    "fractional id": ("1 qid:7 1.5:0.5", "the feature id '1.5'; ids are whole numbers"),
    "id with an exponent": ("1 qid:7 1e3:0.5", "the feature id '1e3'; ids are whole numbers"),
    "hexadecimal id": ("1 qid:7 0x1:0.5", "the feature id '0x1', which is no whole number"),
    "id 0": ("1 qid:7 0:0.5 1:1", "'0:0.5' has feature id 0; ids start at 1 unless you say otherwise"),
    "id too large": ("1 qid:7 2147483647:1", "beyond 2147483646, the largest allowed"),
    "id of twenty digits": ("1 qid:7 99999999999999999999:1", "beyond 2147483646, the largest allowed"),
    "features out of order": ("1 qid:7 9:1 7:1", "feature 7 comes after feature 9; ids must ascend"),
    "feature twice": ("1 qid:7 2:1 2:1", "feature 2 is given twice"),
    "empty value": ("1 qid:7 1: 2:1", "feature 1 has no value after the colon"),
    "empty value at the end": ("1 qid:7 1:1 2:", "feature 2 has no value after the colon"),
    "empty value before a comment": ("1 qid:7 1:# nothing", "feature 1 has no value after the colon"),
    "value is a word": ("1 qid:7 1:high", "the value 'high' of feature 1 is not a number"),
    "value is missing": ("1 qid:7 1:NULL", "the value 'NULL' of feature 1 is missing"),
    "value is nan": ("1 qid:7 1:-NaN", "the value '-NaN' of feature 1 is missing"),
    "value is infinite": ("1 qid:7 1:Infinity", "the value 'Infinity' of feature 1 is infinite"),
    "value overflows": ("1 qid:7 1:1e309", "the value '1e309' of feature 1 is too large for a double"),
    "value is hexadecimal": ("1 qid:7 1:0x10", "the value '0x10' of feature 1 is hexadecimal"),
    "value with a comma": ("1 qid:7 1:0,5", "the value '0,5' of feature 1 holds a comma"),
    "value with an underscore": ("1 qid:7 1:1_000", "the value '1_000' of feature 1 holds an underscore"),
    "value with a cut exponent": ("1 qid:7 1:1.5e", "ends before the digits of its exponent"),
    "value with a cut signed exponent": ("1 qid:7 1:1e-", "ends before the digits of its exponent"),
    "value with a fractional exponent": ("1 qid:7 1:1e2.5", "the value '1e2.5' of feature 1 is not a number"),
    "value with a unit": ("1 qid:7 1:5ms", "the value '5ms' of feature 1 is not a number"),
    "value of other digits": ("1 qid:7 1:٣", "the value '٣' of feature 1 is not a number"),
    "no blank between features": ("1 qid:7 1:2:3", "the value '2:3' of feature 1 holds a second colon"),
    "colons of a time": ("1 qid:7 1:12:30", "holds a second colon"),
    "semicolon for #": ("1 qid:7 1:1 ; docid", "';' has no colon"),
    "NUL in a value": ("1 qid:7 1:0\0", "holds a NUL byte, as binary files and UTF-16 text do"),
    "NUL in the label": ("\0001 qid:7 1:0", "holds a NUL byte"),
    "NUL in the qid": ("1 qid:\0007 1:0", "holds a NUL byte"),
    "NUL between words": ("1 qid:7 \0 1:0", "holds a NUL byte"),
    "NUL in an id": ("1 qid:7 \0001:0", "holds a NUL byte"),
    "NUL in a comment": ("1 qid:7 1:0 # a\0b", "the comment holds a NUL byte"),
    "NUL in a comment alone": ("# a\0b", "the comment holds a NUL byte"),
    "form feed between words": ("1 qid:7\f1:0", "holds the control character 0x0c"),
    "a long value": ("1 qid:7 1:" + "x" * 5000, "the value 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'… of feature 1"),
    "a title": ("query document label", "the label 'query' is not a number"),
    "markup": ("<html>", "the label '<html>' is not a number"),
}  # fmt: skip


@pytest.fixture
def write(tmp_path):
    def write_file(data, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write_file


def refusal(path, **options):
    with pytest.raises(DataFormatError) as caught:
        read_svmlight(path, **options)
    assert str(caught.value).startswith(str(path))
    return caught.value


def test_there_are_enough_bad_lines():
    assert len(BAD_LINES) >= 40


@pytest.mark.kernels
@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_named(write, name):
    bad, said = BAD_LINES[name]
    path = write(f"# head\n\n{3 * GOOD}{bad}\n{GOOD}oops\n")
    error = refusal(path)
    assert error.line == 6
    assert f"{path}:6: " in str(error)
    assert said in str(error)
    assert len(str(error)) < len(str(path)) + 300


@pytest.mark.parametrize("chunk_bytes", [1, 40, 300, 1 << 20])
@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("name", ["value is a word", "no qid on one line", "value overflows", "NUL in a comment alone"])
def test_the_first_bad_line_of_the_file_whatever_the_chunks_and_threads(
    monkeypatch, write, name, chunk_bytes, n_threads
):
    monkeypatch.setattr(svmlight, "CHUNK_BYTES", chunk_bytes)
    bad = BAD_LINES[name][0] + "\n"
    path = write(30 * GOOD + bad + GOOD + "nonsense\n" + bad + 30 * GOOD)
    assert refusal(path, n_threads=n_threads).line == 31


@pytest.mark.parametrize("chunk_bytes", [1, 1 << 20])
def test_the_earlier_of_two_faults_of_different_kinds(monkeypatch, write, chunk_bytes):
    monkeypatch.setattr(svmlight, "CHUNK_BYTES", chunk_bytes)
    lines = [
        "1 qid:7 1:nothing",
        "1 1:1",
        "1 qid:\udcff 1:1",
        "1 qid:7 1:1e999",
        "1 qid:7 1:1.7976931348623159e308",
        "x",
    ]
    for first in lines:
        for second in lines:
            text = f"{GOOD}{first}\n{GOOD}{second}\n"
            assert refusal(write(text.encode(errors="surrogateescape"))).line == 2


def test_a_qid_must_be_utf8(write):
    error = refusal(write(b"1 qid:a 1:1\n1 qid:caf\xe9 1:1\n"))
    assert error.line == 2
    assert "the qid 'caf\ufffd' is not valid UTF-8" in str(error)


def test_no_line_has_a_qid(write):
    error = refusal(write("# head\n1 1:1\n0 1:2\n"))
    assert error.line == 2
    assert "this line has no qid, and there is no data.txt.query beside the file" in str(error)


def test_a_qid_after_lines_without(write):
    path = write("1 1:1\n0 qid:3 1:2\n")
    write("2\n", "data.txt.query")
    error = refusal(path)
    assert error.line == 2
    assert "this line has a qid, but lines before it have none" in str(error)


@pytest.mark.parametrize(
    ("sizes", "line", "said"),
    [
        ("2\nthree\n", 2, "the size 'three' is not a positive whole number"),
        ("2\n\n0\n1\n", 3, "the size '0' is not"),
        ("-2\n", 1, "the size '-2' is not"),
        ("1.5\n", 1, "the size '1.5' is not"),
        ("9" * 30 + "\n", 1, "is not a positive whole number"),
        ("2\n1\v\n", 2, "is not a positive whole number"),
        ("2\n2\n", None, "the sizes add up to 4, but"),
        ("", None, "the sizes add up to 0, but"),
    ],
)
def test_a_file_of_sizes_that_does_not_fit(write, sizes, line, said):
    path = write("1 1:1\n0 1:2\n1 1:3\n")
    groups = write(sizes, "data.txt.query")
    with pytest.raises(DataFormatError) as caught:
        read_svmlight(path)
    assert caught.value.source == str(groups)
    assert caught.value.line == line
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the file is empty"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (b"\n \n# only a comment\n", "the file has no documents"),
        (b"\xef\xbb\xbf", "the file has no documents"),
        (b"1 qid:1\n0 qid:1\n", "no line has a feature"),
        ("1 qid:1 1:1\n".encode("utf-16"), "this is UTF-16 text"),
        (b"BZh91AY&SY", "this is a bzip2 file"),
        (b"\xfd7zXZ\x00\x00", "this is an xz file"),
        (b"PK\x03\x04abc", "this is a zip archive"),
        (b"PAR1\x15\x04", 'Pass format="parquet"'),
        (b"ARROW1\0\0", 'Pass format="arrow"'),
        (gzip.compress(b"a.txt".ljust(257, b"\0") + b"ustar".ljust(255, b"\0"), mtime=0), "this is a tar archive"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-9], "the gzip file is cut off before its end"),
        (gzip.compress(GOOD.encode(), mtime=0)[:3], "the gzip file is cut off before its end"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-5] + b"?" * 5, "the gzip file is damaged"),
        (gzip.compress(GOOD.encode(), mtime=0) + b"more", "the gzip file is damaged"),
        (zstandard.compress(GOOD.encode())[:-2], "the zstd file is cut off before its end"),
        (zstandard.compress(GOOD.encode()) + b"more", "the zstd file is damaged"),
        (zstandard.compress(GOOD.encode())[:6] + b"\xff" * 9, "the zstd file is damaged"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_such_text(write, data, said):
    error = refusal(write(data))
    assert error.line is None
    assert said in str(error)


def test_utf16_without_a_mark_and_binary_files(write):
    assert "NUL byte" in str(refusal(write("1 qid:1 1:1\n".encode("utf-16-le"))))
    assert "NUL byte" in str(refusal(write(np.arange(500, dtype=np.float32).tobytes())))


def test_a_bad_line_before_the_end_that_is_cut_off(monkeypatch, write):
    monkeypatch.setattr(svmlight, "CHUNK_BYTES", 64)
    lines = GOOD + "1 qid:7 1:bad\n" + "".join(f"1 qid:{i} 1:{i * 0.37:.9f}\n" for i in range(90_000))
    error = refusal(write(gzip.compress(lines.encode(), mtime=0)[:-10]))
    assert error.line == 2


def test_a_file_that_cannot_be_opened(tmp_path):
    with pytest.raises(LinrankError, match="there is no such file"):
        read_svmlight(tmp_path / "absent.txt")
    with pytest.raises(LinrankError, match="this is a folder"):
        read_svmlight(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to the superuser")
def test_a_file_that_may_not_be_read(write):
    path = write(GOOD)
    path.chmod(0)
    with pytest.raises(LinrankError, match="cannot be opened"):
        read_svmlight(path)


def test_a_line_that_is_too_long(monkeypatch, write):
    monkeypatch.setattr(svmlight, "CHUNK_BYTES", 64)
    monkeypatch.setattr(byte_source, "LONGEST_LINE", 1000)
    monkeypatch.setattr(svmlight, "LONGEST_LINE", 1000)
    long_line = "1 qid:7 " + " ".join(f"{j}:1" for j in range(1, 300))
    error = refusal(write(GOOD + GOOD + long_line + "\n" + GOOD))
    assert error.line == 3
    assert "the line is longer than 1000 bytes" in str(error)
    assert refusal(write(GOOD + "bad\n" + long_line)).line == 2


def test_zstd_without_the_library(monkeypatch, write):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'linrank\[zstd\]'"):
        read_svmlight(write(zstandard.compress(GOOD.encode())))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dtype": "int32"}, "dtype='int32'"),
        ({"dtype": "no type"}, "dtype='no type'"),
        ({"layout": "wide"}, "layout='wide'"),
        ({"n_features": 0}, "n_features=0"),
        ({"n_features": 2.5}, "n_features=2.5"),
        ({"n_features": 2**31}, "n_features=2147483648"),
        ({"n_threads": 0}, "n_threads=0"),
        ({"missing": "zero"}, "missing='zero'"),
        ({"missing": float("inf")}, "missing=inf"),
        ({"missing": 1e39, "dtype": "float32"}, "too large for float32"),
    ],
)
def test_an_option_that_makes_no_sense(write, options, said):
    with pytest.raises(LinrankError, match=said):
        read_svmlight(write(GOOD), **options)


def test_float32_refuses_what_it_cannot_hold(write):
    path = write(GOOD + "1 qid:7 1:3.4028235677973366e38\n")
    assert read_svmlight(path).features[1, 0] == 3.4028235677973366e38
    error = refusal(path, dtype="float32")
    assert error.line == 2
    assert 'too large for float32. Scale the feature, or use dtype="float64"' in str(error)


def test_a_dense_array_that_no_memory_holds(write):
    path = write("1 qid:7 2147483646:1\n" * 20_000)
    with pytest.raises(LinrankError, match='Use layout="sparse"'):
        read_svmlight(path, layout="dense", n_features=2147483646)


COMPRESSED = {
    "gzip": gzip.compress(GOOD.encode() * 20, mtime=0) + gzip.compress(GOOD.encode(), mtime=0) + bytes(9),
    "zstd": 2 * zstandard.ZstdCompressor(write_checksum=True).compress(GOOD.encode() * 20),
}


@pytest.mark.parametrize(("form", "n_rows"), [("gzip", 21), ("zstd", 40)])
def test_compressed_files_of_several_streams(write, form, n_rows):
    data = read_svmlight(write(COMPRESSED[form], "data.any"))
    assert data.labels.tolist() == [1] * n_rows
    assert list(data.comments) == ["good"] * n_rows


@pytest.mark.parametrize("form", COMPRESSED)
@given(
    places=st.lists(st.integers(0, 120), min_size=1, max_size=2), byte=st.integers(0, 255), length=st.integers(0, 150)
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_compressed_file_is_read_rightly_or_refused(tmp_path_factory, form, places, byte, length):
    damaged = bytearray(COMPRESSED[form])
    for place in places:
        damaged[place % len(damaged)] = byte
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(damaged[: max(length, 1)] if length < 100 else damaged)
    try:
        data = read_svmlight(path)
    except LinrankError:
        return
    # Whole streams may be lost at the end, but what is there is right.
    assert set(data.labels.tolist()) == {1.0}
    assert set(data.comments) == {"good"}
    assert data.features.tolist() == [[0.5, 3.0]] * data.n_documents


def zstd_of_runs(n_blocks, byte):
    """A zstd file of blocks that say 'this byte, 131072 times' in four bytes each, in a window of 2 GB."""
    blocks = [
        ((131072 << 3) | (1 << 1) | (block == n_blocks - 1)).to_bytes(3, "little") + byte for block in range(n_blocks)
    ]
    return b"\x28\xb5\x2f\xfd\x00\xa8" + b"".join(blocks)


BOMBS = {
    "zstd of ends of lines": zstd_of_runs(16384, b"\n"),
    "zstd of one line": zstd_of_runs(16384, b"1"),
    "zstd of many frames": zstd_of_runs(256, b"1") * 64,
    "gzip of one line": gzip.compress(b"1" * (50 << 20), 9, mtime=0),
}
READING = """
import resource, sys
from linrank import LinrankError, read
from linrank.reading.logs.json_records import read_records
from linrank.reading.logs.judgments import read_judgments
from linrank.reading.trec import read_qrels
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for use in (read, read_qrels, read_judgments, lambda path: list(read_records(path)))[: int(sys.argv[2])]:
    try:
        use(sys.argv[1])
    except LinrankError as error:
        print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_that_unpacks_to_gigabytes_takes_little_memory(write, bomb):
    path = write(BOMBS[bomb], "bomb.txt")
    # Empty lines in their millions are slow to walk through in Python.
    command = [sys.executable, "-c", READING, path, "1" if "ends" in bomb else "4"]
    *refused, taken = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(refused) == int(command[-1])
    assert all("unpacks to more than 500 times its size" in said for said in refused)
    # Kilobytes, where 2 GB were unpacked before.
    assert int(taken) < 500_000
