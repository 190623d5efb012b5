"""What becomes of standard input, output and error: `-`, pipes whose reader goes, and streams that are closed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import linrank
from linrank import LinearModel, read
from linrank.dataset.synthetic import make_ranking
from linrank.reading.scores import read_scores, write_scores
from linrank.reading.write_svmlight import write_svmlight

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells and pipes of POSIX")

LINRANK = f"{sys.executable} -m linrank"
TRAIN = "train train.txt made.json"
MODEL_VERBS = [
    TRAIN,
    "tune train.txt made.json --range 0.1,1 --cv 2",
    "path train.txt --steps 5 --model made.json --no-report",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Data as text, CSV and .linrank, scores of it, and a model."""
    folder = tmp_path_factory.mktemp("data")
    dataset, weights = make_ranking(20, (5, 8), 4)
    write_svmlight(folder / "train.txt", dataset)
    linrank.save_dataset(dataset, folder / "train.linrank")
    write_scores(folder / "train.scores", dataset.features @ weights)
    names = ",".join(f"f{column}" for column in range(4))
    rows = zip(dataset.labels.tolist(), dataset.qid.tolist(), dataset.features.tolist(), strict=True)
    table = [f"grade,query,{names}", *(",".join(map(repr, (label, query, *row))) for label, query, row in rows)]
    (folder / "train.csv").write_text("\n".join(table) + "\n")
    LinearModel(weights, dataset.names).save(folder / "model.json")
    return folder


@pytest.fixture
def shell(data, tmp_path):
    """Run a line of bash where the data is, and return its exit code, output and errors."""
    for path in data.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    source = str(Path(linrank.__file__).parents[1])

    def run(line, **streams):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL} | streams
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line}"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": source},
            text=True,
            check=False,
            **streams,
        )
        return done.returncode, done.stdout, done.stderr

    run.folder = tmp_path
    return run


@pytest.mark.parametrize("command", MODEL_VERBS)
def test_a_reader_that_goes_takes_no_work_with_it(shell, command):
    read_end, write_end = os.pipe()
    os.close(read_end)
    code, _, err = shell(f"{LINRANK} {command}", stdout=write_end)
    os.close(write_end)
    assert (code, err) == (0, "")
    assert LinearModel.load(shell.folder / "made.json").n_features == 4


def test_head_takes_no_work_with_it(shell):
    code, out, err = shell(f"{LINRANK} {TRAIN} | head -1")
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    assert (shell.folder / "made.json").exists()


def test_a_comparison_goes_on_without_readers(shell):
    read_end, write_end = os.pipe()
    os.close(read_end)
    words = "compare train.txt --methods ridge,single-feature --folds 3 --jobs 1 --out results --no-report"
    code, _, _ = shell(f"{LINRANK} {words}", stdout=write_end, stderr=write_end)
    os.close(write_end)
    assert code == 0
    assert (shell.folder / "results" / "leaderboard.md").exists()


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_take_no_work_with_them(shell, closed):
    code, _, err = shell(f"{LINRANK} {TRAIN} {closed}")
    assert (code, err) == (0, "")
    assert LinearModel.load(shell.folder / "made.json").n_features == 4


def test_closed_streams_are_no_trouble_to_other_processes(shell):
    code, _, _ = shell(f"{LINRANK} compare train.txt --methods ridge --folds 3 --jobs 2 --out results >&- 2>&- <&-")
    assert code == 0
    assert (shell.folder / "results" / "report.html").exists()


@pytest.mark.parametrize(
    "command", ["--help", "--version", "train --help", "nonsense", "train --nonsense", "info none"]
)
def test_closed_streams_are_no_trouble_to_what_only_speaks(shell, command):
    expected = shell(f"{LINRANK} {command}")[0]
    for closed in (">&-", "2>&-"):
        code, _, err = shell(f"{LINRANK} {command} {closed}")
        assert code == expected
        assert "Traceback" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_under_the_output_is_said_after_the_work(shell):
    code, _, err = shell(f"{LINRANK} {TRAIN} > /dev/full")
    assert code == 1
    assert "standard output: No space left on device" in err
    assert LinearModel.load(shell.folder / "made.json").n_features == 4


def test_names_that_the_encoding_lacks_stop_nothing(shell):
    code, out, _ = shell(f"mv train.txt trän.txt; PYTHONIOENCODING=ascii {LINRANK} train trän.txt made.json --quiet")
    assert code == 0
    assert "tr\\xe4n.txt" in out


def test_data_is_read_from_standard_input_in_any_form(shell):
    whole = json.loads(shell(f"{LINRANK} info train.txt --json")[1])
    for line in (
        f"cat train.txt | {LINRANK} info - --json",
        f"gzip -c train.txt | {LINRANK} info - --json",
        f"{LINRANK} info - --json < train.txt",
        f"cat train.csv | {LINRANK} info - --format csv --label grade --qid query --json",
        f"cat train.linrank | {LINRANK} info - --format linrank --json",
    ):
        code, out, err = shell(line)
        assert code == 0, err
        assert json.loads(out)["n_pairs"] == whole["n_pairs"]
    code, _, err = shell(f"cat train.csv | {LINRANK} info - --format csv --label grade --qid nonsense")
    assert code == 1
    assert "standard input: there is no column 'nonsense'" in err


def test_models_and_scores_are_read_from_standard_input(shell):
    shell(f"{LINRANK} predict model.json train.txt direct.scores")
    for line in (
        f"cat model.json | {LINRANK} predict - train.txt out.scores",
        f"cat train.txt | {LINRANK} predict model.json - out.scores",
        f"{LINRANK} predict model.json train.txt - > out.scores",
    ):
        assert shell(line)[0] == 0
        np.testing.assert_array_equal(
            read_scores(shell.folder / "out.scores"), read_scores(shell.folder / "direct.scores")
        )
        (shell.folder / "out.scores").unlink()
    direct = shell(f"{LINRANK} evaluate train.txt direct.scores")[1]
    assert shell(f"{LINRANK} predict model.json train.txt | {LINRANK} evaluate train.txt -")[1] == direct
    assert shell(f"cat train.txt | {LINRANK} explain model.json - --qid 1")[0] == 0
    assert shell(f"echo '1 2.5' | {LINRANK} path train.txt --costs - --steps 5 --no-report")[0] == 0


@pytest.mark.parametrize(
    "command",
    [
        "train train.txt -",
        "train - - --json",
        "tune train.txt - --range 0.1,1 --cv 2",
        "path train.txt --model - --steps 5 --no-report",
    ],
)
def test_a_model_is_written_to_standard_output_and_nothing_else_is(shell, command):
    code, _, err = shell(f"cat train.txt | {LINRANK} {command} > out.json")
    assert code == 0
    assert LinearModel.load(shell.folder / "out.json").n_features == 4
    # What is said goes to standard error.
    assert "ndcg@10" in err
    assert not list(shell.folder.glob("-*"))


def test_text_and_runs_are_written_to_standard_output(shell):
    code, out, _ = shell(f"cat train.linrank | {LINRANK} convert - - --format linrank")
    assert code == 0
    assert out == (shell.folder / "train.txt").read_text()
    (shell.folder / "named.txt").write_text(
        "1 qid:7 1:1 2:0 3:0 4:0 # docid = D1\n0 qid:7 1:0 2:0 3:0 4:0 # docid = D2\n"
    )
    code, out, _ = shell(f"{LINRANK} predict model.json named.txt --trec")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines()] == ["Q0", "Q0"]


def test_several_files_of_text_are_one_through_a_pipe(shell):
    (shell.folder / "more.txt").write_text("1 qid:more 1:1 2:0 3:0 4:0\n0 qid:more 1:0 2:0 3:0 4:0\n")
    assert shell(f"cat train.txt more.txt | {LINRANK} train - made.json --quiet")[0] == 0
    record = LinearModel.load(shell.folder / "made.json").training
    assert record["queries"] == read(shell.folder / "train.txt").n_queries + 1


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("train - made.json --validate -", "standard input can be read once"),
        ("evaluate - -", "standard input can be read once"),
        ("compare -", "Save it to a file first"),
        ("train train.txt - >&-", "standard output, which is closed"),
        ("predict model.json train.txt >&-", "standard output, which is closed"),
        ("info -", "empty"),
    ],
)
def test_what_cannot_be_said_by_a_dash_is_refused(shell, command, message):
    code, _, err = shell(f"{LINRANK} {command}")
    assert code == 1
    assert message in err
