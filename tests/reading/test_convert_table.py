"""Tables of any size, and folders of Parquet files, become the file that their rows, grouped, would be saved as."""

from dataclasses import replace

import numpy as np
import pytest

from linrank import DataFormatError, LinrankError, read, save_dataset, scan
from linrank.dataset import arranging
from linrank.dataset.queries import Queries
from linrank.reading import convert_table, staged_rows, table_sources
from linrank.reading.convert import convert

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def in_tiny_pieces(monkeypatch):
    """Batches and blocks of a few rows, so that small data has many of each."""
    monkeypatch.setattr(convert_table, "room_within", lambda _, needed: needed - arranging.LEAST_ROOM + 16000)
    monkeypatch.setattr(staged_rows, "_ROWS_AT_A_TIME", 3)
    monkeypatch.setattr(table_sources, "_ROWS_AT_A_TIME", 7)


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


def frame_of(seed, n_rows=60, *, interleaved=True, missing=False, kind="float64", ids="int"):
    rng = np.random.default_rng(seed)
    queries = rng.integers(0, 9, n_rows)
    queries = queries if interleaved else np.sort(queries)
    features = rng.normal(size=(n_rows, 4)).round(3).astype(kind)
    if missing:
        features[rng.random(features.shape) < 0.3] = np.nan
    return pd.DataFrame(
        {
            "qid": queries if ids == "int" else [f"q{query}é" for query in queries],
            "label": rng.integers(0, 3, n_rows),
            "url": [f"doc{row}" for row in range(n_rows)],
            "w": rng.random(n_rows).round(3),
            "traffic": queries + 0.5,
            **{name: features[:, place] for place, name in enumerate(("bm25", "age", "c", "d"))},
        }
    )


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=11)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        table = pa.Table.from_pandas(frame)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=13)
    return path


ROLES = {"docid": "url", "weight": "w", "query_weight": "traffic"}
FEATURES = ["bm25", "age", "c", "d"]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("interleaved", [True, False], ids=["interleaved", "grouped"])
@pytest.mark.parametrize(
    ("missing", "kind", "ids", "roles"),
    [
        (None, "float64", "int", ROLES),
        (None, "float32", "text", {"features": FEATURES}),
        ("keep", "float32", "int", ROLES | {"dtype": "float64"}),
        ("query_min", "float64", "text", ROLES | {"features": FEATURES[::-1]}),
        (-1.5, "float64", "int", {"features": FEATURES[:2], "label": None}),
        (0.0, "float64", "int", {"features": FEATURES[:2], "qid": None, "docid": "url"}),
    ],
)
def test_the_file_has_the_bytes_of_the_data_grouped_and_saved(ending, interleaved, missing, kind, ids, roles, tmp_path):
    frame = frame_of(1, interleaved=interleaved, missing=missing is not None, kind=kind, ids=ids)
    path = write(frame, tmp_path / f"data.{ending}")
    options = roles | ({} if missing is None else {"missing": missing})
    expected = grouped(read(path, **options))
    save_dataset(expected, tmp_path / "expected.linrank")
    told = convert(path, tmp_path / "made.linrank", **options)
    assert (tmp_path / "made.linrank").read_bytes() == (tmp_path / "expected.linrank").read_bytes()
    assert told.n_documents == len(frame)
    assert scan(tmp_path / "made.linrank").fingerprint() == expected.fingerprint()
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name, "expected.linrank", "made.linrank"]


@pytest.mark.parametrize("missing", ["keep", "query_min"])
@pytest.mark.parametrize("ids", ["int", "text"])
def test_queries_are_grouped_across_the_files_of_a_folder(missing, ids, tmp_path):
    (tmp_path / "data").mkdir()
    frames = [frame_of(seed, 25, missing=True, ids=ids) for seed in range(3)]
    frames.insert(1, frames[0][:0])
    for number, frame in enumerate(frames):
        # Columns are found by name.
        shuffled = frame[frame.columns[::-1]] if number % 2 else frame
        write(shuffled, tmp_path / "data" / f"part-{number}.parquet")
    save_dataset(grouped(read(pd.concat(frames), **ROLES, missing=missing)), tmp_path / "expected.linrank")
    convert(tmp_path / "data", tmp_path / "made.linrank", **ROLES, missing=missing)
    assert (tmp_path / "made.linrank").read_bytes() == (tmp_path / "expected.linrank").read_bytes()


def test_features_of_a_folder_are_float32_only_where_all_of_its_files_are(tmp_path):
    for number, kind in enumerate(("float32", "float64")):
        write(frame_of(number, kind=kind), tmp_path / f"part-{number}.parquet")
    convert(tmp_path, tmp_path / "made.linrank", **ROLES)
    assert read(tmp_path / "made.linrank").features.dtype == np.float64


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_a_table_without_rows_stays_one(ending, tmp_path):
    path = write(frame_of(0)[:0], tmp_path / f"data.{ending}")
    save_dataset(read(path, **ROLES), tmp_path / "expected.linrank")
    convert(path, tmp_path / "made.linrank", **ROLES)
    assert (tmp_path / "made.linrank").read_bytes() == (tmp_path / "expected.linrank").read_bytes()


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"age": np.nan}, {}, "feature 'age' has no value (NaN) in row 42"),
        ({"label": np.inf}, {}, "is inf"),
        ({"label": np.nan}, {}, "the label column 'label' has no value"),
        ({"w": -1.0}, {}, "document_weights[42] is -1.0"),
        ({"traffic": 99.0}, {}, "in column 'traffic'; a query has one weight"),
        ({"url": "two words"}, {}, "the docid column 'url' holds 'two words'"),
        ({}, {"label": "lable"}, "there is no column 'lable'"),
        ({}, {"docid": None}, "column 'url'"),
    ],
)
def test_faults_are_those_of_reading_and_leave_nothing(ending, changes, options, message, tmp_path):
    frame = frame_of(0)
    for name, value in changes.items():
        frame[name] = frame[name].astype(type(value))
        frame.loc[42, name] = value
    path = write(frame, tmp_path / f"data.{ending}")
    said = []
    for reading in (read, lambda path, **roles: convert(path, tmp_path / "made.linrank", **roles)):
        with pytest.raises(DataFormatError) as error:
            reading(path, **(ROLES | options))
        said.append(str(error.value))
    assert said[0] == said[1]
    assert said[0].startswith(str(path))
    assert message in said[0]
    assert [path.name for path in tmp_path.iterdir()] == [path.name]


def test_the_file_of_a_folder_that_is_at_fault_is_named(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    frame = frame_of(0)
    for number in range(2):
        write(frame, folder / f"part-{number}.parquet")
    made = tmp_path / "made.linrank"
    frame.loc[3, "age"] = np.nan
    write(frame, folder / "part-1.parquet")
    with pytest.raises(DataFormatError, match=r"part-1\.parquet: feature 'age' has no value \(NaN\) in row 3;"):
        convert(folder, made, **ROLES)
    write(frame.drop(columns="c"), folder / "part-1.parquet")
    with pytest.raises(DataFormatError, match=r"part-1\.parquet: there is no column 'c'"):
        convert(folder, made, **ROLES)
    (folder / "part-1.parquet").write_bytes(b"PAR1 not really PAR1")
    with pytest.raises(DataFormatError, match=r"part-1\.parquet: "):
        convert(folder, made, **ROLES)
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(DataFormatError, match=r"data: holds no file named \*\.parquet"):
        convert(folder, made, **ROLES)
    with pytest.raises(LinrankError, match="no option zero_based="):
        convert(folder, made, zero_based=True)


def test_progress_comes_to_its_end(tmp_path):
    path = write(frame_of(0), tmp_path / "data.parquet")
    told = []
    convert(path, tmp_path / "made.linrank", **ROLES, progress=lambda *done: told.append(done))
    n_bytes = path.stat().st_size
    assert told[-1] == (2 * n_bytes, 2 * n_bytes)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
