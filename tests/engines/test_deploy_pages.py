"""What the pages on deployment say is done as it stands, from the first line to the last."""

import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engines.opensearch import rescore

PAGES = Path(__file__).resolve().parents[2] / "docs" / "deploy"
COLUMNS = ("bm25_title", "popularity", "age_days", "price")
# For where there is no program of SQLite's.
SQLITE = """\
import csv, sqlite3, sys
*options, database, query = sys.argv[1:]
with sqlite3.connect(database) as connection:
    found = connection.execute(query)
    if "-header" in options:
        csv.writer(sys.stdout).writerow(column[0] for column in found.description)
    csv.writer(sys.stdout, delimiter="," if "-csv" in options else "|").writerows(found)
"""


@pytest.fixture
def folder(tmp_path):
    """Where a reader stands: judged.csv is there, and `linrank` and `python` can be called."""
    rows = judged_rows()
    lines = [",".join(("qid", "label", *COLUMNS)), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "judged.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "bin").mkdir()
    add_program(tmp_path, "linrank", f'exec "{sys.executable}" -W error -m linrank "$@"')
    add_program(tmp_path, "python", f'exec "{sys.executable}" "$@"')
    return tmp_path


def judged_rows():
    rng = random.Random(1)
    for query in range(40):
        for _ in range(8):
            row = [rng.uniform(0, 9), rng.paretovariate(1.5), rng.randrange(1, 1500), rng.uniform(5, 300)]
            worth = 0.5 * row[0] + 0.4 * min(row[1], 5) - 0.001 * row[2] + rng.gauss(0, 0.4)
            yield query, max(0, min(4, round(worth))), *(round(value, 3) for value in row)


def add_program(folder, name, script):
    place = folder / "bin" / name
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)


def follow(page, folder, **instead):
    """Do what a page says, in order; return what its last command printed. Files that it shows are as it shows them."""
    printed, variables = "", ""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for kind, file, text in re.findall(r"```(\w+) ?(\S*)\n(.*?)```", (PAGES / page).read_text(), re.DOTALL):
        if file:
            assert without_numbers((folder / file).read_text()) == without_numbers(text)
            continue
        for word, other in instead.items():
            text = text.replace(word, other)  # noqa: PLW2901
        if kind == "xml":
            continue
        command = {"sh": ["sh", "-euc"], "python": [sys.executable, "-c"]}[kind]
        if kind == "sh":
            # A reader's shell goes on knowing them.
            text = variables + text  # noqa: PLW2901
            variables = "".join(re.findall(r"^[A-Z]+=.*\n", text, re.MULTILINE))
        ran = subprocess.run(
            [*command, text], cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
        )
        assert ran.returncode == 0, ran.stderr
        printed = ran.stdout
    return printed


def without_numbers(text):
    """Weights are those of the data, and their signs."""
    return re.sub(r"[+-]? ?\d+\.?\d*e?[+-]?\d*", "0", text)


def test_sql(folder):
    if shutil.which("sqlite3") is None:
        (folder / "sqlite3.py").write_text(SQLITE)
        add_program(folder, "sqlite3", f'exec "{sys.executable}" "{folder / "sqlite3.py"}" "$@"')
    (folder / "judged.csv").unlink()
    rows = list(judged_rows())
    connection = sqlite3.connect(folder / "shop.db")
    with connection:
        connection.execute(f"CREATE TABLE judged (qid, label, {', '.join(COLUMNS)})")
        connection.executemany("INSERT INTO judged VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.execute(f"CREATE TABLE products (id, {', '.join(COLUMNS)})")
        connection.executemany(
            "INSERT INTO products VALUES (?, ?, ?, ?, ?)", [(place, *row[2:]) for place, row in enumerate(rows)]
        )
    connection.close()
    printed = follow("sql.md", folder)
    assert [int(line) for line in printed.split()] == best_rows(folder, rows)


def best_rows(folder, rows):
    """The ten that the model puts first."""
    import linrank

    model = linrank.LinearModel.load(folder / "model.json")
    scores = model.predict([row[2:] for row in rows])
    return sorted(range(len(rows)), key=lambda place: -scores[place])[:10]


def test_qdrant(folder):
    add_program(folder, "curl", "printf '%s\\n' \"$@\" > asked")
    follow("qdrant.md", folder)
    from linrank import export

    # What the page types is what the export prints; the request itself is run in test_qdrant.py.
    asked = (folder / "asked").read_text().splitlines()
    assert export(folder / "model.json", "qdrant").commands("model.qdrant.json").endswith(f"{asked[-2]} {asked[-1]}")
    assert json.loads((folder / "model.qdrant.json").read_text())["query"]["formula"]


def test_onnx(folder):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    follow("onnx.md", folder)


def test_vespa(folder):
    follow("vespa.md", folder)


def test_elasticsearch_script(folder, opensearch):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    rows = list(judged_rows())
    opensearch.create_index("products", dict.fromkeys(COLUMNS, "double"))
    documents = {str(place): dict(zip(COLUMNS, row[2:], strict=True)) for place, row in enumerate(rows)}
    opensearch.index("products", documents)
    printed = follow("elasticsearch-script.md", folder, **{"http://localhost:9200": opensearch.url})
    assert [int(hit["_id"]) for hit in json.loads(printed)["hits"]["hits"]] == best_rows(folder, rows)
    opensearch.delete("/products")


@pytest.fixture
def shop(folder):
    """The same place beside the examples."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    shutil.copytree(PAGES.parents[1] / "examples", folder / "examples")
    return folder


def logged_scores(shop, query, model="model.json"):
    """What the model says of each document that was logged for a query of the shop."""
    import linrank

    judged = linrank.read(shop / "judged.linrank")
    rows = np.flatnonzero(judged.qid == query)
    scores = linrank.load(shop / model).predict(judged)
    return {judged.docids[row]: scores[row] for row in rows}


def test_solr(shop, solr):
    solr.create_core("products")
    follow("solr.md", shop, **{"http://localhost:8983/solr": solr.url})
    found = solr.select(
        "products",
        q="{!edismax qf='title_t text_t' v=$text}",
        text="warm tent",
        rq="{!ltr model=shop_v1 reRankDocs=1000 efi.text='warm tent'}",
        fl="id,score",
    )["response"]["docs"]
    check_ranking(shop, [hit["id"] for hit in found], [hit["score"] for hit in found])
    found = solr.select(
        "products",
        q="{!edismax qf='title_t text_t' v=$text}",
        text="warm tent",
        rq="{!ltr model=shop_curves reRankDocs=1000 efi.text='warm tent'}",
        fl="id,score",
    )["response"]["docs"]
    check_trees(shop, "solr-trees", {hit["id"]: hit["score"] for hit in found})


def check_trees(shop, target, scores):
    """The steps that an engine has of curves are as near to the model as the export said."""
    import linrank

    known = logged_scores(shop, "warm tent", "curves.json")
    apart = np.array([score - known[name] for name, score in scores.items()])
    assert len(apart) > 20
    near = linrank.export(shop / "curves.json", target).ranking.largest_error
    assert 0.0 < np.abs(apart).max() < near + 1e-5


def check_ranking(shop, ids, scores):
    """The engine has the model's documents in the model's order; those that float32 cannot tell apart in any."""
    known = logged_scores(shop, "warm tent")
    assert len(ids) > 20
    assert set(ids) == set(known)
    expected = np.array([known[name] for name in ids])
    assert np.all(np.diff(expected) < 1e-6)
    # Up to a constant, which scaling leaves and no order depends on.
    assert np.ptp(scores - expected) < 1e-5


def test_opensearch(shop, opensearch_ltr):
    # The page makes the store that the tests have made already.
    opensearch_ltr.delete("/_ltr")
    follow("opensearch.md", shop, **{"http://localhost:9200": opensearch_ltr.url})
    asked = {"query": {"multi_match": {"query": "warm tent", "fields": ["title", "text"]}}}
    scores = opensearch_ltr.scores("products", asked | {"rescore": rescore("shop_v1", text="warm tent")})
    check_ranking(shop, list(scores), list(scores.values()))
    scores = opensearch_ltr.scores("products", asked | {"rescore": rescore("shop_curves", text="warm tent")})
    check_trees(shop, "opensearch-trees", scores)
    opensearch_ltr.delete("/products")
