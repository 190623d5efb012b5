"""The protocol of a comparison: what is chosen on what, what is kept, and what is said of the differences."""

import csv
import io
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from linrank import RankSVM, make_ranking
from linrank.cli import main
from linrank.errors import LinrankError
from linrank.experiments import comparison, tables
from linrank.experiments.comparison import Job, JobResult, fitted, predicted, run_job
from linrank.experiments.contenders import Contender
from linrank.experiments.folds import find_folds
from linrank.experiments.protocol import Protocol
from linrank.experiments.results import Plan, Results, differences
from linrank.measures import NDCG, evaluate, holm, randomisation_test
from linrank.reading.write_svmlight import write_svmlight

RANKSVM = Contender("ranksvm", "ranksvm", {}, {"C": [1e-4, 1e-2, 1.0]})
SPARSE = Contender("ranksvm-l1", "ranksvm", {"penalty": "l1"}, {"C": [1e-3, 1e-2, 1e-1]}, "with |w|_1")
PROTOCOL = Protocol(("ndcg@3", "map"), "ndcg@10")


@pytest.fixture(scope="module")
def letor(tmp_path_factory):
    """Two folds in LETOR's layout."""
    root = tmp_path_factory.mktemp("letor")
    made, _ = make_ranking(60, (5, 15), n_features=8, n_informative=3, noise=0.7)
    for fold in (1, 2):
        folder = root / f"Fold{fold}"
        folder.mkdir()
        for name, part in zip(("train", "vali", "test"), made.split(0.5, 0.25, 0.25, random_state=fold), strict=True):
            write_svmlight(folder / f"{name}.txt", part)
    return root


@pytest.fixture(scope="module")
def plan(letor):
    return Plan(tuple(find_folds(letor)), (RANKSVM, SPARSE), PROTOCOL, "ranksvm", "letor")


@pytest.fixture(scope="module")
def results(plan, tmp_path_factory):
    made = Results(tmp_path_factory.mktemp("out") / "results", plan)
    assert made.run(1, lambda *_: None) == {}
    return made


class TestFolds:
    def test_the_folders_of_letor_are_found_in_order_with_their_three_parts(self, letor):
        folds = find_folds(letor)
        assert [fold.name for fold in folds] == ["Fold1", "Fold2"]
        assert folds[1].vali.path.endswith("Fold2/vali.txt")

    def test_the_old_layout_and_the_inner_folder_are_found(self, tmp_path):
        folder = tmp_path / "QueryLevelNorm" / "Fold10"
        folder.mkdir(parents=True)
        for name in ("trainingset", "validationset", "testset"):
            (folder / f"{name}.txt").write_text("1 qid:1 1:1\n")
        (fold,) = find_folds(tmp_path)
        assert fold.test.path.endswith("testset.txt")

    def test_three_files_are_one_fold(self, letor):
        assert [fold.name for fold in find_folds(letor / "Fold1")] == ["Fold1"]

    def test_a_part_that_is_missing_is_named(self, tmp_path):
        (tmp_path / "train.txt").write_text("1 qid:1 1:1\n")
        with pytest.raises(LinrankError, match=r"has no vali part .* it has train.txt"):
            find_folds(tmp_path)

    def test_one_file_is_dealt_by_query_and_every_query_is_tested_once(self, letor):
        path = letor / "Fold1" / "train.txt"
        folds = find_folds(path, n_folds=5)
        tested = np.concatenate([fold.test.load().queries.ids for fold in folds])
        whole = folds[0].train.load().queries.ids.tolist() + folds[0].vali.load().queries.ids.tolist()
        assert len(set(tested)) == len(tested) == 30
        assert set(whole) | set(folds[0].test.load().queries.ids) == set(tested)
        assert not set(whole) & set(folds[0].test.load().queries.ids)

    def test_too_few_queries_for_the_folds_are_refused(self, tmp_path):
        (tmp_path / "tiny.txt").write_text("1 qid:1 1:1\n0 qid:2 1:1\n")
        with pytest.raises(LinrankError, match="2 queries cannot be dealt into 5 parts"):
            find_folds(tmp_path / "tiny.txt")


class TestChoice:
    def test_the_best_on_the_validation_part_is_chosen_and_trained_from_nothing(self, plan):
        job = Job(plan.folds[0], RANKSVM, PROTOCOL)
        result = run_job(job)
        train, vali, test = (getattr(job.fold, part).load() for part in ("train", "vali", "test"))
        measured = {}
        for C in RANKSVM.grid["C"]:
            ranker = RankSVM(C).fit(train.features, train.labels, qid=train.qid)
            measured[C] = (NDCG @ 10).mean(ranker.predict(vali.features), vali)
        best = max(measured, key=measured.get)
        cold = RankSVM(best, n_threads=1).fit(train.features, train.labels, qid=train.qid)
        assert result.chosen == {"C": best}
        assert result.weights == cold.coef_.tolist()
        assert result.means["map"] == evaluate(cold.predict(test.features), test, "map").to_dict()["mean"]["map"]

    def test_the_test_part_is_not_read_before_the_choice_is_made(self, plan, monkeypatch):
        loaded = []
        read = type(plan.folds[0].train).load
        monkeypatch.setattr(type(plan.folds[0].train), "load", lambda part: loaded.append(part.path) or read(part))
        chosen = comparison._choice

        def choice(*arguments, **named):
            assert not any(path.endswith("test.txt") for path in loaded)
            return chosen(*arguments, **named)

        monkeypatch.setattr(comparison, "_choice", choice)
        run_job(Job(plan.folds[0], RANKSVM, PROTOCOL))
        assert any(path.endswith("test.txt") for path in loaded)

    def test_the_fewest_features_within_one_standard_error_can_be_asked_for(self):
        def candidate(mean, n_features, spread):
            return comparison._Candidate({}, mean + spread * np.array([-1.0, 1.0, -1.0, 1.0]), mean, n_features)

        best, near, far = candidate(0.5, 9, 0.1), candidate(0.49, 3, 0.0), candidate(0.3, 1, 0.0)
        assert comparison._choice([best, near, far], fewest=False) == 0
        assert comparison._choice([best, near, far], fewest=True) == 1

    def test_settings_that_are_refused_are_passed_over_unless_all_are(self, plan):
        mixed = replace(RANKSVM, grid={"C": [-1.0, 1.0]})
        result = run_job(Job(plan.folds[0], mixed, PROTOCOL))
        assert [one["settings"] for one in result.tried] == [{"C": 1.0}]
        assert "C=-1.0" in result.passed_over[0]
        with pytest.raises(LinrankError, match=r"C=-1\.0"):
            run_job(Job(plan.folds[0], replace(RANKSVM, grid={"C": [-1.0]}), PROTOCOL))

    def test_scaling_is_fitted_on_the_training_part(self, plan):
        job = Job(plan.folds[0], replace(RANKSVM, grid={"C": [1.0]}), replace(PROTOCOL, scaling="standard"))
        train = job.fold.train.load()
        scaled = (train.features - train.features.mean(0)) / train.features.std(0)
        expected = RankSVM(1.0).fit(scaled, train.labels, qid=train.qid).coef_
        np.testing.assert_allclose(run_job(job).weights, expected, rtol=1e-3, atol=1e-6)

    def test_a_setting_the_method_does_not_have_is_refused_before_any_work(self, plan):
        with pytest.raises(LinrankError, match="ranksvm has no setting 'D'"):
            replace(plan, contenders=(replace(RANKSVM, grid={"D": [1]}),)).check()

    def test_a_baseline_that_is_not_compared_is_refused(self, plan):
        with pytest.raises(LinrankError, match="baseline 'x' is not among"):
            replace(plan, baseline="x").check()

    def test_a_contender_that_is_held_to_begin_anew_does_so_at_each_candidate(self, plan):
        # Few steps: where they end depends on where they began.
        settings = {"max_iter": 3, "tol": 0.0, "learning_rate": 1e-4}
        for held in ({}, {"warm_start": False}):
            twice = Contender("rsrank", "rsrank", {**settings, **held}, {"l1": [0.0, 0.0]})
            first, second = run_job(Job(plan.folds[0], twice, Protocol(("map",), "pairwise_accuracy"))).tried
            assert (first["validation"] == second["validation"]) == bool(held)


class TestKept:
    def test_what_is_done_is_not_done_again(self, plan, results):
        again = Results(results.folder, plan)
        started = []
        again.run(1, lambda job, outcome: started.append(job))
        assert started == []
        assert again.n_done == 4

    def test_a_method_can_be_added_and_only_it_is_run(self, plan, results, tmp_path):
        shutil.copytree(results.folder, tmp_path / "copy")
        more = replace(plan, contenders=(*plan.contenders, replace(RANKSVM, name="two")))
        started = []
        Results(tmp_path / "copy", more).run(1, lambda job, outcome: outcome is None and started.append(job.name))
        assert started == ["Fold1/two", "Fold2/two"]

    def test_other_settings_of_a_method_are_another_job(self, plan, results):
        other = replace(plan, contenders=(replace(RANKSVM, grid={"C": [2.0]}), SPARSE))
        assert Results(results.folder, other).complete() == ["ranksvm-l1"]

    def test_data_that_changed_is_another_job(self, plan, tmp_path):
        moved = find_folds(plan.folds[0].train.path, n_folds=3)
        results = Results(tmp_path / "r", replace(plan, folds=tuple(moved), contenders=(RANKSVM,)))
        results.run(1, lambda *_: None)
        options = {"dtype": "float32"}
        folds = tuple(replace(fold, train=replace(fold.train, options=options)) for fold in moved)
        assert Results(tmp_path / "r", replace(results.plan, folds=folds)).n_done == 0
        assert Results(tmp_path / "r", results.plan).n_done == 3

    def test_half_a_file_is_as_good_as_none(self, plan, results, tmp_path):
        copy = Results(tmp_path / "copy", plan)
        copy.run(1, lambda *_: None)
        place = tmp_path / "copy" / "Fold1" / "ranksvm.json"
        place.write_text(place.read_text()[:100])
        assert Results(tmp_path / "copy", plan).n_done == 3

    def test_a_method_that_fails_does_not_stop_the_others(self, plan, tmp_path):
        failing = Contender("bad", "ranksvm", {"C": -1.0}, {})
        results = Results(tmp_path / "r", replace(plan, contenders=(failing, RANKSVM)))
        failures = results.run(1, lambda *_: None)
        assert list(failures) == ["Fold1/bad", "Fold2/bad"]
        assert "C=-1.0" in failures["Fold1/bad"]
        assert results.complete() == ["ranksvm"]

    def test_processes_give_the_same_bits_as_one(self, plan, results, tmp_path):
        other = Results(tmp_path / "r", plan)
        assert other.run(2, lambda *_: None) == {}
        for method in results.complete():
            for ours, theirs in zip(results.of(method), other.of(method), strict=True):
                assert differences(ours, theirs) == []

    def test_a_folder_is_opened_with_the_plan_it_was_made_by(self, plan, results):
        opened = Results.open(results.folder)
        assert opened.plan.protocol == plan.protocol
        assert opened.complete() == results.complete()
        assert opened.standings() == results.standings()

    def test_a_folder_without_results_is_refused(self, tmp_path):
        with pytest.raises(LinrankError, match="cannot be read"):
            Results.open(tmp_path)


class TestSaid:
    def test_tests_are_over_all_test_queries_and_corrected_for_their_number(self, plan, results, tmp_path):
        shutil.copytree(results.folder, tmp_path / "copy")
        more = replace(plan, contenders=(*plan.contenders, replace(SPARSE, name="other", grid={"C": [1e-3]})))
        compared = Results(tmp_path / "copy", more)
        compared.run(1, lambda *_: None)
        base = compared.per_query("ranksvm", "ndcg@10")
        rivals = ["ranksvm-l1", "other"]
        by_chance = holm([randomisation_test(compared.per_query(name, "ndcg@10"), base).p_value for name in rivals])
        for standing in compared.standings():
            if standing.method in rivals:
                place = rivals.index(standing.method)
                assert standing.p_of_measures["ndcg@10"] == by_chance[place]
            else:
                assert standing.p_of_measures == {}

    def test_means_are_over_folds_and_the_best_comes_first(self, results):
        standings = results.standings()
        values = [standing.means["ndcg@10"] for standing in standings]
        assert values == sorted(values, reverse=True)
        folds = [result.means["map"] for result in results.of("ranksvm")]
        ranksvm = next(standing for standing in standings if standing.method == "ranksvm")
        assert ranksvm.means["map"] == pytest.approx(np.mean(folds))
        assert ranksvm.deviations["map"] == pytest.approx(np.std(folds, ddof=1))

    def test_the_recommended_method_has_the_fewest_features_near_the_best(self, plan, tmp_path):
        results = Results(tmp_path, plan)
        rng = np.random.default_rng(0)
        base = rng.random(40)
        # Equal but for noise with 3 features, clearly worse with 1.
        for name, values, n_features in (
            ("ranksvm", base, 8),
            ("ranksvm-l1", base + rng.normal(0, 0.05, 40), 3),
            ("one", base - 0.3, 1),
        ):
            for number, fold in enumerate(plan.folds):
                part = values[number * 20 : number * 20 + 20].tolist()
                measured = dict.fromkeys(PROTOCOL.evaluated(), part)
                means = dict.fromkeys(PROTOCOL.evaluated(), float(np.mean(part)))
                results._done[f"{fold.name}/{name}"] = JobResult(
                    fold.name, name, "", {}, [], 1.0, 1.0, 1, n_features, 8, measured, means, [], None, [], {}, [], {}
                )
        results.plan = replace(plan, contenders=(*plan.contenders, replace(SPARSE, name="one")))
        assert results.recommended() == "ranksvm-l1"

    def test_the_tables_hold_the_same_numbers(self, results):
        standing = results.standings()[0]
        value = f"{standing.means['ndcg@10']:.4f}"
        assert f"**{value}**" in tables.markdown(results)
        assert rf"\mathbf{{{value}}}" in tables.latex(results)
        rows = list(csv.DictReader(io.StringIO(tables.csv_text(results))))
        assert float(rows[0]["ndcg@10"]) == standing.means["ndcg@10"]
        record = json.loads(json.dumps(tables.record(results), allow_nan=False))
        assert record["leaderboard"][0]["means"]["ndcg@10"] == standing.means["ndcg@10"]
        assert {"numpy", "linrank"} <= set(record["versions"])


class TestVerb:
    def run(self, letor, out, *words):
        methods = ["--methods", "ranksvm,ranksvm-l1", "--grid", "ranksvm.C=0.01,1", "--grid", "ranksvm-l1.C=0.01"]
        return main(["compare", str(letor), *methods, "--jobs", "1", "--out", str(out), "--no-report", *words])

    def test_it_prints_the_leaderboard_and_keeps_every_form_of_it(self, letor, tmp_path, capsys):
        assert self.run(letor, tmp_path / "r") == 0
        printed = capsys.readouterr()
        assert "ranksvm-l1" in printed.out
        assert "Recommended" in printed.out
        assert "[4/4]" in printed.err
        names = {path.name for path in (tmp_path / "r").iterdir()}
        assert {"comparison.json", "leaderboard.md", "leaderboard.tex", "leaderboard.csv", "results.json"} <= names
        assert self.run(letor, tmp_path / "r", "--print", "csv") == 0
        printed = capsys.readouterr()
        assert printed.out.startswith("method,ndcg@1,")
        assert "4 of 4 are done already" in printed.err

    def test_a_replay_is_the_same_to_the_bit_and_says_so_where_it_is_not(self, letor, tmp_path, capsys):
        assert self.run(letor, tmp_path / "r") == 0
        assert main(["compare", "--replay", str(tmp_path / "r"), "--jobs", "1"]) == 0
        assert "All 4 results are the same to the bit" in capsys.readouterr().out
        place = tmp_path / "r" / "Fold2" / "ranksvm.json"
        record = json.loads(place.read_text())
        record["weights"][0] += 1e-15
        place.write_text(json.dumps(record))
        assert main(["compare", "--replay", str(tmp_path / "r"), "--jobs", "1"]) == 1
        assert "Fold2/ranksvm: weights" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (["--methods", "ranksvn"], "there is no method 'ranksvn'"),
            (["--methods", ","], "no method is named"),
            (["--grid", "ranksvm.C"], "write METHOD.NAME=V"),
            (["--grid", "rsrank.l1=1"], "rsrank is not among the methods"),
            (["--baseline", "rsrank"], "baseline 'rsrank' is not among"),
            (["--select", "nothing@3"], "nothing"),
        ],
    )
    def test_what_cannot_work_is_refused_before_any_work(self, letor, tmp_path, capsys, words, says):
        assert self.run(letor, tmp_path / "r", *words) == 1
        assert says in capsys.readouterr().err
        assert not (tmp_path / "r").exists()


def test_our_rankers_are_handed_the_dataset_and_strangers_arrays(monkeypatch):
    data, _ = make_ranking(10, 8, 3, random_state=1)

    class Ours(RankSVM):
        def fit(self, X, *others, **more):
            assert X is data
            assert not others
            return super().fit(X, **more)

    class Stranger:
        def fit(self, X, y, qid):
            self.given = X, y, qid

        def predict(self, X, qid):
            return np.arange(len(qid)) * 1.0

    stranger = fitted("a stranger", Stranger(), data)
    assert stranger.given[0] is data.features
    assert predicted(stranger, data).tolist() == list(range(80))
    monkeypatch.setattr("linrank.experiments.comparison.signature", None)
    ours = fitted("ours", Ours(0.01, patience=2), data, data)
    assert len(ours.eval_history_) == len(ours.history_)
    np.testing.assert_array_equal(predicted(ours, data), ours.predict(data))
    with pytest.raises(LinrankError, match=r"a stranger does not take weights of this kind \(query_weight\)"):
        fitted("a stranger", Stranger(), replace(data, query_weights=np.ones(10)))
