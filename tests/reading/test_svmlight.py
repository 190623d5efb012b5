"""svmlight text: what is read is what an obvious reader reads, whatever the form, the chunks and the threads."""

import math
import os
import re
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from linrank.errors import DataFormatError, LinrankError
from linrank.reading import svmlight
from linrank.reading.svmlight import read_svmlight

fuzzed = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

DECIMAL = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = re.compile(rb"[+-]?(nan|null)", re.IGNORECASE)


class BadLineError(Exception):
    """What the obvious reader raises: the number of the first bad line, or None."""


def number(word):
    if not DECIMAL.fullmatch(word) or math.isinf(float(word)):
        raise ValueError
    return float(word)


def obvious_row(line, first_id):
    """(label, qid, {column: value}, comment, largest id) of one line, None if there is nothing in it."""
    fields, _, comment = line.partition(b"#")
    if b"\0" in line:
        raise ValueError
    words = [word for word in re.split(rb"[ \t]", fields) if word]
    if not words:
        return None
    label, words = number(words[0]), words[1:]
    if not words or not words[0].startswith(b"qid:"):
        raise ValueError
    qid = words.pop(0)[4:]
    if not qid or len(qid) > 1024 or min(qid) < 32:
        raise ValueError
    row, last = {}, first_id - 1
    for word in words:
        found = re.fullmatch(rb"([0-9]{1,18}):(.*)", word, re.DOTALL)
        if not found or not last < int(found[1]) <= 2**31 - 2:
            raise ValueError
        last = int(found[1])
        row[last - first_id] = math.nan if MISSING.fullmatch(found[2]) else number(found[2])
    return label, qid.decode(), row, comment.strip(b" \t").decode(errors="replace"), last - first_id + 1


def obvious_read(data, zero_based=False):
    """Rows of a file, or BadLineError(line of the first bad line)."""
    rows = []
    for line_number, line in enumerate(re.split(rb"\r\n|\n|\r", data.removeprefix(b"\xef\xbb\xbf")), 1):
        try:
            row = obvious_row(line, 0 if zero_based else 1)
        except ValueError:
            raise BadLineError(line_number) from None
        if row is not None:
            rows.append(row)
    if not rows or max(row[4] for row in rows) == 0:
        raise BadLineError(None)
    return rows


def exact(value):
    return value.hex()


def assert_same(dataset, rows):
    """A dataset is exactly what the obvious reader found; zeros may be left out, -0.0 may not."""
    assert dataset.n_documents == len(rows)
    assert dataset.n_features == max(row[4] for row in rows)
    assert [exact(label) for label in dataset.labels.tolist()] == [exact(row[0]) for row in rows]
    assert dataset.qid.tolist() == [row[1] for row in rows]
    assert dataset.queries.ids.tolist() == list(dict.fromkeys(row[1] for row in rows))
    comments = [row[3] for row in rows]
    assert dataset.comments is None if not any(comments) else list(dataset.comments) == comments
    for row, found in zip(rows, stored_rows(dataset.features), strict=True):
        expected = {column: exact(value) for column, value in row[2].items() if exact(value) != exact(0.0)}
        assert found == expected


def stored_rows(features):
    if sparse.issparse(features):
        bounds = zip(features.indptr[:-1], features.indptr[1:], strict=True)
        pairs = [zip(features.indices[a:b].tolist(), features.data[a:b].tolist(), strict=True) for a, b in bounds]
    else:
        pairs = [enumerate(row) for row in features.tolist()]
    return [{column: exact(value) for column, value in row if exact(value) != exact(0.0)} for row in pairs]


@pytest.fixture
def write(tmp_path):
    def write_file(data, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write_file


@pytest.fixture
def read_in_chunks(monkeypatch):
    """Read with chunks of a few bytes, so that lines and queries straddle them."""

    def read(path, chunk_bytes, **options):
        monkeypatch.setattr(svmlight, "CHUNK_BYTES", chunk_bytes)
        return read_svmlight(path, **options)

    return read


def bytes_of(dataset):
    """Every bit of a dataset, to compare two of them."""
    X = dataset.features
    features = (X.data, X.indices, X.indptr) if dataset.is_sparse else (X,)
    comments = () if dataset.comments is None else (dataset.comments.letters, dataset.comments.starts)
    order = () if dataset.queries.order is None else (dataset.queries.order,)
    arrays = (*features, dataset.labels, dataset.queries.ids, dataset.queries.starts, *order, *comments)
    return [(array.dtype.str, array.shape, array.tobytes()) for array in arrays]


LETOR = """\
2 qid:10 1:0.5 2:-1.25 4:3e2 #docid = GX-1 inc = 1
0 qid:10 1:1 2:0 3:7 # second

# a line with a comment alone
1 qid:rock&roll 3:.5
+1e0 qid:10 2:-0.0 4:0.1#glued
"""


def test_labels_queries_features_and_comments(write):
    data = read_svmlight(write(LETOR))
    assert data.labels.tolist() == [2, 0, 1, 1]
    assert data.features.tolist() == [[0.5, -1.25, 0, 300], [1, 0, 7, 0], [0, 0, 0.5, 0], [0, -0.0, 0, 0.1]]
    assert data.queries.ids.tolist() == ["10", "rock&roll"]
    assert data.qid.tolist() == ["10", "10", "rock&roll", "10"]
    assert list(data.comments) == ["docid = GX-1 inc = 1", "second", "", "glued"]
    assert data.docids == ["GX-1", "second", "", "glued"]
    assert data.feature_names is None


@pytest.mark.kernels
def test_the_same_by_the_obvious_reader(write):
    assert_same(read_svmlight(write(LETOR)), obvious_read(LETOR.encode()))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("finish", ["", "end"])
def test_line_ends(write, end, finish):
    text = LETOR.replace("\n", end)
    data = read_svmlight(write(text if finish else text.removesuffix(end)))
    assert bytes_of(data) == bytes_of(read_svmlight(write(LETOR, "lf.txt")))


def test_tabs_several_blanks_and_a_mark_of_utf8(write):
    data = read_svmlight(write("\ufeff \t1\t qid:a  1:2\t\t3:4 \t\n\t\n  2 qid:a\n"))
    assert data.labels.tolist() == [1, 2]
    assert data.features.tolist() == [[2, 0, 4], [0, 0, 0]]
    assert data.comments is None


def test_zero_based_only_when_told(write):
    path = write("1 qid:1 0:5 2:7\n")
    assert read_svmlight(path, zero_based=True).features.tolist() == [[5, 0, 7]]
    with pytest.raises(LinrankError, match="zero_based=True"):
        read_svmlight(path)


def test_the_number_of_features(write):
    path = write("1 qid:1 2:5 3:0\n")
    assert read_svmlight(path).n_features == 3
    assert read_svmlight(path, n_features=5).features.tolist() == [[0, 5, 0, 0, 0]]
    assert read_svmlight(write("1 qid:1\n", "none.txt"), n_features=2).features.tolist() == [[0, 0]]
    with pytest.raises(LinrankError, match="n_features=2"):
        read_svmlight(path, n_features=2)


def test_query_ids_are_any_text(write):
    ids = ["7", "007", "naïve-クエリ", "a:b,c", "q" * 1024]
    data = read_svmlight(write("".join(f"1 qid:{qid} 1:1\n" for qid in ids)))
    assert data.queries.ids.tolist() == ids
    assert data.queries.ids.dtype.kind == "U"


def test_a_comment_that_is_no_utf8_is_kept_as_it_can_be(write):
    data = read_svmlight(write(b"1 qid:1 1:1 # caf\xe9\n1 qid:1 1:1 # caf\xc3\xa9\n"))
    assert list(data.comments) == ["caf\ufffd", "café"]


MISSING_TEXT = """\
1 qid:a 1:NULL 2:4 3:nan
0 qid:b 1:null 2:-2 3:5
1 qid:a 1:3 2:Null 3:-NaN
0 qid:b 2:NULL 3:5
"""


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("keep", [[math.nan, 4, math.nan], [math.nan, -2, 5], [3, math.nan, math.nan], [0, math.nan, 5]]),
        (-1, [[-1, 4, -1], [-1, -2, 5], [3, -1, -1], [0, -1, 5]]),
        (0, [[0, 4, 0], [0, -2, 5], [3, 0, 0], [0, 0, 5]]),
        # The least value of the query; an absent feature is 0; 0 where the whole query lacks it.
        ("query_min", [[3, 4, 0], [0, -2, 5], [3, 4, 0], [0, -2, 5]]),
    ],
)
def test_missing_values(write, rule, expected, layout):
    data = read_svmlight(write(MISSING_TEXT), missing=rule, layout=layout)
    features = data.features.toarray() if layout == "sparse" else data.features
    np.testing.assert_array_equal(features, expected)


def random_text(rng, n_rows, n_features, density, comments=True):
    lines = []
    for row in range(n_rows):
        columns = np.flatnonzero(rng.random(n_features) < density) + 1
        pairs = " ".join(f"{column}:{rng.choice([0, 1, 0.25, rng.random(), -rng.random()])!s}" for column in columns)
        comment = f" # docid = D{row}" if comments and rng.random() < 0.7 else ""
        lines.append(f"{rng.integers(5)} qid:{rng.integers(n_rows // 4 + 1)} {pairs}{comment}\n")
    return "".join(lines)


@pytest.mark.parametrize("density", [0.05, 0.3, 0.9])
def test_layouts_types_chunks_and_threads_agree(write, read_in_chunks, density):
    text = random_text(np.random.default_rng(3), 120, 40, density)
    path = write(text)
    whole = read_svmlight(path, n_threads=1)
    assert_same(whole, obvious_read(text.encode()))
    for chunk_bytes in (1, 50, 700, 5000):
        for n_threads in (1, 3):
            assert bytes_of(read_in_chunks(path, chunk_bytes, n_threads=n_threads)) == bytes_of(whole)
    for dtype in ("float32", np.float64):
        dense = read_in_chunks(path, 700, layout="dense", dtype=dtype)
        thin = read_in_chunks(path, 700, layout="sparse", dtype=dtype)
        assert thin.is_sparse
        assert not dense.is_sparse
        assert dense.features.dtype == thin.features.dtype == dtype
        assert dense.features.tobytes() == thin.features.toarray().tobytes()
        wide = whole.features.toarray() if whole.is_sparse else whole.features
        assert dense.features.tobytes() == wide.astype(dtype).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_smaller_layout_is_chosen_by_the_whole_file(write, read_in_chunks, dtype):
    # Half of the rows full, half of them empty, in either order: the beginning says the opposite of the whole.
    full, thin = "1 qid:1 " + " ".join(f"{j}:1" for j in range(1, 21)) + "\n", "1 qid:1 20:1\n"
    for n_full, n_thin, is_sparse in ((1, 60, True), (40, 40, False)):
        for text in (n_full * full + n_thin * thin, n_thin * thin + n_full * full):
            found = [read_in_chunks(write(text), size, dtype=dtype) for size in (60, 500, 100_000)]
            assert [data.is_sparse for data in found] == [is_sparse] * 3
            assert bytes_of(found[0]) == bytes_of(found[1]) == bytes_of(found[2])
            assert_same(found[0], obvious_read(text.encode()))


@pytest.mark.parametrize("layout", ["dense", "sparse", None])
def test_ids_that_rise_all_through_the_file(write, read_in_chunks, layout):
    text = "".join(f"1 qid:1 {row + 1}:1 {row + 3}:2\n" for row in range(60))
    for size in (10, 200):
        assert_same(read_in_chunks(write(text), size, layout=layout), obvious_read(text.encode()))


def test_one_large_id_does_not_make_all_rows_as_wide(write, read_in_chunks):
    text = "1 qid:1 1:1 2:2\n" * 50 + "1 qid:1 1048576:1\n"
    data = read_in_chunks(write(text), 64)
    assert data.features.shape == (51, 2**20)
    assert data.features.nnz == 101


def test_float32_rounds_the_exact_number_once(write):
    # Just above the middle of two float32, by less than a double shows.
    words = ["1.00000005960464477540", "1.0000000596046448", "0.1", "3.4028235e38", "1e-45", "1e-46", "-1e-46"]
    text = "".join(f"1 qid:1 1:{word}\n" for word in words)
    data = read_svmlight(write(text), dtype="float32", layout="dense")
    assert [exact(value) for value in data.features[:, 0].tolist()] == [
        exact(float(np.float32(float(w)))) for w in words
    ]


def test_a_sparse_result_holds_no_zeros(write, read_in_chunks):
    text = "1 qid:1 1:0 2:0.0 3:0e5 4:1e-400 5:-0 6:NULL 7:0.00000000000000000000000 9:1e-60\n" * 3
    data = read_svmlight(write(text), layout="sparse", missing=0)
    assert data.features.indices.tolist() == [4, 8] * 3
    assert data.features.has_canonical_format
    narrow = read_svmlight(write(text), layout="sparse", missing=0, dtype="float32")
    assert narrow.features.indices.tolist() == [4] * 3
    assert narrow.n_features == 9


@pytest.mark.kernels
def test_the_densest_text_there_is(write, read_in_chunks):
    text = "1 qid:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1\n1 qid:1 9:1#c\n" * 30
    for size in (1, 100, 5000):
        assert_same(read_in_chunks(write(text), size), obvious_read(text.encode()))
    error = "1 qid:1 " + " ".join(f"{j}:" for j in range(1, 10)) + "\n"
    with pytest.raises(DataFormatError, match="feature 1 has no value"):
        read_svmlight(write(100 * error))


def test_a_line_longer_than_a_chunk(write, read_in_chunks):
    text = "1 qid:1 1:2\n0 qid:2 " + " ".join(f"{j}:{j}" for j in range(1, 2000)) + "\n1 qid:1 1:2\n"
    assert_same(read_in_chunks(write(text), 16), obvious_read(text.encode()))


def test_sizes_of_queries_from_a_file_beside_the_data(write):
    path = write("1 1:1\n0 1:2\n# none\n1 1:3\n")
    write("\ufeff2\r\n\r\n1\r\n", "data.txt.query")
    data = read_svmlight(path)
    assert data.queries.sizes.tolist() == [2, 1]
    import gzip

    packed = write(gzip.compress(path.read_bytes()), "data.txt.gz")
    assert read_svmlight(packed).queries.sizes.tolist() == [2, 1]
    with_qid = write("1 qid:a 1:1\n0 qid:a 1:2\n1 qid:b 1:3\n", "data.txt")
    assert read_svmlight(with_qid).queries.ids.tolist() == ["a", "b"]


def test_progress_tells_the_bytes_read(write, read_in_chunks, monkeypatch):
    monkeypatch.setattr(svmlight, "_SECONDS_BETWEEN_REPORTS", 0)
    path = write(LETOR * 100)
    told = []
    read_in_chunks(path, 1000, progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told[-1] == (size, size)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(told) > 5


def test_an_error_in_the_callback_reaches_the_caller(write, read_in_chunks):
    def stop(_done, _total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_in_chunks(write(LETOR * 100), 100, progress=stop)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe(tmp_path, write, read_in_chunks):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=((LETOR * 50).encode(),))
    writer.start()
    data = read_in_chunks(pipe, 300)
    writer.join()
    assert bytes_of(data) == bytes_of(read_svmlight(write(LETOR * 50)))


def has_the_known_size(data, known):
    return (data.n_queries, data.n_documents, data.n_features) == (known.n_queries, known.n_documents, known.n_features)


def test_mq2008_is_what_the_obvious_reader_reads(letor, read_in_chunks):
    path = letor.path("MQ2008", "Fold1", "train.txt")
    data = read_svmlight(path)
    assert has_the_known_size(data, letor.known["MQ2008"])
    assert_same(data, obvious_read(path.read_bytes()))
    assert bytes_of(read_in_chunks(path, 30_000, n_threads=3)) == bytes_of(data)


def test_letors_nulls_are_what_the_obvious_reader_reads(made_letor, read_in_chunks):
    path = made_letor.path("MQ2008-null", "Fold1", "train.txt")
    with pytest.raises(DataFormatError, match=r"train.txt:.* the value 'NULL' of feature 2 is missing"):
        read_svmlight(path)
    data = read_svmlight(path, missing="keep")
    assert has_the_known_size(data, made_letor.known["MQ2008"])
    assert_same(data, obvious_read(path.read_bytes()))
    assert bytes_of(read_in_chunks(path, 30_000, n_threads=3, missing="keep")) == bytes_of(data)


def test_lightgbms_example(letor):
    data = read_svmlight(letor.path("LightGBM-lambdarank", "rank.train"))
    assert data.is_sparse
    assert has_the_known_size(data, letor.known["LightGBM-lambdarank"])


def test_agrees_with_scikit_learn(write):
    from sklearn.datasets import load_svmlight_file

    path = write(random_text(np.random.default_rng(0), 200, 30, 0.4))
    X, y, qid = load_svmlight_file(str(path), query_id=True, zero_based=False)
    data = read_svmlight(path, layout="sparse")
    assert data.labels.tolist() == y.tolist()
    assert data.qid.astype(np.int64).tolist() == qid.tolist()
    assert data.features.toarray().tobytes() == X.toarray().tobytes()


words = st.one_of(
    st.floats(-1e6, 1e6).map(repr),
    st.integers(-99, 99).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["0", "1", "0.5", "NULL", "nan", "1e3", "-0"]),
)


@st.composite
def valid_files(draw):
    """A file in the format, in one of its many guises."""
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    lines = []
    for _ in range(draw(st.integers(1, 12))):
        ids = sorted(draw(st.sets(st.integers(1, 30), max_size=6)))
        pairs = [f"{number}:{draw(words)}" for number in ids]
        fields = [str(draw(st.integers(0, 4))), f"qid:{draw(st.sampled_from(['1', '2', 'x', 'é']))}", *pairs]
        blank = draw(st.sampled_from([" ", "  ", "\t"]))
        comment = draw(st.sampled_from(["", "", " #docid = D1", "# x # y", "#"]))
        lines.append(blank.join(fields) + comment + end)
        if draw(st.integers(0, 5)) == 0:
            lines.append(draw(st.sampled_from(["", "  ", "# only"])) + end)
    return "".join(lines).encode()


SLIPS = [
    b":", b"#", b" ", b"\t", b"\n", b"\r", b"\0", b"-", b"+", b".", b"e", b"0", b"9", b"99999999999", b"qid:", b",",
    b"_", b"x", b"inf", b"nan", b"NULL", b"1e400", b"1:1", b"\x0b", b"\x85", b"\xff", b"\xef\xbb\xbf",
]  # fmt: skip


@st.composite
def damaged_files(draw):
    """A valid file with a few slips of the pen: bytes put in, taken out or repeated."""
    data = draw(valid_files())
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 4)))
        between = draw(st.one_of(st.sampled_from(SLIPS), st.just(b""), st.just(2 * data[start:stop])))
        data = data[:start] + between + data[stop:]
    return data


@pytest.mark.kernels
@given(damaged_files(), st.sampled_from([1, 20, 90, 100_000]), st.sampled_from([1, 3]))
@settings(fuzzed, max_examples=400)
def test_a_damaged_file_is_read_rightly_or_refused_at_its_first_bad_line(
    tmp_path_factory, data, chunk_bytes, n_threads
):
    path = tmp_path_factory.getbasetemp() / "damaged.txt"
    path.write_bytes(data)
    try:
        rows = obvious_read(data)
    except BadLineError as fault:
        rows, bad_line = None, fault.args[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svmlight, "CHUNK_BYTES", chunk_bytes)
        if rows is not None:
            assert_same(read_svmlight(path, missing="keep", n_threads=n_threads), rows)
            return
        with pytest.raises(DataFormatError) as caught:
            read_svmlight(path, missing="keep", n_threads=n_threads)
    assert caught.value.line == bad_line
    assert "cannot be read" not in str(caught.value)
