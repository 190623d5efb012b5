"""SQL: what is refused, and SQLite, which is always there."""

import sqlite3

import numpy as np
import pytest

import sql_claims
from linrank import LinearModel, LinrankError, export


@pytest.fixture
def run():
    connection = sqlite3.connect(":memory:")

    def run(query, *rows):
        if rows:
            connection.executemany(query, rows)
            return []
        return connection.execute(query).fetchall()

    yield run
    connection.close()


@pytest.mark.runs("sql")
def test_sqlite_ranks_as_the_model_does(run, made_letor):
    sql_claims.it_ranks_as_the_model(run, made_letor)


def test_sqlite_computes_in_double(run):
    sql_claims.it_computes_in_double(run)


def test_an_unknown_column_is_an_error_of_sqlites(run):
    sql_claims.an_unknown_column_is_an_error(run, sqlite3.OperationalError)


def test_sqlite_takes_as_many_features_as_are_let_through(run):
    sql_claims.it_takes_as_many_features_as_are_let_through(run)


def test_what_is_typed_is_one_query_of_sqlites(run, tmp_path, made_letor):
    sql_claims.what_is_typed_is_one_query(run, "sqlite3", tmp_path, made_letor)


def test_the_expression_is_this():
    model = LinearModel(np.array([0.5, -2e-9]), ("price", 'a "b"'), missing=3.0)
    assert export(model, "sql", table="t", shift=1.0).content == (
        '0.5e0 * COALESCE(CAST("t"."price" AS DOUBLE PRECISION), 3.0e0)\n'
        '+ -2e-09 * COALESCE(CAST("t"."a ""b""" AS DOUBLE PRECISION), 3.0e0)\n'
        "+ 1.0e0\n"
    )


@pytest.mark.parametrize("name", ["x" * 64, "名" * 22, "nul\0", "ROWID", "oid", "num_nulls", "line\nbreak"])
def test_names_that_would_be_something_else_are_refused(name):
    with pytest.raises(LinrankError, match="cannot take the feature name"):
        export(LinearModel(np.ones(1), (name,)), "sql")
    with pytest.raises(LinrankError, match="table="):
        export(LinearModel(np.ones(1), ("a",)), "sql", table=name)


def test_names_that_differ_in_case_alone_are_refused(run):
    # Both weights would be given to one column.
    run('CREATE TABLE t ("Age" REAL)')
    run('SELECT "t"."Age", "t"."age" FROM t')
    with pytest.raises(LinrankError, match="'Age' and 'age' are one column"):
        export(LinearModel(np.ones(2), ("Age", "age")), "sql")


def test_more_features_than_a_table_has_columns_are_refused():
    model = LinearModel(np.ones(1601), tuple(f"f{j}" for j in range(1601)))
    with pytest.raises(LinrankError, match=r"at most 1,600 features, and 1,601 have a weight\. PostgreSQL's tables"):
        export(model, "sql")
