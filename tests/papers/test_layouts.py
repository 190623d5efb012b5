"""Every data set of the papers, in the folders and files its download has, through `linrank reproduce`."""

from dataclasses import replace

import numpy as np
import pytest

from linrank import make_ranking
from linrank.cli import main
from linrank.estimators.catalogue import METHODS
from linrank.papers.figures import egdm, ranksvm
from linrank.papers.published import published
from linrank.papers.reproduction import DATA, LAYOUTS, find_data
from linrank.reading.write_svmlight import write_svmlight

# What the files of each collection are called.
LETOR_3 = ("trainingset.txt", "validationset.txt", "testset.txt")
LETOR_4 = ("train.txt", "vali.txt", "test.txt")
YAHOO = ("train.txt", "valid.txt", "test.txt")
GOV = ("TD20", "HP20", "NP20")
PLACES = [(data, folder, prefix) for data, places in LAYOUTS.items() for folder, prefix in places]


def write_data_set(root, data, folder, prefix=""):
    """A data set of a few queries: its labels, its features and its files are of the kind the real one has."""
    names = LETOR_3 if data[:4] in ("OHSU", *GOV) else YAHOO if prefix else LETOR_4
    whole = _collection(data)
    for fold in range(1, 2 if prefix else 3):
        place = root / folder if prefix else root / folder / f"Fold{fold}"
        place.mkdir(parents=True)
        for name, part in zip(names, whole.split(0.5, 0.25, 0.25, random_state=fold), strict=True):
            write_svmlight(place / f"{prefix}{name}", part)


def _collection(data):
    levels = {"OHSU": (0.5, 0.3, 0.2), "MQ20": (0.7, 0.2, 0.1), **dict.fromkeys(GOV, (0.8, 0.2))}
    made, _ = make_ranking(16, 6, n_features=5, levels=levels.get(data[:4], (0.5, 0.2, 0.1, 0.1, 0.1)))
    if data.endswith("-list"):
        # The place in a list of a thousand or more, from its foot.
        drawn = np.random.default_rng(0)
        made = replace(made, labels=np.concatenate([drawn.permutation(6) * 300.0 + 1 for _ in range(16)]))
    if data in ("MSLR-WEB10K", "MSLR-WEB30K"):
        made = replace(made, features=made.features * [1, 1e5, 1, 1e-3, 10])
    return made


def write_rcv1(root):
    folder = root / "RCV1"
    folder.mkdir()
    for seed, part in enumerate(("train", "test")):
        made, _ = make_ranking(1, 30, n_features=20, levels=(0.5, 0.5), random_state=seed)
        lines = [
            f"{'+1' if label else '-1'} " + " ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(row) if value > 0)
            for label, row in zip(made.labels, made.features, strict=True)
        ]
        (folder / f"rcv1_{part}.binary").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(("data", "folder", "prefix"), PLACES, ids=lambda value: str(value).replace("/", ":"))
def test_it_is_found_where_its_download_has_it(tmp_path, data, folder, prefix):
    write_data_set(tmp_path, data, folder, prefix)
    found = find_data(tmp_path)
    assert list(found) == [data]
    assert [part.load().n_queries for part in found[data][0].parts().values()] == [8, 4, 4]


# The odd ones: without NDCG, and with figures alone.
DRAWN = ("MQ2008-list", "RCV1")


@pytest.mark.parametrize("data", DATA)
def test_every_paper_runs_on_it(tmp_path, data, monkeypatch, capsys):
    import linrank.cli.reproduce as verb

    few = ("ranksvm", "ranksvm-hinge", "minbatsrank", *(["rsrank"] if data in DRAWN else ()))
    monkeypatch.setattr(verb, "METHODS", {name: METHODS[name] for name in few})
    for name in few:
        grid = {setting: values[:2] for setting, values in METHODS[name].grid.items()}
        monkeypatch.setitem(METHODS, name, replace(METHODS[name], grid=grid))
    monkeypatch.setattr(egdm, "_MOST_STEPS", 20)
    monkeypatch.setattr(ranksvm, "CS", (1.0, 1e-4))
    if data == "RCV1":
        write_rcv1(tmp_path)
    else:
        places = LAYOUTS[data]
        write_data_set(tmp_path, data, *places[DATA.index(data) % len(places)])
    out = tmp_path / "out"
    words = ["reproduce", str(tmp_path), "--out", str(out), "--jobs", "1"]
    assert main(words if data in DRAWN else [*words, "--no-figures"]) == 0
    said = capsys.readouterr()
    assert "failed" not in said.out + said.err
    assert (out / "figures").exists() == (data in DRAWN)
    text = (out / "reproduction.md").read_text()
    for printed in published(data=data):
        assert f"### {printed.paper}, {printed.table}: {data}" in text


def test_a_baseline_that_fails_takes_no_other_method_with_it(tmp_path, monkeypatch, capsys):
    import linrank.cli.reproduce as verb

    write_data_set(tmp_path, "OHSUMED", "OHSUMED")
    monkeypatch.setattr(verb, "METHODS", {name: METHODS[name] for name in ("ranksvm", "minbatsrank")})
    monkeypatch.setitem(METHODS, "ranksvm", replace(METHODS["ranksvm"], settings={"tol": -1.0}))
    monkeypatch.setitem(METHODS, "minbatsrank", replace(METHODS["minbatsrank"], grid={}))
    words = ["reproduce", str(tmp_path), "--paper", "minbatsrank", "--out", str(tmp_path / "out"), "--no-figures"]
    assert main([*words, "--jobs", "1"]) == 0
    assert "ranksvm failed: LinrankError: tol" in capsys.readouterr().out.replace("\n", " ")
    assert "| minbatsrank | **" in (tmp_path / "out" / "reproduction.md").read_text()
