"""Measures are values: they print their definition, parse back, and refuse what does not exist with a remedy."""

import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank import measures
from linrank.errors import LinrankError
from linrank.measures import AUC, ERR, MAP, NDCG, MeanNDCG, Measure, P, PairwiseAccuracy, parse_measure, parse_measures
from linrank.measures.measures import FAMILIES

KNOWN = "ndcg, dcg, mean_ndcg, map, p, recall, mrr, wta, err, pairwise_accuracy, kendall_tau and auc"


@st.composite
def any_measure(draw):
    family = draw(st.sampled_from(list(FAMILIES.values())))
    labels = st.floats(0, 1e6, exclude_min=True, allow_subnormal=False) | st.integers(1, 100)
    parameters = {
        name: draw(st.sampled_from(family.choices(name)) if family.choices(name) else labels)
        for name in family.defaults
        if draw(st.booleans())
    }
    cutoff = None if family.cutoff == "none" else draw(st.none() | st.integers(1, 10**6))
    return Measure(family.name, cutoff, **parameters)


@given(any_measure())
def test_what_is_printed_parses_back(measure):
    assert parse_measure(str(measure)) == measure
    assert parse_measure(str(measure).upper()) == measure
    assert parse_measure(str(measure).replace("@", " @ ").replace(",", " , ").replace("(", " ( ")) == measure
    assert hash(parse_measure(str(measure))) == hash(measure)
    assert eval(repr(measure), vars(measures).copy()) == measure
    assert pickle.loads(pickle.dumps(measure)) == measure


@pytest.mark.parametrize(
    ("measure", "text"),
    [
        (NDCG @ 10, "ndcg@10"),
        (NDCG(definition="letor") @ 5, "ndcg(letor)@5"),
        (P(rel=2) @ 10, "p(rel=2)@10"),
        (P(rel=2.0) @ np.int64(10), "p(rel=2)@10"),
        (NDCG(empty="skip") @ 10, "ndcg(empty=skip)@10"),
        (NDCG(definition="trec"), "ndcg(trec)"),
        (NDCG(definition="trec", ties="file"), "ndcg(trec,ties=file)"),
        (NDCG(definition="standard"), "ndcg"),
        (MeanNDCG, "mean_ndcg"),
        (PairwiseAccuracy, "pairwise_accuracy"),
        (ERR(max_label=2, empty=1) @ 20, "err(max_label=2,empty=1)@20"),
        (PairwiseAccuracy(ties="right"), "pairwise_accuracy(ties=right)"),
        (AUC(ties="wrong"), "auc(ties=wrong)"),
    ],
)
def test_the_text_states_what_is_not_the_default(measure, text):
    assert str(measure) == text
    assert parse_measure(text) == measure


def test_other_spellings_mean_the_same():
    assert parse_measure("PairwiseAccuracy") == parse_measure("pairwise-accuracy") == PairwiseAccuracy
    assert parse_measure("AP@5") == MAP @ 5
    assert parse_measure("Precision@5") == P @ 5
    assert parse_measure("ndcg(definition=letor)") == NDCG(definition="letor")
    assert parse_measure("pairwiseaccuracy(ties=worst)") == PairwiseAccuracy(ties="wrong") == PairwiseAccuracy
    assert parse_measure("auc(ties=average)") == AUC(ties="half") == AUC


def test_ties_follow_the_definition_unless_they_were_chosen():
    assert NDCG(definition="trec").ties == "docid"
    assert NDCG(definition="trec")(definition="linear").ties == "file"
    assert NDCG(ties="worst")(definition="trec").ties == "worst"


def test_lists_take_commas_blanks_and_several_cutoffs():
    expected = (NDCG @ 1, NDCG @ 3, NDCG @ 5, NDCG @ 10, MAP, P @ 10)
    assert parse_measures("ndcg@1,3,5,10 map p@10") == expected
    assert parse_measures("NDCG @ 1 3, 5 10, MAP,P@10") == expected
    assert parse_measures(["ndcg@1,3", NDCG @ 5, "ndcg@10", MAP, "p@10"]) == expected
    assert parse_measures("ndcg(letor, ties=worst)@1,2") == tuple(
        NDCG(definition="letor", ties="worst") @ k for k in (1, 2)
    )
    assert parse_measures("map map ap") == (MAP,)
    assert parse_measures(MAP) == (MAP,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ndgc@10", f"measure 'ndgc@10': there is no measure 'ndgc'; did you mean 'ndcg'? Known are {KNOWN}."),
        ("map ndgc@10", "measure 'map ndgc@10', at 'ndgc@10' (character 5): there is no measure 'ndgc'"),
        ("", "expected a measure, such as ndcg@10."),
        ("ndcg@", "measure 'ndcg@', at its end: expected a cut-off after @, such as @10."),
        ("ndcg@0", "the cut-off of ndcg is 0; it must be a whole number from 1 on."),
        ("ndcg@1.5", "the cut-off of ndcg is 1.5; it must be a whole number from 1 on."),
        ("map@5,0", "the cut-off of map is 0"),
        ("map,3", "measure 'map,3', at '3' (character 5): expected a measure"),
        ("map,", "measure 'map,', at its end: expected a measure"),
        ("map;p@3", "at ';p@3' (character 4)"),
        ("ndcg(leter)@5", "ndcg has no definition 'leter'; choose standard, letor, linear or trec."),
        ("p(real=2)@5", "there is no parameter 'real'; did you mean 'rel'? Known are definition, rel,"),
        ("ndcg(rel=2)@5", "ndcg has no parameter 'rel'; it has definition, empty and ties."),
        ("map(rel=2", "measure 'map(rel=2', at its end: expected a comma or a closing bracket."),
        ("map(rel=)", "expected a value."),
        ("map(rel=high)", "rel of map is 'high'; it must be a label, a finite number."),
        ("err(max_label=0)", "max_label of err is 0; it must be a label above 0"),
        ("ndcg(letor,trec)", "definition is given twice; keep one."),
        ("ndcg(empty=2)", "ndcg has no empty 2; choose 0, 1 or skip."),
        ("auc(ties=file)", "auc has no ties 'file'; choose wrong, half or right."),
        ("wta@3", "wta is of the whole list and has no cut-off; leave out @ 3."),
    ],
)
def test_an_error_names_the_text_the_place_and_the_remedy(text, message):
    with pytest.raises(LinrankError) as caught:
        parse_measures(text)
    assert message in str(caught.value)
    assert repr(text) in str(caught.value)


def test_parse_measure_reads_one():
    with pytest.raises(LinrankError, match="parse_measures reads a list"):
        parse_measure("map ndcg")


@pytest.mark.parametrize("cutoff", [0, -1, 2.0, True, "3", math.nan])
def test_a_cutoff_is_a_whole_number(cutoff):
    with pytest.raises(LinrankError, match="must be a whole number from 1 on"):
        NDCG @ cutoff


def test_a_measure_that_does_not_exist_is_refused():
    with pytest.raises(LinrankError, match="did you mean 'ndcg'"):
        Measure("NDCG")
    with pytest.raises(LinrankError, match="no parameter 'definiton'"):
        NDCG(definiton="letor")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        measures.nonsense  # noqa: B018


def test_every_public_name_is_there():
    for name in measures.__all__:
        assert getattr(measures, name) is not None


def test_naming_and_parsing_load_nothing_heavy():
    script = (
        "import sys; from linrank.measures import NDCG, parse_measures; parse_measures('ndcg@1,3 map'); NDCG @ 10;"
        "print({'numpy', 'numba', 'scipy'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
