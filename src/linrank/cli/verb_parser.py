"""A verb's command line: files and options in any order, and one line about what is wrong with it."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import NoReturn

# What argparse takes for an option: a number or a text with blanks is a value.
_OPTION = re.compile(r"--?[^\W\d][^\s=]*")


class VerbParser(ArgumentParser):
    """A parser that takes options before, between and after files, and suggests the option that was meant.

    Options are written in full: what an abbreviation means would change with the next option that begins the same.
    """

    def __init__(self, verb: str, description: str, examples: str) -> None:
        super().__init__(
            prog=f"linrank {verb}",
            description=description,
            epilog=f"examples:\n{examples}",
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        # Say what is wrong with words that are right one by one, or None.
        self.checks: list[Callable[[Namespace], str | None]] = []

    def parse(self, words: Sequence[str]) -> Namespace:
        """Parse a verb's words, or exit with 2 and one line that says what is wrong."""
        if not {"-h", "--help"} & set(words):
            # First of all: what else is wrong may follow from a name that is.
            self._refuse_unknown_options(words)
        arguments = self.parse_intermixed_args(words)
        for check in self.checks:
            if wrong := check(arguments):
                self.error(wrong)
        return arguments

    def error(self, message: str) -> NoReturn:
        greedy = [
            action.option_strings[-1] for action in self._actions if action.nargs == "+" and action.option_strings
        ]
        if "arguments are required" in message and greedy:
            message += f"; {greedy[0]} takes every word after it, so files come first"
        end = "" if message.endswith((".", "?")) else "."
        sys.stderr.write(f"{self.prog}: {message}{end} '{self.prog} --help' says what it takes.\n")
        raise SystemExit(2)

    def options(self) -> list[str]:
        """The names of all options, long and short."""
        return [name for action in self._actions for name in action.option_strings]

    def _refuse_unknown_options(self, words: Sequence[str]) -> None:
        known = self.options()
        short = [name for name in known if not name.startswith("--")]
        for word in words:
            if word == "--":
                return
            found = _OPTION.match(word)
            if not found or " " in word or found[0] in known or word.startswith(tuple(short)):
                continue
            self.error(f"there is no option {found[0]}.{_hint(found[0], known)}")


def _hint(word: str, known: Sequence[str]) -> str:
    longer = [name for name in known if name.startswith(word)]
    near = longer or get_close_matches(word, known, n=1)
    return f" Did you mean {' or '.join(near)}?" if near else ""
