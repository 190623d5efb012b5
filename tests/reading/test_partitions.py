"""Partitions, which are row groups of Parquet files or parts of a Dask DataFrame: each query is whole in one."""

import numpy as np
import pytest

from linrank import LinearModel, LinrankError, RankSVM, make_ranking, read, scan
from linrank.dataset.queries import hashes_of
from linrank.errors import DataFormatError
from linrank.reading.read import read as read_any

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture
def frame():
    made, _ = make_ranking(60, (3, 9), 4, skew=False)
    return pandas.DataFrame(made.features, columns=list("abcd")).assign(
        label=made.labels, qid=[f"q{query}" for query in made.queries.of_rows()]
    )


def shuffled(frame):
    return frame.sample(frac=1.0, random_state=0).reset_index(drop=True)


def written(frame, folder, n_files, **how):
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        frame.iloc[rows].to_parquet(folder / f"part-{number}.parquet", **how)
    return folder


def whole_queries(parts):
    """The parts with every query in one, in the slowest, plainest way."""
    places = {}
    for number, part in enumerate(parts):
        for query in part["qid"]:
            places.setdefault(query, []).append(number)
    homes = {}
    for query, of_query in places.items():
        different = sorted(set(of_query))
        homes[query] = different[int(hashes_of(np.array([query], dtype=object), "home")[0]) % len(different)]
    everything = pandas.concat(parts, ignore_index=True)
    at_home = everything["qid"].map(homes)
    return [everything[at_home == number] for number in range(len(parts))]


def assert_same_data(part, expected):
    np.testing.assert_array_equal(part.features, expected.features)
    np.testing.assert_array_equal(part.labels, expected.labels)
    assert part.qid.tolist() == expected.qid.tolist()


def test_what_is_no_parquet_is_refused_by_its_name(frame, tmp_path):
    folder = written(frame, tmp_path / "parts", 2)
    (folder / "part-1.parquet").write_bytes(b"PAR1 no more")
    for given in (folder, folder / "part-1.parquet"):
        with pytest.raises(DataFormatError, match=r"part-1.parquet: is not Parquet that can be read"):
            scan(given)


def test_spread_queries_are_whole_in_one_partition_in_the_order_of_the_rows(frame, tmp_path):
    mixed = shuffled(frame)
    folder = written(mixed, tmp_path / "mixed", 5)
    parts = list(scan(folder, regroup=True).chunks())
    expected = whole_queries([pandas.read_parquet(path) for path in sorted(folder.iterdir())])
    assert [part.n_documents for part in parts] == [len(rows) for rows in expected]
    for part, rows in zip(parts, expected, strict=True):
        assert_same_data(part, read(rows))
    # Nearly every query is in nearly every file, and no file gets most of them.
    assert max(part.n_documents for part in parts) < 0.4 * len(frame)


def test_where_queries_are_whole_nothing_moves(frame, tmp_path):
    place = frame["qid"].str[1:].astype(int) // 20
    (tmp_path / "whole").mkdir()
    for number, part in frame.groupby(place):
        part.to_parquet(tmp_path / "whole" / f"{number}.parquet")
    weights = [RankSVM().fit(scan(tmp_path / "whole", regroup=regroup)).coef_ for regroup in (False, True)]
    np.testing.assert_array_equal(*weights)


def test_a_model_ranks_files_as_it_ranks_their_rows(frame, tmp_path):
    whole = [rows for _, rows in frame.groupby("qid", sort=False)]
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(3):
        pandas.concat(whole[20 * number : 20 * (number + 1)]).to_parquet(folder / f"{number}.parquet")
    model = LinearModel(np.array([1.0, -2.0, 0.5, 3.0]), tuple("abcd"))
    np.testing.assert_array_equal(model.rank(scan(folder)), model.rank(read(frame)))
    spread = written(shuffled(frame), tmp_path / "spread", 2)
    with pytest.raises(LinrankError, match="need whole queries"):
        model.rank(scan(spread, regroup=True))


def test_an_option_that_no_reader_knows_is_refused(frame, tmp_path):
    folder = written(frame, tmp_path / "parts", 1)
    with pytest.raises(LinrankError, match="of format 'parquet' has no option zero_based="):
        scan(folder, zero_based=True)
    dataframe = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)
    with pytest.raises(LinrankError, match="of format 'table' has no option partition="):
        scan(dataframe, partition="1MB")


def test_a_query_in_two_files_is_refused_by_name_with_the_remedy(frame, tmp_path):
    folder = written(frame, tmp_path / "cut", 2)
    message = r"part-1\.parquet: query 'q\d+' is also in .*part-0\.parquet.*brings them together, regroup=True"
    with pytest.raises(DataFormatError, match=message):
        RankSVM().fit(scan(folder))


def test_one_file_is_partitions_of_row_groups_wherever_its_queries_are(frame, tmp_path):
    for name, rows in (("sorted", frame), ("mixed", shuffled(frame))):
        file = tmp_path / f"{name}.parquet"
        rows.to_parquet(file, row_group_size=30)
        data = scan(file, partition=100 * 4 * 8)
        bounds = [part.row_groups for part in data.partitions]
        assert bounds[0] == (0, 3)
        assert bounds[-1][1] == -(-len(frame) // 30)
        assert [a for a, _ in bounds[1:]] == [b for _, b in bounds[:-1]]
        in_pieces = [rows.iloc[30 * a : 30 * b] for a, b in bounds]
        for part, expected in zip(data.chunks(), whole_queries(in_pieces), strict=True):
            assert_same_data(part, read(expected))
        assert data.n_queries == 60
        assert len(scan(file).partitions) == 1


def test_an_error_names_the_row_of_the_file(frame, tmp_path):
    frame.loc[200, "label"] = np.nan
    for name, rows in (("sorted", frame), ("mixed", shuffled(frame))):
        rows.to_parquet(tmp_path / f"{name}.parquet", row_group_size=30)
        row = int(np.flatnonzero(rows["label"].isna())[0])
        with pytest.raises(
            DataFormatError, match=rf"{name}\.parquet: row {row}: the label column 'label' has no value"
        ):
            RankSVM().fit(scan(tmp_path / f"{name}.parquet", partition=30 * 4 * 8))


def test_missing_values_are_filled_from_the_whole_query(frame, tmp_path):
    frame.loc[::7, "b"] = np.nan
    folder = written(shuffled(frame), tmp_path / "missing", 3)
    data = scan(folder, regroup=True, missing="query_min")
    tables = [pandas.read_parquet(path) for path in sorted(folder.iterdir())]
    for part, rows in zip(data.chunks(), whole_queries(tables), strict=True):
        assert_same_data(part, read(rows, missing="query_min"))
    with pytest.raises(LinrankError, match="needs whole queries, and some are spread"):
        RankSVM().fit(data).predict(data)


def test_scores_come_in_the_order_of_the_rows(frame, tmp_path):
    mixed = shuffled(frame)
    data = scan(written(mixed, tmp_path / "mixed", 4), regroup=True)
    ranker = RankSVM().fit(data)
    np.testing.assert_array_equal(ranker.predict(data), ranker.predict(mixed[list("abcd")]))


def test_columns_are_named_in_fit_as_in_scan(frame, tmp_path):
    folder = written(frame.rename(columns={"label": "grade", "qid": "query"}), tmp_path / "named", 1)
    expected = RankSVM().fit(read_any(frame)).coef_
    named = RankSVM().fit(folder, "grade", "query")
    np.testing.assert_allclose(named.coef_, expected, rtol=1e-6)
    with pytest.raises(LinrankError, match="pass nothing beside it but names of columns"):
        RankSVM().fit(folder, frame["label"], qid="query")


def test_a_dask_frame_is_its_partitions(frame, tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    place = frame["qid"].str[1:].astype(int) // 20
    (tmp_path / "whole").mkdir()
    for number, part in frame.groupby(place):
        part.to_parquet(tmp_path / "whole" / f"{number}.parquet")
    lazy = dd.read_parquet(tmp_path / "whole")
    assert lazy.npartitions == 3
    np.testing.assert_array_equal(RankSVM().fit(lazy).coef_, RankSVM().fit(tmp_path / "whole").coef_)
    cut = dd.from_pandas(shuffled(frame), npartitions=4)
    message = r"partition \d of the Dask DataFrame: query 'q\d+' is also in partition \d of the Dask DataFrame"
    with pytest.raises(DataFormatError, match=message):
        RankSVM().fit(cut)
    same = written(shuffled(frame), tmp_path / "files", 1)
    regrouped = [list(scan(data, regroup=True).chunks()) for data in (cut, same)]
    assert sum(part.n_documents for part in regrouped[0]) == regrouped[1][0].n_documents
    for part, rows in zip(regrouped[0], whole_queries([one.compute() for one in cut.partitions]), strict=True):
        assert_same_data(part, read(rows))
