"""The flow goes one way: a stage imports only stages to its left."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "linrank"

# Modules that import no stage, the stages from left to right, and what stands on top of them all.
FOUNDATION = [
    "arrays",
    "cached",
    "compiled",
    "drawing",
    "errors",
    "files",
    "kernel_cache",
    "kernel_news",
    "loaded",
    "maps",
    "memory",
    "named_weights",
    "ordering",
    "showing",
    "strict_json",
    "threads",
    "_version",
]
STAGES = [
    "dataset",
    "reading",
    "executors",
    "objective",
    "solvers",
    "online",
    "boosting",
    "linear_scores",
    "model",
    "duals",
    "analysis",
    "wanted_weights",
    "explaining",
    "measures",
    "estimators",
    "experiments",
    "papers",
    "exporting",
    "importing",
    "checking",
    "fusing",
]
TOP = ["warmup", "cli", "__init__", "__main__"]
RANK = dict.fromkeys(FOUNDATION, 0) | {name: 1 + place for place, name in enumerate([*STAGES, *TOP])}


def home(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The parts of linrank a file imports, other than for type checking."""
    found = set()
    tree = ast.parse(path.read_text())
    skipped = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in skipped:
            continue
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("linrank.")}
    return found


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_stage_imports_only_stages_to_its_left(path):
    here = home(path)
    assert here in RANK, f"{here} has no place in the flow: add it to the lists above"
    for other in imports(path) - {here}:
        assert other in FOUNDATION or RANK[other] < RANK[here], f"{path} imports {other}"


def modules_after(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(' '.join(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import linrank; linrank.__version__; dir(linrank)",
        (
            "from linrank.cli import VERBS, main\n"
            "from importlib import import_module\n"
            "[import_module(f'linrank.cli.{verb}').parser().format_help() for verb in VERBS]"
        ),
    ],
    ids=["import linrank", "linrank VERB --help"],
)
def test_nothing_heavy_is_imported_before_it_is_used(statement):
    heavy = {"numba", "numpy", "pandas", "polars", "pyarrow", "rich", "scipy", "sklearn"}
    assert not heavy & modules_after(statement)


def test_only_the_estimators_import_scikit_learn():
    assert not [
        str(path) for path in FILES if "sklearn" in path.read_text() and home(path) not in ("estimators", "experiments")
    ]


def test_every_public_name_can_be_loaded():
    import linrank

    for name in linrank.__all__:
        assert getattr(linrank, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        linrank.nonsense  # noqa: B018


def summing_and_storing_loops(tree: ast.AST) -> list[str]:
    """Innermost loops of summing kernels that add up a number and write to an array in one."""
    found = []
    kernels = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and "summing_kernel" in map(ast.unparse, node.decorator_list)
    )
    for kernel in kernels:
        for loop in ast.walk(kernel):
            inside = [node for node in ast.walk(loop) if node is not loop]
            if not isinstance(loop, ast.For | ast.While) or any(isinstance(n, ast.For | ast.While) for n in inside):
                continue
            written = [node for node in inside if isinstance(getattr(node, "ctx", None), ast.Store)]
            added = {n.target.id for n in inside if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
            begun = {name.id for n in inside if isinstance(n, ast.Assign) for name in n.targets if hasattr(name, "id")}
            if added - begun and any(isinstance(node, ast.Subscript) for node in written):
                found.append(f"{kernel.name}:{loop.lineno}")
    return found


def test_a_loop_that_sums_out_of_order_writes_to_no_array():
    # Where arrays that it writes to may overlap others, LLVM has two forms of a loop, and where they lie in memory
    # decides which of them runs: sums would have another order in each.
    both = """
@summing_kernel
def add(values, slopes):
    total = 0.0
    for i in range(3):
        part = 0.0
        for j in range(len(values)):
            part += values[j]
            slopes[j] += 1.0
        total += part
        for j in range(len(values)):
            scaled = values[j]
            scaled *= 2.0
            slopes[j] = scaled
    return total
"""
    assert summing_and_storing_loops(ast.parse(both)) == ["add:7"]
    found = {str(path): summing_and_storing_loops(ast.parse(path.read_text())) for path in FILES}
    assert {path: loops for path, loops in found.items() if loops} == {}
