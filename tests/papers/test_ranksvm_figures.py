"""Lee & Lin's Figures 4 to 7 from our runs: the paper's structures and methods, each to the same least value."""

import numpy as np
import pytest

from linrank import make_ranking
from linrank.experiments.folds import Fold, Part
from linrank.papers.figures import ranksvm
from linrank.papers.figures.traces import Run, traces
from linrank.solvers.bundle import Bundle
from linrank.solvers.tron import TRON

DATA, _ = make_ranking(24, 12, 5, levels=6, random_state=1)
TRAIN, TEST = DATA.split(0.75, 0.25)
FOLD = Fold("Fold1", *(Part("", data=part) for part in (TRAIN, TEST, TEST)))


def test_figure_4_has_every_structure_of_the_paper_and_all_go_the_same_way():
    runs = ranksvm.structure_runs()
    assert {"direct-count", "y-rbtree", "wTx-rbtree", "selectiontree", "y-avltree", "y-aatree"} <= set(runs)
    made = traces(TRAIN, 1.0, {name: run for name, run in runs.items() if isinstance(run.solver, TRON)})
    usual = made["direct-count"]
    for trace in made.values():
        np.testing.assert_allclose(trace.distance[:5], usual.distance[:5], rtol=1e-6)
        assert trace.distance[-1] == pytest.approx(0.0, abs=1e-9)
        assert (np.diff(trace.seconds) >= 0.0).all()
    assert 0.0 < usual.at_default < 1e-2


def test_figure_7_has_methods_that_end_at_the_least_value_of_their_own_loss():
    runs = ranksvm.method_runs()
    assert set(runs) == {"Tree-TRON", "PRSVM+", "TreeRankSVM", "Newton-CG (ours)"}
    assert isinstance(runs["TreeRankSVM"].solver, Bundle)
    assert runs["TreeRankSVM"].loss == "hinge"
    for trace in traces(TRAIN, 0.01, runs).values():
        assert abs(trace.distance[-1]) <= 1e-6
        assert len(trace.weights) == len(trace.seconds)


def test_a_run_that_is_out_of_time_is_drawn_as_far_as_it_came():
    (trace,) = traces(TRAIN, 100.0, {"slow": Run(Bundle(1e-9, max_seconds=0.0), "hinge")}).values()
    assert len(trace.seconds) == 1
    assert trace.distance[0] > 0.0


@pytest.mark.parametrize(
    ("data", "drawing", "name"),
    [
        ("OHSUMED", ranksvm.structures, "ranksvm-figure-4-OHSUMED.svg"),
        ("OHSUMED", ranksvm.methods, "ranksvm-figure-5-OHSUMED.svg"),
        ("MQ2008-list", ranksvm.methods, "ranksvm-figure-6-MQ2008-list.svg"),
        ("OHSUMED", ranksvm.strengths, "ranksvm-figure-7-OHSUMED.svg"),
    ],
)
def test_the_pictures_name_what_they_show(data, drawing, name, tmp_path):
    place = drawing(data, [FOLD], {}, tmp_path, max_seconds=0.1)
    assert place == tmp_path / name
    text = place.read_text()
    said = ("wTx-rbtree", "selectiontree") if drawing is ranksvm.structures else ("PRSVM+", "TreeRankSVM")
    assert all(word in text for word in said)
    assert ("meanndcg" in text) == (name == "ranksvm-figure-5-OHSUMED.svg")


def test_the_C_of_a_figure_is_the_papers_for_that_data_and_measure():
    assert ranksvm._printed_C("MQ2008", "ranksvm-hinge", "pairwise accuracy") == 256.0
    assert ranksvm._printed_C("MQ2008", "ranksvm-hinge", "NDCG") == 2.0**-6
    assert ranksvm._printed_C("OHSUMED", "ranksvm", "NDCG") == 1.0
