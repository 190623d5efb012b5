"""Documents without labels are data like any other, until somebody asks for a label."""

import numpy as np
import pytest

import linrank
from linrank import LinrankError, RankingDataset, RankSVM, feature_path, make_ranking, open_dataset, save_dataset
from linrank.measures import NDCG, evaluate
from linrank.reading.write_svmlight import write_svmlight

JUDGED, WEIGHTS = make_ranking(6, (3, 8), 4)
UNJUDGED = RankingDataset.from_arrays(JUDGED.features, None, qid=JUDGED.qid)


def test_it_is_split_joined_described_and_kept(tmp_path):
    assert JUDGED.is_judged
    assert not UNJUDGED.is_judged
    assert UNJUDGED.labels is None
    parts = UNJUDGED.split(0.5, 0.5)
    assert not any(part.is_judged for part in parts)
    again = RankingDataset.joined(parts)
    assert (again.n_documents, again.is_judged) == (UNJUDGED.n_documents, False)
    summary = UNJUDGED.describe()
    assert (summary.n_pairs, summary.label_histogram, summary.n_documents) == (0, {}, UNJUDGED.n_documents)
    save_dataset(UNJUDGED, tmp_path / "docs.linrank")
    linrank.verify_dataset(tmp_path / "docs.linrank")
    assert open_dataset(tmp_path / "docs.linrank").fingerprint() == UNJUDGED.fingerprint() != JUDGED.fingerprint()


@pytest.mark.parametrize(
    "use",
    [
        lambda data, path: RankSVM().fit(data),
        lambda data, path: RankSVM().fit(JUDGED, eval_set=data),
        lambda data, path: feature_path(data, None),
        lambda data, path: (NDCG @ 10).mean(np.zeros(data.n_documents), data),
        lambda data, path: evaluate(np.zeros(data.n_documents), data, "map"),
        lambda data, path: write_svmlight(path / "docs.txt", data),
        lambda data, path: RankingDataset.joined([JUDGED, data]),
        lambda data, path: data.require_labels(),
    ],
    ids=["fit", "watch", "feature_path", "mean", "evaluate", "write", "join", "require"],
)
def test_what_needs_labels_says_so(use, tmp_path):
    with pytest.raises(LinrankError, match="the data has no labels: its documents can be scored"):
        use(UNJUDGED, tmp_path)


def test_a_single_label_that_is_none_is_still_refused():
    with pytest.raises(LinrankError, match=r"the label in row 1 is nan; .* Drop unjudged rows, or pass y=None"):
        RankingDataset.from_arrays([[1.0], [2.0]], [1.0, np.nan], qid=[1, 1])


def test_a_table_is_read_without_labels_and_queries():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"q": ["a", "b"], "bm25": [1.0, 2.0], "age": [3, 4]})
    data = linrank.read(frame, label=None, qid="q")
    assert not data.is_judged
    assert data.feature_names == ("bm25", "age")
    assert data.queries.ids.tolist() == ["a", "b"]
    alone = linrank.read(frame, label=None, qid=None, features=["age"])
    assert alone.n_queries == 1
    np.testing.assert_array_equal(alone.features, [[3.0], [4.0]])
    with pytest.raises(LinrankError, match="there is no column 'label'"):
        linrank.read(frame, qid="q")


def test_the_rule_for_missing_values_is_remembered(tmp_path):
    pandas = pytest.importorskip("pandas")
    rows = [(q, g, g + 0.5 * q, None if g == 1 else float(g)) for q in range(5) for g in range(3)]
    frame = pandas.DataFrame(rows, columns=["qid", "label", "bm25", "age"])
    data = linrank.read(frame, missing="query_min")
    assert data.missing == "query_min"
    save_dataset(data.subset([0, 1, 2]), tmp_path / "data.linrank")
    assert open_dataset(tmp_path / "data.linrank").missing == "query_min"
    assert RankSVM().fit(data).to_model().missing == "query_min"
    assert RankSVM().fit(data.features, data.labels, qid=data.qid).to_model().missing == "error"
    kept = linrank.read(frame[["qid", "label", "bm25"]], missing="keep")
    assert RankSVM().fit(kept).to_model().missing == "error"


def test_a_model_needs_of_a_dataset_the_columns_with_a_weight():
    data = RankingDataset.from_arrays([[1.0], [2.0]], None, qid=[1, 1], feature_names=["bm25"])
    model = linrank.LinearModel(np.array([0.0, 2.0]), ("age", "bm25"))
    assert model.predict(data).tolist() == [2.0, 4.0]
    assert list(data.to_frame().columns) == ["qid", "bm25"]
    assert "2 documents" in repr(data)
    data._repr_html_()
