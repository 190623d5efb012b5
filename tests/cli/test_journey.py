"""A search engineer's CSV, as it comes, from a first look to a model of five features and why it ranks as it does."""

import csv
import json

import numpy as np
import pytest

from linrank import LinearModel
from linrank.cli import main

COLUMNS = [
    "query", "doc", "grade", "bm25_title", "bm25_body", "dense_sim", "clicks", "age_days", "price", "pagerank",
    "is_brand", "length", "shard", "bm25_title_copy",
]  # fmt: skip
READ = ["--label", "grade", "--qid", "query", "--docid", "doc"]


def judged_rows():
    """120 queries of 15 documents: raw units, missing values, repeated rows, a document with two grades, any order."""
    rng = np.random.default_rng(0)
    rows = []
    for query in range(120):
        for document in range(15):
            utility = rng.normal()
            title = max(0.0, 8 + 4 * utility + rng.normal(0, 3))
            grade = int(np.digitize(utility + rng.normal(0, 0.4), [0.3, 1.1, 1.8]))
            values = [
                f"trail shoes {query}", f"d{query}-{document}", grade, round(title, 4),
                round(max(0.0, 20 + 8 * utility + rng.normal(0, 12)), 4),
                "" if rng.random() < 0.05 else round(1 / (1 + np.exp(-utility - rng.normal())), 5),
                int(np.exp(6 + 1.2 * utility + rng.normal(0, 1.5))), round(rng.uniform(0, 4000), 1),
                "" if rng.random() < 0.02 else round(float(np.exp(rng.normal(4, 1))), 2),
                f"{1e-6 * np.exp(rng.normal() + 0.4 * utility):.3e}", int(rng.random() < 0.3),
                int(rng.integers(20, 4000)), 1, round(title, 4),
            ]  # fmt: skip
            rows.append(dict(zip(COLUMNS, values, strict=True)))
    rows += [dict(row) for row in rows[:7]]
    rows.append({**rows[3], "grade": (rows[3]["grade"] + 1) % 4})
    return [rows[place] for place in rng.permutation(len(rows))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("journey")
    rows = judged_rows()
    for name, columns in (("judged.csv", COLUMNS), ("new.csv", [c for c in COLUMNS if c not in ("grade", "shard")])):
        with (made / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows if name == "judged.csv" else rows[:300])
    return made


def run(folder, monkeypatch, capsys, *words):
    monkeypatch.chdir(folder)
    code = main(list(words))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_first_look_says_all_that_will_matter(folder, monkeypatch, capsys):
    code, out, _ = run(folder, monkeypatch, capsys, "info", "judged.csv", *READ)
    assert code == 0
    assert "120 queries" in out
    assert "8 documents with the id of an earlier one of their query, 1 of them with another label" in out
    assert "constant, so no use: shard" in out
    assert "bm25_title_copy = bm25_title" in out
    assert "missing in some documents: dense_sim (" in out
    # In order of what each feature is worth alone.
    assert out.index("\n bm25_title ") < out.index("\n clicks ") < out.index("\n is_brand ")


def test_missing_values_are_asked_about_before_any_work(folder, monkeypatch, capsys):
    code, out, err = run(folder, monkeypatch, capsys, "path", "judged.csv", *READ, "--cv", "5")
    assert (code, out) == (1, "")
    assert "has no value (NaN)" in err
    assert "--missing 0" in err


def test_five_features_and_why(folder, monkeypatch, capsys):
    words = ["path", "judged.csv", *READ, "--missing", "query_min", "--cv", "5", "--max-features", "5"]
    code, out, err = run(folder, monkeypatch, capsys, *words, "--model", "five.json", "--no-report")
    assert (code, err) == (0, "")
    assert "scaling while choosing: standard" in out
    assert "no weight, since another feature says the same: bm25_title_copy (as bm25_title)" in out

    model = LinearModel.load(folder / "five.json")
    used = {name for name, weight in zip(model.feature_names, model.weights, strict=True) if weight}
    # The units, from 1e-6 to 1e5, did not decide: those that have to do with the grades were chosen.
    assert used <= {"bm25_title", "bm25_body", "dense_sim", "clicks", "pagerank"}
    assert len(used) >= 4

    code, out, _ = run(folder, monkeypatch, capsys, "show", "five.json", "--json")
    shown = json.loads(out)
    assert shown["missing"] == "query_min"
    assert shown["features_used"] == len(used)

    words = ["explain", "five.json", "judged.csv", "--label", "grade", "--docid", "doc", "--qid-column", "query"]
    code, out, err = run(folder, monkeypatch, capsys, *words, "--qid", "trail shoes 7", "--json")
    assert code == 0
    assert "filled: query_min, as in training" in err
    assert json.loads(out)


def test_new_documents_are_scored_without_grades_and_without_columns_that_have_no_weight(folder, monkeypatch, capsys):
    run(folder, monkeypatch, capsys, "train", "judged.csv", "dense.json", *READ, "--missing", "query_min", "--quiet")
    if not (folder / "five.json").exists():
        test_five_features_and_why(folder, monkeypatch, capsys)
    code, out, err = run(folder, monkeypatch, capsys, "predict", "five.json", "new.csv", "--qid", "query", "scores.txt")
    assert code == 0
    assert "300 documents" in out
    assert "as in training" in err
    assert len((folder / "scores.txt").read_text().splitlines()) == 300
    # The column that is not there never varies, so no model has a weight for it.
    code, _, err = run(folder, monkeypatch, capsys, "predict", "dense.json", "new.csv", "--qid", "query", "other.txt")
    assert (code, (folder / "other.txt").exists()) == (0, True)
