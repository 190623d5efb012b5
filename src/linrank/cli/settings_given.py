"""--set NAME=VALUE: a setting by its name, with a value of the setting's own kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linrank.errors import LinrankError


def each_once(settings: Iterable[tuple[str, Any]], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What was set by --set, and `given` by options of their own: neither is silently preferred."""
    every = dict(given or {})
    for name, value in settings:
        if name in every:
            raise LinrankError(f"--set {name}: it is given twice, as {every[name]} and as {value}. Keep one.")
        every[name] = value
    return every


def setting_given(text: str, known: Mapping[str, Any]) -> tuple[str, Any]:
    """NAME=VALUE, with the value of the kind that the setting, a field of a dataclass, has."""
    name, equals, value = text.partition("=")
    if not equals:
        raise LinrankError(f"--set {text}: write NAME=VALUE.")
    if name not in known:
        # Whoever has the settings says which ones there are.
        return name, value
    default = known[name].default
    if isinstance(default, bool):
        if value not in ("true", "false"):
            raise LinrankError(f"--set {text}: {name} is true or false.")
        return name, value == "true"
    kind = str(known[name].type)
    if kind.startswith("Sequence"):
        return name, _several(text, name, value, "float" in kind)
    if isinstance(default, str) or "str" in kind:
        return name, value
    try:
        is_whole = isinstance(default, int) or kind == "int | None"
        return name, int(value) if is_whole else float(value)
    except ValueError:
        raise LinrankError(f"--set {text}: {name} is a number.") from None


def _several(text: str, name: str, value: str, are_numbers: bool) -> list[Any]:
    """What is written with commas between, as a list."""
    given = value.split(",")
    try:
        return [float(each) for each in given] if are_numbers else given
    except ValueError:
        raise LinrankError(f"--set {text}: {name} are numbers, with commas between.") from None
