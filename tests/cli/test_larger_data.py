"""linrank train on data that is not loaded: the same model, within a budget or on a cluster, or a clear refusal."""

import gc
import json
import re
import tempfile
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

from linrank import LinearModel, RankSVM, make_ranking, open_dataset, save_dataset, scan
from linrank.cli import live_rounds, main
from linrank.dataset import stored_dataset
from linrank.objective.stored_shards import Room
from linrank.reading.convert import convert
from linrank.reading.write_svmlight import write_svmlight
from linrank.strict_json import written_json


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    data, _ = make_ranking(60, (5, 15), 8)
    train, vali = data.split(0.7, 0.3)
    for name, part in (("train", train), ("vali", vali)):
        write_svmlight(folder / f"{name}.txt", part)
        save_dataset(part, folder / f"{name}.linrank")
    save_dataset(make_ranking(30, 10, 40, density=0.1)[0], folder / "sparse.linrank")
    (folder / "bounds.txt").write_text("1 +\n2 -1 *\n")
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(stored_dataset, "CHUNK_BYTES", 5000)
    monkeypatch.setattr(Room, "of", lambda *_: Room(remembers=False, spills=True, for_data=0))

    def call(*words):
        code = main(["train", *map(str, words)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def same_but_for_time(model):
    content = model._content()
    of_a_cluster = ("workers", "rounds", "bytes_sent", "bytes_received", "round_seconds")
    for volatile in ("training_seconds", "reading_seconds", "feature_bytes", "memory", *of_a_cluster):
        content["training"].pop(volatile, None)
    kept = {name: value for name, value in content.items() if name not in ("trained_at", "parameters")}
    return json.loads("".join(written_json(kept, indented=True)))


@pytest.mark.parametrize(
    "options",
    [
        ["--scaling", "standard", "--validate", "vali.txt", "--patience", 3],
        ["--scaling", "query"],
        ["--scaling", "standard", "--prior", "prior.json"],
        ["--scaling", "min-max", "--bounds", "bounds.txt", "--loss", "hinge"],
        ["--penalty", "l1", "--max-iter", 30],
        ["--method", "listnet"],
        ["--method", "minbatsrank", "--set", "shuffle=false"],
    ],
    ids=lambda options: " ".join(map(str, options)),
)
def test_the_model_is_that_of_the_data_in_memory(run, folder, options):
    if "--prior" in options:
        run("vali.linrank", "prior.json", "--scaling", "standard", "--quiet")
    words = ("train.linrank", "-C", 0.1) if "--method" not in options else ("train.linrank",)
    loaded = run(*words, "loaded.json", *options, "--json")
    on_disk = run(*words, "on-disk.json", *options, "--json", "--memory", "2GB")
    assert (loaded[0], on_disk[0]) == (0, 0), on_disk[2]
    expected, model = (LinearModel.load(folder / name) for name in ("loaded.json", "on-disk.json"))
    content = same_but_for_time(model)
    if "minbatsrank" in options:
        # The loss of a pass is added up chunk by chunk.
        content["training"]["objective"] = pytest.approx(content["training"]["objective"])
    assert content == same_but_for_time(expected)
    assert json.loads(on_disk[1])["measures"] == json.loads(loaded[1])["measures"]
    assert loaded[2] == on_disk[2]


def test_sampled_pairs_are_those_of_memory_where_the_file_is_one_chunk(run, folder, monkeypatch):
    words = ("--method", "sampled-sgd", "--scaling", "standard", "--set", "steps=2000", "--json")
    assert run("train.linrank", "loaded.json", *words)[0] == 0
    weights = {}
    for chunk_bytes in (5000, 1 << 25):
        monkeypatch.setattr(stored_dataset, "CHUNK_BYTES", chunk_bytes)
        code, _, err = run("train.linrank", "on-disk.json", *words, "--memory", "2GB")
        assert code == 0, err
        weights[chunk_bytes] = LinearModel.load(folder / "on-disk.json").weights
    expected = LinearModel.load(folder / "loaded.json").weights
    np.testing.assert_array_equal(weights[1 << 25], expected)
    assert (weights[5000] != expected).any()


def test_sparse_data_too_and_the_output_says_how(run):
    assert run("sparse.linrank", "loaded.json", "--quiet")[0] == 0
    code, out, _ = run("sparse.linrank", "on-disk.json", "--memory", "500 MB")
    assert code == 0
    assert "of features, not loaded, within 500.0 MB" in out
    assert "iter   1" in out
    np.testing.assert_array_equal(LinearModel.load("on-disk.json").weights, LinearModel.load("loaded.json").weights)


def test_data_in_other_forms_is_converted_for_the_time_of_the_training(run, folder, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    frame = open_dataset(folder / "train.linrank").to_frame()
    # Queries in pieces, and in both files.
    frame = frame.sample(frac=1.0, random_state=0)
    (folder / "parts").mkdir()
    for number in range(2):
        frame[number::2].to_parquet(folder / "parts" / f"{number}.parquet")
    convert(folder / "parts", folder / "parts.linrank")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    for given, expected in (("train.txt", "train.linrank"), ("parts", "parts.linrank")):
        assert run(expected, "expected.json", "-C", 0.1, "--quiet", "--memory", "2GB")[0] == 0
        code, out, err = run(given, "made.json", "-C", 0.1, "--quiet", "--memory", "2GB")
        assert code == 0, err
        assert f"{given}: trained on as {tmp_path}/linrank-" in out
        assert re.search(r"data.linrank, [\d.]+ kB, which is removed at the end", out)
        models = [LinearModel.load(folder / name) for name in ("expected.json", "made.json")]
        assert same_but_for_time(models[1]) == same_but_for_time(models[0])
        stored = scan(folder / given, memory="2GB")
        weights = RankSVM(C=0.1).fit(stored).coef_
        np.testing.assert_array_equal(weights, RankSVM(C=0.1).fit(folder / expected).coef_)
        assert len(list(tmp_path.iterdir())) == 1
        del stored
        gc.collect()
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train.txt", "--dask", "local:1"], "Convert it: linrank convert train.txt train.linrank"),
        ([".", "model.json", "--dask", "local:1"], ".: holds no file named *.parquet. Check the path."),
        (["train.linrank", "--memory", "lots"], "write it as 2GB"),
        ([".", "model.json", "--memory", "2GB"], "holds no file named *.parquet"),
        (["-", "--memory", "2GB"], "standard input is read once"),
        (["train.linrank", "--memory", "2GB", "--method", "adarank"], "--memory: adarank needs all of its data"),
        (
            ["train.linrank", "--dask", "local:1", "--method", "sampled-sgd"],
            "sampled-sgd learns in one process",
        ),
        (["nowhere.linrank", "--dask", "nowhere://x:1"], "nowhere://x:1: no scheduler of Dask answers there"),
        (["train.linrank", "--dask", "local:none"], "local:none: write local:N"),
        (["train.linrank", "--resume"], "Give --dask"),
        (["train.linrank", "--memory", "2GB", "--dtype", "float32"], "--dtype says how other files are read"),
        (["train.linrank", "-", "--dask", "local:1", "--resume"], "Name a file for the model"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_refused_with_the_remedy(run, words, message):
    if "--dask" in words:
        pytest.importorskip("distributed")
    code, _, err = run(*words)
    assert code == 1
    assert message in err


def test_rounds_of_a_training_that_ended_are_not_written_over(run, folder):
    (folder / "model.json.rounds").write_bytes(b"linrank rounds 1\n")
    code, _, err = run("train.linrank", "model.json", "--dask", "local:1")
    assert code == 1
    assert "model.json.rounds: holds the rounds of a training that ended before its time. Go on with it (--r" in err
    (folder / "model.json.rounds").write_text("something of mine")
    for resume in ([], ["--resume"]):
        code, _, err = run("train.linrank", "model.json", "--dask", "local:1", *resume)
        assert code == 1
        assert "is there already, and is not the rounds of a training" in err
    (folder / "model.json.rounds").unlink()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_cluster_trains_the_same_model_and_goes_on_with_one_that_ended(run, folder, monkeypatch):
    distributed = pytest.importorskip("distributed")
    from linrank.executors import dask

    assert run("train.linrank", "loaded.json", "--quiet")[0] == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = dask.connect("local:1")
    try:
        address = client.scheduler.address

        def end(*, quiet):
            def at_the_seventh(last):
                if last.number == 7:
                    raise OSError("the machine went away")

            return nullcontext((at_the_seventh, print))

        with monkeypatch.context() as patched:
            patched.setattr(live_rounds, "live_rounds", end)
            code, _, err = run("train.linrank", "dask.json", "--dask", address)
        assert code == 1
        assert "the machine went away" in err
        assert (folder / "dask.json.rounds").exists()
        code, out, err = run("train.linrank", "dask.json", "--dask", address, "--resume")
        assert code == 0, err
        assert "dask.json.rounds: the training goes on with what it holds" in out
        assert "of features, on 1 worker, in " in out
    finally:
        client.cluster.close(timeout=20)
        client.close()
    assert not (folder / "dask.json.rounds").exists()
    expected, model = (LinearModel.load(folder / name) for name in ("loaded.json", "dask.json"))
    assert same_but_for_time(model) == same_but_for_time(expected)
    assert distributed is not None
