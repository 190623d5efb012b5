"""The package as it is published: the wheel, and one made of the source distribution, without any extra.

Each is installed into an environment of its own, away from the clone, by `make test-package`: the README's first
commands run, and whatever needs an extra names it, with the command that installs it.
"""

import os
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest

from versions.run import ROOT, built, uv

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def distributions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    return {"wheel": built(folder), "sdist": next(folder.glob("*.tar.gz"))}


@pytest.fixture(scope="session", params=["wheel", "sdist"])
def installed(request, distributions, tmp_path_factory):
    """The folder of an environment's programs, and a folder to work in that has nothing of the clone."""
    folder = tmp_path_factory.mktemp(request.param)
    uv("venv", "--python", sys.executable, folder / "venv")
    uv("pip", "install", "--python", folder / "venv" / "bin" / "python", distributions[request.param])
    return folder / "venv" / "bin", folder


def run(programs, folder, command):
    """What came of a command of the shell that finds the environment's programs, and nothing of the clone."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    settings["PATH"] = f"{programs}{os.pathsep}{settings['PATH']}"
    return subprocess.run(
        command, shell=True, cwd=folder, env=settings, capture_output=True, text=True, check=False, timeout=900
    )


def first_commands():
    """Those of "Three commands" in the README; what make sets up first is there."""
    block = re.search(r"## Three commands.*?```sh\n(.*?)```", README, re.DOTALL)[1]
    made = re.search(r"^demo:.*\n\t\$\(BIN\)/(.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    return [
        line.partition("#")[0].strip().replace("make demo", made).replace(".venv/bin/", "")
        for line in block.splitlines()
    ]


def test_the_first_commands_of_the_readme_run(installed):
    for command in first_commands():
        ended = run(*installed, command)
        assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
    assert "ndcg@10" in ended.stdout.lower(), "the last one evaluates"
    _, folder = installed
    assert {"model.json", "test.scores"} <= {path.name for path in folder.iterdir()}
    assert (folder / "demo" / "comparison" / "report.html").stat().st_size > 10_000


def test_what_is_installed_is_what_is_needed_and_no_more(installed):
    ended = run(
        *installed, "python -m pip --version >/dev/null 2>&1; python -c 'import linrank; print(linrank.__file__)'"
    )
    assert str(installed[0].parent) in ended.stdout
    for extra in ("pandas", "polars", "pyarrow", "zstandard", "dask", "matplotlib", "lightgbm", "xgboost", "onnx"):
        assert run(*installed, f"python -c 'import {extra}'").returncode != 0, extra


def test_the_distributions_have_what_they_should(distributions):
    wheel = zipfile.ZipFile(distributions["wheel"]).namelist()
    assert "linrank/py.typed" in wheel
    assert {name.split("/")[0] for name in wheel} == {
        "linrank",
        next(n for n in wheel if "dist-info" in n).split("/")[0],
    }
    with tarfile.open(distributions["sdist"]) as archive:
        source = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"README.md", "LICENSE", "CITATION.cff", "SECURITY.md", "pyproject.toml", "tests/conftest.py"} <= source
    in_clone = {str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py")}
    assert in_clone <= source


PATH = "feature_path(data.features, data.labels, qid=data.qid, cv=2, n_steps=3)"
DATA = "import linrank\nfrom linrank import *\ndata, _ = make_ranking(20, 8, 3)\n"
FITTED = DATA + "model = RankSVM().fit(data)\n"
# For every library that is not there: what is asked for, and the extra that brings it.
WITHOUT = {
    "reading Parquet": ("arrow", "open('a.parquet', 'wb').write(b'PAR1'); linrank.read('a.parquet')"),
    "writing Parquet": (
        "arrow", DATA + "from linrank.reading.write_parquet import write_parquet\nwrite_parquet('b.parquet', data)"
    ),
    "reading CSV": ("arrow", "open('a.csv', 'w').write('label,qid,a\\n1,2,3\\n'); linrank.read('a.csv')"),
    "reading compressed CSV": ("arrow", "open('a.csv.gz', 'wb').write(b'\\x1f\\x8b'); linrank.read('a.csv.gz')"),
    "reading Arrow": ("arrow", "open('a.arrow', 'wb').write(b'ARROW1'); linrank.read('a.arrow')"),
    "reading zstd": ("zstd", "open('a.txt.zst', 'wb').write(b'\\x28\\xb5\\x2f\\xfd00'); linrank.read('a.txt.zst')"),
    "a dataset as a frame": ("pandas", DATA + "data.to_frame()"),
    "weights as a series": ("pandas", FITTED + "model.weights_.to_series()"),
    "a path as a frame": ("pandas", DATA + PATH + ".to_frame()"),
    "intervals as a frame": ("pandas", FITTED + "weight_intervals(model, data, n_resamples=3).to_frame()"),
    "a cluster": ("dask", DATA + "from linrank.executors.dask import connect\nconnect('local:1')"),
    "a picture": ("plots", DATA + PATH + ".plot()"),
    "LightGBM": ("lightgbm", DATA + "LightGBMRanker().fit(data.features, data.labels, qid=data.qid)"),
    "XGBoost": ("xgboost", DATA + "XGBoostRanker().fit(data.features, data.labels, qid=data.qid)"),
    "ONNX": ("onnx", FITTED + "export(model.to_model(), 'onnx')"),
}  # fmt: skip
COMMANDS = {
    "train on Parquet": ("arrow", "train a.parquet m.json"),
    "convert to Parquet": ("arrow", "convert train.txt b.parquet"),
    "train on a cluster": ("dask", "train train.linrank m.json --dask local:1"),
    "train LightGBM": ("lightgbm", "compare train.txt --methods lightgbm --out x --folds 3"),
    "train XGBoost": ("xgboost", "compare train.txt --methods xgboost --out y --folds 3"),
    "export to ONNX": ("onnx", "export model.json --to onnx --out m.onnx"),
}


@pytest.mark.parametrize("what", WITHOUT)
def test_a_missing_extra_is_named_with_its_remedy(what, installed):
    extra, source = WITHOUT[what]
    lines = "\n".join(f"    {line}" for line in source.splitlines())
    script = f"import linrank\ntry:\n{lines}\nexcept linrank.LinrankError as error:\n    print(error)\n"
    (installed[1] / "asked.py").write_text(script)
    ended = run(*installed, "python asked.py")
    assert ended.returncode == 0, ended.stderr
    assert f"pip install 'linrank[{extra}]'" in ended.stdout


@pytest.mark.parametrize("what", COMMANDS)
def test_a_command_names_the_missing_extra_too(what, installed):
    extra, words = COMMANDS[what]
    programs, folder = installed
    (folder / "a.parquet").write_bytes(b"PAR1")
    if not (folder / "model.json").exists() or not (folder / "train.linrank").exists():
        lines = FITTED + "model.to_model().save('model.json')\n"
        lines += "from linrank.reading.write_svmlight import write_svmlight\nwrite_svmlight('train.txt', data)\n"
        lines += "from linrank.dataset.storage import save_dataset\nsave_dataset(data, 'train.linrank')\n"
        (folder / "made.py").write_text(lines)
        assert run(programs, folder, "python made.py").returncode == 0
    ended = run(programs, folder, f"linrank {words}")
    assert ended.returncode in (1, 2), ended.stdout
    assert f"pip install 'linrank[{extra}]'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_every_extra_that_something_needs_is_tried():
    tried = {extra for extra, _ in (*WITHOUT.values(), *COMMANDS.values())}
    named = set(
        re.findall(
            r'MissingDependencyError\("\w+", "(\w+)"', "".join(p.read_text() for p in (ROOT / "src").rglob("*.py"))
        )
    )
    assert named | {"lightgbm", "xgboost"} == tried
