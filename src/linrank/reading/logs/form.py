"""What a form of feature log says of itself: where its documents are, and which entries each has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

NO_NUMBER = "Mend the feature in the engine, or drop the document from the log."


class LogFault(Exception):  # noqa: N818 - whoever knows the file and the line makes an error of it
    """What is wrong with the log of a document."""


class Form(ABC):
    """How one engine writes the features of a document."""

    # The key of the list that its documents stand in.
    list_key: ClassVar[str]

    @abstractmethod
    def log_of(self, document: dict[str, Any], log: str | None) -> tuple[str, Any] | None:
        """What the log is called and what it holds; None where the document has none. `log` names one of several."""

    @abstractmethod
    def entries(self, held: Any) -> tuple[list[str], list[Any]]:
        """The features' names, and as many values; None is one that is missing."""

    @abstractmethod
    def id_of(self, document: dict[str, Any], field: str | None) -> Any:
        """The document's id, or the field that has it; None where it is not there."""

    @abstractmethod
    def fields_of(self, document: dict[str, Any]) -> list[str]:
        """The names of its fields, for messages."""
