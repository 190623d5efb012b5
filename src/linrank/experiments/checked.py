"""Values read from a file that anybody may have written: each is asked for by its kind, and refused with its place."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from linrank.errors import DataFormatError, LinrankError
from linrank.strict_json import strict_json

# One part of a path, on every system: no way up or out, nothing hidden, nothing a terminal would act on.
_FILE_NAME = re.compile(r"(?!\.)[^/\\:\x00-\x1f\x7f]{1,120}")
_REMEDY = "Run the comparison again, or restore the file."
# Sums and squares of many numbers up to here are numbers still.
_LARGEST_SUMMED = 1e100


def check_file_name(name: str, what: str) -> str:
    """Refuse a name that could not be a file's in the results folder, or would be one outside it."""
    if not _FILE_NAME.fullmatch(name):
        raise LinrankError(
            f"{name[:130]!r} cannot name {what}: it becomes a file's name. Use up to 120 characters without / \\ : and "
            "no dot at the beginning."
        )
    return name


@dataclass(frozen=True)
class Checked:
    """A value of a JSON file, and where in it the value stands."""

    value: Any
    source: str
    place: str = ""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Checked:
        """The whole of a JSON file; OSErrors are the caller's."""
        source = os.fspath(path)
        try:
            return cls(strict_json(Path(path).read_text(encoding="utf-8")), source)
        except (ValueError, RecursionError) as error:
            raise DataFormatError(source, None, f"is not JSON: {error}. {_REMEDY}") from None

    def refuse(self, wrong: str) -> NoReturn:
        raise DataFormatError(self.source, None, f"{self.place or 'the whole'} {wrong}. {_REMEDY}")

    def field(self, name: str) -> Checked:
        """One field of an object."""
        if name not in self._of(dict, "an object"):
            self.refuse(f"has no {name!r}")
        return Checked(self.value[name], self.source, f"{self.place}.{name}" if self.place else name)

    def items(self) -> Iterator[tuple[str, Checked]]:
        """The fields of an object."""
        for name in self._of(dict, "an object"):
            yield name, self.field(name)

    def plain_items(self) -> dict[str, Any]:
        """Settings by name."""
        return {name: value.plain() for name, value in self.items()}

    def each(self) -> list[Checked]:
        """The elements of a list."""
        values = self._of(list, "a list")
        return [Checked(value, self.source, f"{self.place}[{number}]") for number, value in enumerate(values)]

    def text(self) -> str:
        text: str = self._of(str, "text")
        return text

    def optional_text(self) -> str | None:
        return None if self.value is None else self.text()

    def file_name(self, what: str) -> str:
        """Text that stays inside the folder when it is a file's name."""
        try:
            return check_file_name(self.text(), what)
        except DataFormatError:
            raise
        except LinrankError as error:
            raise DataFormatError(self.source, None, f"{self.place}: {error}") from None

    def flag(self) -> bool:
        flag: bool = self._of(bool, "true or false")
        return flag

    def number(self, least: float = -math.inf) -> float:
        """A finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or abs(self.value) > 1.7e308:
            self.refuse("is no finite number")
        if self.value < least:
            self.refuse(f"is {self.value}, which is less than {least:g}")
        return float(self.value)

    def summed(self, least: float = -_LARGEST_SUMMED) -> float:
        """A number that means and tests are computed from."""
        number = self.number(least)
        if number > _LARGEST_SUMMED:
            self.refuse(f"is {number}, which is more than {_LARGEST_SUMMED:g}")
        return number

    def count(self, least: int = 0) -> int:
        """A whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not least <= self.value < 2**53:
            self.refuse(f"is no whole number from {least}")
        return int(self.value)

    def numbers(self, size: int | None = None) -> list[float]:
        found = [element.number() for element in self.each()]
        if size is not None and len(found) != size:
            self.refuse(f"has {len(found)} numbers where {size} belong")
        return found

    def texts(self) -> list[str]:
        return [element.text() for element in self.each()]

    def plain(self) -> Any:
        """A setting: text, a number, true, false, null, or a list of them."""
        if self.value is None or isinstance(self.value, str | bool):
            return self.value
        if isinstance(self.value, list):
            return self.plain_list()
        self.number()
        return self.value

    def plain_list(self) -> list[Any]:
        return [element.plain() for element in self.each()]

    def _of(self, kind: type, name: str) -> Any:
        if not isinstance(self.value, kind):
            self.refuse(f"is not {name}")
        return self.value
