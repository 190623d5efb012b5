"""What a value is, without importing what it might be: an instance of a class is there only where its module is."""

from __future__ import annotations

import sys
from typing import Any


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether a value is an instance of the class `name` of a module, which is not imported to find out."""
    # A module that another thread is importing may lack the class: then there is no instance yet.
    return isinstance(value, getattr(sys.modules.get(module), name, ()))


def is_sparse(X: Any) -> bool:
    """`scipy.sparse.issparse`, without SciPy where nobody has imported it."""
    return is_a(X, "scipy.sparse", "sparray") or is_a(X, "scipy.sparse", "spmatrix")
