"""Tables for people: as text for a terminal, as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TypeAlias

Rows: TypeAlias = Sequence[Sequence[str]]


def text_table(rows: Rows) -> str:
    """The rows in columns, the first of which stands to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def html_table(rows: Rows, caption: str) -> str:
    """The rows, the first of which has the names of the columns, under a caption; nothing in them is taken for HTML."""

    def line(row: Sequence[str], kind: str) -> str:
        cells = "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in row)
        return f"<tr>{cells}</tr>"

    head, *body = rows
    lines = "".join(line(row, "td") for row in body)
    return f"<p>{escape(caption)}</p><table><thead>{line(head, 'th')}</thead><tbody>{lines}</tbody></table>"


def shown(number: float) -> str:
    """A number in few characters."""
    return f"{number:.6g}"
