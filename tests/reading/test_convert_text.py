"""Text of any size becomes the file that its data, grouped, would be saved as."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from linrank import DataFormatError, LinrankError, RankingDataset, open_dataset, read, save_dataset, scan
from linrank.dataset import arranging, grouped_rows, regrouping
from linrank.dataset.queries import Queries
from linrank.dataset.regrouping import regroup_dataset
from linrank.dataset.storage_layout import read_layout
from linrank.dataset.unretrieved import Unretrieved
from linrank.reading import convert_text, staged_rows
from linrank.reading.convert_text import convert_svmlight


@pytest.fixture
def in_tiny_pieces(monkeypatch):
    """Chunks of a few lines and blocks of a few rows, so that small data has many of each."""
    for module in (convert_text, regrouping):
        monkeypatch.setattr(module, "room_within", lambda *_: arranging.WORKING_BYTES + 4000)
    monkeypatch.setattr(staged_rows, "_ROWS_AT_A_TIME", 3)
    monkeypatch.setattr(regrouping, "_ORDER_AT_A_TIME", 5)


def grouped(data):
    """The same data, its rows in the order of their queries."""
    if data.queries.order is None:
        return data
    order = data.queries.order
    return replace(
        data,
        features=data.features[order],
        labels=None if data.labels is None else data.labels[order],
        queries=Queries(data.queries.ids, data.queries.starts, None),
        comments=None if data.comments is None else data.comments.take(order),
        document_weights=None if data.document_weights is None else data.document_weights[order],
    )


def text_of(rng, n_rows, n_features, *, density, interleaved, comments, missing, qid="q{}é"):
    queries = rng.integers(0, 7, n_rows)
    lines = []
    for row, query in enumerate(queries if interleaved else np.sort(queries)):
        kept = [j for j in range(n_features) if rng.random() < density or (row == 0 and j == n_features - 1)]
        values = ["NULL" if missing and rng.random() < 0.2 else f"{rng.normal():.4g}" for _ in kept]
        pairs = " ".join(f"{j + 1}:{value}" for j, value in zip(kept, values, strict=True))
        comment = f" # docid = {row}ü" if comments and row % 3 else ""
        lines.append(f"{rng.integers(0, 3)} qid:{qid.format(query)} {pairs}{comment}")
        if row % 5 == 0:
            lines.append("# a line of its own\n")
    return "\n".join(lines) + "\n"


@pytest.mark.usefixtures("in_tiny_pieces")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 40),
    density=st.sampled_from([0.05, 0.3, 1.0]),
    interleaved=st.booleans(),
    comments=st.booleans(),
    missing=st.sampled_from([None, "keep", "query_min", -1.5]),
    dtype=st.sampled_from(["float32", "float64"]),
    layout=st.sampled_from([None, "dense", "sparse"]),
)
def test_the_file_has_the_bytes_of_the_data_grouped_and_saved(
    seed, n_rows, density, interleaved, comments, missing, dtype, layout, tmp_path
):
    rng = np.random.default_rng(seed)
    text = text_of(
        rng, n_rows, 6, density=density, interleaved=interleaved, comments=comments, missing=missing is not None
    )
    (tmp_path / "data.txt").write_text(text, encoding="utf-8")
    options = {"missing": missing or "error", "dtype": dtype, "layout": layout}
    save_dataset(grouped(read(tmp_path / "data.txt", **options)), tmp_path / "expected.linrank")
    told = convert_svmlight(tmp_path / "data.txt", tmp_path / "made.linrank", **options)
    assert (tmp_path / "made.linrank").read_bytes() == (tmp_path / "expected.linrank").read_bytes()
    assert told.n_documents == n_rows
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.txt", "expected.linrank", "made.linrank"]
    assert scan(tmp_path / "made.linrank").n_documents == n_rows


@pytest.mark.usefixtures("in_tiny_pieces")
@pytest.mark.parametrize("options", [{"one_query": True}, {}], ids=["one query", "group file"])
def test_lines_without_a_qid_are_grouped_already(options, tmp_path):
    (tmp_path / "data.txt").write_text("".join(f"{row % 2} 1:{row}.5 3:1\n" for row in range(20)))
    if not options:
        (tmp_path / "data.txt.query").write_text("5\n15\n")
    save_dataset(read(tmp_path / "data.txt", **options), tmp_path / "expected.linrank")
    convert_svmlight(tmp_path / "data.txt", tmp_path / "made.linrank", **options)
    assert (tmp_path / "made.linrank").read_bytes() == (tmp_path / "expected.linrank").read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:1\n1 qid:1 1:x\n", "data.txt:2: "),
        ("# nothing\n", "has no documents"),
        ("1 qid:1\n", "no line has a feature"),
        ("1 qid:1 2000000:1\n", "n_features=2000000"),
        ("1 1:1\n", "data.txt:1: this line has no qid"),
    ],
)
def test_faults_are_those_of_reading_and_leave_nothing(text, message, tmp_path):
    (tmp_path / "data.txt").write_text(text)
    for reading in (read, lambda path: convert_svmlight(path, tmp_path / "made.linrank")):
        with pytest.raises(DataFormatError, match=message):
            reading(tmp_path / "data.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["data.txt"]


def test_too_little_memory_is_refused_with_what_is_needed(tmp_path):
    (tmp_path / "data.txt").write_text("1 qid:1 1:1\n")
    with pytest.raises(LinrankError, match=r"memory=1 MB: this process has \d+ MB already, .* Give it \d+ MB\."):
        convert_svmlight(tmp_path / "data.txt", tmp_path / "made.linrank", memory="1MB")


@pytest.mark.usefixtures("in_tiny_pieces")
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("full", [True, False], ids=["all arrays", "few arrays"])
def test_a_file_whose_queries_are_interleaved_is_written_grouped(layout, full, tmp_path):
    rng = np.random.default_rng(1)
    text = text_of(rng, 50, 5, density=0.5, interleaved=True, comments=True, missing=False)
    (tmp_path / "data.txt").write_text(text, encoding="utf-8")
    data = read(tmp_path / "data.txt", layout=layout)
    assert data.queries.order is not None
    if full:
        ids = np.empty(data.n_queries, dtype=object)
        ids[:] = [1, "b", 2.5, "d", "e", "f", "g"][: data.n_queries]
        data = replace(
            data,
            queries=replace(data.queries, ids=ids),
            feature_names=tuple("abcde"),
            document_weights=rng.random(50),
            query_weights=rng.random(data.n_queries),
            unretrieved=Unretrieved(np.ones(data.n_queries), np.arange(data.n_queries + 1)),
        )
    else:
        data = replace(data, labels=None, comments=None)
    save_dataset(data, tmp_path / "given.linrank")
    save_dataset(grouped(data), tmp_path / "expected.linrank")
    with pytest.raises(DataFormatError, match="linrank convert"):
        scan(tmp_path / "given.linrank")
    for given_ in ("given", "expected"):
        regroup_dataset(tmp_path / f"{given_}.linrank", tmp_path / "made.linrank")
        assert (tmp_path / "made.linrank").read_bytes() == (tmp_path / "expected.linrank").read_bytes()
    assert len(open_dataset(tmp_path / "made.linrank").qid) == 50


def test_a_file_without_documents_stays_what_it_is(tmp_path):
    for name, features in (("dense", np.empty((0, 3))), ("sparse", sparse.csr_array((0, 3)))):
        data = RankingDataset.from_arrays(features, np.empty(0), qid=np.empty(0, dtype=np.int64))
        save_dataset(data, tmp_path / f"{name}.linrank")
        regroup_dataset(tmp_path / f"{name}.linrank", tmp_path / "made.linrank")
        assert (tmp_path / "made.linrank").read_bytes() == (tmp_path / f"{name}.linrank").read_bytes()


def damaged(path, name, place, value):
    """One number of an array changed on disk, which its checksum alone would tell."""
    with path.open("r+b") as file:
        section = read_layout(file, str(path)).sections[name]
        file.seek(section.offset + place * section.dtype.itemsize)
        file.write(np.array([value], dtype=section.dtype).tobytes())


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("order", 3, 10**9, "leaves out row"),
        ("order", 3, -1, "leaves out row"),
        ("row_starts", 4, 10**6, "row_starts does not ascend"),
        ("row_starts", 4, -1, "row_starts does not ascend"),
        ("comment_starts", 50, 10**6, "comment_starts does not ascend"),
        ("query_starts", 1, 60, "do not follow one another"),
    ],
)
def test_a_damaged_file_is_refused_and_leaves_nothing(name, place, value, message, tmp_path):
    text = text_of(np.random.default_rng(1), 50, 5, density=0.5, interleaved=True, comments=True, missing=False)
    (tmp_path / "data.txt").write_text(text, encoding="utf-8")
    save_dataset(read(tmp_path / "data.txt", layout="sparse"), tmp_path / "given.linrank")
    damaged(tmp_path / "given.linrank", name, place, value)
    with pytest.raises(DataFormatError, match=f"given.linrank: .*{message}"):
        regroup_dataset(tmp_path / "given.linrank", tmp_path / "made.linrank")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.txt", "given.linrank"]


def test_progress_comes_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(convert_text, "CHUNK_BYTES", 200)
    text = text_of(np.random.default_rng(0), 40, 4, density=1.0, interleaved=True, comments=False, missing=False)
    (tmp_path / "data.txt").write_text(text, encoding="utf-8")
    told = []
    convert_svmlight(tmp_path / "data.txt", tmp_path / "made.linrank", progress=lambda *done: told.append(done))
    n_bytes = len(text.encode())
    assert told[-1] == (2 * n_bytes, 2 * n_bytes)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12), n_bytes=st.integers(1, 50))
def test_blocks_cover_all_rows_and_may_end_between_queries_alone(sizes, n_bytes):
    starts = np.concatenate(([0], np.cumsum(sizes)))
    for whole in (False, True):
        bounds = grouped_rows.row_bounds(starts, 1.0, n_bytes, whole_queries=whole)
        assert bounds[0] == 0
        assert bounds[-1] == starts[-1]
        assert (np.diff(bounds) > 0).all()
        assert not whole or np.isin(bounds, starts).all()
