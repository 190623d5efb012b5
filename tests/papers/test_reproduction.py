"""The papers' tables again: which data is found, what is run for them, and what stands beside what."""

import json

import numpy as np
import pytest

from linrank import make_ranking
from linrank.cli import main
from linrank.errors import LinrankError
from linrank.estimators.catalogue import METHODS
from linrank.experiments.contenders import Contender, contender
from linrank.experiments.protocol import Protocol
from linrank.experiments.results import Plan, Results
from linrank.papers import grids
from linrank.papers.grids import PAPER_GRIDS, Search, seeded_names
from linrank.papers.published import PAPERS, PublishedResult, published
from linrank.papers.ranks import analysed
from linrank.papers.reproduction import (
    DATA,
    FEWEST,
    OURS,
    SEARCHED,
    SEEDED,
    STUDIES,
    beside,
    find_data,
    plans,
    summary,
    table_texts,
)
from linrank.reading.write_svmlight import write_svmlight

CONTENDERS = {
    **{name: Contender(name, "ranksvm", {}, {"C": [0.01, 1.0]}) for name in ("ranksvm", "ranksvm-hinge", "sparserank")},
    "minbatsrank": Contender("minbatsrank", "minbatsrank", {}, {"l1": [1.0, 8.0]}),
}
SMALL_GRIDS = {
    "sparserank": Search({"C": (0.1, 0.5)}),
    "minbatsrank": Search({"learning_rate": (0.1, 1.0), "l1": (2.0, 4.0)}),
    "fac-ranksvm": PAPER_GRIDS["fac-ranksvm"],
}


@pytest.fixture(scope="module", autouse=True)
def small_grids():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grids, "PAPER_GRIDS", SMALL_GRIDS)
        patch.setattr(grids, "SEEDS", range(2))
        yield


def write_folds(folder):
    made, _ = make_ranking(40, 8, n_features=5, levels=(0.5, 0.3, 0.2))
    for fold in (1, 2):
        place = folder / f"Fold{fold}"
        place.mkdir(parents=True)
        for name, part in zip(("train", "vali", "test"), made.split(0.5, 0.25, 0.25, random_state=fold), strict=True):
            write_svmlight(place / f"{name}.txt", part)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("letor")
    write_folds(root / "OHSUMED")
    return root


class TestData:
    def test_every_data_set_of_the_papers_that_can_be_compared_on_has_a_layout(self):
        not_to_be_had = {"CTR", "CTR-0.1%", "KDD2012b", "KDD2012b-0.025%"}
        assert {result.data for result in published()} - not_to_be_had <= set(DATA)

    def test_folds_are_found_in_the_folder_of_the_normalised_features(self, tmp_path):
        write_folds(tmp_path / "OHSUMED" / "QueryLevelNorm")
        assert len(find_data(tmp_path, ["OHSUMED"])["OHSUMED"]) == 2

    def test_rcv1_is_one_query_of_which_figures_alone_are_drawn(self, tmp_path):
        folder = tmp_path / "RCV1"
        folder.mkdir()
        for part in ("train", "test"):
            (folder / f"rcv1_{part}.binary").write_text("1 1:0.5 3:1\n-1 2:1\n1 1:1\n")
        (fold,) = find_data(tmp_path)["RCV1"]
        assert fold.train.load().n_queries == 1
        assert list(plans("RCV1", [fold], list(PAPERS), CONTENDERS)) == []

    def test_a_folder_with_none_of_it_says_what_to_put_there(self, tmp_path):
        with pytest.raises(LinrankError, match="none of the papers' data"):
            find_data(tmp_path)


class TestPlans:
    def test_every_figure_of_quality_is_answered_by_one_study_at_most(self):
        for printed in published():
            assert sum(study.answers(printed) for study in STUDIES) <= 1, printed

    def test_methods_of_the_tables_are_run_if_we_have_them(self, root):
        folds = find_data(root)["OHSUMED"]
        made = {study.name: plan for study, plan in plans("OHSUMED", folds, ["minbatsrank"], CONTENDERS)}
        assert {made.name for made in made[OURS].contenders} == set(CONTENDERS)
        assert len(made[OURS].folds) == 2
        assert made[FEWEST].protocol.fewest

    def test_what_stands_beside_print_is_chosen_among_the_papers_grids_and_ours_among_the_catalogues(self, root):
        found = find_data(root)["OHSUMED"]
        made = {study.name: plan for study, plan in plans("OHSUMED", found, ["minbatsrank"], CONTENDERS)}
        assert made[OURS].contender("sparserank").grid == {"C": [0.01, 1.0]}
        assert made[SEARCHED].contender("sparserank").grid == {"C": (0.1, 0.5)}
        assert "minbatsrank" not in [one.name for one in made[SEARCHED].contenders]
        assert {(one.settings["passes"], one.settings["random_state"]) for one in made[SEEDED].contenders} == {
            (passes, seed) for passes in (1, 3, 5) for seed in range(2)
        }
        assert all(one.grid == SMALL_GRIDS["minbatsrank"].grid for one in made[SEEDED].contenders)

    def test_grids_that_a_paper_prints_are_as_printed(self):
        minbatsrank = PAPER_GRIDS["minbatsrank"].grid
        assert minbatsrank["learning_rate"] == tuple(2.0**k for k in range(1, -11, -1))
        assert minbatsrank["l1"] == tuple(2.0**k for k in range(15, -3, -1))
        assert PAPER_GRIDS["ranksvm"].grid["C"] == tuple(2.0**k for k in range(-15, 11))
        assert PAPER_GRIDS["rsrank"].settings["learning_rate"] == 0.001
        assert not PAPER_GRIDS["rsrank"].settings["safe_rate"]

    def test_seeds_are_run_where_the_paper_prints_the_method_and_nowhere_else(self, root):
        made = [study.name for study, _ in plans("MQ2008", find_data(root)["OHSUMED"], list(PAPERS), CONTENDERS)]
        assert SEEDED not in made

    def test_settings_that_a_table_varies_are_contenders_of_their_own(self, root):
        given = {"fac-ranksvm": Contender("fac-ranksvm", "fac-ranksvm", {}, {"rank": [5], "C": [1.0, 10.0]})}
        made = {study.name: plan for study, plan in plans("OHSUMED", find_data(root)["OHSUMED"], ["low-rank"], given)}
        contenders = {made.name: made for made in made["first fold"].contenders}
        assert contenders["fac-ranksvm rank=20"].settings == {"rank": 20}
        assert contenders["fac-ranksvm rank=20"].grid == {}
        assert made[OURS].contenders[0].grid == {"rank": [5], "C": [1.0, 10.0]}

    def test_the_methods_of_the_catalogue_take_the_settings_that_tables_vary(self, root, monkeypatch):
        monkeypatch.setattr(grids, "PAPER_GRIDS", PAPER_GRIDS)
        ours = {name: contender(name) for name, method in METHODS.items() if method.is_installed}
        for data in ("OHSUMED", "MQ2008"):
            for _, plan in plans(data, find_data(root)["OHSUMED"], list(PAPERS), ours):
                plan.check()


@pytest.fixture(scope="module")
def results(root, tmp_path_factory):
    made = {}
    out = tmp_path_factory.mktemp("out")
    for study, plan in plans("OHSUMED", find_data(root)["OHSUMED"], ["minbatsrank"], CONTENDERS):
        made[study.name] = Results(out / study.name, plan)
        made[study.name].run(1, lambda *_: None)
    return made


class TestBeside:
    def test_ours_is_the_mean_over_folds_of_the_same_measure(self, results):
        rows = beside("minbatsrank", "OHSUMED", results)
        of_folds, by_catalogue = (results[study].of("sparserank") for study in (SEARCHED, OURS))
        for row in rows:
            if row.printed.method != "sparserank":
                continue
            if row.printed.measure == "sparsity":
                expected = [one.n_features / one.n_features_of for one in of_folds]
            elif row.printed.measure == "seconds":
                expected = [one.seconds for one in of_folds]
            else:
                expected = [one.means[row.printed.measure] for one in of_folds]
                assert row.by_our_grid == pytest.approx(sum(one.means[row.printed.measure] for one in by_catalogue) / 2)
            assert row.ours == pytest.approx(sum(expected) / 2)

    def test_minbatsrank_is_the_mean_of_its_seeds_with_their_spread_in_a_table_of_its_own(self, results):
        of_seeds = [[one.means["map"] for one in results[SEEDED].of(name)] for name in seeded_names("minbatsrank")]
        (row,) = [
            row
            for row in beside("minbatsrank", "OHSUMED", results)
            if (row.printed.method, row.printed.measure) == ("minbatsrank", "map")
        ]
        assert row.ours == pytest.approx(np.mean(of_seeds))
        assert row.spread == pytest.approx(np.std(np.mean(of_seeds, axis=0), ddof=1))
        text = summary(["minbatsrank"], {"OHSUMED": results})
        means = np.mean(of_seeds, axis=1)
        assert f"{means.mean():.4f} ({means.min():.4f} … {means.max():.4f})" in text
        for passes in ("1 pass", "3 passes", "5 passes"):
            assert f"| minbatsrank, {passes} |" in text
        assert f"{row.printed.value:.4f} / **{row.ours:.4f}** ± {row.spread:.3f} / {row.by_our_grid:.4f}" in text

    def test_a_method_that_was_not_run_has_the_printed_figure_alone(self, results):
        rows = [row for row in beside("minbatsrank", "OHSUMED", results) if row.printed.method == "fenchelrank"]
        assert rows
        assert all(row.ours is None for row in rows)
        text = "\n".join(text for _, text in table_texts("minbatsrank", rows))
        assert "0.5453 / -" in text

    def test_what_has_no_results_at_all_is_said_to_be_missing(self):
        assert all(row.ours is None for row in beside("ranksvm", "MQ2008", {}))


def test_the_verb_writes_tables_and_figures(root, tmp_path, monkeypatch, capsys):
    import linrank.cli.reproduce as verb

    ours = ("minbatsrank", "minbatsrank-nonfea", "adarank")
    monkeypatch.setattr(verb, "METHODS", {name: METHODS[name] for name in ours})
    small = dict.fromkeys(ours[:2], SMALL_GRIDS["minbatsrank"])
    monkeypatch.setattr(grids, "PAPER_GRIDS", small)
    words = ["reproduce", str(root), "--paper", "minbatsrank", "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "minbatsrank, Table 2: OHSUMED" in printed
    assert "0.5704 / **" in (tmp_path / "out" / "reproduction.md").read_text()
    for number in (1, 2):
        assert (tmp_path / "out" / "figures" / f"minbatsrank-figure-{number}-OHSUMED.svg").exists()
    plan = json.loads((tmp_path / "out" / "OHSUMED" / OURS / "comparison.json").read_text())
    assert plan["protocol"]["select"] == "ndcg@10"


def test_the_verb_refuses_data_no_paper_has(root, capsys):
    assert main(["reproduce", str(root), "--data", "NTCIR"]) == 1
    assert "no paper has it; there are OHSUMED" in capsys.readouterr().err


@pytest.mark.parametrize(("method", "rank"), [("fac-ranksvm", 2), ("reg-ranksvm", 1)])
def test_table_6_has_the_ranks_that_the_low_rank_methods_tell_themselves(root, method, rank):
    settings = {"rank": 2, "C": 0.01} if method == "fac-ranksvm" else {"C": 0.01, "nuclear": 0.1}
    (fold, *_) = find_data(root)["OHSUMED"]
    plan = Plan((fold,), (Contender(method, method, settings),), Protocol(("map",), "map", "none"), method)
    results = Results(None, plan)
    results.run(1, lambda *_: None)
    train = fold.train.load()
    trained = plan.contender(method).make().fit(train.features, train.labels, qid=train.qid)
    query = int(np.argmax(trained.ranks_ == rank))
    printed = PublishedResult(
        "low-rank", "Table 6", "OHSUMED", method, "rank", 5.0, None, f"qid={train.queries.ids[query]}"
    )
    assert analysed(printed, plan, results.of(method)[0]) == trained.ranks_[query] == rank
