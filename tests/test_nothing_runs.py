"""No file says what is run: what could run a text is used only with words that are written in the package itself."""

import ast
from pathlib import Path

import pytest

import linrank

PACKAGE = Path(linrank.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# What makes code, objects or processes of texts and bytes.
NEVER = {"eval", "exec", "compile", "__import__", "execfile", "breakpoint", "input"}
NEVER_MODULES = {"pickle", "cloudpickle", "dill", "shelve", "marshal", "subprocess", "pty", "code", "runpy", "ctypes"}
# Bytes that are no data of anybody's.
ALLOWED_MODULES = {
    # Dask sends values between the processes of one user's own cluster, and these bytes are only counted.
    "executors/dask.py": "from distributed.protocol import pickle",
    # Machine code, which is run, from the package's own folder or one of the user's.
    "kernel_cache.py": "import pickle",
}
# Where a module or an attribute is found by a name, and why that name is never one that was read from a file.
BY_NAME = {
    "__init__.py": "a name of the package's own table, asked for as linrank.NAME",
    "analysis.py": "a name asked for as linrank.analysis.NAME",
    "measures/__init__.py": "a name of the package's own table",
    "reading/read.py": "_READERS, by a format that is one of its keys",
    "solvers/registry.py": "written in the registry",
    "objective/registry.py": "written in the registry",
    "exporting/registry.py": "written in the registry, or in that of fusing",
    "estimators/catalogue.py": "METHODS, by a method that is one of its keys",
    "estimators/lambda_mart.py": "a class's own `library`",
    "cli/__init__.py": "a verb that is one of VERBS",
    "loaded.py": "a module that a decorator in the package names",
    "cli/completion.py": "each of VERBS",
}
# Where `getattr` is given a name that is no word in the code, and where that name is from.
ATTRIBUTES = {
    *BY_NAME,
    "measures/measures.py",  # the parameters of a measure's family
    "estimators/settings.py",  # the fields that a class declares
    "estimators/tree_rankers.py",  # the fields that a class declares
    "estimators/conventions.py",  # the settings that a class declares
    "dataset/column_values.py",  # two words, in a loop
    "executors/pieces.py",  # two words, in a loop
    "kernel_cache.py",  # names of numba's settings, in a loop
    "cli/methods.py",  # options of the parser
    "cli/data_arguments.py",  # options of the parser
    "cli/convert.py",  # options of the parser
    "cli/streams.py",  # what somebody asks a stream for
    "experiments/contenders.py",  # "fit" and "predict", in a loop
    "experiments/comparison.py",  # the fields of a dataclass
    "experiments/report/page.py",  # the fields of a dataclass
    "experiments/results.py",  # names of fields, in a loop
    "papers/reproduction.py",  # names of columns that the package prints
}


def calls(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            yield node, function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node, node.module or ""
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_that_was_read_is_run_or_names_what_is(path):
    place = path.relative_to(PACKAGE).as_posix()
    for node, module in imported(path):
        if NEVER_MODULES & set(module.split(".")):
            assert ast.unparse(node) == ALLOWED_MODULES.get(place), f"{place}:{node.lineno}: imports {module}"
    for node, name in calls(path):
        where = f"{place}:{node.lineno}: {ast.unparse(node)}"
        is_method = isinstance(node.func, ast.Attribute)
        assert name not in NEVER or (is_method and name == "compile" and ast.unparse(node.func) == "re.compile"), where
        runs = is_method and ast.unparse(node.func) in {"os.system", "os.popen", "pickle.loads", "np.load"}
        assert not runs or (name == "loads" and place in ALLOWED_MODULES), where
        if name == "import_module":
            assert place in BY_NAME, where
        if name in ("getattr", "attrgetter", "methodcaller", "setattr") and not is_method:
            plain = all(isinstance(word, ast.Constant) for word in node.args[1:2])
            assert plain or place in ATTRIBUTES, where
        for keyword in node.keywords:
            assert keyword.arg != "allow_pickle" or ast.unparse(keyword.value) == "False", where


def test_the_lists_of_exceptions_name_files_that_still_need_them():
    using = {
        path.relative_to(PACKAGE).as_posix() for path in FILES for _, name in calls(path) if name == "import_module"
    }
    assert set(BY_NAME) - {"analysis.py"} == using
    assert {place for place in ATTRIBUTES if (PACKAGE / place).exists()} == ATTRIBUTES
