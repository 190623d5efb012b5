"""Small changes to a module, each of which some test should notice.

A comparison becomes its neighbour, + becomes -, a number one more, `and` becomes `or`, a condition its opposite, and a
minus is dropped. Texts, annotations, errors that are raised and what only describes are left alone.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.MatMult: None,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """The change with a number within a file: where it is, the text of that line, and what it does.

    Of changes to one line that read alike, those after the first are numbered.
    """

    path: Path
    number: int
    line: int
    text: str
    change: str


def mutants(path: Path) -> list[Mutant]:
    """All changes to a file."""
    source = path.read_text(encoding="utf-8")
    lines, found = source.splitlines(), []
    for number, (node, change) in enumerate(_changes(ast.parse(source))):
        before = ast.unparse(node)
        undo = change()
        # (A condition that is negated is itself as it was.)
        after = ast.unparse(node)
        told = f"{before}  ->  {after if after != before else f'not {before}'}"
        alike = sum(other.line == node.lineno and other.change.split("  (")[0] == told for other in found)
        told += f"  ({alike + 1})" if alike else ""
        found.append(Mutant(path, number, node.lineno, lines[node.lineno - 1].strip(), told))
        undo()
    return found


def changed_tree(mutant: Mutant) -> ast.Module:
    """The module with the change in it."""
    tree = ast.parse(mutant.path.read_text(encoding="utf-8"))
    list(_changes(tree))[mutant.number][1]()
    return ast.fix_missing_locations(tree)


def _changes(tree: ast.Module) -> Iterator[tuple[ast.AST, object]]:
    """Nodes in the order of the file, each with a call that changes it, which returns one that changes it back."""
    for node in _computing(tree):
        if isinstance(node, ast.Compare):
            for place, op in enumerate(node.ops):
                yield node, _setting(node.ops, place, _COMPARED[type(op)]())
        elif isinstance(node, ast.BinOp | ast.AugAssign) and _COMPUTED.get(type(node.op)):
            yield node, _setting(node.__dict__, "op", _COMPUTED[type(node.op)]())
        elif isinstance(node, ast.BoolOp):
            yield node, _setting(node.__dict__, "op", ast.And() if isinstance(node.op, ast.Or) else ast.Or())
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield node, _setting(node.__dict__, "op", ast.UAdd())
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, _setting(node.__dict__, "operand", ast.UnaryOp(ast.Not(), node.operand))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            changed = not node.value if isinstance(node.value, bool) else node.value + 1
            yield node, _setting(node.__dict__, "value", changed)
        elif isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(node.test, ast.Compare | ast.BoolOp):
            yield node.test, _negating(node)


def _setting(holder: object, key: object, value: object):
    def change():
        before = holder[key]
        holder[key] = value
        return lambda: holder.__setitem__(key, before)

    return change


def _negating(node: ast.AST):
    def change():
        before = node.test
        node.test = ast.UnaryOp(ast.Not(), before)
        return lambda: setattr(node, "test", before)

    return change


def _computing(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that compute something, outermost first."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        for inner in value if isinstance(value, list) else [value]:
            if not isinstance(inner, ast.AST) or isinstance(
                inner, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr
            ):
                continue
            if isinstance(inner, ast.Assign) and any(getattr(at, "id", "") == "__all__" for at in inner.targets):
                continue
            # A name for a type, and what is said of a field.
            if isinstance(inner, ast.AnnAssign) and ast.unparse(inner.annotation) in ("TypeAlias", "ClassVar[bool]"):
                continue
            if isinstance(inner, ast.keyword) and inner.arg == "repr":
                continue
            yield inner
            yield from _computing(inner)
