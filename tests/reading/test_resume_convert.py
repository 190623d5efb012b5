"""A conversion that was killed is gone on with, and ends in the same bytes; what is left of another one is refused."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linrank import DataFormatError, LinrankError, RankingDataset, save_dataset
from linrank.cli import main
from linrank.dataset import arranging, work_folder
from linrank.reading import convert_text
from linrank.reading.convert import convert
from linrank.reading.write_svmlight import write_svmlight


def mixed(n_rows=300):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n_rows, 4)).round(3)
    return RankingDataset.from_arrays(features, rng.integers(0, 3, n_rows), qid=rng.integers(0, 20, n_rows))


def write_mixed(folder, form):
    data = mixed()
    if form == "txt":
        write_svmlight(folder / "data.txt", data)
    elif form == "linrank":
        save_dataset(data, folder / "data.linrank")
    else:
        pytest.importorskip("pyarrow")
        (folder / "data.parts").mkdir()
        frame = data.to_frame()
        for number in range(3):
            frame[number * 100 : number * 100 + 100].to_parquet(folder / "data.parts" / f"{number}.parquet")
        return folder / "data.parts"
    return folder / f"data.{form}"


# Forks, each of which converts and kills itself before it has written so many pieces; tells how many they wrote.
KILLED = """
import json, os, signal, sys
from pathlib import Path
from linrank.dataset import arranging, regrouping, row_files, section_writer, work_folder
from linrank.reading import convert_table, convert_text, table_sources
from linrank.reading.convert import convert

for module in (convert_table, convert_text, regrouping):
    module.room_within = lambda _, needed: needed - arranging.LEAST_ROOM + 16000
work_folder._SECONDS_BETWEEN_NOTES = 0.0
table_sources._ROWS_AT_A_TIME = 50
# Whoever is killed leaves to the system what it has written; only a machine that stops does not.
os.fsync = lambda _: None
given, out = map(Path, sys.argv[1:3])
options = {"n_threads": 1} if given.suffix == ".txt" else {}
# Compiled here, once for all.
convert(given, out, **options)

def run(kill_at, resume):
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        n_written = 0
        def counting(append):
            def counted(*arguments):
                nonlocal n_written
                n_written += 1
                os.write(write, b"x")
                if n_written == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return append(*arguments)
            return counted
        row_files.RowFiles._append = counting(row_files.RowFiles._append)
        section_writer.SectionWriter.append = counting(section_writer.SectionWriter.append)
        convert(given, out, resume=resume, memory="6GB", **options)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        n_written = len(told.read())
    return n_written, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

n_in_all, code = run(None, False)
assert code == 0
expected = out.read_bytes()
found = []
for share in (0.1, 0.5, 0.75, 1.0):
    out.unlink()
    n_first, code = run(int(share * n_in_all), False)
    assert code == -signal.SIGKILL and not out.exists(), code
    if share < 1.0:
        # Once more, on the way.
        assert run(3, True)[1] == -signal.SIGKILL
    n_rest, code = run(None, True)
    assert code == 0 and out.read_bytes() == expected, (share, code)
    assert sorted(path.name for path in out.parent.iterdir()) == sorted([given.name, out.name])
    found.append((n_first, n_rest))
print(json.dumps([n_in_all, found]))
"""


@pytest.mark.parametrize("form", ["txt", "linrank", "parquet"])
def test_a_killed_conversion_goes_on_and_ends_in_the_same_bytes(form, tmp_path):
    given = write_mixed(tmp_path, form)
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, given, tmp_path / "made.linrank"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    n_in_all, found = json.loads(ran.stdout)
    # What was sorted or written is not done again, but for the piece that it was at.
    assert found[-1][1] < n_in_all / 4
    assert found[-2][1] < n_in_all / 2


def left_behind(folder, monkeypatch, **options):
    """What a killed process leaves, made by one whose end nothing cleans up after."""

    def full(*_):
        raise OSError("No space left on device")

    given = folder / "data.txt"
    with monkeypatch.context() as patched:
        patched.setattr(arranging.SectionWriter, "finish", full)
        with pytest.raises(OSError, match="No space"):
            convert(given, folder / "made.linrank", memory="6GB", **options)
    return given


def test_a_full_disk_leaves_what_was_done_to_go_on_with(tmp_path, monkeypatch):
    write_mixed(tmp_path, "txt")
    given = left_behind(tmp_path, monkeypatch)
    out = tmp_path / "made.linrank"
    with pytest.raises(LinrankError, match=r"made\.linrank\.parts: holds the work of a conversion .*resume=True"):
        convert(given, out, memory="6GB")
    monkeypatch.setattr(convert_text, "ByteSource", None)
    convert(given, out, memory="6GB", resume=True)
    monkeypatch.undo()
    convert(given, tmp_path / "expected.linrank")
    assert out.read_bytes() == (tmp_path / "expected.linrank").read_bytes()
    assert not (tmp_path / "made.linrank.parts").exists()


def test_what_is_left_of_another_conversion_is_refused_and_stays(tmp_path, monkeypatch):
    write_mixed(tmp_path, "txt")
    given = left_behind(tmp_path, monkeypatch)
    out, parts = tmp_path / "made.linrank", tmp_path / "made.linrank.parts"

    def refused(message, **options):
        with pytest.raises(DataFormatError, match=message):
            convert(given, out, resume=True, **({"memory": "6GB"} | options))
        assert parts.exists()

    refused(r"its memory was 6GB, and is now 2GB\. Say the same as then, or remove the folder", memory="2GB")
    refused("its options was", dtype="float32")
    with given.open("a") as file:
        file.write("1 qid:1 1:1\n")
    refused("its stamp was")
    (parts / "state.json").write_text("{")
    refused(r"holds no work that could be gone on with\. Remove it")


def test_two_processes_do_not_work_on_the_same_file(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    write_mixed(tmp_path, "txt")
    given = left_behind(tmp_path, monkeypatch)
    parts = tmp_path / "made.linrank.parts"
    with work_folder._locked(parts), pytest.raises(LinrankError, match="another process is at work here"):
        convert(given, tmp_path / "made.linrank", memory="6GB", resume=True)
    assert parts.exists()


def test_the_command_says_from_where_it_goes_on(tmp_path, monkeypatch, capsys):
    write_mixed(tmp_path, "txt")
    monkeypatch.chdir(tmp_path)
    words = ["convert", "data.txt", "made.linrank", "--memory", "6GB"]
    assert main([*words, "--resume"]) == 0
    assert "made.linrank.parts: there is none, so it begins anew." in capsys.readouterr().out
    Path("made.linrank").unlink()
    Path("made.linrank.parts").mkdir()
    Path("made.linrank.parts/state.json").touch()
    assert main(words) == 1
    assert "Go on with it (--resume), or remove the folder" in capsys.readouterr().err


def test_a_folder_in_which_nothing_was_noted_yet_is_no_work_to_go_on_with(tmp_path, monkeypatch):
    write_mixed(tmp_path, "txt")
    monkeypatch.chdir(tmp_path)
    words = ["convert", "data.txt", "made.linrank", "--memory", "6GB"]
    assert main(words) == 0
    made = Path("made.linrank").read_bytes()
    for more in ([], ["--resume"]):
        Path("made.linrank").unlink()
        Path("made.linrank.parts").mkdir()
        Path("made.linrank.parts/lock").touch()
        Path("made.linrank.parts/.state.json.abcdefgh.part").touch()
        # What was left at the very end goes too.
        Path(".made.linrank.parts").mkdir()
        assert main([*words, *more]) == 0
        assert Path("made.linrank").read_bytes() == made
        assert sorted(path.name for path in Path().iterdir() if "parts" in path.name) == []
