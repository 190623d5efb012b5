"""The index of a frame, which files hold as one more column: it is no feature, unless somebody names it."""

import json

import pytest

import linrank
from linrank.reading.convert_table import convert_table

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

# As the rows of a larger frame that were chosen.
FRAME = pd.DataFrame({"label": [1, 0, 1, 0], "qid": [5, 5, 6, 6], "bm25": [0.1, 0.2, 0.3, 0.4]}, index=[7, 3, 5, 9])


def through_polars(frame, path):
    frame.to_parquet(path.with_suffix(".first"))
    pl.read_parquet(path.with_suffix(".first")).write_parquet(path)


def as_dask(frame, path):
    frame.rename_axis("__null_dask_index__").to_parquet(path)


def without_arrows_schema(frame, path):
    parquet.write_table(pa.Table.from_pandas(frame), path, store_schema=False)


WRITTEN = {
    "parquet": ("data.parquet", pd.DataFrame.to_parquet),
    "parquet, no schema of Arrow's": ("data.parquet", without_arrows_schema),
    "parquet, through polars": ("data.parquet", through_polars),
    "parquet, as Dask names it": ("data.parquet", as_dask),
    "feather": ("data.feather", lambda frame, path: feather.write_feather(pa.Table.from_pandas(frame), path)),
    "csv": ("data.csv", pd.DataFrame.to_csv),
}
every_form = pytest.mark.parametrize(("name", "write"), WRITTEN.values(), ids=WRITTEN)


@every_form
def test_a_frame_is_the_same_data_in_memory_and_in_a_file(name, write, tmp_path):
    write(FRAME, tmp_path / name)
    data, of_frame = linrank.read(tmp_path / name), linrank.read(FRAME)
    assert data.feature_names == of_frame.feature_names == ("bm25",)
    assert data.features.tolist() == of_frame.features.tolist()


def test_a_table_made_of_a_frame_has_its_features():
    table = pa.Table.from_pandas(FRAME)
    assert table.column_names == [*FRAME.columns, "__index_level_0__"]
    for held in (table, pl.from_arrow(table)):
        assert linrank.read(held).feature_names == ("bm25",)


def test_partitions_and_conversions_have_the_features_that_reading_has(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    FRAME[:2].to_parquet(folder / "0.parquet")
    # Of this one the index only counts, and is no column.
    FRAME[2:].reset_index(drop=True).to_parquet(folder / "1.parquet")
    assert linrank.scan(folder).feature_names == ("bm25",)
    convert_table(folder, tmp_path / "data.linrank", format="parquet")
    assert linrank.read(tmp_path / "data.linrank").feature_names == ("bm25",)


def test_an_index_that_is_named_has_the_part_it_is_given(tmp_path):
    path = tmp_path / "data.parquet"
    FRAME.assign(docid=["a", "b", "c", "d"]).set_index(["qid", "docid"]).to_parquet(path)
    data = linrank.read(path, docid="docid")
    assert data.qid.tolist() == [5, 5, 6, 6]
    assert list(data.comments) == ["docid = a", "docid = b", "docid = c", "docid = d"]
    assert data.feature_names == ("bm25",)


def test_an_index_with_a_name_is_no_feature_unless_it_is_asked_for(tmp_path):
    path = tmp_path / "data.parquet"
    FRAME.rename_axis("age").to_parquet(path)
    assert linrank.read(path).feature_names == ("bm25",)
    assert linrank.read(path, features=["age", "bm25"]).features[:, 0].tolist() == [7, 3, 5, 9]


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"\xff",
        b"{",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b'{"index_columns": "a"}',
        b'{"index_columns": [1, null, [[]]]}',
    ],
)
def test_a_note_that_says_nothing_of_an_index_changes_nothing(note, tmp_path):
    table = pa.table({"label": [1, 0], "qid": [1, 1], "a": [0.5, 1.5]}).replace_schema_metadata({b"pandas": note})
    parquet.write_table(table, tmp_path / "data.parquet")
    assert linrank.read(tmp_path / "data.parquet").feature_names == ("a",)
    assert linrank.read(table).feature_names == ("a",)


def test_a_note_that_is_no_strict_json_is_heeded(tmp_path):
    # As pandas writes a frame's own attributes.
    note = json.dumps({"index_columns": ["row"], "attributes": {"mean": float("nan")}}).encode()
    table = pa.table({"label": [1, 0], "qid": [1, 1], "a": [0.5, 1.5], "row": [8, 9]})
    assert linrank.read(table.replace_schema_metadata({b"pandas": note})).feature_names == ("a",)
