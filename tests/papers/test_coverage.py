"""docs/reproduction.md has a row for every table and figure of the five papers, and a class for every algorithm."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import linrank
from linrank.estimators.catalogue import METHODS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reproduction.md").read_text(encoding="utf-8")
PRINTED = {
    "Lee & Lin": {"Table": 10, "Figure": 7},
    "Cheng et al.": {"Table": 4, "Figure": 2},
    "Tas": {"Table": 0, "Figure": 2},
    "Sun et al.": {"Table": 1, "Figure": 5},
    "Xu et al.": {"Table": 8, "Figure": 4},
}


def rows_under(heading):
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return rows[2:]


def numbers(what):
    """Table 3 → 3; Tables 3 and 4 → 3, 4; Figures 1 to 3 → 1, 2, 3."""
    kind, text = re.match(r"(Table|Figure)s? ([\d a-z]+)", what).groups()
    first, *rest = map(int, re.findall(r"\d+", text))
    last = rest[0] if rest else first
    return kind, range(first, last + 1) if " to " in text else [first, *rest]


@pytest.mark.parametrize("paper", PRINTED)
def test_every_table_and_figure_has_one_row_that_says_what_became_of_it(paper):
    found, of_paper = {"Table": [], "Figure": []}, ""
    for named, what, state in rows_under("Every table and figure"):
        of_paper = named or of_paper
        assert state
        if of_paper == paper and re.match(r"(Table|Figure)s? \d", what):
            kind, which = numbers(what)
            found[kind] += which
    assert {kind: sorted(which) for kind, which in found.items()} == {
        kind: list(range(1, count + 1)) for kind, count in PRINTED[paper].items()
    }


def test_every_class_that_is_named_for_an_algorithm_is_there():
    classes = {method.class_name for method in METHODS.values()} | set(dir(linrank)) | {"NDCGReduction"}
    named = [
        word for _, here in rows_under("Every algorithm the papers name") for word in re.findall(r"`([^`]+)`", here)
    ]
    assert len(named) > 30
    for word in named:
        path, _, arguments = word.partition("(")
        if "." in path:
            module, _, name = path.rpartition(".")
            assert hasattr(import_module(module), name), word
        elif path[:1].isupper():
            assert path in classes or hasattr(import_module("linrank.measures"), path), word
            settings = set(re.findall(r"(\w+)=", arguments))
            if settings:
                made = next(method for method in METHODS.values() if method.class_name == path).load()
                assert settings <= set(made().get_params()), word
