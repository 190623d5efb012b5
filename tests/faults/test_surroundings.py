"""Full disks, read-only folders, closed streams and odd names are said clearly, and nothing is lost."""

import json
import resource
from contextlib import contextmanager
from pathlib import Path

import pytest

from linrank import LinearModel, make_ranking
from linrank.cli import main
from linrank.dataset.storage import save_dataset
from linrank.reading.write_svmlight import write_svmlight
from processes import LINRANK, linrank, obey_permissions, ran

# Runs commands one after the other in a process that has other surroundings, and tells what came of each.
COMMANDS = """
import contextlib, io, json, os, sys
from linrank.cli import main
told = []
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        # As Python takes them from a shell.
        code = main([os.fsdecode(word.encode()) for word in words])
    told.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(told))
"""


def came_of(commands, **settings):
    code, out, err = ran(COMMANDS, json.dumps([[str(word) for word in words] for words in commands]), **settings)
    assert code == 0, err
    return json.loads(out)


@contextmanager
def little_room(n_bytes=2000):
    """No file may have more bytes: a full disk, which says so in another word."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    data, _ = make_ranking(30, 10, 40, random_state=0)
    write_svmlight(folder / "data.txt", data)
    save_dataset(data, folder / "data.linrank")
    documents = [(query, document) for query in range(6) for document in range(40)]
    (folder / "qrels").write_text("".join(f"q{q} 0 d{d} {d % 3}\n" for q, d in documents))
    for leg, factor in (("a", 7), ("b", 11)):
        hits = "".join(f"q{q} Q0 d{d} 1 {(d * factor + q) % 40} {leg}\n" for q, d in documents)
        (folder / f"{leg}.run").write_text(hits)
    assert linrank("train", "data.txt", "m.json", "--quiet", cwd=folder)[0] == 0
    return folder


WRITING = {
    "out.linrank": "convert {made}/data.txt out.linrank",
    "out.txt": "convert {made}/data.linrank out.txt",
    "out.parquet": "convert {made}/data.txt out.parquet",
    "m.json": "train {made}/data.txt m.json --quiet",
    "t.json": "tune {made}/data.txt t.json --range 0.1,1 --cv 3",
    "scores": "predict {made}/m.json {made}/data.txt scores",
    "best.json": "train {made}/data.txt best.json --quiet --best --set cv=2",
    "f.json": "fuse {made}/qrels {made}/a.run {made}/b.run --out f.json --page f.html --cv 2 --resamples 2",
    "x.json": "export {made}/m.json --to solr --set store=s --out x.json --data {made}/data.txt",
}


def words(name, made):
    return WRITING[name].format(made=made).split()


def is_one_line(err, verb):
    """Whether what is said is one line of the verb's, without a traceback."""
    lines = [line for line in err.splitlines() if line.startswith(f"linrank {verb}: ")]
    return len(lines) == 1 and "Traceback" not in err


@pytest.mark.parametrize("name", WRITING)
def test_a_full_disk_is_said_and_nothing_is_lost(made, tmp_path, monkeypatch, capsys, name):
    if name == "out.parquet":
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    verb, *_ = command = words(name, made)
    assert main(command) == 0
    if name in ("out.txt", "out.parquet"):
        # What may be a user's own is not replaced, whatever room there is.
        (tmp_path / name).unlink()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    capsys.readouterr()
    with little_room():
        code = main(command)
    err = capsys.readouterr().err
    assert code == 1
    assert is_one_line(err, verb), err
    assert "File too large" in err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_disk_that_is_full_for_staged_writes_is_said_of_the_output(made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = ["convert", f"{made}/data.txt", "out.linrank", "--memory", "8GB"]
    with little_room():
        assert main(command) == 1
    err = capsys.readouterr().err
    assert "linrank convert: out.linrank: File too large. Make room" in err, err
    assert main([*command, "--resume"]) == 0


LONG = ["a" * 241, "é" * 127, "a" * 255, "€" * 85]


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("memory", [[], ["--memory", "8GB"]])
def test_every_name_that_a_file_may_have_is_written(made, tmp_path, name, memory):
    out = tmp_path / f"{name.encode()[: 255 - len('.linrank')].decode(errors='ignore')}.linrank"
    assert main(["convert", str(made / "data.txt"), str(out), *memory]) == 0
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("name", WRITING)
def test_a_name_that_no_file_may_have_is_said_before_any_work(made, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    command = words(name, made)
    long = "a" * (256 - len(Path(name).suffix)) + Path(name).suffix
    assert main([long if word == name else word for word in command]) == 1
    err = capsys.readouterr().err
    assert is_one_line(err, command[0]), err
    assert "this name is too long for a file. Use a shorter one." in err
    assert not list(tmp_path.iterdir())


def test_a_comparison_whose_disk_is_full_says_so_and_goes_on_later(made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = f"compare {made}/data.txt --methods single-feature,ridge --folds 3 --jobs 1 --out out --no-report".split()
    with little_room(7000):
        assert main(command) == 1
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert "File too large" in err
    assert not list(tmp_path.rglob("*.part"))
    assert main(command) == 0


def test_a_read_only_folder_is_said_before_any_work(made, tmp_path):
    tmp_path.chmod(0o555)
    try:
        told = came_of([words(name, made) for name in WRITING], cwd=tmp_path, preexec_fn=obey_permissions)
    finally:
        tmp_path.chmod(0o755)
    for name, (code, out, err) in zip(WRITING, told, strict=True):
        assert (code, out) == (1, ""), name
        assert is_one_line(err, words(name, made)[0]), err
        assert "this folder cannot be written to. Name another, or change its permissions." in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("streams", [(1,), (1, 2)])
def test_closed_streams_stop_no_work(made, tmp_path, streams):
    # Closed before Python looks, as a shell does by >&-.
    closing = f"import os, sys; [os.close(one) for one in {streams}]; "
    launched = f"{closing}os.execv(sys.executable, [sys.executable, '-c', {LINRANK!r}, *sys.argv[1:]])"
    code, _, err = ran(launched, *words("m.json", made), cwd=tmp_path)
    assert code == 0, err
    assert LinearModel.load(tmp_path / "m.json").weights.any()


@pytest.mark.parametrize("words", [["predict", "m.json", "data.txt", "/dev/full"], ["train", "data.txt", "/dev/full"]])
def test_a_full_disk_is_said_with_the_name_of_the_file(made, words):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    code, _, err = linrank(*words, cwd=made)
    assert code == 1
    assert err == f"linrank {words[0]}: /dev/full: No space left on device. Make room, or name another file.\n"


def test_a_full_standard_output_is_said(made):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with Path("/dev/full").open("w") as full:
        code, _, err = linrank("predict", made / "m.json", made / "data.txt", "-", stdout=full)
    assert code == 1
    assert err == "linrank: standard output: No space left on device. All else is done; what it says is not whole.\n"


@pytest.mark.parametrize("language", ["C", "C.UTF-8"])
def test_odd_names_are_names(made, tmp_path, language):
    plain = {"LANG": language, "LC_ALL": language, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    names = ["with\nnewline", "grün", "日本", "a b'c\"d", "%s{0}"]
    for name in names:
        (tmp_path / f"{name}.txt").write_bytes((made / "data.txt").read_bytes())
    trained = [("train", f"{name}.txt", f"{name}.json", "--quiet") for name in names]
    for name, (code, _, err) in zip(names, came_of(trained, cwd=tmp_path, env=plain), strict=True):
        assert code == 0, err
        assert LinearModel.load(tmp_path / f"{name}.json").weights.any()
    absent = [("train", f"{name}-none.txt", "m.json") for name in names]
    for code, _, err in came_of(absent, cwd=tmp_path, env=plain):
        assert code == 1
        assert "there is no such file" in err
        # A name cannot say something in our name, on a line of its own.
        assert err.count("\n") == 1


def test_a_user_without_a_home_trains(made, tmp_path):
    homeless = {"HOME": None, "XDG_CACHE_HOME": None, "USER": None, "LOGNAME": None}
    code, _, err = linrank("train", made / "data.txt", "m.json", "--quiet", cwd=tmp_path, env=homeless)
    assert (code, err) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]
