"""A `.linrank` file that is cut short in its place while it is loaded: whatever follows its map says so first.

All of it in processes of their own: what does not say so ends the process.
"""
# ruff: noqa: T201 - what a process found is printed

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from linrank import DataFormatError, MinBatSRank, RankingDataset, RankSVM, make_ranking, scan
from linrank.arrays import for_kernels
from linrank.dataset.storage import open_dataset, save_dataset
from linrank.executors.local import Threads
from linrank.maps import refuse_cut_maps
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.reading.write_parquet import write_parquet
from linrank.reading.write_svmlight import write_svmlight
from processes import ran

FORMS = {"dense": np.asarray, "sparse": sparse.csr_array}
USES = {
    "fit": lambda data, _: RankSVM().fit(data),
    "fit of arrays": lambda data, _: RankSVM().fit(data.features, data.labels, qid=data.qid),
    "fit of one that learns by turns": lambda data, _: MinBatSRank().fit(data),
    "predict": lambda data, model: model.predict(data.features),
    "predict of a model": lambda data, model: model.to_model().predict(data.features),
    "predict of a dataset": lambda data, model: model.to_model().predict(data),
    "score": lambda data, model: model.score(data.features, data.labels, qid=data.qid),
    "split": lambda data, _: data.split(0.5, 0.5),
    "describe": lambda data, _: data.describe(),
    "fingerprint": lambda data, _: data.fingerprint(),
    "save": lambda data, _: save_dataset(data, "again.linrank"),
    "write text": lambda data, _: write_svmlight("again.txt", data),
    "write Parquet": lambda data, _: write_parquet("again.parquet", data),
    "comments": lambda data, _: list(data.comments),
    "a comment": lambda data, _: data.comments[3],
}
CUT = "cut.linrank: has 4096 bytes where it had "


def save(form):
    made, _ = make_ranking(60, 40, 40, random_state=0)
    comments = [f"docid = {row}" for row in range(made.n_documents)]
    data = RankingDataset.from_arrays(FORMS[form](made.features), made.labels, qid=made.qid, comments=comments)
    save_dataset(data, "cut.linrank")
    return data


def said_by(use, *arguments):
    """What it says where it refuses."""
    try:
        use(*arguments)
    except DataFormatError as error:
        return str(error)
    return "nothing"


def try_uses(form):
    """Each use of mapped data after the file was cut short, and what it says."""
    model = RankSVM(C=0.001).fit(save(form))
    for name, use in USES.items():
        save(form)
        data = open_dataset("cut.linrank")
        os.truncate("cut.linrank", 4096)
        print(name, "->", flush=True, end=" ")
        print(said_by(use, data, model))


def try_a_pass(form):
    save(form)
    data = open_dataset("cut.linrank")
    with Threads(1) as executor:
        objective = RankingObjective(SquaredHinge(), L2(), 1.0, PlacedData.of(data, executor))
        point = objective.at(np.zeros(data.n_features))
        os.truncate("cut.linrank", 4096)
        print("pass ->", said_by(point.hessian_product, np.ones(data.n_features)))


def try_scanned(form):
    save(form)
    for name, use in {"chunks": lambda data: list(data.chunks()), "fit": lambda data: RankSVM().fit(data)}.items():
        data = scan("cut.linrank")
        chunks = data.chunks([(0, 1), (1, data.n_queries)])
        next(chunks)
        os.truncate("cut.linrank", 4096)
        print(name, "->", said_by(use, data))
        print(name, "in the middle ->", said_by(next, chunks))
        save(form)


def in_a_process(name, form, folder):
    here = Path(__file__).resolve()
    source = f"import sys; sys.path[:0] = {[str(here.parent), str(here.parents[1])]!r}\nimport os, test_maps\n"
    source += f"os.chdir({str(folder)!r}); test_maps.{name}({form!r})"
    code, out, err = ran(source)
    assert code == 0, out + err
    return dict(line.split(" -> ") for line in out.splitlines())


@pytest.mark.parametrize("form", FORMS)
def test_whoever_follows_the_map_says_that_the_file_was_cut_short(form, tmp_path):
    said = in_a_process("try_uses", form, tmp_path)
    assert said.keys() == USES.keys()
    for name, message in said.items():
        assert CUT in message, f"{name}: {message}"
        assert "cut short in its place. Write it again" in message


@pytest.mark.parametrize("form", FORMS)
def test_every_pass_of_a_training_looks_again(form, tmp_path):
    assert CUT in in_a_process("try_a_pass", form, tmp_path)["pass"]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_scanned_is_read_and_says_that_it_ended(form, tmp_path):
    said = in_a_process("try_scanned", form, tmp_path)
    assert {
        name: message.partition(": ")[2].partition(".")[0].partition(" '")[0] for name, message in said.items()
    } == {
        "chunks": "has changed since it was opened",
        "chunks in the middle": "ends within the array",
        "fit": "has changed since it was opened",
        "fit in the middle": "ends within the array",
    }


def test_a_file_that_another_took_the_place_of_goes_on(tmp_path):
    made, _ = make_ranking(5, 4, 3, random_state=0)
    save_dataset(made, tmp_path / "data.linrank")
    data = open_dataset(tmp_path / "data.linrank")
    (tmp_path / "other").write_bytes(b"")
    (tmp_path / "other").replace(tmp_path / "data.linrank")
    np.testing.assert_array_equal(data.subset([0, 1]).features, made.subset([0, 1]).features)


def test_views_of_views_are_known_and_arrays_in_memory_are_no_maps(tmp_path):
    np.zeros(9000).tofile(tmp_path / "numbers")
    mapped = np.memmap(tmp_path / "numbers", dtype=np.float64, mode="r", offset=4104, shape=(80, 100))
    array = np.asarray(mapped)
    views = [mapped, array, mapped[3:], array[2:, 1:][1:], for_kernels(array)[1:]]
    refuse_cut_maps(*views)
    os.truncate(tmp_path / "numbers", 4104 + 8 * 8000 - 1)
    said = [said_by(refuse_cut_maps, view).partition("numbers: ")[2][:43] for view in views]
    assert said == ["has 68103 bytes where it had 68104 when it w"[:43]] * len(views)
    refuse_cut_maps(None, np.zeros(3), sparse.csr_array(np.eye(2)), [[1.0]], np.array(mapped.shape))
