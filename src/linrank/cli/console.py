"""What every verb shares in talking to people: tables, numbers, and progress that is quiet when piped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from linrank.cli.verb_parser import VerbParser

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# A bar for something that is over in a moment is noise.
_SECONDS_BEFORE_A_BAR = 1.0


def verb_parser(verb: str, description: str, examples: str) -> VerbParser:
    """A parser whose help ends in examples that run."""
    return VerbParser(verb, description, examples)


@cache
def console() -> Console:
    """Standard output: colours on a terminal, plain and wide where it is piped.

    File and feature names are printed as they are: no brackets or colons in them mean anything.
    """
    from rich.console import Console

    class Plain(Console):
        """What is printed does nothing to the terminal, whoever named a feature or a method."""

        def print(self, *objects: Any, **how: Any) -> None:
            super().print(*(plain(each) if isinstance(each, str) else each for each in objects), **how)

    on_terminal = sys.stdout.isatty()
    return Plain(width=None if on_terminal else 160, highlight=False, markup=False, emoji=False, soft_wrap=True)


def table(title: str | None, *columns: str) -> Table:
    """A table whose first column is text and whose others are numbers."""
    from rich import box
    from rich.table import Table

    class Plain(Table):
        """Cells do nothing to the terminal either."""

        def add_row(self, *cells: Any, **how: Any) -> None:
            super().add_row(*(plain(cell) if isinstance(cell, str) else cell for cell in cells), **how)

    made = Plain(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        made.add_column(column, justify="right" if place else "left", overflow="fold")
    return made


# All control characters but the end of a line and the tabulator, each as it is escaped in a Python text.
_ESCAPED = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def plain(text: str) -> str:
    """The text with control characters, by which a terminal would be told what to do, as they are written."""
    return text.translate(_ESCAPED)


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 query`, `9,630 documents`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Yield a callback (done, total) that draws a bar on standard error, or None where nobody is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    started = time.monotonic()
    bar = Progress(
        TextColumn(title),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(title, total=None)

    def advance(done: int, total: int | None) -> None:
        if not bar.live.is_started and time.monotonic() - started > _SECONDS_BEFORE_A_BAR:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield advance
    finally:
        bar.stop()


def dump_json(record: dict[str, Any]) -> None:
    """Print a record as JSON, for scripts."""
    import json

    sys.stdout.write(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
