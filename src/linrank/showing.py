"""Tables for people: as text for a terminal, as HTML for a notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TypeAlias

from linrank.strict_json import finite_from_text

Rows: TypeAlias = Sequence[Sequence[str]]

# A smaller share of an objective is told in digits, a larger one in percent.
_SHARE_IN_DIGITS = 1e-6
# The signs of full width do so in some languages. A text that begins with ' gets another, so that one can be taken off.
_BEGIN_FORMULAS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20'")


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


def above_minimum(value: float, gap: float | None) -> str | None:
    """How far an objective is above its minimum, in words, from a bound on the difference; None where it says nothing.

    A bound that is no smaller than the objective itself says nothing: objectives are sums of what is not negative.
    """
    if gap is None or not gap < abs(value):
        return "at its minimum" if value == gap == 0.0 else None
    # Of the least that the minimum can be.
    share = gap / abs(value - gap)
    if share < _SHARE_IN_DIGITS:
        return f"at its minimum to {min(15, int(-math.log10(share))) if share > 0.0 else 15} digits"
    return f"at most {100.0 * share:.2g} % above its minimum"


def shown(number: float) -> str:
    """A number in few characters."""
    return f"{number:.6g}"


def for_spreadsheet(value: object) -> object:
    """A field of a CSV file that people open: a text that a spreadsheet would run as a formula has ' before it.

    Numbers are as they were. Whoever reads the file takes one ' off every field that begins with it.
    """
    if not isinstance(value, str) or finite_from_text(value) is not None:
        return value
    # Some programs pass over blanks and what is not seen, such as a letter without width.
    seen = next((letter for letter in value if letter.isprintable() and not letter.isspace()), "")
    return f"'{value}" if value.startswith(_BEGIN_FORMULAS) or seen in _BEGIN_FORMULAS else value
