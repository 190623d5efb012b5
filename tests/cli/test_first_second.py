"""The first second: no verb waits for libraries that it does without, and a first run says what it is doing."""

import json
import os
import subprocess
import sys

import pytest

from linrank import make_ranking, save_dataset
from linrank.reading.write_svmlight import write_svmlight

HEAVY = ("sklearn", "pandas", "scipy.stats", "matplotlib", "pyarrow", "dask", "distributed")
# Each on what those before it have made.
LINES = (
    "info train.txt",
    "convert train.txt train.linrank",
    "train train.txt model.json --validate vali.txt",
    "train train.txt unfinished.json --max-iter 1 --scaling standard",
    "train train.txt hinge.json --loss hinge",
    "train train.txt sparse.json --method sparserank --set l1=1",
    "train train.txt ftrl.json --method minbatsrank",
    "train train.txt sampled.json --method sampled-sgd",
    "train train.txt ridge.json --method ridge",
    "train train.linrank larger.json --memory 1GB",
    "tune train.txt tuned.json --range 1,2",
    "path train.txt --model path.json --validate vali.txt",
    "compare train.txt --methods ranksvm,listnet,sparserank --folds 3 --jobs 1",
    "predict model.json vali.txt vali.scores",
    "evaluate vali.txt vali.scores",
    "show model.json",
    "export model.json --to solr --out solr.json",
    "explain model.json vali.txt --qid 1",
    "check model.json hinge.json --data vali.txt --at-least -1",
    "import solr.json again.json",
    "fuse qrels.txt a.run b.run --to sql --page fusion.html --cv 2 --resamples 2",
)
RUN = """
import json, sys
from linrank.cli import main
lines, heavy = map(json.loads, sys.argv[1:])
for line in lines:
    code = main(line.split())
    loaded = [name for name in heavy if name in sys.modules]
    if code or loaded:
        sys.exit(f"{line}: exit code {code}, loaded {loaded}")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("data")
    for name, seed in (("train", 0), ("vali", 1)):
        data, _ = make_ranking(12, 10, 4, random_state=seed)
        write_svmlight(made / f"{name}.txt", data)
        save_dataset(data, made / f"{name}.linrank")
    for leg in "ab":
        hits = (f"{query} Q0 {leg}{place} {place} {9 - place} {leg}\n" for query in "123" for place in range(1, 6))
        (made / f"{leg}.run").write_text("".join(hits))
    (made / "qrels.txt").write_text("".join(f"{query} 0 a{query} 1\n{query} 0 b1 0\n" for query in "123"))
    return made


def python(folder, *arguments, **settings):
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, **settings},
    )  # fmt: skip


def test_no_verb_loads_a_library_that_it_does_without(folder):
    done = python(folder, "-c", RUN, json.dumps(LINES), json.dumps(HEAVY))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_training_on_dense_data_loads_nothing_of_scipy_that_takes_long(folder):
    """Machine code is loaded from the cache, which the line before has filled, without what compiling needs."""
    for heavy in ((), ("scipy.linalg", "scipy.sparse", "numpy.f2py")):
        done = python(folder, "-c", RUN, json.dumps(["train train.txt dense.json"]), json.dumps(heavy))
        assert done.returncode == 0, done.stderr


def test_the_first_run_says_that_it_compiles_and_the_second_has_nothing_to_say(folder, tmp_path):
    def said(*options, **settings):
        # (Of text, reading alone has more kernels than all that is wanted here.)
        done = python(folder, "-m", "linrank", "evaluate", "vali.linrank", "made.scores", *options, **settings)
        assert done.returncode == 0, done.stderr
        return done.stderr

    (folder / "made.scores").write_text("0.5\n" * 120)
    kept, kept_too = ({"NUMBA_CACHE_DIR": str(tmp_path / name)} for name in "ab")
    assert said("--json", **kept_too) == ""
    (line,) = said(**kept).splitlines()
    assert line.startswith("linrank evaluate: compiling kernels, which later runs find on disk")
    assert said(**kept) == ""
    for _ in range(2):
        line, other = said(NUMBA_CACHE_DIR="/dev/null/none").splitlines()
        assert "compiling kernels" in line
        assert "compiled kernels cannot be kept, so every process compiles them" in other
