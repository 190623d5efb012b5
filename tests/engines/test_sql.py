"""DuckDB and PostgreSQL rank by the exported expression as the model does."""

import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import sql_claims
from linrank import LinearModel, LinrankError, export
from linrank.exporting.sql import quoted


@pytest.fixture(scope="module")
def duckdb():
    module = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with module.connect() as connection:

        def run(query, *rows):
            if rows:
                connection.executemany(query, rows)
                return []
            return connection.execute(query).fetchall()

        run.errors, run.mark, run.program = module.Error, "?", "duckdb"
        yield run


@pytest.fixture(scope="module")
def postgresql():
    pgserver = pytest.importorskip("pgserver", reason="pgserver, which brings PostgreSQL, is not installed")
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    # As root, the server runs as another user, who has no way into pytest's folders.
    folder = Path(tempfile.mkdtemp(prefix="linrank-postgresql-"))
    folder.chmod(0o755)
    with warnings.catch_warnings():
        # That there is no folder for sockets of the user's: there is this one.
        warnings.simplefilter("ignore")
        try:
            server = pgserver.get_server(folder / "data", cleanup_mode="delete")
        except Exception as error:  # noqa: BLE001 - whatever hinders it here
            shutil.rmtree(folder)
            pytest.skip(f"PostgreSQL does not start here: {error}")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:

        def run(query, *rows):
            if rows:
                connection.cursor().executemany(query, rows)
                return []
            answer = connection.execute(query)
            return answer.fetchall() if answer.description else []

        run.errors, run.mark, run.program = psycopg.Error, "%s", "psql"
        yield run
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["duckdb", "postgresql"])
def run(request):
    return request.getfixturevalue(request.param)


@pytest.mark.runs("sql")
def test_it_ranks_as_the_model_does(run, made_letor):
    sql_claims.it_ranks_as_the_model(run, made_letor, run.mark)


def test_it_computes_in_double(run):
    sql_claims.it_computes_in_double(run, run.mark)


def test_an_unknown_column_is_an_error(run):
    sql_claims.an_unknown_column_is_an_error(run, run.errors, run.mark)


def test_it_takes_as_many_features_as_are_let_through(run):
    sql_claims.it_takes_as_many_features_as_are_let_through(run, run.mark)


def test_what_is_typed_is_one_query(run, tmp_path, made_letor):
    sql_claims.what_is_typed_is_one_query(run, run.program, tmp_path, made_letor, run.mark)


def test_what_means_something_to_postgresql_where_no_column_has_it_is_refused(postgresql):
    """Everything that has a name in PostgreSQL is tried as a column that is not there."""
    postgresql('DROP TABLE IF EXISTS "t"')
    postgresql('CREATE TABLE "t" ("a" DOUBLE PRECISION)')
    postgresql('INSERT INTO "t" VALUES (1.0)')
    of_every_table = "SELECT attname FROM pg_attribute WHERE attnum < 0"
    named = f"SELECT proname FROM pg_proc UNION SELECT typname FROM pg_type UNION {of_every_table}"
    answered = []
    for (name,) in postgresql(named):
        try:
            postgresql(f'SELECT * FROM "t" ORDER BY CAST("t".{quoted(name)} AS DOUBLE PRECISION)')
        except postgresql.errors:
            continue
        answered.append(name)
    assert "pg_column_size" in answered
    for name in answered:
        with pytest.raises(LinrankError, match="means something in a database"):
            export(LinearModel(np.ones(1), (name,)), "sql", table="t")
