"""Forms by name, in the order in which a file is compared with them."""

from __future__ import annotations

from linrank.errors import LinrankError
from linrank.importing.form import Form, Given
from linrank.importing.liblinear import LIBLINEAR
from linrank.importing.ltr_plugin import LTR_PLUGIN
from linrank.importing.plain_weights import CSV_WEIGHTS, JSON_WEIGHTS
from linrank.importing.ranklib import RANKLIB
from linrank.importing.solr import SOLR

FORMS = {form.name: form for form in (SOLR, LTR_PLUGIN, RANKLIB, LIBLINEAR, JSON_WEIGHTS, CSV_WEIGHTS)}


def form_named(name: str) -> Form:
    """The form of that name."""
    if name not in FORMS:
        raise LinrankError(f"there is no form {name!r} of a model; there are {', '.join(FORMS)}.")
    return FORMS[name]


def form_of(given: Given) -> Form:
    """The form that a file has, by its content."""
    for form in FORMS.values():
        if form.is_one(given):
            return form
    raise given.wrong(
        f"is no form of a model that is known here: {', '.join(FORMS)}. Say which it is meant to be, form='solr', to "
        "learn what is wrong with it."
    )
