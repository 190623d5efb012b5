"""Engines that run once for all tests; one that cannot be had is skipped, with its reason."""

from contextlib import contextmanager

import pytest

from engines.expressions import Expressions
from engines.maven import UnreachableError
from engines.opensearch import OpenSearch
from engines.server import Server
from engines.solr import Solr

RUNNING: dict[str, Server] = {}


@contextmanager
def running(start):
    try:
        engine = start()
    except UnreachableError as error:
        pytest.skip(str(error))
    try:
        yield engine
    finally:
        engine.stop()


@pytest.fixture(scope="session")
def solr(tmp_path_factory):
    with running(lambda: Solr(tmp_path_factory.mktemp("solr"))) as engine:
        RUNNING["solr"] = engine
        yield engine


@pytest.fixture(scope="session")
def opensearch():
    with running(OpenSearch) as engine:
        RUNNING["opensearch"] = engine
        yield engine


@pytest.fixture(scope="session")
def opensearch_ltr(opensearch):
    """OpenSearch with its learning-to-rank plugin, and a store for features and models."""
    if opensearch.without_ltr:
        pytest.skip(f"OpenSearch without learning to rank: {opensearch.without_ltr}")
    opensearch.put("/_ltr", None)
    return opensearch


@pytest.fixture(scope="session")
def opensearch_hybrid(opensearch):
    """OpenSearch with the plugin whose pipelines fuse the clauses of hybrid queries."""
    if opensearch.without_hybrid:
        pytest.skip(f"OpenSearch without hybrid search: {opensearch.without_hybrid}")
    return opensearch


@pytest.fixture(scope="session")
def lucene():
    with running(lambda: Expressions("lucene")) as compiler:
        yield compiler


@pytest.fixture(scope="session")
def vespa():
    with running(lambda: Expressions("vespa")) as compiler:
        yield compiler


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.log_starts = {name: engine.log.stat().st_size for name, engine in RUNNING.items()}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With a failed test comes what its engines logged during it."""
    report = yield
    if report.failed:
        for name, engine in RUNNING.items():
            report.sections.append((f"log of {name}", engine.tail(item.log_starts.get(name, 0))))
    return report
