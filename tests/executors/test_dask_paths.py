"""The feature path on real Dask workers, and on files: the path of the data in memory, to the last bit."""

import json

import numpy as np

from linrank import feature_path, make_ranking, save_dataset
from linrank.cli import main
from linrank.executors.dask import DaskExecutor
from on_workers import CLOSED_LATER

pytestmark = CLOSED_LATER


def test_the_path_is_that_of_one_process_and_so_is_the_command_line(client, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data, _ = make_ranking(120, 10, 8)
    train, vali = data.split(0.7, 0.3)
    save_dataset(train, "train.linrank")
    save_dataset(vali, "vali.linrank")
    settings = {"eval_set": vali, "n_steps": 6}
    expected = feature_path("train.linrank", **settings)
    executor = DaskExecutor(client)
    path = feature_path("train.linrank", executor=executor, **settings)
    assert executor.rounds > 10
    curves = [run(capsys, "--memory", "2GB"), run(capsys, "--dask", client.scheduler.address)]
    for step, other in zip(path.steps, expected.steps, strict=True):
        np.testing.assert_array_equal(step.weights, other.weights)
        np.testing.assert_array_equal(step.held_out, other.held_out)
        assert (step.l1, step.train) == (other.l1, other.train)
    assert curves[0] == curves[1]
    assert [point["train"] for point in curves[0]["steps"]] == [step.train for step in expected.by_size()]


def test_data_that_workers_do_not_share_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    assert main(["path", "train.txt", "--dask", "local:1"]) == 1
    assert "train.txt: is read as svmlight, and workers share a .linrank file or Parquet" in capsys.readouterr().err


def run(capsys, *words):
    assert main(["path", "train.linrank", "--validate", "vali.linrank", "--steps", "6", "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)
