"""Memory that the input does not justify is refused, with the remedy, before it is asked for."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from linrank import memory
from linrank.dataset import width
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import DataFormatError, LinrankError
from linrank.estimators.rank_svm import RankSVM
from linrank.reading import feature_rows
from linrank.reading.svmlight import read_svmlight

TWO_LINES = "1 qid:1 1:0.5\n0 qid:1 {}:0.5\n"


@pytest.fixture
def two_lines(tmp_path):
    def write(largest_id):
        path = tmp_path / "two.txt"
        path.write_text(TWO_LINES.format(largest_id))
        return path

    return write


@pytest.fixture
def little_memory(monkeypatch):
    for module in (width, feature_rows):
        monkeypatch.setattr(module, "memory_bytes", lambda: 1e9)


@pytest.mark.parametrize("layout", [None, "sparse", "dense"])
def test_one_large_id_in_a_small_file_is_refused_with_the_remedy(two_lines, layout):
    path = two_lines(2_000_000_000)
    message = (
        rf"^{path}: the largest feature id makes for 2000000000 features, but there are 2 values in all; so many "
        r"features would need about 600\.0 GB .* if so many are meant, say so: n_features=2000000000 \(--n-features"
    )
    with pytest.raises(DataFormatError, match=message):
        read_svmlight(path, layout=layout)


def test_a_width_that_is_usual_or_meant_is_read(two_lines):
    assert read_svmlight(two_lines(2**20)).n_features == 2**20
    with pytest.raises(DataFormatError, match="the largest feature id"):
        read_svmlight(two_lines(2**20 + 1))
    assert read_svmlight(two_lines(2**20 + 1), n_features=2**21).n_features == 2**21


def test_more_ids_are_taken_from_more_values(tmp_path, monkeypatch):
    monkeypatch.setattr(width, "FREE_FEATURES", 10)
    path = tmp_path / "data.txt"
    path.write_text("".join(f"1 qid:{row} {20 * row + 1}:1 {20 * row + 2}:1\n" for row in range(50)))
    with pytest.raises(DataFormatError, match="makes for 982 features, but there are 100 values"):
        read_svmlight(path)
    path.write_text("".join(f"1 qid:{row} {15 * row + 1}:1 {15 * row + 2}:1\n" for row in range(50)))
    assert read_svmlight(path).n_features == 737


def test_what_is_meant_is_refused_where_there_is_no_room(two_lines, little_memory):
    message = r"4000000 features need about 1 GB .*; there are 1 GB of memory\. Renumber .* or hash"
    with pytest.raises(LinrankError, match=message):
        read_svmlight(two_lines(5), n_features=4_000_000)
    wide = sparse.csr_array((2, 4_000_000))
    with pytest.raises(LinrankError, match=message):
        RankingDataset.from_arrays(wide, [1, 0], qid=[1, 1])
    with pytest.raises(LinrankError, match=message):
        RankSVM().fit(wide, [1, 0], qid=[1, 1])
    assert read_svmlight(two_lines(5), n_features=3_000_000).n_features == 3_000_000


def test_a_dense_array_larger_than_memory_is_refused_before_it_is_made(two_lines, little_memory):
    with pytest.raises(DataFormatError, match=r'2 rows of 100000000 features.*\(1\.6 GB as .*Use layout="sparse"'):
        read_svmlight(two_lines(5), n_features=100_000_000, layout="dense")


@pytest.mark.skipif(sys.platform != "linux", reason="address spaces are limited there")
def test_two_short_lines_do_not_end_the_machine(two_lines):
    """With an address space of 4 GB, which a vector of 2,000,000,000 numbers would burst."""
    import resource

    for options in ([], ["--n-features", "2000000000"]):
        found = subprocess.run(
            [sys.executable, "-m", "linrank", "info", str(two_lines(2_000_000_000)), *options],
            check=False,
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32)),
        )
        assert found.returncode == 1
        assert "2000000000 features" in found.stderr
        assert "Renumber the features that occur, or hash them to fewer" in found.stderr


def test_memory_is_what_the_machine_has_or_its_container_may_use(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_CONTAINER_LIMITS", (str(tmp_path / "limit"),))
    of_machine = memory.memory_bytes.__wrapped__()
    assert of_machine > 2**20
    for text, expected in (("1048576\n", 2**20), ("max\n", of_machine), (f"{2**63}", of_machine)):
        (tmp_path / "limit").write_text(text)
        assert memory.memory_bytes.__wrapped__() == expected
    monkeypatch.delattr("os.sysconf")
    assert memory.memory_bytes.__wrapped__() in (2**63, np.inf)
