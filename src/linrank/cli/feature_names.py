"""--names FILE: what features are called elsewhere, as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linrank.errors import DataFormatError
from linrank.strict_json import strict_json


def read_names(path: str, *, in_order: bool = False) -> Any:
    """An object of texts; or with `in_order` a list of them, of features 1, 2, …, too."""
    written = 'Write {"feature": "name", …}' + (' or ["name of 1", "name of 2", …].' if in_order else ".")
    try:
        names = strict_json(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DataFormatError(path, None, f"cannot be read: {error.strerror}. Check the path.") from None
    except (ValueError, RecursionError) as error:
        raise DataFormatError(path, None, f"is not JSON: {error}. {written}") from None
    called = names.values() if isinstance(names, dict) else names if in_order and isinstance(names, list) else [None]
    if not all(isinstance(name, str) for name in called):
        raise DataFormatError(path, None, f"names no features. {written}")
    return names
