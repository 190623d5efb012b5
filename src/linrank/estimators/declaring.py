"""How a ranker declares its settings: annotated fields become its constructor, and its docstring is completed.

A setting is described once, in the docstring of the class that several rankers have it from, and its default is written
once, beside its type.
"""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeVar, dataclass_transform

from linrank.estimators.catalogue import METHODS
from linrank.estimators.habits import answering

Value = TypeVar("Value")
Class = TypeVar("Class", bound=type)

_PAIRS = ", a pair being two documents of one query of which i has the higher label"
_PARAMETERS, _ATTRIBUTES = "Parameters", "Attributes"


def fixed(value: Value, *, init: Literal[False] = False) -> Value:
    """What other rankers let the user set, and this one does not."""
    made: Value = field(default=value, init=init)
    return made


@dataclass_transform(eq_default=False, field_specifiers=(field, fixed))
def with_settings(cls: Class) -> Class:
    """The class with a constructor of its annotated fields and of those it has from above, all described.

    Settings that the class itself declares come first in its signature. One that its docstring does not describe has
    the description of the nearest class above, and so have the attributes of a trained ranker. `{formula}` in it stands
    for what the catalogue says that the method minimises.
    """
    dataclass(eq=False, repr=False)(cls)
    init = answering(cls.__init__)  # type: ignore[misc]
    init.__signature__ = _own_first(cls)  # type: ignore[attr-defined]
    cls.__init__ = init  # type: ignore[misc]
    cls._written = cls.__doc__  # type: ignore[attr-defined]
    cls.__doc__ = _completed(cls)
    return cls


def _own_first(cls: type) -> inspect.Signature:
    declared = [name for above in cls.__mro__ for name in inspect.get_annotations(above)]
    signature = inspect.signature(cls.__init__)  # type: ignore[misc]

    def place(parameter: inspect.Parameter) -> tuple[int, int]:
        free = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        return parameter.kind, declared.index(parameter.name) if free else 0

    return signature.replace(parameters=sorted(signature.parameters.values(), key=place))


def _completed(cls: type) -> str:
    described: dict[str, dict[str, str]] = {_PARAMETERS: {}, _ATTRIBUTES: {}}
    for above in reversed(cls.__mro__):
        # Without what was completed: a class may describe what only some of those below it have.
        sections = _sections(above.__dict__.get("_written") or above.__dict__.get("__doc__") or "")
        for title, known in described.items():
            known.update(_entries(sections.get(title, [])))
    settings = [
        _with_default(described[_PARAMETERS].get(name, name), parameter.default)
        for name, parameter in list(inspect.signature(cls.__init__).parameters.items())[1:]  # type: ignore[misc]
    ]
    attributes = list(dict.fromkeys(described[_ATTRIBUTES].values()))
    rest = {title: "\n".join(lines).strip() for title, lines in _sections(cls.__doc__ or "").items()}
    first = _with_formula(rest.pop(""), cls)
    rest = {**rest, _PARAMETERS: "\n".join(settings), _ATTRIBUTES: "\n".join(attributes)}
    order = sorted(filter(rest.get, rest), key=lambda title: (title != _PARAMETERS, title != _ATTRIBUTES))
    return "\n\n".join([first, *(f"{title}\n{'-' * len(title)}\n{rest[title]}" for title in order)]) + "\n"


def _with_formula(text: str, cls: Any) -> str:
    """The text with the formula that the catalogue has in the place of `{formula}`, and with what a pair is."""
    if "{formula}" not in text:
        return text
    formula = METHODS[cls.method].formula
    pairs = _PAIRS if "over pairs" in formula else ""
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        textwrap.fill(part.replace("{formula}", f"`{formula}`{pairs}"), 116, break_on_hyphens=False)
        if "{formula}" in part
        else part
        for part in paragraphs
    )


def _with_default(entry: str, default: Any) -> str:
    head, line, meaning = entry.partition("\n")
    if isinstance(default, tuple):
        # Too long to be read: said in words.
        return entry
    written = f'"{default}"' if isinstance(default, str) else repr(default)
    return f"{head}, default={written}{line}{meaning}"


def _sections(text: str) -> dict[str, list[str]]:
    """The lines of a docstring by the underlined title they stand under; the first ones have none."""
    lines = inspect.cleandoc(text).splitlines()
    sections: dict[str, list[str]] = {"": []}
    title = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if _is_rule(following):
            title = line
            sections[title] = []
        elif not _is_rule(line):
            sections[title].append(line)
    return sections


def _is_rule(line: str) -> bool:
    return len(line) > 3 and set(line) == {"-"}


def _entries(lines: list[str]) -> dict[str, str]:
    """The entries of a section by name; `learning_rate_, momentum_ : float` is the entry of both."""
    starts = [number for number, line in enumerate(lines) if line and not line.startswith(" ")]
    entries: dict[str, str] = {}
    for start, stop in pairwise([*starts, len(lines)]):
        names = lines[start].partition(" : ")[0].split(", ")
        entries |= dict.fromkeys(names, "\n".join(lines[start:stop]).rstrip())
    return entries
