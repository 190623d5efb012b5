"""The responses in responses/, for tests of log readers that run without an engine, are what the engines answer.

LINRANK_SAVE_RESPONSES=1 writes them anew. OpenSearch's were saved from 3.6.0 with a plugin built from the source of its
3.6 branch. `solr-9.10-features-sparse.json` is what Solr 9.10.1, its module built from source too, answered to the same
requests as 8.11.4: from 9.10 on the sparse form leaves out every feature that is 0, and a document may have none.
"""

import json
import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "responses"
TITLES = ["apple pie", "apple tart", "pie of pears", "apple pie with apple"]
PRICES = [2.5, None, 0.0, 1e-9]
# Commas and signs of equality are where Solr's log, which escapes nothing, is hard to read.
NAMES = ["price", "title, bm25", "prix d'achat = 1"]


def check(name: str, response: dict) -> None:
    for clock in ("took", "responseHeader"):
        response.pop(clock, None)
    text = json.dumps(response, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("LINRANK_SAVE_RESPONSES"):
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
    assert json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")) == json.loads(text)


@pytest.fixture(scope="module")
def core(solr):
    solr.create_core("responses")
    documents = [
        {"id": f"d{row}", "title_t": title, "price_f": price}
        for row, (title, price) in enumerate(zip(TITLES, PRICES, strict=True))
    ]
    solr.index("responses", [{key: value for key, value in each.items() if value is not None} for each in documents])
    feature = "org.apache.solr.ltr.feature."
    price = {"class": f"{feature}FieldValueFeature", "params": {"field": "price_f"}}
    title = {"class": f"{feature}SolrFeature", "params": {"q": "title_t:pie"}}
    features = [price | {"name": NAMES[0]}, title | {"name": NAMES[1]}, price | {"name": NAMES[2]}]
    solr.put("responses", "/schema/feature-store", [each | {"store": "logs"} for each in features])
    return "responses"


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_solr_features(solr, core, form):
    check(f"solr-features-{form}", solr.select(core, sort="id asc", fl=f"id,[features store=logs format={form}]"))


@pytest.fixture(scope="module")
def engine(opensearch_ltr):
    opensearch_ltr.create_index("responses", {"title": "text", "price": "float"})
    opensearch_ltr.index(
        "responses",
        {
            f"d{row}": {"title": title, "price": price}
            for row, (title, price) in enumerate(zip(TITLES, PRICES, strict=True))
        },
    )
    price = {
        "function_score": {
            "query": {"exists": {"field": "price"}},
            "functions": [{"field_value_factor": {"field": "price"}}],
            "boost_mode": "replace",
        }
    }
    templates = [price, {"match": {"title": "pie"}}, price]
    features = [
        {"name": name, "params": [], "template_language": "mustache", "template": template}
        for name, template in zip(NAMES, templates, strict=True)
    ]
    opensearch_ltr.put("/_ltr/_featureset/responses", {"featureset": {"features": features}})
    return opensearch_ltr


@pytest.mark.parametrize("missing_as_zero", [False, True])
def test_opensearch_ltrlog(engine, missing_as_zero):
    named = {"sltr": {"_name": "logged", "featureset": "responses", "params": {}}}
    specs = {"name": "features", "named_query": "logged", "missing_as_zero": missing_as_zero}
    body = {
        "query": {"bool": {"filter": [{"match_all": {}}], "should": [named]}},
        "sort": [{"_id": "asc"}],
        "track_scores": True,
        "ext": {"ltr_log": {"log_specs": specs}},
    }
    name = "opensearch-ltrlog-missing-as-zero" if missing_as_zero else "opensearch-ltrlog"
    check(name, engine.post("/responses/_search", body))
