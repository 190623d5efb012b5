import pytest

from linrank import make_ranking


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Documents as a folder of Parquet files, each of whole queries."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    made, _ = make_ranking(200, 15, 6, skew=False)
    frame = pandas.DataFrame(made.features, columns=list("abcdef")).assign(
        grade=made.labels, query=made.queries.of_rows()
    )
    place = tmp_path_factory.mktemp("parquet")
    for number, part in frame.groupby(frame["query"] * 5 // 200):
        part.to_parquet(place / f"part-{number}.parquet")
    return place
