"""At the ends of float64 a score is right or refused by row and feature. (A warning is an error in all tests.)"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linrank import LinearModel, LinrankError, RankingDataset, RankSVM, explain, make_ranking, save_dataset, scan
from linrank.cli import main
from linrank.dataset.applied_scaling import ColumnScaling, QueryScaling
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.signed_log import SignedLog

FORMS = {
    "dense": np.array,
    "float32": lambda rows: np.array(rows, dtype=np.float32),
    "by column": np.asfortranarray,
    "sparse": sparse.csr_array,
    "sparse float32": lambda rows: sparse.csr_array(np.array(rows, dtype=np.float32)),
}
ENDS = [0.0, 1.0, -3.5, 1e-320, 1e-30, 1e30, 1e150, -1e200, 1e308, -1.7e308]
SCALES = [1e-320, 1e-308, 1e-30, 1.0, 1e30, 1e308]


@given(
    rows=st.lists(st.tuples(*[st.sampled_from(ENDS)] * 2), min_size=1, max_size=4),
    weights=st.tuples(*[st.sampled_from(ENDS)] * 2),
    shift=st.tuples(*[st.sampled_from(ENDS)] * 2),
    scale=st.tuples(*[st.sampled_from(SCALES)] * 2),
)
def test_a_scaled_score_is_right_or_refused(rows, weights, shift, scale):
    model = LinearModel(np.array(weights), ("a", "b"), ColumnScaling("standard", np.array(shift), np.array(scale)))
    try:
        scores = model.predict(np.array(rows))
    except LinrankError:
        return
    for row, score in zip(rows, scores.tolist(), strict=True):
        terms = [
            Fraction(w) * (Fraction(x) - Fraction(a)) / Fraction(b)
            for w, x, a, b in zip(weights, row, shift, scale, strict=True)
        ]
        # What a sum is computed from is rounded, each time by its own size.
        sizes = [
            abs(Fraction(w)) * (abs(Fraction(x)) + abs(Fraction(a))) / Fraction(b)
            for w, x, a, b in zip(weights, row, shift, scale, strict=True)
        ]
        smallest = max(map(abs, map(Fraction, weights))) * Fraction(5e-324) * 4
        assert math.isfinite(score)
        assert abs(Fraction(score) - sum(terms)) <= sum(sizes) * Fraction(1e-15) + smallest + Fraction(1e-300)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_score_beyond_float64_names_row_and_feature(form, sign):
    model = LinearModel(np.array([1.0, sign * 1e300]), ("a", "b"))
    with pytest.raises(LinrankError, match=r"score of row 1 leaves float64: feature 'b' is 1e\+30 there\. Look for"):
        model.predict(FORMS[form]([[1.0, 0.0], [2.0, 1e30]]))


SCALED = {
    "standard": (ColumnScaling("standard", np.zeros(2), np.array([1.0, 1e-320])), [1.0, 1.0]),
    "a shift": (ColumnScaling("standard", np.array([0.0, 1e308]), np.array([1.0, 1e-3])), [1.0, 1.0]),
    "signed-log": (SignedLog(np.ones(2), np.array([1.0, 1e-320])), [1.0, 1.0]),
    "curves": (FeatureShapes.of("additive", [([0.0], [0.0]), ([0.0, 1.0], [0.0, 1e300])]), [1.0, 1e10]),
}


@pytest.mark.parametrize("form", ["dense", "float32", "sparse"])
@pytest.mark.parametrize("name", SCALED)
def test_what_a_model_cannot_scale_is_refused(name, form):
    scaling, weights = SCALED[name]
    model = LinearModel(np.array(weights), ("a", "b"), scaling)
    rows = FORMS[form]([[0.0, 0.0], [1.0, 2.0]])
    if name == "a shift" and form == "sparse":
        # Zeros stay zeros: sparse rows are not shifted.
        assert np.isfinite(model.predict(rows)).all()
        return
    with pytest.raises(LinrankError, match=r"score of row [01] leaves float64: feature 'b' is [02] there"):
        model.predict(rows)


def test_float32_rows_are_scored_where_float64_can():
    rows = np.array([[1e30, 1.0], [-1e30, 0.0]])
    scaling = ColumnScaling("standard", np.array([1e40, 0.0]), np.array([1e-10, 1e45]))
    model = LinearModel(np.array([1e-40, 1e45]), ("a", "b"), scaling)
    np.testing.assert_allclose(model.predict(rows.astype(np.float32)), model.predict(rows), rtol=1e-6)
    unshifted = replace(model, scaling=replace(scaling, shift=np.zeros(2)))
    compact = sparse.csr_array(rows.astype(np.float32))
    np.testing.assert_allclose(unshifted.predict(compact), unshifted.predict(rows), rtol=1e-6)
    curves = FeatureShapes.of("additive", [([0.0, 1.0], [0.0, 1e60]), ([0.0], [0.0])])
    assert LinearModel(np.ones(2), ("a", "b"), curves).predict(rows.astype(np.float32)).tolist() == [1e60, 0.0]


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("qid", [[1, 1, 1, 1], [1, 1, 1, 2]])
def test_a_query_as_wide_as_float64_is_scaled(form, qid):
    rows = FORMS[form]([[1.5e308], [-1.5e308], [0.0], [1.0]])
    scores = LinearModel(np.ones(1), ("a",), QueryScaling()).predict(rows, qid=qid)
    np.testing.assert_allclose(scores[:3] - scores[2], [0.5, -0.5, 0.0])


def test_a_row_that_lacks_a_value_changes_no_other_score():
    rows = np.random.default_rng(0).normal(size=(5, 9))
    model = LinearModel(np.where(np.arange(9) == 4, 0.0, 1.0 / np.arange(1, 10)), tuple("abcdefghi"))
    alone = model.predict(rows)
    rows[2, 4] = np.nan
    assert np.delete(model.predict(rows), 2).tobytes() == np.delete(alone, 2).tobytes()


def test_the_query_and_the_file_are_named(tmp_path, monkeypatch):
    data = RankingDataset.from_arrays(np.array([[1.0], [1e300], [3.0]]), [0, 1, 0], qid=["p", "q", "r"])
    model = LinearModel(np.array([1e300]), ("1",))
    with pytest.raises(LinrankError, match=r"score of row 1 \(query q\) leaves float64"):
        model.predict(data)
    save_dataset(data, tmp_path / "data.linrank")
    stored = scan(tmp_path / "data.linrank")
    monkeypatch.setattr(type(stored), "chunk_bounds", lambda self: [(0, 1), (1, 3)])
    # Rows are those of the chunk, which is named.
    with pytest.raises(LinrankError, match=r"data\.linrank: of the rows from 1 on: the score of row 0 \(query q\)"):
        model.predict(stored)


def test_the_command_names_the_file_and_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    LinearModel(np.array([1e300, 1.0]), ("1", "2")).save("m.json")
    (tmp_path / "d.txt").write_text("0 qid:1 1:1 2:1\n1 qid:2 1:1e200 2:1\n")
    assert main(["predict", "m.json", "d.txt", "out.scores"]) == 1
    said = capsys.readouterr().err
    assert "d.txt: the score of row 1 (query 2) leaves float64: feature '1' is 1e+200 there." in said
    assert not (tmp_path / "out.scores").exists()


def test_a_ranker_refuses_what_its_model_refuses():
    data, _ = make_ranking(10, 5, 3)
    ranker = RankSVM().fit(data)
    rows = np.array([[1.0, 2.0, 3.0], [1.7e308 * np.sign(w) for w in ranker.coef_]])
    ranker.coef_ = ranker.coef_ * 10.0
    with pytest.raises(LinrankError, match="score of row 1 leaves float64"):
        ranker.predict(rows)


def test_a_scale_too_small_for_raw_weights_is_told(tmp_path, capsys):
    scaling = ColumnScaling("standard", np.zeros(2), np.array([1e-320, 1.0]))
    LinearModel(np.array([2.0, 1.0]), ("a", "b"), scaling).save(tmp_path / "m.json")
    model = LinearModel.load(tmp_path / "m.json")
    assert repr(model) == "LinearModel(linear, 2 of 2 features: a 2, b 1)"
    with pytest.raises(LinrankError, match=r"feature 1 has the weight 2 and the scale .*e-321, which together leave"):
        model.raw_weights()
    assert explain(model, [0.0, 3.0], [0.0, 1.0]).difference == 2.0
    assert main(["show", str(tmp_path / "m.json")]) == 0
    assert "inf" not in capsys.readouterr().out
