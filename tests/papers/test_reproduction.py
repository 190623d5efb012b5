"""The papers' tables again: which data is found, what is run for them, and what stands beside what."""

import json

import pytest

from linrank import make_ranking
from linrank.cli import main
from linrank.errors import LinrankError
from linrank.estimators.catalogue import METHODS
from linrank.experiments.contenders import Contender, contender
from linrank.experiments.results import Results
from linrank.papers.published import PAPERS, published
from linrank.papers.reproduction import DATA, STUDIES, beside, find_data, plans, table_texts
from linrank.reading.write_svmlight import write_svmlight

CONTENDERS = {
    name: Contender(name, "ranksvm", {}, {"C": [0.01, 1.0]})
    for name in ("ranksvm", "ranksvm-hinge", "minbatsrank", "sparserank")
}


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
        assert {made.name for made in made["five folds"].contenders} == set(CONTENDERS)
        assert len(made["five folds"].folds) == 2
        assert made["five folds, fewest features"].protocol.fewest

    def test_settings_that_a_table_varies_are_contenders_of_their_own(self, root):
        given = {"fac-ranksvm": Contender("fac-ranksvm", "fac-ranksvm", {}, {"rank": [5], "C": [1.0, 10.0]})}
        made = {study.name: plan for study, plan in plans("OHSUMED", find_data(root)["OHSUMED"], ["low-rank"], given)}
        contenders = {made.name: made for made in made["first fold"].contenders}
        assert contenders["fac-ranksvm rank=20"].settings == {"rank": 20}
        assert contenders["fac-ranksvm rank=20"].grid == {}
        assert made["five folds"].contenders[0].grid == {"rank": [5], "C": [1.0, 10.0]}

    def test_the_methods_of_the_catalogue_take_the_settings_that_tables_vary(self, root):
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
        of_folds = results["five folds"].of("sparserank")
        for row in rows:
            if row.printed.method != "sparserank":
                continue
            if row.printed.measure == "sparsity":
                expected = [one.n_features / one.n_features_of for one in of_folds]
            elif row.printed.measure == "seconds":
                expected = [one.seconds for one in of_folds]
            else:
                expected = [one.means[row.printed.measure] for one in of_folds]
            assert row.ours == pytest.approx(sum(expected) / 2)

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

    monkeypatch.setattr(verb, "METHODS", {name: METHODS[name] for name in ("minbatsrank", "sparserank")})
    words = ["reproduce", str(root), "--paper", "minbatsrank", "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "minbatsrank, Table 2: OHSUMED" in printed
    assert "0.5671 / **" in (tmp_path / "out" / "reproduction.md").read_text()
    assert (tmp_path / "out" / "figures" / "minbatsrank-figure-1-OHSUMED.svg").exists()
    plan = json.loads((tmp_path / "out" / "OHSUMED" / "five folds" / "comparison.json").read_text())
    assert plan["protocol"]["select"] == "ndcg@10"


def test_the_verb_refuses_data_no_paper_has(root, capsys):
    assert main(["reproduce", str(root), "--data", "NTCIR"]) == 1
    assert "no paper has it; there are OHSUMED" in capsys.readouterr().err
