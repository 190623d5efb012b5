"""What the library says of its arguments, `label=…`, in the words of the command line: `--label …`."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser
from collections.abc import Sequence

# Arguments whose options have another name.
_OTHER_NAMES = (
    ("n_threads", "jobs"),
    ("n_threads", "threads"),
    ("random_state", "seed"),
    ("n_steps", "steps"),
    ("n_folds", "folds"),
    ("eval_measure", "measure"),
    ("eval_set", "validate"),
    ("Cs", "range"),
)
_VALUE = r""""[^"]*"|'[^']*'|\[[^\]]*\]|[^\s,;:()]*?(?=[.,;:)]*(?:\s|$))"""


def in_words_of(parser: ArgumentParser, message: str, words: Sequence[str] = ()) -> str:
    """Return a message with every argument it names as the verb's option; what the user wrote stays as it is."""
    options = {
        action.dest: action.option_strings[-1]
        for action in parser._actions  # noqa: SLF001 - argparse has no other list of them
        if action.option_strings
    }
    options |= {other: options[name] for other, name in _OTHER_NAMES if name in options}
    names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    # A file may be called `label=1`, or be in a folder that is.
    theirs = "|".join(sorted((re.escape(word) for word in words if "=" in word), key=len, reverse=True)) or r"(?!)"
    argument = re.compile(
        rf"(?P<theirs>{theirs}|\S*/\S*)|(?<![\w'\"./=-])(?P<name>{names})(?:=(?P<value>{_VALUE})|(?![\w'\"=]))"
    )

    def renamed(found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        # Alone, a name that is also a word of English, such as weight, is that word.
        if name is None or (value is None and "_" not in name and name != "tol"):
            return found[0]
        return f"{options[name]} {_written(value or '')}".rstrip()

    return re.sub(r"\bor None\b", "or leave it out", argument.sub(renamed, message))


def _written(value: str) -> str:
    """A value as a shell takes it: a flag has none, and lists go without brackets."""
    if value == "True":
        return ""
    if value.startswith(("'", '"')):
        return shlex.quote(value[1:-1])
    return value.strip("[]")
