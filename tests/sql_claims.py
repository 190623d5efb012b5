"""What a database owes an exported expression; `run(query, *rows)` runs a query, once for each row of values."""

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from linrank import LinearModel, export
from linrank.exporting.sql import quoted
from ranked_letor import AWKWARD, check_same_ranking, exported

TABLE = 'my "docs"; --'
# As programs that people type: they say what they were given.
STAND_IN = f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n"


def make_table(run, names, rows, kind="DOUBLE PRECISION", mark="?"):
    columns = ", ".join(f"{quoted(name)} {kind}" for name in names)
    run(f"DROP TABLE IF EXISTS {quoted(TABLE)}")
    run(f"CREATE TABLE {quoted(TABLE)} (place INTEGER, {columns})")
    marks = ", ".join([mark] * (len(names) + 1))
    run(f"INSERT INTO {quoted(TABLE)} VALUES ({marks})", *([place, *row] for place, row in enumerate(rows)))


def it_ranks_as_the_model(run, letor, mark="?"):
    made, rows, data = exported(letor, "sql", AWKWARD, table=TABLE, shift=-0.5)
    make_table(run, made.ranking.names, rows.tolist(), mark=mark)
    listed = run(f"SELECT place, {made} FROM {quoted(TABLE)} ORDER BY {made} DESC")
    scores = np.empty(len(rows))
    for place, score in listed:
        scores[place] = score
    check_same_ranking(made, rows, data, scores)
    assert [place for place, _ in listed] == sorted(range(len(rows)), key=lambda place: -scores[place])


def it_computes_in_double(run, mark="?"):
    """Whatever the columns hold: 0.1 * 3 - 0.3 is 0 in decimals, and not in doubles."""
    made = export(LinearModel(np.array([0.1, 1e-7, -0.3]), ("a", "b", "c"), missing=2.5), "sql", table=TABLE)
    for kind in ("DOUBLE PRECISION", "INTEGER", "NUMERIC(12, 3)"):
        make_table(run, "abc", [[3, 7, 1], [None, 3, None]], kind, mark)
        scores = [score for (score,) in run(f"SELECT {made} FROM {quoted(TABLE)} ORDER BY place")]
        assert [type(score) for score in scores] == [float, float]
        assert scores == [0.1 * 3 + 1e-7 * 7 - 0.3, 0.1 * 2.5 + 1e-7 * 3 - 0.3 * 2.5]


def an_unknown_column_is_an_error(run, errors, mark="?"):
    names = ("known", "nope", "place holder", "count")
    make_table(run, ("known",), [[1.0], [2.0]], mark=mark)
    for name in names[1:]:
        made = export(LinearModel(np.array([1.0, 1.0]), ("known", name)), "sql", table=TABLE)
        with pytest.raises(errors):
            run(f"SELECT * FROM {quoted(TABLE)} ORDER BY {made} DESC")
        elsewhere = export(LinearModel(np.array([1.0]), ("known",)), "sql", table="other")
        with pytest.raises(errors):
            run(f"SELECT * FROM {quoted(TABLE)} ORDER BY {elsewhere} DESC")


def it_takes_as_many_features_as_are_let_through(run, mark="?"):
    names = tuple(f"f{j}" for j in range(1600))
    made = export(LinearModel(np.arange(1.0, 1601.0), names), "sql", table="wide")
    # Tables of PostgreSQL have 1,600 columns and rows of 8 KB: what a query makes has the same names.
    columns = ", ".join(f"id + {j % 7} AS {name}" for j, name in enumerate(names))
    made_up = f'(SELECT id, {columns} FROM (SELECT 1 AS id UNION ALL SELECT 2) AS two) AS "wide"'
    found = run(f"SELECT {made} FROM {made_up} ORDER BY {made} DESC")
    expected = [sum((j + 1.0) * (number + j % 7) for j in range(1600)) for number in (2, 1)]
    assert [score for (score,) in found] == expected


def what_is_typed_is_one_query(run, program, tmp_path, letor, mark="?"):
    made, rows, _ = exported(letor, "sql", AWKWARD, table=TABLE)
    make_table(run, made.ranking.names, rows.tolist(), mark=mark)
    file = tmp_path / "it's $(a) file.sql"
    made.save(file)
    stand_in = tmp_path / program
    stand_in.write_text(STAND_IN)
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IEXEC)
    (line,) = (line for line in made.commands(file).splitlines() if line.startswith(program))
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    typed = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}
    )
    query = json.loads(typed.stdout)[-1]
    best = [row[0] for row in run(query)]
    scores = made.engine.arithmetic.scores(made.ranking, rows)
    assert best == sorted(range(len(rows)), key=lambda place: -scores[place])[:10]
