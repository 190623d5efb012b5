"""Transforms travel: from training through the model file to scores, in memory, from files and on workers."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from linrank import (
    EGDM,
    LambdaRank,
    LinearModel,
    LinrankError,
    RankingDataset,
    RankSVM,
    RankSVMCV,
    compare,
    evaluate,
    explain,
    make_ranking,
    read,
    scan,
    weight_intervals,
)
from linrank.cli import main
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.fitted_transforms import fit_transform
from linrank.dataset.scaling import scaled
from linrank.dataset.storage import save_dataset
from linrank.experiments.results import Results

KINDS = pytest.mark.parametrize("kind", ["rank-gauss", "signed-log"])


@pytest.fixture(scope="module")
def data():
    """Features whose logarithms rank the documents."""
    made, _ = make_ranking(40, 15, 5, skew=False, random_state=4)
    return replace(made, features=np.exp(2.0 * made.features), feature_names=("a", "b", "c", "d", "e"))


@pytest.mark.kernels
def test_the_compiled_form_has_the_bits_of_numpy_and_of_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("linrank.dataset.feature_shapes._MANY", 0)
    monkeypatch.setattr("linrank.dataset.curve_kernels._ROWS_A_TASK", 300)
    rng = np.random.default_rng(0)
    # Knots of all kinds: around 0, tiny, huge, alone, next to one another.
    lists = [
        [0.0],
        [-1.0, 0.0, 1.0],
        np.sort(rng.normal(size=64)),
        np.exp(np.sort(rng.normal(scale=40, size=64))),
        -np.exp(np.sort(rng.normal(scale=5, size=20)))[::-1],
        [1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 2.0) + 1e-12, 2.0],
        np.concatenate([[0.0], np.linspace(0.5, 1.0, 63)]),
        np.arange(-300.0, 300.0),
    ]
    shapes = FeatureShapes.of("additive", [(knots, rng.normal(size=len(knots))) for knots in lists])
    for dtype in (np.float64, np.float32):
        rows = np.stack(
            [np.resize(np.append(knots, rng.normal(size=600) * max(np.abs(knots))), 1000) for knots in lists], axis=1
        ).astype(dtype)
        rows[7] = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e300 if dtype == np.float64 else 1e38, 1e-40, -1e-40]
        compiled = shapes.apply(rows)
        with monkeypatch.context() as patch:
            patch.setattr("linrank.dataset.feature_shapes._MANY", 10**9)
            plain = shapes.apply(rows)
        assert compiled.dtype == plain.dtype == dtype
        assert compiled.tobytes() == plain.tobytes() == shapes.apply(rows, n_threads=3).tobytes()
        expected = [np.interp(rows[:, j], *shapes.curve(j)) for j in range(len(lists))]
        known = np.isfinite(rows)
        np.testing.assert_allclose(
            np.where(known, plain, 0.0), np.where(known, np.stack(expected, axis=1), 0.0), rtol=1e-5, atol=1e-5
        )
        # Beyond the ends they are constant, however far.
        assert plain[7, 0] == dtype(shapes.values[0])
        assert np.isnan(plain[7, 2])
        sparse = shapes.apply(scipy.sparse.csr_array(np.nan_to_num(rows, posinf=3.0, neginf=-3.0)))
        at_zero = np.array([shapes.at(0.0, j) for j in range(len(lists))])
        dense = shapes.apply(np.nan_to_num(rows, posinf=3.0, neginf=-3.0).astype(np.float64)) - at_zero
        there = sparse.toarray() != 0
        np.testing.assert_array_equal(sparse.toarray()[there], dense.astype(dtype)[there])


@KINDS
def test_a_ranker_transforms_what_it_learns_from_watches_and_scores(data, kind, tmp_path):
    ranker = RankSVM(C=0.1, transforms=kind, patience=50).fit(data, eval_set=data)
    by_hand = fit_transform(kind, data)
    seen = replace(data, features=by_hand.apply(data.features))
    plain = RankSVM(C=0.1, patience=50).fit(seen, eval_set=seen)
    np.testing.assert_array_equal(ranker.coef_, plain.coef_)
    np.testing.assert_array_equal(ranker.predict(data), plain.predict(seen))
    assert ranker.eval_history_ == plain.eval_history_
    assert ranker.score(data) > RankSVM(C=0.1).fit(data).score(data)
    model = ranker.to_model()
    model.save(tmp_path / "m.json")
    again = LinearModel.load(tmp_path / "m.json")
    assert again.scaling.kind == kind
    assert again.parameters["transforms"] == kind
    assert again.predict(data).tobytes() == ranker.predict(data).tobytes()
    sparse_scores = again.predict(scipy.sparse.csr_array(data.features))
    np.testing.assert_allclose(np.diff(sparse_scores), np.diff(again.predict(data)), atol=1e-9)
    assert dict(again.named_weights()) == dict(ranker.weights_)
    with pytest.raises(LinrankError, match="cannot be folded into weights on raw features"):
        again.raw_weights()


def test_a_ranker_that_is_fitted_again_without_a_transform_has_none(data):
    ranker = RankSVM(transforms="rank-gauss").fit(data).set_params(transforms=None).fit(data)
    assert ranker.transform_ is None
    assert ranker.to_model().scaling is None


def test_settings_that_cannot_work_are_refused(data):
    with pytest.raises(LinrankError, match="unknown transform 'gauss'"):
        RankSVM(transforms="gauss").fit(data)
    with pytest.raises(LinrankError, match="transforms"):
        EGDM(transforms="rank-gauss")
    with pytest.raises(LinrankError, match="without transforms"):
        weight_intervals(RankSVM(transforms="rank-gauss"), data)


def test_each_fold_has_a_transform_of_its_own(data, monkeypatch):
    fitted_on = []

    def noted(kind, dataset, *arguments, **settings):
        fitted_on.append(dataset.n_queries)
        return fit_transform(kind, dataset, *arguments, **settings)

    monkeypatch.setattr("linrank.dataset.transform_choice.fit_transform", noted)
    RankSVMCV([0.1, 1.0], cv=4, transforms="rank-gauss").fit(data)
    assert sorted(fitted_on) == [30, 30, 30, 30, 40]
    fitted_on.clear()
    RankSVMCV([0.1, 1.0], transforms="rank-gauss").fit(data, eval_set=data)
    assert fitted_on == [40]


@KINDS
def test_tuned_by_folds_each_has_a_transform_of_its_own_and_the_model_one_of_all(folder, data, kind, monkeypatch):
    fitted_on = []

    def noted(kind, dataset, *arguments, **settings):
        fitted_on.append(dataset.n_queries)
        return fit_transform(kind, dataset, *arguments, **settings)

    monkeypatch.setattr("linrank.dataset.transform_choice.fit_transform", noted)
    assert main(["tune", "data.csv", "m.json", "--range", "0.1,1", "--cv", "4", "--transform", kind]) == 0
    assert sorted(fitted_on) == [30, 30, 30, 30, 40]
    alone = RankSVMCV([0.1, 1.0], cv=4, transforms=kind).fit(read(folder / "data.csv"))
    model = LinearModel.load(folder / "m.json")
    assert model.parameters["C"] == alone.C_
    np.testing.assert_array_equal(model.weights, alone.coef_)
    assert model.predict(data).shape == (data.n_documents,)


@KINDS
@pytest.mark.parametrize("n_rows", [50, 20_000])
def test_what_is_written_over_has_the_bits_of_what_is_made_anew(kind, n_rows):
    rows = np.random.default_rng(0).lognormal(size=(n_rows, 5)).astype(np.float32)
    made = RankingDataset.from_arrays(rows, np.zeros(n_rows), group=[n_rows])
    transform = fit_transform(kind, made)
    before = rows.copy()
    anew = scaled(made, transform).features
    np.testing.assert_array_equal(rows, before)
    rows.flags.writeable = False
    assert scaled(made, transform, in_place=True).features.tobytes() == anew.tobytes()
    np.testing.assert_array_equal(rows, before)
    rows.flags.writeable = True
    over = scaled(made, transform, in_place=True).features
    assert over is rows
    assert over.tobytes() == anew.tobytes()


@KINDS
def test_training_on_a_file_measures_what_the_model_scores(folder, kind, capsys):
    assert main(["train", "data.csv", "m.json", "--transform", kind, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    train = read(folder / "data.csv")
    model = LinearModel.load(folder / "m.json")
    means = evaluate(model, train, "ndcg@10 map").mean
    assert {told["measures"]["data.csv"][str(measure)] for measure in means} == set(means.values())
    assert model.data_fingerprint == train.fingerprint()


@KINDS
def test_a_file_and_workers_give_what_memory_gives(data, kind, tmp_path):
    save_dataset(data, tmp_path / "d.linrank")
    here = LambdaRank(C=0.1, transforms=kind).fit(data)
    from_file = LambdaRank(C=0.1, transforms=kind).fit(scan(tmp_path / "d.linrank"))
    np.testing.assert_array_equal(here.coef_, from_file.coef_)
    np.testing.assert_array_equal(here.predict(data), from_file.predict(tmp_path / "d.linrank"))


def test_a_comparison_transforms_each_training_part_and_keeps_it_in_the_model(data, tmp_path):
    made = compare(
        data, {"svm": RankSVM()}, n_folds=3, transform="rank-gauss", measures="ndcg@10", out=tmp_path / "out"
    )
    plain = compare(data, {"svm": RankSVM()}, n_folds=3, scaling="none", measures="ndcg@10")
    assert made.results.scaling() == "auto, transform rank-gauss: rank-gauss"
    means = [np.mean(one.results.per_query("svm", "ndcg@10")) for one in (made, plain)]
    assert means[0] > means[1]
    model = made.recommended_model()
    assert model.scaling.kind == "rank-gauss"
    trained = made.trained()
    seen = replace(data, features=trained.scaling.apply(data.features))
    np.testing.assert_array_equal(trained.ranker.predict(seen), model.predict(data.features))
    assert Results.open(tmp_path / "out").plan.protocol.transform == "rank-gauss"
    own = compare(data, {"svm": RankSVM(transforms="rank-gauss")}, n_folds=3, scaling="standard", measures="ndcg@10")
    model = own.recommended_model()
    assert model.scaling.kind == "rank-gauss"
    # It is given features as they are, whatever the others are given.
    assert own.trained().scaling is None
    np.testing.assert_allclose(own.trained().ranker.predict(data), model.predict(data.features), atol=1e-9)


def test_a_comparison_without_a_transform_is_known_by_the_key_it_had(data):
    plan = compare(data, {"svm": RankSVM()}, n_folds=3, measures="ndcg@10").results.plan
    assert "transform" not in plan.jobs()[0].record()["protocol"]


@KINDS
def test_contributions_are_of_what_the_curves_make_of_features(data, kind):
    model = RankSVM(C=0.1, transforms=kind).fit(data).to_model()
    explained = explain(model, data.features[0], data.features[1])
    scores = model.predict(data.features[:2])
    assert explained.difference == pytest.approx(scores[0] - scores[1])
    seen = model.scaling.apply(data.features[:2])
    for part in explained.contributions:
        j = data.feature_names.index(part.feature)
        assert (part.above, part.below) == tuple(data.features[:2, j])
        assert (part.curved_above, part.curved_below) == tuple(seen[:, j])
        assert part.amount == pytest.approx(model.weights[j] * (seen[0, j] - seen[1, j]))
    assert "f(above)" in str(explained)


@pytest.fixture
def folder(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data.to_frame().to_csv("data.csv", index=False)
    return tmp_path


def said_by(capsys, *words):
    code = main(list(words))
    said = capsys.readouterr()
    assert code == 0, said.err
    return re.sub(r"\s+", " ", said.out)


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        (["--transform", "rank-gauss"], "rank-gauss", "scaling rank-gauss (curves of 64 knots at most)"),
        (["--transform", "rank-gauss:9"], "rank-gauss", "curves of 9 knots at most"),
        (
            ["--transform", "signed-log"],
            "signed-log",
            "signed-log (in units of each feature's median size, then standard, or max-abs where 99% are 0)",
        ),
        (["--transform", "signed-log", "--scaling", "max-abs"], "signed-log", "then max-abs"),
        (["--transform", "auto"], "rank-gauss", "of 5 features that vary reach 5 times further"),
    ],
)
@pytest.mark.parametrize("verb", ["train", "tune"])
def test_the_command_line_trains_shows_and_explains_with_a_transform(folder, data, capsys, verb, words, kind, said):
    more = ["--range", "0.01,0.1", "--cv", "2"] if verb == "tune" else ["-C", "0.1", "--quiet"]
    assert said in said_by(capsys, verb, "data.csv", "m.json", *words, *more)
    model = LinearModel.load("m.json")
    assert model.scaling.kind == kind
    shown = said_by(capsys, "show", "m.json")
    assert "feature weight f(x) from to" in shown
    record = json.loads(said_by(capsys, "show", "m.json", "--json"))
    assert record["scaling"] == kind
    assert record["weights"][0]["raw_weight"] is None
    assert set(record["weights"][0]["curve"]) == ({"knots", "values"} if kind == "rank-gauss" else {"unit", "scale"})
    explained = json.loads(said_by(capsys, "explain", "m.json", "data.csv", "--qid", str(data.qid[0]), "--json"))
    parts = explained["explanation"]["contributions"]
    assert sum(part["amount"] for part in parts) == pytest.approx(explained["explanation"]["difference"])
    assert all("curved_above" in part for part in parts)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--transform", "gauss"], "--transform gauss: use one of none, rank-gauss"),
        (["--transform", "rank-gauss", "--scaling", "query"], "Leave out one of them"),
        (["--set", "transforms=rank-gauss"], "use --transform rank-gauss"),
        (["--transform", "rank-gauss", "--bounds", "bounds.txt"], "Use signs"),
        (["--transform", "rank-gauss", "--prior", "prior.json"], "cannot be folded"),
    ],
)
def test_what_does_not_go_with_a_transform_is_refused(folder, capsys, words, said):
    (folder / "bounds.txt").write_text("a 0 3\n")
    LinearModel(np.ones(5), ("a", "b", "c", "d", "e")).save("prior.json")
    assert main(["train", "data.csv", "m.json", *words]) == 1
    assert said in re.sub(r"\s+", " ", capsys.readouterr().err)


def test_signs_hold_for_transformed_features(folder, capsys):
    (folder / "bounds.txt").write_text("a -\nb +\n")
    said_by(capsys, "train", "data.csv", "m.json", "--transform", "rank-gauss", "--bounds", "bounds.txt", "--quiet")
    weights = LinearModel.load("m.json").weights
    assert weights[0] <= 0 <= weights[1]


def saved(tmp_path, shapes):
    model = LinearModel(np.ones(shapes.n_features), tuple("abc"[: shapes.n_features]), shapes)
    model.save(tmp_path / "m.json")
    return json.loads((tmp_path / "m.json").read_text())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sizes": [2]}, "a number of knots a feature"),
        ({"sizes": [2, 3]}, "a number of knots a feature"),
        ({"sizes": [4, 0]}, "1 at least"),
        ({"sizes": [2.0, 2.0]}, "1 at least"),
        ({"sizes": None}, "1 at least"),
        ({"knots": [1.0, 1.0, 0.0, 1.0]}, "feature 1 has knots that do not ascend"),
        ({"knots": [0.0, 1.0, 3.0, 1.0]}, "feature 2 has knots that do not ascend"),
        ({"knots": [-1.7e308, 1.7e308, 0.0, 1.0]}, "feature 1 reaches further"),
        ({"knots": [0.0, 5e-324, 0.0, 1.0]}, "feature 1 rises further"),
        ({"values": [0.0, 1.0, 2.0]}, "a value a knot"),
        ({"values": [0.0, 1.0, 2.0, "3"]}, "finite numbers"),
        ({"kind": "rank"}, "unknown scaling 'rank'"),
    ],
)
def test_curves_of_a_file_that_are_none_are_refused(tmp_path, change, said):
    shapes = FeatureShapes.of("rank-gauss", [([0.0, 1.0], [0.0, 1.0]), ([0.0, 1.0], [2.0, 3.0])])
    document = saved(tmp_path, shapes)
    document["scaling"] |= change
    from fuzz.targets import sealed_model

    (tmp_path / "m.json").write_bytes(sealed_model(json.dumps(document).encode()))
    with pytest.raises(LinrankError, match=said):
        LinearModel.load(tmp_path / "m.json")


def test_a_model_with_curves_scores_without_a_compiler(data, tmp_path):
    ranker = RankSVM(C=0.1, transforms="rank-gauss").fit(data)
    ranker.to_model().save(tmp_path / "m.json")
    np.save(tmp_path / "x.npy", np.tile(data.features, (30, 1)))
    script = (
        "import sys, numpy as np, linrank\n"
        "scores = linrank.load(sys.argv[1]).predict(np.load(sys.argv[2]))\n"
        "assert 'numba' not in sys.modules and 'scipy' not in sys.modules\n"
        "np.save(sys.argv[3], scores)"
    )
    files = [str(tmp_path / name) for name in ("m.json", "x.npy", "scores.npy")]
    subprocess.run([sys.executable, "-c", script, *files], check=True)
    expected = ranker.to_model().predict(np.tile(data.features, (30, 1)))
    assert np.load(tmp_path / "scores.npy").tobytes() == expected.tobytes()


def test_other_rows_and_columns_by_name_are_transformed_alike(data):
    ranker = RankSVM(C=0.1, transforms="rank-gauss").fit(data)
    mixed = RankingDataset.from_arrays(
        data.features[:, ::-1], data.labels, qid=data.qid, feature_names=tuple(reversed(data.feature_names))
    )
    np.testing.assert_array_equal(ranker.predict(mixed), ranker.predict(data))


def test_a_feature_path_refuses_a_transform_and_says_why(folder, capsys):
    assert main(["path", "data.csv", "--transform", "rank-gauss", "--no-report"]) == 1
    said = re.sub(r"\s+", " ", capsys.readouterr().err)
    assert "weights of raw features" in said
    assert "--penalty l1" in said
    assert not list(folder.glob("*.json"))
