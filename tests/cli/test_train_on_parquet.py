"""linrank train on Parquet with a cluster: queries spread or not, and what is shown of the rounds."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from linrank import LinearModel, RankSVM, make_ranking, read, scan
from linrank.cli import main, train
from linrank.cli.cluster import connected
from linrank.cli.larger_data import read_to_train

pytest.importorskip("distributed")
pandas = pytest.importorskip("pandas")
# Sockets and processes of Dask are closed by its own threads, after the tests.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

from linrank.cli.live_rounds import IterationLines, LiveRounds  # noqa: E402
from linrank.executors.dask import DaskExecutor, Round, connect  # noqa: E402


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made, _ = make_ranking(80, 10, 5, skew=False)
    frame = pandas.DataFrame(made.features, columns=list("abcde")).assign(
        grade=made.labels, query=made.queries.of_rows()
    )
    mixed = frame.sample(frac=1.0, random_state=0).reset_index(drop=True)
    (tmp_path / "spread").mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(mixed)), 3)):
        mixed.iloc[part].to_parquet(tmp_path / "spread" / f"{number}.parquet")
    return mixed


def test_a_folder_of_spread_queries_is_trained_on_as_in_python(rows, capsys):
    words = ["train", "spread", "model.json", "--label", "grade", "--qid", "query", "-C", "0.01"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = connect("local:1")
    try:
        words += ["--dask", client.scheduler.address]
        assert main(words) == 1
        assert "is also in" in (said := capsys.readouterr().err)
        assert "brings them together, --regroup; or write them so." in said
        assert main([*words, "--regroup", "--scaling", "none"]) == 0
        shown = capsys.readouterr().out
        assert main([*words[:2], "scaled.json", *words[3:], "--regroup", "--scaling", "standard", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
    finally:
        client.cluster.close(timeout=20)
        client.close()
    data = scan("spread", label="grade", qid="query", regroup=True)
    model = LinearModel.load("model.json")
    np.testing.assert_array_equal(model.weights, RankSVM(C=0.01).fit(data).coef_)
    assert model.training["queries"] == 80
    assert model.training["documents"] == 800
    assert {"rounds", "bytes_sent", "bytes_received", "round_seconds", "workers"} <= set(model.training)
    assert "iter   1" in shown
    assert "| rounds " in shown
    assert f"in {model.training['rounds']} rounds of " in shown
    # The same scaling, measures and pairs as of the same rows in memory.
    whole = read(rows, label="grade", qid="query")
    assert main(["train", "spread/0.parquet", "one.json", "--label", "grade", "--qid", "query"]) == 0
    assert told["bytes_received"] > 0
    assert told["scaling"] == "standard"
    scaling = LinearModel.load("scaled.json").scaling
    np.testing.assert_allclose(scaling.scale, whole.features.std(axis=0))
    assert told["pairs"] == model.training["pairs"]


def test_the_column_of_document_ids_is_no_feature_on_a_cluster_either(rows, tmp_path):
    (tmp_path / "named").mkdir()
    rows.assign(number=np.arange(len(rows))).to_parquet(tmp_path / "named" / "all.parquet")
    words = ["named", "model.json", "--label", "grade", "--qid", "query", "--docid", "number", "--dask", "local:1"]
    data = read_to_train(train.parser().parse_args(words))
    assert data.feature_names == tuple("abcde")
    (loaded,) = data.as_they_stand()
    assert loaded.n_features == 5
    assert loaded.docids is None


@pytest.mark.parametrize("address", ["local:1", "tcp://10.0.0.1:8786"])
def test_a_client_leaves_before_its_cluster_ends_so_that_no_result_is_lost_with_a_worker(address, monkeypatch):
    closed = []
    cluster = SimpleNamespace(close=lambda: closed.append("cluster"))
    client = SimpleNamespace(cluster=cluster, close=lambda: closed.append("client"))
    monkeypatch.setattr("linrank.executors.dask.connect", lambda _: client)
    with connected(address):
        pass
    assert closed == (["client", "cluster"] if address == "local:1" else ["client"])


def test_what_parquet_cannot_have_is_refused(rows, capsys):
    words = ["train", "spread", "model.json", "--label", "grade", "--qid", "query"]
    for more, message in [
        (["--dask", "local:1", "--memory", "2GB"], "workers load their share of Parquet as a whole"),
        (["--dask", "local:1", "--delimiter", ";"], "has no option --delimiter"),
        (["--regroup"], "--regroup is for Parquet on a cluster. Give --dask"),
    ]:
        assert main([*words, *more]) == 1
        assert message in capsys.readouterr().err


def test_rounds_are_counted_for_the_running_line_and_each_iteration():
    shown = []
    told = LiveRounds(shown.append)
    told(Round(1, "sizes", 0.5, 2000, 100))
    told(Round(2, "evaluate shard", 0.25, 1000, 3_000_000))
    assert shown[-1] == "rounds   2  out   3.0 kB  back   3.0 MB    0.750 s; last: evaluate shard, 250 ms"
    cluster, lines = object.__new__(DaskExecutor), []
    show = IterationLines(cluster, lines.append)
    for rounds in (3, 5):
        cluster.rounds, cluster.sent, cluster.received, cluster.seconds = rounds, 1000 * rounds, 10 * rounds, rounds / 4
        show(f"iter {rounds}")
    assert lines == [
        "iter 3  | rounds   3  out   3.0 kB  back     30 B    0.750 s",
        "iter 5  | rounds   2  out   2.0 kB  back     20 B    0.500 s",
    ]
