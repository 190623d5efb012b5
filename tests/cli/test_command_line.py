"""How a command line is read: files and options in any order, and one line in its own words about what is wrong."""

import ast
import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import linrank
from linrank import LinearModel
from linrank.cli import VERBS, main, methods
from linrank.cli.option_names import in_words_of
from linrank.estimators.catalogue import METHODS
from linrank.estimators.settings import settings_of
from linrank.objective.registry import ranking_losses

PARSERS = {verb: import_module(f"linrank.cli.{verb}").parser() for verb in VERBS}
TABLE = "grade,query,a,b\n1,x,1,2\n0,x,2,1\n1,y,3,1\n0,y,1,1\n"


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "data.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")

    def run(line):
        try:
            code = main(line.split())
        except SystemExit as stopped:
            code = stopped.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.mark.parametrize(
    "line",
    [
        "train data.csv --label grade m.json --qid query",
        "train --label grade --qid query data.csv m.json",
        "train --label grade data.csv --qid query m.json",
        "train data.csv m.json --label=grade --qid=query",
        "train --label grade --qid query -- data.csv m.json",
    ],
)
def test_files_and_options_come_in_any_order(call, tmp_path, line):
    code, _, err = call(f"{line} --quiet")
    if " -- " in line:
        code, _, err = call(line.replace("train", "train --quiet"))
    assert code == 0, err
    assert LinearModel.load(tmp_path / "m.json").feature_names == ("a", "b")


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "completion"])
def test_every_verb_takes_its_files_between_options(verb):
    parser = PARSERS[verb]
    files = [action for action in parser._actions if not action.option_strings]
    required = [word for action in parser._actions if action.required and action.option_strings
                for word in (action.option_strings[0], (action.choices or ["1"])[0])]  # fmt: skip
    flag = next((name for action in parser._actions if action.nargs == 0 for name in action.option_strings
                 if name.startswith("--") and name != "--help"), None)  # fmt: skip
    words = list(required)
    for number, _ in enumerate(files):
        words += [f"file{number}", flag] if flag else [f"file{number}"]
    parsed = parser.parse(words)
    for number, action in enumerate(files):
        assert getattr(parsed, action.dest) in (f"file{number}", [f"file{number}"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("train data.csv m.json --lable grade", "there is no option --lable. Did you mean --label?"),
        ("train data.csv --lable=grade", "there is no option --lable. Did you mean --label?"),
        ("explain m.json data.txt --qdi 3", "there is no option --qdi. Did you mean --qid"),
        ("train data.csv --val other.csv", "there is no option --val. Did you mean --validate?"),
        ("path data.txt --max 3", "there is no option --max. Did you mean --max-features or --max-cost?"),
        ("info data.txt -x", "there is no option -x."),
        ("info data.txt --frobnicate", "there is no option --frobnicate."),
        ("train data.txt --loss hing", "invalid choice: 'hing' (choose from 'squared_hinge', 'hinge', 'logistic', "),
        ("train data.txt a.json b.json", "unrecognized arguments: b.json"),
        ("train data.txt --tol", "argument --tol: expected one argument"),
        ("evaluate", "the following arguments are required: data"),
        ("compare", "name a folder of folds or a file to compare on, or --replay RESULTS."),
        ("export --to solr", "give a model file to export: linrank export MODEL --to TARGET."),
        ("fuse q.txt a.run --to opensaerch", "there is no engine 'opensaerch'. Did you mean 'opensearch'?"),
        ("evaluate data.txt", "the following arguments are required: scores (or --score COLUMN of a table)"),
        ("evaluate data.txt a.scores b.scores", "unrecognized arguments: b.scores"),
        ("evaluate data.csv --score s a.scores", "unrecognized arguments: a.scores"),
        ("evaluate data.txt --score s", "--score is a column of a table, and data.txt is none: give a file of scores."),
        ("evaluate data.txt a.scores --per-query - --json", "--per-query - and --json both print: give --per-query a"),
        ("evaluate a.run --qrels q --label grade", "--label is for other data: qrels and runs have one form."),
        ("evaluate a.run --qrels q --score s", "--score is for other data: qrels and runs have one form."),
        ("evaluate a.run b.run --qrels q --per-query q.csv", "--per-query is of one run: name one."),
        ("evaluate a.run b.run --qrels -", "--qrels - can be read once, and there are several runs"),
        ("evaluate data.txt --measures map a.scores", "--measures takes every word after it, so files come first"),
        ("tune data.txt --range 2^a..2^b", "neither 2^a..2^b nor numbers"),
    ],
)
def test_a_wrong_command_line_is_one_line_with_a_way_out(call, line, said):
    code, out, err = call(line)
    verb = line.split()[0]
    assert code == 2
    assert out == ""
    assert said in err
    assert err.startswith(f"linrank {verb}: ")
    assert err.count("\n") == 1
    assert f"'linrank {verb} --help'" in err


def test_values_that_look_like_options_are_values(call):
    code, _, err = call("train data.txt m.json -C -1")
    assert code == 1
    assert "-C -1.0; use a positive number" in err
    assert call("train data.txt m.json -C0.5 --quiet")[0] == 0


def test_info_takes_many_files(call):
    code, out, _ = call("info data.txt data.txt")
    assert code == 0
    assert out.count("1 query ") == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("info data.csv --qid query", "Name the right one with --label …."),
        ("info data.csv --label grade --qid quary", "Did you mean 'query'? Name the right one with --qid …."),
        ("explain m.json data.csv --qid 1 --label grade", "Name the right one with --qid-column …."),
        ("info data.csv --label grade --qid query --features a,c", "Name the right one with --features …."),
        ("info data.txt --label grade", "has no option --label; it takes --zero-based, --n-features, --missing"),
        ("info data.csv --format svmlight", "Pass --format csv for a CSV table"),
        ("info zero.txt", "Pass --zero-based."),
        ("info zero.txt --zero-based --n-features 1", "the last of --n-features 1. Pass a larger --n-features"),
        ("train gap.txt m.json", "--missing 0 or another number, or --missing query_min; --missing keep leaves it"),
        ("info alone.txt", "--one-query takes all documents for one query."),
        ("train data.txt m.json --threads 0", "--threads 0; use at least 1, or leave it out for all processors."),
        ("train data.txt m.json --loss hinge --solver tron", "--solver tron cannot minimise this: Hinge has corners"),
        ("train data.txt m.json --max-iter 0", "--max-iter 0; use a"),
        ("train data.txt m.json --method sparserank --patience 3 --validate data.txt", "sparserank has no --patience"),
        ("train data.txt m.json --set executor=3", "--set executor=3: use --dask ADDRESS"),
        ("train data.txt m.json --method minbatsrank --set batch_pairs=2.5", "batch_pairs is a number"),
        ("train data.txt m.json --set nonsense=3", "ranksvm has no setting nonsense (--set)"),
        ("path data.txt --steps 0 --no-report", "--steps 0"),
        ("predict m.json data.txt run --trec", "Read it with comments or --docid …."),
        ("info label=1.txt", "label=1.txt: there is no such file."),
        ("info label=1/qid=2/data.txt", "label=1/qid=2/data.txt: there is no such file."),
    ],
)  # fmt: skip
def test_errors_name_the_options_of_the_command_line(call, tmp_path, line, said):
    (tmp_path / "zero.txt").write_text("1 qid:1 0:1 2:1\n0 qid:1 0:2\n")
    (tmp_path / "gap.txt").write_text("1 qid:1 1:NULL\n0 qid:1 1:2\n")
    (tmp_path / "alone.txt").write_text("1 1:1\n0 1:2\n")
    LinearModel(np.ones(1), ("1",)).save(tmp_path / "m.json")
    if line.startswith("train"):
        line = line.replace("m.json", "new.json")
    code, _, err = call(line)
    assert code == 1
    assert said in err
    assert err.count("\n") == 1


def messages() -> list[str]:
    """Every text of the library outside the command line that could be said, values as they are written in it."""
    found = []
    for path in Path(linrank.__file__).parent.rglob("*.py"):
        if "cli" in path.parts:
            continue
        tree = ast.parse(path.read_text())
        documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) in documentation:
                continue
            if isinstance(node, ast.JoinedStr):
                found.append("".join(v.value if isinstance(v, ast.Constant) else "7" for v in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
                found.append(node.value)
    return [text for text in found if " " in text and text.rstrip().endswith((".", ";", ","))]


@pytest.mark.parametrize("verb", VERBS)
def test_no_message_is_left_in_pythons_words(verb):
    options = {action.dest for action in PARSERS[verb]._actions if action.option_strings}
    for text in messages():
        said = in_words_of(PARSERS[verb], text)
        # A value that is a call, `cv=QueryKFold(5)`, is for Python alone.
        assert not options & set(re.findall(r"(?<![\w'\"(.-])(\w+)=(?!\w+\()", said)), said
        # Word for word the same, but for the names.
        assert len(said.split()) - len(text.split()) <= text.count("=") + 2 * text.count("or None"), said


def test_an_argument_with_another_name_gets_the_verbs_own():
    text = "n_threads=0, random_state=1, eval_set=…"
    assert in_words_of(PARSERS["path"], text) == "--threads 0, --seed 1, --validate …"
    assert in_words_of(PARSERS["compare"], text) == "--jobs 0, --seed 1, eval_set=…"
    assert in_words_of(PARSERS["warmup"], text) == text


@pytest.mark.parametrize(
    "text",
    [
        "label=1.txt: no",
        "label=1.txt:3: no",
        "there is no column 'label=1'; the columns are 'max_iter', \"n_features=3\".",
        "/data/label=1/max_iter=2/part.txt:3: no",
        "the label column 'weight' has no value; every weight and loss has one, and max_label=3.",
        "the model has a weight for x_max_iter and none for max_iter_x or l1_max_iter=3.",
    ],
)
def test_what_is_no_argument_stays_as_it_is(text):
    assert in_words_of(PARSERS["train"], text, ["label=1.txt"]) == text


@pytest.fixture(scope="module")
def scripts():
    from linrank.cli.completion import _bash, _fish, _zsh

    return {"bash": _bash(), "zsh": _zsh(), "fish": _fish()}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_verb_option_and_choice(call, scripts, shell):
    code, script, _ = call(f"completion {shell}")
    assert code == 0
    assert script == scripts[shell]
    for verb, parser in PARSERS.items():
        assert verb in script
        for action in parser._actions:
            for name in action.option_strings:
                assert (name.lstrip("-") if shell == "fish" else name) in script
            for choice in action.choices or ():
                assert choice in script


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_its_shell(scripts, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=scripts[shell], text=True, check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["linrank", "tr"], ["train"]),
        (["linrank", "co"], ["convert", "compare", "completion"]),
        (["linrank", "train", "--val"], ["--validate"]),
        (["linrank", "train", "data.txt", "m.json", "--max-"], ["--max-iter", "--max-seconds"]),
        (["linrank", "train", "--loss", ""], ranking_losses()),
        (["linrank", "train", "--loss", "=", "sq"], ["squared_hinge"]),
        (["linrank", "train", "--loss", "="], ranking_losses()),
        (["linrank", "train", "--penalty", "l"], ["l1", "l2"]),
        (["linrank", "completion", ""], ["bash", "zsh", "fish"]),
        (["linrank", "train", "da"], []),
        (["linrank", "train", "--validate", "da"], []),
    ],
    ids=" ".join,
)
def test_bash_completes(scripts, tmp_path, words, expected):
    quoted = " ".join(f"'{word}'" for word in words)
    question = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _linrank; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(
        ["bash", "-c", f"{scripts['bash']}\n{question}"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert set(done.stdout.split()) == set(expected)
    assert done.stderr == ""
    # Where there are no words, bash is told to complete file names.
    told = subprocess.run(
        ["bash", "-c", f"{scripts['bash']}\ncomplete -p linrank"], capture_output=True, text=True, check=True
    )
    assert "-o default" in told.stdout


@pytest.mark.parametrize("method", methods.NAMES)
def test_every_setting_of_a_method_is_told(capsys, method):
    with pytest.raises(SystemExit) as ended:
        PARSERS["train"].parse_args(["--settings", method])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert said.startswith(f"{method}: ")
    assert "Examples" not in said
    for name, setting in settings_of(METHODS[method].load()).items():
        assert re.search(rf"^{name}.* : |^.*, {name}\b.* : ", said, re.MULTILINE), name
        assert (f"{name}={setting.default}" in said.rpartition("unless set: ")[2]) == (
            name not in ("progress", "executor")
        )
