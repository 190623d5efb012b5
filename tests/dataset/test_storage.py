import json
import os
import re
import struct
import uuid
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from linrank import __version__
from linrank.compiled import compilations
from linrank.dataset import storage, width
from linrank.dataset.features import as_features
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.section_writer import SectionWriter
from linrank.dataset.storage import open_dataset, save_dataset, verify_dataset
from linrank.dataset.storage_layout import read_layout
from linrank.errors import DataFormatError, LinrankError
from strategies import datasets

PREAMBLE_BYTES = 64


def same_array(one, other):
    """Equal in type and shape, and to the last bit."""
    if one is None or other is None:
        return one is other
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def same_features(one, other):
    if not sparse.issparse(one):
        return same_array(one, other)
    parts = ("data", "indices", "indptr")
    return one.shape == other.shape and all(same_array(getattr(one, part), getattr(other, part)) for part in parts)


def assert_same(one, other):
    assert same_features(one.features, other.features)
    assert same_array(one.labels, other.labels)
    assert one.queries.ids.dtype == other.queries.ids.dtype
    assert one.queries.ids.tolist() == other.queries.ids.tolist()
    assert same_array(one.queries.starts, other.queries.starts)
    assert same_array(one.queries.order, other.queries.order)
    assert one.feature_names == other.feature_names
    assert one.comments == other.comments
    assert same_array(one.document_weights, other.document_weights)
    assert same_array(one.query_weights, other.query_weights)


def small(features=None, **options):
    """Five documents of three interleaved queries, with everything a dataset may have."""
    if features is None:
        features = np.array([[1.0, -0.0], [0.1, np.nan], [3.0, 1e-310], [0.0, 5.0], [2.0, 2.0]])
    options = {
        "qid": ["q1", "q2", "q1", "a long id, much longer than the others", "q2"],
        "feature_names": ["bm25", "größe \N{GRINNING FACE}"],
        "comments": ["docid = a", "", "docid = ü", "\0", "#"],
        "document_weights": [1, 0, 2, 0.5, 1],
        "query_weights": [1, 2, 0],
    } | options
    return RankingDataset.from_arrays(features, [2, 0, 1.5, -1, 0], **options)


SPARSE = sparse.csr_array(np.array([[1.0, 0], [0, 0], [3, -4], [0, 5], [0, 0]]))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.linrank"


@given(datasets(weighted=True))
def test_what_is_opened_is_what_was_saved(tmp_path, data):
    path = tmp_path / "data.linrank"
    save_dataset(data, path)
    opened = open_dataset(path)
    assert_same(data, opened)
    verify_dataset(path)
    # What is opened can be saved again, over itself too, and gives the same file.
    before = path.read_bytes()
    save_dataset(opened, path)
    assert path.read_bytes() == before
    assert_same(data, opened)


@pytest.mark.parametrize("features", [None, SPARSE, SPARSE.astype(np.float32)], ids=["dense", "sparse", "float32"])
def test_names_comments_and_weights_come_back(path, features):
    data = small(features)
    save_dataset(data, path)
    assert_same(data, open_dataset(path))
    verify_dataset(path)


@pytest.mark.parametrize(
    "qid",
    [
        np.array([3, 3, -1, 2, -1]),
        np.array([3, 3, 1, 2, 1], dtype=np.uint8),
        np.array([0.5, 0.5, -0.0, 7, -0.0]),
        np.array([True, True, False, False, True]),
        np.array(["x", "x", "", "ü" * 40, ""]),
        np.array([b"x", b"x", b"\xff", b"z", b"\xff"]),
        np.array(["2020-01-01", "2020-01-01", "2021-01-01", "1999-12-31", "2021-01-01"], dtype="datetime64[D]"),
        np.array(["x", "x", "", "ends in nul\0", "\U0001f50e"], dtype=object),
        np.array([1, 1, "1", 2**100, 0.5], dtype=object),
        np.array(np.array([5, 5, 6, 7, 7]).tolist(), dtype=">i4"),
    ],
    ids=lambda qid: str(qid.dtype),
)
def test_query_ids_of_every_kind_come_back(path, qid):
    data = small(qid=qid, query_weights=None)
    save_dataset(data, path)
    ids, opened = data.queries.ids, open_dataset(path).queries.ids
    assert opened.dtype == ids.dtype.newbyteorder("=")
    assert list(map(repr, opened.tolist())) == list(map(repr, ids.tolist()))


def test_numbers_of_numpy_among_objects_come_back_as_numbers(path):
    qid = np.empty(5, dtype=object)
    qid[:] = [np.int64(4), np.int64(4), np.str_("b"), 1, 1]
    save_dataset(small(qid=qid), path)
    assert open_dataset(path).queries.ids.tolist() == [4, "b", 1]


def test_ids_that_are_neither_numbers_nor_text_are_refused_and_nothing_is_written(path):
    qid = [uuid.UUID(int=1)] * 5
    with pytest.raises(LinrankError, match=r"the id of query 0 is UUID\(.*a UUID; .* Turn the ids into text"):
        save_dataset(small(qid=qid, query_weights=None), path)
    assert not path.exists()


@pytest.mark.parametrize(
    "data",
    [
        RankingDataset.from_arrays(np.empty((0, 3)), [], qid=[], comments=[], document_weights=[], query_weights=[]),
        RankingDataset.from_arrays(sparse.csr_array((0, 3)), [], qid=np.array([], dtype="U4")),
        RankingDataset.from_arrays(sparse.csr_array((2, 0)), [1, 0], qid=[1, 1]),
        RankingDataset.from_arrays(sparse.csr_array((2, 3)), [1, 0], qid=[1, 1], comments=["", ""]),
        RankingDataset.from_arrays(np.empty((2, 0), dtype=np.float32), [1, 0], qid=[1, 2]),
    ],
    ids=["no documents", "no documents, sparse", "no features, sparse", "no entries", "no features"],
)
def test_parts_of_no_size_come_back(path, data):
    save_dataset(data, path)
    assert_same(data, open_dataset(path))
    verify_dataset(path)


def test_any_order_of_memory_is_written_in_one(path):
    features = np.arange(10.0).reshape(5, 2)
    save_dataset(small(features), path)
    expected = path.read_bytes()
    for same in (np.asfortranarray(features), features.astype(">f8"), np.repeat(features, 2, axis=0)[::2]):
        save_dataset(replace(small(), features=same), path)
        assert path.read_bytes() == expected


def test_pieces_of_a_large_array_are_written_and_checked_as_one(path, monkeypatch):
    save_dataset(small(SPARSE), path)
    expected = path.read_bytes()
    monkeypatch.setattr(storage, "_BYTES_AT_A_TIME", 8)
    save_dataset(small(SPARSE), path)
    assert path.read_bytes() == expected
    verify_dataset(path)


def test_entries_out_of_order_or_repeated_are_put_in_order_and_the_input_is_not_changed(path):
    given_matrix = sparse.csr_array((5, 2))
    given_matrix.indptr = np.array([0, 3, 3, 3, 3, 3])
    given_matrix.indices, given_matrix.data = np.array([1, 0, 1]), np.array([1.0, 2.0, 3.0])
    data = small(given_matrix)
    save_dataset(data, path)
    assert open_dataset(path).features.toarray()[0].tolist() == [2.0, 4.0]
    assert open_dataset(path).features.indices.tolist() == [0, 1]
    assert given_matrix.indices.tolist() == [1, 0, 1]


def test_more_columns_than_the_form_can_number_are_refused(path, monkeypatch):
    monkeypatch.setattr(width, "memory_bytes", lambda: np.inf)
    data = small(sparse.csr_array((5, 2**31)), feature_names=None)
    with pytest.raises(LinrankError, match=r"2147483648 features; a file holds at most 2147483647\. Hash"):
        save_dataset(data, path)


def test_a_failure_leaves_what_was_there(path, monkeypatch):
    path.write_text("precious")

    def fail(file, layout):
        raise OSError("disk full")

    monkeypatch.setattr("linrank.dataset.section_writer.write_layout", fail)
    with pytest.raises(OSError, match="disk full"):
        save_dataset(small(), path)
    assert path.read_text() == "precious"
    assert list(path.parent.iterdir()) == [path]


# Opening touches little, and the file is safe.


def memory_map_under(array):
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return array


@pytest.mark.parametrize("features", [None, SPARSE], ids=["dense", "sparse"])
def test_features_are_views_of_the_file_and_all_arrays_may_be_written_to(path, features):
    save_dataset(small(features), path)
    data = open_dataset(path)
    held = data.features
    mapped = [data.comments.letters, held.data if data.is_sparse else held]
    read = [data.labels, data.document_weights, data.query_weights, data.queries.starts, data.queries.order]
    read += [data.queries.ids, data.comments.starts, *([held.indices, held.indptr] if data.is_sparse else [])]
    for array in (*mapped, *read):
        assert type(array) is np.ndarray
        assert array.flags.writeable
        assert array.flags.aligned
    assert all(memory_map_under(array).mode == "c" for array in mapped)
    assert not any(memory_map_under(array) for array in read)


def test_a_file_that_is_changed_in_its_place_leads_nowhere(path):
    """Kernels follow columns and starts without looking: those that were checked, not those that are there now."""
    save_dataset(small(SPARSE), path)
    data = open_dataset(path)
    expected = data.features.toarray()
    with path.open("r+b") as file:
        layout = read_layout(file, str(path))
        for name in ("columns", "row_starts", "query_starts", "order", "comment_starts"):
            file.seek(layout.sections[name].offset)
            file.write(b"\x7f" * layout.sections[name].n_bytes)
    assert data.features.toarray().tolist() == expected.tolist()
    assert len(list(data.comments)) == data.n_documents
    with pytest.raises(DataFormatError, match="damaged"):
        open_dataset(path)


def test_a_file_that_is_cut_short_between_its_header_and_its_arrays_is_refused(path, monkeypatch):
    for array in ("labels", "values", "row_starts"):
        save_dataset(small(SPARSE), path)

        def read_then_cut(file, source, array=array):
            layout = read_layout(file, source)
            os.truncate(path, layout.sections[array].offset)
            return layout

        monkeypatch.setattr(storage, "read_layout", read_then_cut)
        with pytest.raises(DataFormatError, match="cut short while it was read"):
            open_dataset(path)


@pytest.mark.parametrize("features", [None, SPARSE], ids=["dense", "sparse"])
def test_writing_to_the_arrays_does_not_change_the_file(path, features):
    save_dataset(small(features), path)
    before = path.read_bytes()
    data = open_dataset(path)
    (data.features.data if data.is_sparse else data.features)[:] = 7
    data.labels[:] = 7
    del data
    assert path.read_bytes() == before


def test_the_features_are_those_of_the_file_without_a_copy(path):
    save_dataset(small(SPARSE), path)
    data = open_dataset(path)
    features = as_features(data.features)
    assert np.shares_memory(features.values, data.features.data)
    assert np.shares_memory(features.columns, data.features.indices)
    assert features.columns.dtype == np.int32
    assert data.subset([0, 2]).features.toarray().tolist() == SPARSE.toarray()[[0, 2, 3]].tolist()


def test_row_starts_beyond_32_bits_keep_the_columns_narrow(path, monkeypatch):
    # The limit lowered instead of two thousand million entries written.
    monkeypatch.setattr(storage, "_LARGEST_INT32", 2)
    save_dataset(small(SPARSE), path)
    data = open_dataset(path)
    assert data.features.indptr.dtype == np.int64
    assert data.features.indices.dtype == np.int32
    features = as_features(data.features)
    assert np.shares_memory(features.columns, data.features.indices)
    assert np.shares_memory(features.starts, data.features.indptr)
    assert (data.features @ np.array([1.0, 10.0])).tolist() == (SPARSE @ np.array([1.0, 10.0])).tolist()
    assert data.subset([0, 2]).features.toarray().tolist() == SPARSE.toarray()[[0, 2, 3]].tolist()


@pytest.mark.parametrize(("features", "name"), [(None, "features"), (SPARSE, "values"), (SPARSE, "comment_letters")])
def test_opening_reads_neither_features_nor_comments(path, features, name):
    """Every byte of theirs is changed: opening cannot tell, verifying can."""
    save_dataset(small(features), path)
    section = header_of(path)["arrays"][name]
    with path.open("r+b") as file:
        file.seek(section["offset"])
        file.write(b"\xff" * size_of(section))
    open_dataset(path)
    with pytest.raises(DataFormatError, match=f"the array '{name}' is not what was written"):
        verify_dataset(path)


def test_a_file_of_gigabytes_opens_within_little_memory(path, monkeypatch):
    if not Path("/proc/self/smaps").exists():
        pytest.skip("the system does not tell which part of a map is in memory")
    usual = SectionWriter.append

    def leaving_a_hole(writer, name, array):
        if name == "features":
            writer._done[name] = array.nbytes
        else:
            usual(writer, name, array)

    monkeypatch.setattr(SectionWriter, "append", leaving_a_hole)
    rows, columns = 1_000_000, 1_000
    save_dataset(
        RankingDataset.from_arrays(
            np.broadcast_to(np.float32(0), (rows, columns)), np.zeros(rows), qid=np.repeat(np.arange(1000), 1000)
        ),
        path,
    )
    data = open_dataset(path)
    # The labels are checked: a number a document.
    opened = resident_bytes_of(path)
    assert 0 <= opened < 10 * rows
    assert data.features[rows // 2].tolist() == [0.0] * columns
    assert opened < resident_bytes_of(path) < opened + 4 * 2**20


def resident_bytes_of(path):
    """How much of the maps of a file is in memory."""
    total, ours = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            ours = line.endswith(str(path))
        elif ours and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


def test_where_no_memory_can_be_promised_for_changes_the_map_is_read_only(path, monkeypatch):
    save_dataset(small(SPARSE), path)

    class Refusing(np.memmap):
        def __new__(cls, file, *, mode, **place):
            if mode == "c":
                raise OSError(12, "Cannot allocate memory")
            return super().__new__(cls, file, mode=mode, **place)

    monkeypatch.setattr(np, "memmap", Refusing)
    data = open_dataset(path)
    assert not data.features.data.flags.writeable
    assert as_features(data.features).values.flags.writeable
    assert_same(small(SPARSE), data)


def test_an_opened_file_needs_no_other_kernels_than_arrays_in_memory(path):
    data = small(SPARSE)
    weights, scores = np.ones(2), np.empty(5)
    expected = as_features(data.features).product(weights, scores).tolist()
    compiled = compilations()
    save_dataset(data, path)
    opened = as_features(open_dataset(path).features)
    assert opened.product(weights, np.empty(5)).tolist() == expected
    assert compilations() == compiled


# Damage.


def header_of(path):
    raw = path.read_bytes()
    return json.loads(raw[PREAMBLE_BYTES : PREAMBLE_BYTES + struct.unpack_from("<Q", raw, 16)[0]])


def size_of(section):
    return int(np.prod(section["shape"], dtype=int)) * np.dtype(section["dtype"]).itemsize


def with_header(path, header, version=1, writer=b"9.8.7"):
    """Put another header, with right checksums, into a file: what a damaged disk hardly does, but a stranger may."""
    raw = bytearray(path.read_bytes())
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text = text.ljust(struct.unpack_from("<Q", raw, 16)[0])
    preamble = struct.pack("<12sIQQ16sI8x", bytes(raw[:12]), version, len(text), len(raw), writer, zlib.crc32(text))
    raw[: PREAMBLE_BYTES + len(text)] = preamble + struct.pack("<I", zlib.crc32(preamble)) + text
    path.write_bytes(raw)


def sections_of(path):
    return {
        name: (entry["offset"], entry["offset"] + size_of(entry)) for name, entry in header_of(path)["arrays"].items()
    }


@pytest.mark.parametrize("features", [None, SPARSE], ids=["dense", "sparse"])
def test_a_file_cut_off_anywhere_is_refused(path, features):
    save_dataset(small(features), path)
    whole = path.read_bytes()
    cuts = {0, 1, 11, 12, 40, 63, 64, 65, 200, len(whole) - 1}
    cuts |= {place for bounds in sections_of(path).values() for place in bounds} - {len(whole)}
    for cut in cuts:
        path.write_bytes(whole[:cut])
        with pytest.raises(DataFormatError) as error:
            open_dataset(path)
        assert str(error.value).startswith(f"{path}: ")
        if cut > 0:
            assert re.search(
                r"damaged: it (ends after \d+ bytes|has \d+ bytes instead of \d+)\. Make", str(error.value)
            )


def test_more_bytes_than_there_should_be_are_refused(path):
    save_dataset(small(), path)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"x")
    with pytest.raises(DataFormatError, match=rf"damaged: it has {size + 1} bytes instead of {size}\. Make it anew"):
        open_dataset(path)


@pytest.mark.parametrize("features", [None, SPARSE], ids=["dense", "sparse"])
def test_every_flipped_byte_is_found(path, features):
    """On opening if it is in the header or in the queries, otherwise on verifying; between arrays it does no harm."""
    save_dataset(small(features), path)
    whole = bytearray(path.read_bytes())
    header_end = PREAMBLE_BYTES + struct.unpack_from("<Q", whole, 16)[0]
    sections = sections_of(path)
    index = [range(*sections["query_starts"]), range(*sections["query_ids"])]
    for place in range(len(whole)):
        read_on_opening = place < header_end or any(place in section for section in index)
        held = read_on_opening or any(start <= place < stop for start, stop in sections.values())
        if not held:
            continue
        whole[place] ^= 0x40
        with path.open("r+b") as file:
            file.seek(place)
            file.write(whole[place : place + 1])
            file.flush()
            with pytest.raises(DataFormatError, match=r"damaged: .*\. Make it anew|is not a \.linrank file"):
                (open_dataset if read_on_opening else verify_dataset)(path)
            whole[place] ^= 0x40
            file.seek(place)
            file.write(whole[place : place + 1])


@pytest.mark.parametrize("content", [b"", b"2 qid:1 1:0.5\n", b"PAR1" * 40], ids=["empty", "text", "Parquet"])
def test_other_files_are_told_apart(path, content):
    path.write_bytes(content)
    with pytest.raises(DataFormatError, match=r"is not a \.linrank file: it starts with b'.*linrank convert train"):
        open_dataset(path)


def test_a_transfer_as_text_shows(path):
    save_dataset(small(), path)
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    with pytest.raises(DataFormatError, match=r"is not a \.linrank file"):
        open_dataset(path)


@pytest.mark.parametrize("act", [open_dataset, verify_dataset])
def test_a_file_that_is_not_there_or_a_folder_is_named(tmp_path, act):
    with pytest.raises(DataFormatError, match=r"nothing\.linrank: cannot be read: No such file or directory\. Check"):
        act(tmp_path / "nothing.linrank")
    with pytest.raises(DataFormatError, match=r"cannot be read: Is a directory"):
        act(tmp_path)


def test_a_newer_form_says_what_to_install(path):
    save_dataset(small(), path)
    with_header(path, header_of(path), version=2)
    message = (
        f"{path}: has format version 2, written by linrank 9.8.7; linrank {__version__} reads version 1. "
        "Upgrade with: pip install 'linrank>=9.8.7'"
    )
    with pytest.raises(DataFormatError, match=f"^{re.escape(message)}$"):
        open_dataset(path)


def test_the_version_that_wrote_it_is_in_the_file(path):
    save_dataset(small(), path)
    assert path.read_bytes()[32:48].rstrip(b"\0").decode() == __version__


def edited(header, name, **changes):
    header["arrays"][name] |= changes


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda h: edited(h, "labels", offset=10**12), "the array 'labels' would end at byte 1000000000040 of"),
        (lambda h: edited(h, "labels", offset=-64), r"cannot be understood \(ValueError: negative"),
        (lambda h: edited(h, "labels", shape=[-5]), r"cannot be understood \(ValueError: negative"),
        (lambda h: edited(h, "labels", shape=[2.5]), "cannot be understood"),
        (lambda h: edited(h, "labels", shape=5), r"cannot be understood \(TypeError"),
        (lambda h: edited(h, "labels", dtype="nonsense"), r"cannot be understood \(TypeError"),
        (lambda h: edited(h, "labels", checksum="xyz"), r"cannot be understood \(ValueError"),
        (lambda h: edited(h, "labels", dtype="<f4"), "the array 'labels' has type float32 and shape \\(5,\\), which"),
        (lambda h: edited(h, "labels", shape=[4]), "the array 'labels' has type float64 and shape \\(4,\\), which"),
        (lambda h: edited(h, "query_ids", dtype="|O"), "the array 'query_ids' has type object"),
        (lambda h: edited(h, "columns", dtype="<i2"), "the array 'columns' has type int16"),
        (lambda h: edited(h, "columns", shape=[3]), "the array 'columns'"),
        (lambda h: edited(h, "values", shape=[2, 2]), "the array 'values'"),
        (lambda h: edited(h, "comment_letters", shape=[]), "the array 'comment_letters'"),
        (lambda h: edited(h, "labels", offset=65), r"cannot be understood \(ValueError: an array starts at byte 65"),
        (lambda h: edited(h, "query_ids", dtype="<U99999999999"), "cannot be understood"),
        (lambda h: h.update(n_features=-1, feature_names=None), "it cannot have -1 features"),
        (lambda h: h.update(n_features=2**31, feature_names=None), "it cannot have 2147483648 features"),
        (lambda h: h.update(feature_names=["x", "x"]), "it has 1 feature names for 2 features"),
        (lambda h: edited(h, "comment_letters", shape=[1, 1]), "the array 'comment_letters'"),
        (lambda h: edited(h, "comment_letters", shape=[1]), "its comments do not fill the place they have"),
        (lambda h: h["arrays"].pop("query_starts"), "it has no array 'query_starts'"),
        (lambda h: h["arrays"].pop("values"), "it has no array 'features'"),
        (lambda h: h["arrays"].pop("columns"), "it has no array 'columns'"),
        (lambda h: h["arrays"].pop("query_ids"), "it has no array 'query_ids'"),
        (lambda h: h["arrays"].pop("comment_letters"), "it has no array 'comment_letters'"),
        (lambda h: h["arrays"].pop("comment_starts"), "has an array 'comment_letters' that does not belong there"),
        (lambda h: h["arrays"].update(wages=h["arrays"]["labels"]), "has an array 'wages' that does not belong"),
        (lambda h: h.pop("n_queries"), r"cannot be understood \(KeyError: 'n_queries'\)"),
        (lambda h: h.update(n_documents="5"), "cannot be understood"),
        (lambda h: h.update(arrays=[]), "cannot be understood"),
        (lambda h: h.update(feature_names=["one"]), "it has 1 feature names for 2 features"),
        (lambda h: h.update(feature_names=[1, 2]), "cannot be understood"),
        (lambda h: h.update(query_ids=[1]), "it has 1 query ids for 3 queries"),
        (lambda h: h.update(query_ids=[1, 2, 3]), "has an array 'query_ids' that does not belong there"),
    ],
)
def test_a_header_that_contradicts_itself_is_refused(path, edit, message):
    save_dataset(small(SPARSE), path)
    header = header_of(path)
    edit(header)
    # Shorter, so that what was added has room.
    header["feature_names"] = None if header["feature_names"] == small().feature_names else header["feature_names"]
    with_header(path, header)
    with pytest.raises(DataFormatError, match=f"damaged: .*{message}"):
        open_dataset(path)


@pytest.mark.parametrize("header", [b"", b"{", b"[1]", b"\xff", b"null", b"[" * 1100], ids=range(6))
def test_a_header_that_is_none_is_refused(path, header):
    save_dataset(small(feature_names=["x" * 500, "y" * 500]), path)
    with_header(path, header)
    with pytest.raises(DataFormatError, match=r"damaged: its header cannot be understood .* Make it anew"):
        open_dataset(path)


def forged(data, path, **arrays):
    """Save with other arrays than the dataset can have, checksums and all."""
    usual = storage._arrays_of

    def other_arrays(dataset):
        return usual(dataset) | {name: np.asarray(array) for name, array in arrays.items()}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "_arrays_of", other_arrays)
        save_dataset(data, path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"query_starts": [0, 2, 2, 5]}, "its queries do not follow one another up to document 5"),
        ({"query_starts": [0, 2, 4, 6]}, "its queries do not follow one another"),
        ({"query_starts": [0, 2**63 - 1, -(2**63), 5]}, "its queries do not follow one another"),
        ({"query_starts": [1, 2, 4, 5]}, "its queries do not follow one another"),
        ({"row_starts": np.array([0, 1, 1, 3, 4, 5], "i4")}, "the rows of its features do not fill the place"),
        ({"row_starts": np.array([1, 1, 1, 3, 4, 4], "i4")}, "the rows of its features do not fill the place"),
        ({"comment_starts": [0, 9, 9, 18, 19, 20]}, "its comments do not fill the place"),
    ],
)
def test_an_index_that_leads_astray_is_refused_on_opening(path, arrays, message):
    forged(small(SPARSE), path, **arrays)
    with pytest.raises(DataFormatError, match=f"damaged: {message}"):
        open_dataset(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"labels": [0.0, np.nan, 1, 2, 3]}, r"the label in row 1 is nan; labels are finite numbers"),
        ({"labels": [0.0, 1, 2, 3, np.inf]}, r"the label in row 4 is inf"),
        ({"document_weights": [0.0, 1, -1, 0, 1]}, "document_weights holds a number that is negative or not finite"),
        ({"query_weights": [0.0, np.nan, 1]}, "query_weights holds a number that is negative or not finite"),
        ({"order": [0, 1, 2, 3, 3]}, "the order of its rows names a row twice, or one that is not there"),
        ({"order": [0, 1, 2, 3, 5]}, "the order of its rows names a row twice, or one that is not there"),
        ({"order": [0, 1, 2, 3, -1]}, "the order of its rows names a row twice, or one that is not there"),
        ({"comment_starts": [0, 9, 2**63 - 1, -(2**63), 20, 21]}, "a comment ends before it starts"),
        ({"comment_starts": [0, 9, 5, 19, 20, 21]}, "a comment ends before it starts"),
        ({"row_starts": np.array([0, 1, 0, 3, 4, 4], "i4")}, "row 1 starts at 1 and ends at 0 of 4 values"),
        ({"columns": np.array([0, 0, 2, 1], "i4")}, "row 2 has an entry outside the 2 columns"),
        ({"columns": np.array([0, -1, 1, 1], "i4")}, "row 2 has an entry outside the 2 columns"),
        ({"columns": np.array([0, 1, 1, 1], "i4")}, "the columns of a row do not ascend"),
        ({"columns": np.array([0, 1, 0, 1], "i4")}, "the columns of a row do not ascend"),
    ],
)
@pytest.mark.parametrize("act", [open_dataset, verify_dataset])
def test_content_that_no_dataset_has_is_refused_whatever_the_checksums_say(path, arrays, message, act):
    forged(small(SPARSE), path, **arrays)
    with pytest.raises(DataFormatError, match=f"damaged: {message}"):
        act(path)


@pytest.mark.parametrize(("n_documents", "n_features"), [(2, 2_000_000_000), (0, 10**6), (2, 2**31 - 1)])
def test_more_features_than_a_file_justifies_are_refused_unless_they_are_meant(path, n_documents, n_features):
    labels = np.zeros(n_documents)
    save_dataset(RankingDataset.from_arrays(sparse.csr_array((n_documents, 3)), labels, qid=labels), path)
    with_header(path, header_of(path) | {"n_features": n_features})
    if n_features <= 2**20:
        assert open_dataset(path).n_features == n_features
        return
    with pytest.raises(
        DataFormatError, match=rf"data.linrank: says that it has {n_features} features, but there are 0"
    ):
        open_dataset(path)
    with pytest.raises(DataFormatError, match=r"has 2\d+ features, not n_features=7\. Leave n_features out"):
        open_dataset(path, n_features=7)


def test_a_width_that_is_meant_is_accepted_where_there_is_room(path):
    save_dataset(RankingDataset.from_arrays(sparse.csr_array((2, 2**21)), [0, 1], qid=[1, 1]), path)
    with pytest.raises(DataFormatError, match=r"--n-features 2097152"):
        open_dataset(path)
    assert open_dataset(path, n_features=2**21).n_features == 2**21
    verify_dataset(path)
