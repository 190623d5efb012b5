import gzip
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import DataFormatError, LinrankError, MissingDependencyError
from linrank.reading import csv_tables, gathered_columns, table_sources
from linrank.reading.read import read
from linrank.reading.tables import from_table, read_arrow, read_csv, read_parquet

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

COLUMNS = {
    "qid": ["b", "b", "a", "b", "ü"],
    "bm25": [1.5, -2.0, 0.1, 1e300, 0.0],
    "label": [2, 0, 1, 0, 1],
    "clicks": [7, 0, 2**53, -3, 1],
    "is new": [True, False, False, True, True],
}
EXPECTED = RankingDataset.from_arrays(
    np.array([COLUMNS["bm25"], COLUMNS["clicks"], COLUMNS["is new"]], dtype=float).T,
    COLUMNS["label"],
    qid=COLUMNS["qid"],
    feature_names=["bm25", "clicks", "is new"],
)


class Stream:
    """A table of a library that is not known, but speaks Arrow."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


IN_MEMORY = {
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda columns: pd.DataFrame({name: pd.array(values) for name, values in columns.items()}),
    "pandas, of Arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "Arrow": pa.table,
    "Arrow, in chunks": lambda columns: pa.concat_tables(
        [pa.table(columns).slice(row, 1) for row in range(rows(columns))]
    ),
    "Arrow, a batch": pa.RecordBatch.from_pydict,
    "a stranger": lambda columns: Stream(pa.table(columns)),
}


def rows(columns):
    return len(next(iter(columns.values())))


def write_csv(columns, path):
    pd.DataFrame(columns).to_csv(path, index=False)


def write_feather(columns, path):
    feather.write_feather(pa.table(columns), path)


def write_ipc(columns, path):
    pl.DataFrame(columns).write_ipc(path, compression="zstd")


def write_tsv(columns, path):
    pd.DataFrame(columns).to_csv(path, index=False, sep="\t")


IN_FILES = {
    "data.parquet": lambda columns, path: parquet.write_table(pa.table(columns), path, row_group_size=2),
    "data.feather": write_feather,
    "data.arrow": write_ipc,
    "data.csv": write_csv,
    "data.tsv": write_tsv,
}


def kinds():
    """Every way to hand over columns: a function from columns and a folder to what `read` takes."""
    for name, make in IN_MEMORY.items():
        yield pytest.param(lambda columns, folder, make=make: make(columns), id=name)
    for name, write in IN_FILES.items():

        def written(columns, folder, name=name, write=write):
            write(columns, folder / name)
            return folder / name

        yield pytest.param(written, id=name)


every_kind = pytest.mark.parametrize("make", list(kinds()))


@pytest.fixture(params=[2, 1 << 14], ids=["batches of 2", "one batch"], autouse=True)
def rows_at_a_time(request, monkeypatch):
    monkeypatch.setattr(table_sources, "_ROWS_AT_A_TIME", request.param)


def assert_same(one, other):
    assert one.features.dtype == other.features.dtype
    assert one.features.flags.c_contiguous
    np.testing.assert_array_equal(one.features, other.features)
    assert one.labels.tolist() == other.labels.tolist()
    assert one.queries.ids.tolist() == other.queries.ids.tolist()
    assert one.qid.tolist() == other.qid.tolist()
    assert one.feature_names == other.feature_names
    assert (one.comments and list(one.comments)) == (other.comments and list(other.comments))
    for weights in ("document_weights", "query_weights"):
        held, expected = getattr(one, weights), getattr(other, weights)
        assert (held if held is None else held.tolist()) == (expected if expected is None else expected.tolist())


@every_kind
def test_every_kind_of_table_is_the_dataset_of_its_arrays(make, tmp_path):
    assert_same(read(make(COLUMNS, tmp_path)), EXPECTED)


@every_kind
def test_columns_are_chosen_ordered_and_given_their_parts_by_name(make, tmp_path):
    columns = {
        "grade": [1.5, 0.0, 0.0, 2.0, 1.0],
        "bm25": [1.0, 2.0, 3.0, 4.0, 5.0],
        "url": ["x/1", "x/2", "ü", "x/4", "x/5"],
        "age": [5, 4, 3, 2, 1],
        "text": ["ignored"] * 5,
        "query": [30, 30, 5, 30, 5],
        "trust": [1.0, 0.0, 0.5, 1.0, 1.0],
        "traffic": [7, 7, 2, 7, 2],
    }
    data = read(
        make(columns, tmp_path),
        label="grade",
        qid="query",
        features=["age", "bm25"],
        docid="url",
        weight="trust",
        query_weight="traffic",
        dtype="float32",
    )
    expected = RankingDataset.from_arrays(
        np.array([columns["age"], columns["bm25"]], dtype=np.float32).T,
        columns["grade"],
        qid=columns["query"],
        feature_names=["age", "bm25"],
        comments=[f"docid = {url}" for url in columns["url"]],
        document_weights=columns["trust"],
        query_weights=[7, 2],
    )
    assert_same(data, expected)
    assert data.docids == columns["url"]
    assert data.queries.ids.dtype == np.int64


@given(st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_interleaved_queries_over_many_batches_are_grouped_as_in_arrays(n_rows, seed):
    rng = np.random.default_rng(seed)
    features, labels, qid = rng.normal(size=(n_rows, 2)), rng.integers(0, 3, n_rows), rng.integers(0, 5, n_rows)
    frame = pd.DataFrame(features, columns=["a", "b"]).assign(label=labels, qid=qid)
    data = from_table(frame)
    expected = RankingDataset.from_arrays(features, labels, qid=qid, feature_names=["a", "b"])
    assert_same(data, expected)
    assert (data.queries.order is None) == (expected.queries.order is None)


def test_the_table_is_not_changed():
    frame = pd.DataFrame({"label": [1.0, 0], "qid": [1, 1], "a": [np.nan, 2.0]})
    before = frame.copy()
    data = from_table(frame, missing=5)
    data.features[:] = -1
    data.labels[:] = -1
    pd.testing.assert_frame_equal(frame, before)


# Missing values.


HOLES = {"label": [1, 0, 2, 1], "qid": [1, 1, 2, 2], "a": [5, None, None, None], "b": [1.5, 2.5, None, -4.0]}


@every_kind
def test_missing_values_follow_the_rule(make, tmp_path):
    table = make(HOLES, tmp_path)
    nan = np.nan
    for rule, expected in {
        "keep": [[5, 1.5], [nan, 2.5], [nan, nan], [nan, -4]],
        -1: [[5, 1.5], [-1, 2.5], [-1, -1], [-1, -4]],
        "query_min": [[5, 1.5], [5, 2.5], [0, -4], [0, -4]],
    }.items():
        np.testing.assert_array_equal(read(table, missing=rule).features, expected)
    with pytest.raises(LinrankError, match=r"feature 'a' has no value \(NaN\) in row 1; .*missing=0"):
        read(table)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([None, None], dtype="float64"),
        pd.Series([pd.NA, pd.NA], dtype="Int64"),
        pd.Series([pd.NA, pd.NA], dtype="boolean"),
        pd.Series(pd.arrays.SparseArray([np.nan, np.nan])),
        pd.Series([None, None], dtype=pd.ArrowDtype(pa.float16())),
        pl.Series([None, None]),
        pl.Series([None, None], dtype=pl.Decimal(10, 2)),
        pl.Series([None, None], dtype=pl.Boolean),
        pa.array([None, None]),
        pa.array([None, None], pa.decimal128(5, 2)),
        pa.array([None, None], pa.float16()),
        pa.array([None, None], pa.bool_()),
        pa.array([None, None], pa.int64()).dictionary_encode(),
    ],
    ids=lambda column: (
        f"{type(column).__module__.split('.')[0]} {getattr(column, 'dtype', getattr(column, 'type', None))}"
    ),
)
def test_a_column_without_any_value_is_all_missing(column):
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[type(column).__module__.split(".")[0]]
    data = from_table(frame({"label": [1, 0], "qid": [1, 1], "a": column}), missing=3)
    assert data.features.tolist() == [[3], [3]]


# Types.


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([1, 2, 3], dtype="uint64"), [1, 2, 3]),
        (pd.Series([1.5, None, 3], dtype="Float64"), [1.5, np.nan, 3]),
        (pd.Series([True, None, False], dtype="boolean"), [1, np.nan, 0]),
        (pd.Series(pd.arrays.SparseArray([0, 0, 2.5])), [0, 0, 2.5]),
        (pd.Series([1, None, 3], dtype=pd.ArrowDtype(pa.int64())), [1, np.nan, 3]),
        (pd.Series([np.float16(0.5), None, np.float16(2)], dtype=pd.ArrowDtype(pa.float16())), [0.5, np.nan, 2]),
        (pl.Series([1, None, 2**53]), [1, np.nan, 2**53]),
        (pl.Series(["0.5", None, "3"]).cast(pl.Decimal(10, 2)), [0.5, np.nan, 3]),
        (pl.Series([True, None, False]), [1, np.nan, 0]),
        (pa.array([1, None, 3], pa.int8()), [1, np.nan, 3]),
        (pa.array([np.float16(0.5), None, np.float16(2)], pa.float16()), [0.5, np.nan, 2]),
        (pa.array([True, None, False]), [1, np.nan, 0]),
        (pa.array([7, None, 7]).dictionary_encode(), [7, np.nan, 7]),
        (pa.array([1, None, 3], pa.decimal128(5, 0)), [1, np.nan, 3]),
    ],
    ids=lambda value: str(getattr(value, "dtype", getattr(value, "type", ""))),
)
def test_numbers_of_every_type_become_floats(column, expected):
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[type(column).__module__.split(".")[0]]
    data = from_table(frame({"label": [1, 0, 1], "qid": [1, 1, 1], "a": column}), missing="keep")
    np.testing.assert_array_equal(data.features[:, 0], expected)
    assert data.features.dtype == np.float64


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "Arrow"])
def test_features_are_float32_only_if_all_columns_are_or_told_so(frame):
    single, double = np.array([0.1, 2], dtype=np.float32), np.array([0.1, 2])
    parts = {"label": [1, 0], "qid": [1, 1]}
    assert from_table(frame(parts | {"a": single, "b": single})).features.dtype == np.float32
    assert from_table(frame(parts | {"a": single, "b": double})).features.dtype == np.float64
    assert from_table(frame(parts | {"a": single}), dtype="float64").features.dtype == np.float64
    told = from_table(frame(parts | {"a": double}), dtype=np.float32)
    assert told.features[0, 0] == np.float32(0.1)


@pytest.mark.parametrize(
    ("ids", "dtype"),
    [
        (pd.Series([3, 3, 1], dtype="int32"), np.int32),
        (pd.Series([3, 3, 1], dtype="Int64"), np.int64),
        (pd.Series([2.5, 2.5, 1]), np.float64),
        (pd.Series(["x", "x", "y"], dtype="category"), object),
        (pd.Series(["x", "x", "y"]), object),
        (pl.Series([3, 3, 1], dtype=pl.UInt16), np.uint16),
        (pl.Series(["x", "x", "y"], dtype=pl.Categorical), object),
        (pl.Series(["x", "x", "y"], dtype=pl.Enum(["y", "x"])), object),
        (pa.array(["x", "x", "y"]).dictionary_encode(), object),
        (pa.array(["x", "x", "y"], pa.large_string()), object),
        (pa.array([3, 3, 2**60 + 1]), np.int64),
    ],
    ids=lambda value: str(getattr(value, "type", value)).split("\n")[-1],
)
def test_query_ids_keep_their_type(ids, dtype):
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[type(ids).__module__.split(".")[0]]
    data = from_table(frame({"label": [1, 0, 1], "qid": ids, "a": [1, 2, 3]}))
    expected = ids.to_pylist() if isinstance(ids, pa.Array) else ids.to_list()
    assert data.qid.tolist() == expected
    assert data.queries.ids.dtype == dtype


def test_column_names_that_are_no_text_can_be_named():
    data = from_table(pd.DataFrame([[1, 9, 0.5], [0, 9, 1.5]]), label=0, qid=1)
    assert data.feature_names == ("2",)
    assert data.features.tolist() == [[0.5], [1.5]]


def test_a_name_with_a_dot_is_one_column_in_parquet(tmp_path):
    columns = {"label": [1, 0], "qid": [1, 1], "a": [1, 2], "a.b": [3, 4], "a.b.c": [5, 6]}
    parquet.write_table(pa.table(columns), tmp_path / "data.parquet")
    assert read_parquet(tmp_path / "data.parquet", features=["a.b", "a"]).features.tolist() == [[3, 1], [4, 2]]


# What is refused. In memory a message starts with the row, in a file with the file.


FRAME = {"label": [1, 0, 2], "qid": [1, 1, 2], "bm25": [0.5, 1.5, 2.5], "title": ["x", "y z", "w"]}


@every_kind
@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        (
            {},
            {},
            r"column 'title' (is of type \S+, not numbers\.|holds 'x', which is no number).* features=\[…\].*docid=…",
        ),
        (
            {},
            {"label": "lable", "features": ["bm25"]},
            r"no column 'lable'; the columns are 'label', 'qid', 'bm25', 'title'\. Did you mean 'label'\? .* label=…\.",
        ),
        ({}, {"qid": "xyzzy"}, r"no column 'xyzzy'; the columns are .*'title'\. Name the right one with qid=…"),
        ({}, {"features": ["bm-25"]}, r"no column 'bm-25'; .* Did you mean 'bm25'\? Name the right one with features"),
        (
            {},
            {"label": "title", "features": ["bm25"]},
            r"column 'title' (is of type \S+, not numbers\. Map|holds 'x', which)",
        ),
        ({}, {"weight": "title", "features": ["bm25"]}, r"column 'title' (is of type|holds 'x', which)"),
        ({}, {"features": ["bm25", "label"]}, r"column 'label' is given as label and as features; a column has one"),
        ({}, {"features": ["bm25", "bm25"]}, r"column 'bm25' is given as features and as features"),
        ({}, {"qid": "label", "features": ["bm25"]}, r"column 'label' is given as label and as qid"),
        ({}, {"features": ["bm25"], "query_weight": "bm25"}, r"column 'bm25' is given as query_weight and as features"),
        (
            {"w": [1, 2, 3]},
            {"features": ["bm25"], "query_weight": "w"},
            r"query '?1'? has the weights 1\.0 and 2\.0 in column 'w'; a query has one weight\. Use weight= for",
        ),
        ({"w": [1, -2, 3]}, {"features": ["bm25"], "weight": "w"}, r"document_weights\[1\] is -2\.0; weights are fin"),
        ({"w": [1, 1, -3]}, {"features": ["bm25"], "query_weight": "w"}, r"query_weights\[1\] is -3\.0"),
    ],
)
def test_what_is_refused_names_the_column_and_the_remedy(make, tmp_path, changes, options, message):
    with pytest.raises(LinrankError, match=message) as error:
        read(make(FRAME | changes, tmp_path), **options)
    if list(tmp_path.iterdir()):
        assert re.match(rf"{tmp_path}/data\.\w+:(2:)? ", str(error.value))
        assert isinstance(error.value, DataFormatError)


@every_kind
def test_judgements_alone_are_read_without_looking_at_other_columns(make, tmp_path):
    data = read(make(FRAME, tmp_path), features=[])
    assert data.features.shape == (3, 0)
    assert data.labels.tolist() == list(map(float, FRAME["label"]))


@every_kind
@pytest.mark.parametrize(
    ("changes", "options", "message", "row"),
    [
        ({"label": [1, 0, None]}, {}, r"the label column 'label' has no value\. Fill it or drop the row\.", 2),
        ({"qid": ["a", None, "b"]}, {}, r"the qid column 'qid' has no value", 1),
        ({"title": ["a", "b", None]}, {"docid": "title"}, r"the docid column 'title' has no value", 2),
        ({"w": [1, None, 1]}, {"weight": "w"}, r"the weight column 'w' has no value", 1),
        ({}, {"docid": "title"}, r"the docid column 'title' holds 'y z'; a document id is one word or a wh", 1),
    ],
)
def test_what_is_refused_names_the_row(make, tmp_path, changes, options, message, row):
    with pytest.raises(LinrankError, match=message) as error:
        read(make(FRAME | changes, tmp_path), features=["bm25"], **options)
    place = f"row {row}: "
    for path in tmp_path.iterdir():
        place = f"{path}:{row + 2}: " if path.suffix in (".csv", ".tsv") else f"{path}: row {row}: "
    assert str(error.value).startswith(place)


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**64 - 1])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "Arrow"])
def test_a_whole_number_that_no_float_equals_is_refused(frame, number):
    message = rf"row 2: column 'hash' holds {number}, which a float64 cannot hold exactly: .* Leave the column out"
    hashes = np.array([1, 2, number], dtype=np.uint64 if number >= 2**63 else np.int64)
    with pytest.raises(LinrankError, match=message):
        from_table(frame({"label": [1, 0, 1], "qid": [1, 1, 1], "hash": hashes}))


@pytest.mark.parametrize("number", [2**53, -(2**53), 2**53 + 2, 2**62, -(2**63)])
def test_a_whole_number_that_a_float_equals_is_read_exactly(number):
    assert from_table(pd.DataFrame({"label": [1], "qid": [1], "a": [number]})).features.tolist() == [[number]]


def test_a_number_too_large_for_float32_is_refused():
    frame = pd.DataFrame({"label": [1.0], "qid": [1], "a": [1e300]})
    with pytest.raises(LinrankError, match=r"column 'a' holds a number too large for float32\. Use dtype=float64\."):
        from_table(frame, dtype=np.float32)


@pytest.mark.parametrize("docids", [[1.0, 2.0], ["", "x"]], ids=["floats", "empty"])
def test_document_ids_are_words_or_whole_numbers(docids):
    frame = pd.DataFrame({"label": [1, 0], "qid": [1, 1], "a": [1, 2], "url": docids})
    with pytest.raises(
        LinrankError, match=r"row 0: the docid column 'url' holds .*; a document id is one word or a wh"
    ):
        from_table(frame, docid="url")
    assert from_table(frame.assign(url=[7, 8]), docid="url").docids == ["7", "8"]


def test_a_column_that_is_there_twice_is_refused():
    frame = pd.DataFrame([[1, 1, 2, 3]], columns=["label", "qid", "a", "a"])
    with pytest.raises(LinrankError, match=r"the feature name 'a' is given twice; names must differ\. Rename one\."):
        from_table(frame)
    with pytest.raises(LinrankError, match=r"column 'a' is there 2 times; names must differ\. Rename or drop one\."):
        from_table(frame, features=["a"])


def test_many_columns_are_not_all_listed():
    frame = pd.DataFrame(np.zeros((1, 30)), columns=[f"f{number}" for number in range(30)])
    with pytest.raises(LinrankError, match=r"the columns are 'f0', .*, 'f19' and 10 more\."):
        from_table(frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": "zero"}, "missing='zero' is no rule"),
        ({"dtype": "int32"}, r"dtype='int32' is not for features; use float32 or float64\."),
        ({"features": "bm25"}, r"features='bm25' is one text; pass a list of names: \['bm25'\]\."),
    ],
)
def test_options_are_checked_before_any_work(options, message):
    for reader in (from_table, read_parquet, read_csv, read_arrow):
        with pytest.raises(LinrankError, match=message):
            reader("no such file", **options)


@pytest.mark.parametrize("table", [[[1, 2]], np.zeros((2, 2)), {"a": [1]}, None], ids=lambda t: type(t).__name__)
def test_what_is_no_table_is_refused(table):
    message = rf"a {type(table).__name__} is not a table; pass a pandas or polars DataFrame .*\.from_arrays"
    with pytest.raises(LinrankError, match=message):
        from_table(table)


@pytest.mark.parametrize("reader", [read_parquet, read_csv, read_arrow])
def test_a_file_that_is_not_there_is_named(reader, tmp_path):
    with pytest.raises(
        DataFormatError, match=r"nothing: cannot be read: .*No such file or directory.*\. Check the path"
    ):
        reader(tmp_path / "nothing")


def bytes_of(write):
    sink = pa.BufferOutputStream()
    write(pa.table(FRAME), sink)
    return sink.getvalue().to_pybytes()


PARQUET, FEATHER = bytes_of(parquet.write_table), bytes_of(feather.write_feather)


@pytest.mark.parametrize(
    ("reader", "form", "content"),
    [
        (read_parquet, "Parquet", b"1 qid:1 1:0.5\n"),
        (read_parquet, "Parquet", b""),
        (read_parquet, "Parquet", PARQUET[:-20]),
        (read_arrow, "Arrow", b"1 qid:1 1:0.5\n" * 9),
        (read_arrow, "Arrow", FEATHER[:-20]),
        (read_csv, "CSV", b""),
        (read_csv, "CSV", b"\n\n"),
        (read_csv, "CSV", b"lab\xffel,qid\n1,2\n"),
    ],
)
def test_a_file_of_another_form_is_named(reader, form, content, tmp_path):
    (tmp_path / "data").write_bytes(content)
    with pytest.raises(DataFormatError, match=rf"{tmp_path}/data: is not {form} that can be read \(.+\)\."):
        reader(tmp_path / "data")


@pytest.mark.parametrize(("reader", "purpose"), [(read_parquet, "Reading Parquet"), (read_csv, "Reading CSV")])
def test_without_pyarrow_files_say_what_to_install(reader, purpose, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=rf"{purpose} needs pyarrow, .* pip install 'linrank\[arrow\]'"):
        reader(tmp_path / "data")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames_need_no_pyarrow(frame, monkeypatch):
    table = frame({"label": [1, 0], "qid": [1, 1], "a": [1.0, 2.0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert from_table(table).features.tolist() == [[1], [2]]


# CSV.


@pytest.fixture
def csv(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_the_delimiter_is_told_by_the_name_or_the_caller_and_never_guessed(csv):
    assert read_csv(csv("label\tqid\ta\n1\t2\t3\n", "data.tsv")).features.tolist() == [[3]]
    assert read_csv(csv("label;qid;a\n1;2;3\n"), delimiter=";").features.tolist() == [[3]]
    with pytest.raises(DataFormatError, match=r"csv:1: no ',' in 'label;qid;a'\. Say what separates"):
        read_csv(csv("label;qid;a\n1;2;3\n"))
    for wrong in (";;", "\n", "", "ü"):
        with pytest.raises(LinrankError, match=r"delimiter='.*' cannot separate fields; use one character"):
            read_csv(csv("label;qid;a\n1;2;3\n"), delimiter=wrong)


def test_compressed_csv_and_a_byte_order_mark_are_read(csv):
    compressed = csv(gzip.compress(b"label\tqid\ta\n1\t2\t3\n"), "data.tsv.gz")
    assert read_csv(compressed).features.tolist() == [[3]]
    assert read_csv(csv("\ufefflabel,qid,a\n1,2,3\n")).features.tolist() == [[3]]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["007", "7", "1"], ["007", "7", "1"]),
        (["1", "2", "q3"], ["1", "2", "q3"]),
        (["-0", "1", "2"], ["-0", "1", "2"]),
        (["1.0", "2", "3"], ["1.0", "2", "3"]),
        (["NA", "null", "3"], ["NA", "null", "3"]),
        (["9" * 18, "1", "2"], [10**18 - 1, 1, 2]),
        (["9" * 19, "1", "2"], ["9" * 19, "1", "2"]),
        (["true", "false", "x"], ["true", "false", "x"]),
    ],
    ids=lambda ids: str(ids[0]),
)
def test_ids_in_csv_are_whole_numbers_only_if_all_are_written_so(csv, written, expected):
    lines = "".join(f"{qid},1,0.5\n" for qid in written)
    data = read_csv(csv(f"qid,label,a\n{lines}"))
    assert data.qid.tolist() == expected
    assert data.queries.ids.dtype == (np.int64 if isinstance(expected[0], int) else object)


def test_document_ids_in_csv_are_as_written(csv):
    data = read_csv(csv("label,qid,doc,a\n1,1,007,2\n0,1,NA,3\n"), docid="doc")
    assert data.docids == ["007", "NA"]


@pytest.mark.parametrize("absent", ["", "NaN", "nan", "NULL", "null", "NA", "N/A"])
def test_what_counts_as_missing_in_a_column_of_numbers(csv, absent):
    data = read_csv(csv(f"label,qid,a\n1,1,{absent}\n0,1,3\n"), missing="query_min")
    assert data.features.tolist() == [[3], [3]]


def test_a_column_that_starts_with_whole_numbers_may_go_on_with_others(csv, monkeypatch):
    monkeypatch.setattr(csv_tables, "_BLOCK_BYTES", 64)
    lines = "".join(f"1,q{row},{row},true,\n" for row in range(200))
    data = read_csv(csv(f"label,qid,a,b,c\n{lines}0,q,0.5,false,2.5\n"), missing=0)
    assert data.features[-1].tolist() == [0.5, 0.0, 2.5]
    assert data.features[-2].tolist() == [199.0, 1.0, 0.0]
    assert data.n_queries == 201


@pytest.mark.parametrize("block", [64, 1 << 24], ids=["in blocks", "in one block"])
@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            "label,qid,a\n1,1,2\n\n\n0,1,x\n",
            5,
            r"column 'a' holds 'x', which is no number\. Mend it, or choose the col",
        ),
        ("label,qid,a\n" + "1,1,2\n" * 40 + "\n0,1,x\n", 43, r"column 'a' holds 'x', which is no number"),
        ("label,qid,a\n" + "1,1,2\n" * 40 + "\n0,1\n", 43, r"Expected 3 columns, got 2: 0,1\. Mend it"),
        ('label,qid,a\n"1","1\n2",2\n' + "1,1,2\n" * 40 + "0,1,x\n", 44, r"column 'a' holds 'x'"),
        ("label,qid,a\nhigh,1,2\n", 2, r"column 'label' holds 'high', which is no number"),
        ("label,qid,a\n1,1,2020-01-01\n", 2, r"column 'a' holds '2020-01-01', which is no number"),
        ("label,qid,a\n1,1,2\n\n,1,2\n", 4, r"the label column 'label' has no value"),
        ("label,qid,a\n1,1,2\n\n1,,2\n", 4, r"the qid column 'qid' has no value"),
        (b"label,qid,a\n1,\xff,2\n", 2, r"column 'qid' CSV conversion error to string: invalid UTF8 data\. Mend"),
        ("label,qid,a\n1,1,2\n0,1,2\n0,1,\n", None, r"feature 'a' has no value \(NaN\) in row 2"),
        ("label,qid,a\ninf,1,2\n", 2, r"column 'label' holds a number that is infinite"),
    ],
)
def test_errors_in_csv_name_the_line(csv, monkeypatch, text, line, message, block):
    monkeypatch.setattr(csv_tables, "_BLOCK_BYTES", block)
    path = csv(text)
    with pytest.raises(DataFormatError, match=message) as error:
        read_csv(path)
    assert str(error.value).startswith(f"{path}: " if line is None else f"{path}:{line}: ")
    assert error.value.source == str(path)


def test_a_column_that_starts_with_true_and_false_cannot_go_on_with_numbers(csv, monkeypatch):
    monkeypatch.setattr(csv_tables, "_BLOCK_BYTES", 64)
    with pytest.raises(
        DataFormatError, match=r"csv:42: column 'a' holds '0\.5', which is neither true nor false\. Mend"
    ):
        read_csv(csv("label,qid,a\n" + "1,1,true\n" * 40 + "1,1,0.5\n"))


def test_a_table_of_no_rows_is_a_dataset_of_none(csv):
    assert read_csv(csv("label,qid,a\n")).features.shape == (0, 1)
    assert from_table(pd.DataFrame({"label": [], "qid": [], "a": []})).features.shape == (0, 1)


def test_parquet_reads_only_the_columns_it_needs(tmp_path, monkeypatch):
    parquet.write_table(pa.table(FRAME), tmp_path / "data.parquet")
    asked = []
    usual = parquet.ParquetFile.iter_batches

    def listening(self, batch_size, row_groups, *, columns):
        asked.extend(columns)
        return usual(self, batch_size, row_groups, columns=columns)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", listening)
    read_parquet(tmp_path / "data.parquet", features=["bm25"])
    assert sorted(asked) == ["bm25", "label", "qid"]


def test_a_table_that_no_memory_holds_is_refused_before_it_is_read(tmp_path, monkeypatch):
    frame = pd.DataFrame({"label": np.zeros(5000), "qid": 1, "a": 0.5})
    frame.to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr(gathered_columns, "memory_bytes", lambda: 39_999)
    with pytest.raises(
        DataFormatError, match=r"rows\.parquet: 5,000 rows of 1 features need about 40\.0 kB; there are"
    ):
        read(tmp_path / "rows.parquet")
