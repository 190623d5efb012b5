"""Labels of judged documents that are not among the rows stay with their queries wherever those go."""

from dataclasses import replace

import numpy as np
import pytest

from linrank.dataset import storage
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.storage import open_dataset, save_dataset, verify_dataset
from linrank.dataset.unretrieved import Unretrieved
from linrank.errors import DataFormatError, LinrankError
from linrank.measures import Recall
from linrank.reading.write_svmlight import write_svmlight

MISSED = {"a": [2.0, 1.0], "b": [], "c": [3.0], "d": [0.0, -1.0, 1.5]}


def some_data(names="abcd", missed=MISSED):
    """Two documents a query, interleaved."""
    qid = [*names, *reversed(names)]
    data = RankingDataset.from_arrays(np.arange(2.0 * len(qid)).reshape(-1, 2), [1.0] * len(qid), qid=qid)
    return replace(data, unretrieved=Unretrieved.of([missed[name] for name in names]))


def by_query(data):
    return {
        str(qid): data.unretrieved.between(number, number + 1).labels.tolist()
        for number, qid in enumerate(data.queries.ids)
    }


def test_parts_keep_the_labels_of_their_queries():
    data = some_data()
    assert by_query(data) == MISSED
    assert by_query(data.subset([3, 0])) == {"a": MISSED["a"], "d": MISSED["d"]}
    parts = [*data.split(0.5, 0.5), *(test for _, test in data.folds(2))]
    assert sum(part.n_queries for part in parts) == 8
    for part in parts:
        assert by_query(part) == {str(qid): MISSED[qid] for qid in part.queries.ids}
    assert by_query(data.with_columns(data.names)) == MISSED


def test_joined_parts_are_the_whole():
    first, second = some_data("ab"), some_data("cd")
    assert by_query(RankingDataset.joined([first, second])) == MISSED
    plain = replace(second, unretrieved=None)
    assert by_query(RankingDataset.joined([first, plain])) == {**MISSED, "c": [], "d": []}
    assert RankingDataset.joined([plain, replace(first, unretrieved=None)]).unretrieved is None
    with pytest.raises(LinrankError, match=r"a query is in several of the parts, .* with read_trec\."):
        RankingDataset.joined([first, first])


def test_the_fingerprint_knows_them():
    data = some_data()
    others = [replace(data, unretrieved=None), some_data(missed={**MISSED, "b": [1.0]})]
    assert len({part.fingerprint() for part in (data, *others)}) == 3
    assert data.fingerprint() == some_data().fingerprint()


def test_a_file_holds_them(tmp_path):
    path = tmp_path / "data.linrank"
    save_dataset(some_data(), path)
    verify_dataset(path)
    opened = open_dataset(path)
    assert by_query(opened) == MISSED
    assert (Recall @ 1).per_query(np.zeros(8), opened).tolist() == [1 / 4, 1 / 2, 1 / 3, 1 / 3]
    save_dataset(replace(some_data(), unretrieved=None), path)
    assert open_dataset(path).unretrieved is None


@pytest.mark.parametrize(
    "arrays",
    [
        {"unretrieved_starts": np.array([0, 2, 2, 3, 7])},
        {"unretrieved_starts": np.array([0, 3, 2, 3, 6])},
        {"unretrieved_labels": np.array([2.0, 1, 3, 0, -1, np.nan])},
    ],
    ids=["too far", "backwards", "no number"],
)
def test_a_file_whose_labels_lead_astray_is_refused(tmp_path, monkeypatch, arrays):
    path, usual = tmp_path / "data.linrank", storage._arrays_of
    monkeypatch.setattr(storage, "_arrays_of", lambda dataset: usual(dataset) | arrays)
    save_dataset(some_data(), path)
    with pytest.raises(DataFormatError, match="damaged: its labels of documents that nothing retrieved do not belong"):
        open_dataset(path)


def test_text_that_cannot_hold_them_says_so(tmp_path):
    with pytest.warns(UserWarning, match=r"no place for the labels of 6 judged documents .* Save as \.linrank"):
        write_svmlight(tmp_path / "data.txt", some_data())
