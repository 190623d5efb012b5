"""What linrank raises when the caller's input is at fault: always a ValueError, always with a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class LinrankError(ValueError):
    """An input that cannot be used; the message names the place, the value and the remedy."""


def left_float64(what: str) -> LinrankError:
    """What to raise where training arrives at numbers that are none, rather than go on with them."""
    return LinrankError(
        f"training left the range of float64: {what}. Scale the features (--scaling standard), or use a smaller C or "
        "learning rate."
    )


# The certificate of a gradient has its square, and products of larger numbers with those of the data leave float64.
_LARGEST_SETTING, _LEAST_SETTING = 1e100, 1e-100


def fault_of_size(number: float) -> str | None:
    """What to use in place of a positive number that nothing can be computed with; None where it will do."""
    if _LARGEST_SETTING < number < float("inf"):
        return f"use at most {_LARGEST_SETTING:g}: beyond, numbers leave float64."
    if 0.0 < number < _LEAST_SETTING:
        return f"use at least {_LEAST_SETTING:g}: below, numbers leave float64."
    return None


class UnusableNumberError(LinrankError):
    """Numbers of the data that nothing can be made of: missing, or too large. Whoever read the data names the file."""


class DataFormatError(LinrankError):
    """A file that breaks its format, at a place that can be pointed to.

    The message reads `file:line: what is wrong; the rule. The remedy.`
    """

    def __init__(self, source: str, line: int | None, message: str) -> None:
        self.source = source
        self.line = line
        place = source if line is None else f"{source}:{line}"
        super().__init__(f"{place}: {message}")

    def __reduce__(self) -> tuple[type[DataFormatError], tuple[str, int | None, str]]:
        # Exceptions are rebuilt from `args`, which hold the joined text: a worker's error must survive the trip home.
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return type(self), (self.source, self.line, str(self).removeprefix(f"{place}: "))


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Let an error about the data's numbers say which file they are in; data that came from none has the name ''."""
    try:
        yield
    except UnusableNumberError as error:
        if not source:
            raise
        raise DataFormatError(source, None, str(error)) from None


class UnknownSettingError(LinrankError, TypeError):
    """A setting or argument that there is not; the message says what it is called here."""


class MissingDependencyError(LinrankError, ImportError):
    """An optional library that is not installed; the message says what to install."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}, which is not installed. Run: pip install 'linrank[{extra}]'")
        self._arguments = (library, extra, purpose)

    def __reduce__(self) -> tuple[type[MissingDependencyError], tuple[str, str, str]]:
        return type(self), self._arguments
