"""read: what a source is taken for."""

import pytest

from linrank import LinrankError, read


def test_a_model_in_the_place_of_data_is_told_from_it(tmp_path):
    (tmp_path / "model.json").write_text("1 qid:1 1:2\n")
    with pytest.raises(LinrankError, match=r"model\.json: is JSON, .* in the model's place"):
        read(tmp_path / "model.json")
    assert read(tmp_path / "model.json", format="svmlight").n_documents == 1
