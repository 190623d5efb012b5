"""The weights alone: `{"feature": weight}` as JSON, and lines `feature,weight` as CSV."""

from __future__ import annotations

import csv
import io

from linrank.importing.form import ForeignWeights, Form, Given


def _is_json(given: Given) -> bool:
    document = given.document if given.is_json else None
    return isinstance(document, dict) and not any(isinstance(weight, dict | list | str) for weight in document.values())


def _read_json(given: Given) -> ForeignWeights:
    weights = given.object(given.document, "the file")
    return ForeignWeights(
        {name: given.number(weight, f"the weight of feature {name!r}") for name, weight in weights.items()}
    )


def _is_csv(given: Given) -> bool:
    return given.text.partition("\n")[0].strip().lower().replace('"', "") == "feature,weight"


def _read_csv(given: Given) -> ForeignWeights:
    if not _is_csv(given):
        raise given.wrong("does not begin with a line feature,weight. Write it above the others.", 1)
    rows = csv.reader(io.StringIO(given.text, newline=""), strict=True)
    weight_of: dict[str, float] = {}
    try:
        next(rows)
        for row in rows:
            if not row:
                continue
            if len(row) != 2:
                raise given.wrong(f"has {len(row)} fields; a feature and its weight are 2. Mend it.", rows.line_num)
            name, weight = row
            if name in weight_of:
                raise given.wrong(f"feature {name!r} is there twice. Keep one.", rows.line_num)
            weight_of[name] = given.number_in(weight.strip(), f"the weight of feature {name!r}", rows.line_num)
    except csv.Error as error:
        raise given.wrong(f"is not CSV: {error}. Mend it.", rows.line_num) from None
    return ForeignWeights(weight_of)


JSON_WEIGHTS = Form("json", '{"feature": weight, …}', _is_json, _read_json)
CSV_WEIGHTS = Form("csv", "lines feature,weight below such a header", _is_csv, _read_csv)
