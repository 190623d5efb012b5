"""Which targets were run in their engines: said at the end of the tests, and kept as the README's table.

A plugin of pytest's (`-p engines.results`), for tests that are marked `runs(target)`. With `--write-table` the README
is written anew from what was seen; without, a README that says otherwise is an error. What could not be run here, since
an engine could not be had, stays as it is.
"""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from linrank.exporting.registry import TARGETS, engine_class

README = Path(__file__).resolve().parents[2] / "README.md"
START, END = "<!-- made by make test-engines -->\n", "<!-- end -->\n"
HEAD = "| `--to` | | score | proved by |\n|---|---|---|---|\n"
WRITTEN = "written only"

OUTCOMES = defaultdict(list)


def pytest_addoption(parser):
    parser.addoption("--write-table", action="store_true", help="write the README's table of targets from the results")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" or report.outcome != "passed":
        for mark in item.iter_markers("runs"):
            reason = report.longrepr[2].removeprefix("Skipped: ") if report.skipped else ""
            OUTCOMES[mark.args[0]].append((report.outcome, reason))
    return report


def proof_of(target):
    """What the table says of a target after these tests; None where an engine could not be had."""
    seen = {outcome for outcome, _ in OUTCOMES[target]}
    if not seen or "failed" in seen:
        return WRITTEN
    return None if "skipped" in seen else f"run in {engine_class(target).run_by}"


def row_of(target, proof):
    engine = engine_class(target)
    says = TARGETS[target][2]
    return f"| `{target}` | {says} | {engine.arithmetic.says} | {proof} |\n"


def rows_of(text):
    """The rows of the README's table by target."""
    table = text.split(START)[1].split(END)[0].removeprefix(HEAD)
    return {re.match(r"\| `([^`]+)`", row)[1]: row for row in table.splitlines(keepends=True)}


def pytest_terminal_summary(terminalreporter, config):
    terminalreporter.section("exports in their engines")
    text = README.read_text()
    known = rows_of(text)
    rows = {}
    for target in TARGETS:
        proof = proof_of(target)
        skipped = sorted({reason for outcome, reason in OUTCOMES[target] if outcome == "skipped"})
        terminalreporter.write_line(f"{target:<21} {proof or 'not run here: ' + '; '.join(skipped)}")
        rows[target] = known.get(target, row_of(target, WRITTEN)) if proof is None else row_of(target, proof)
    if rows == known:
        return
    if config.getoption("--write-table"):
        before, after = text.split(START)[0], text.split(END)[1]
        README.write_text(f"{before}{START}{HEAD}{''.join(rows.values())}{END}{after}")
        terminalreporter.write_line("README.md: the table is written anew")
        return
    wrong = ", ".join(target for target in rows if rows[target] != known.get(target))
    terminalreporter.write_line(
        f"README.md says something else of {wrong}: make test-engines WRITE=--write-table", red=True
    )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """A README that says otherwise fails the run."""
    if session.config.getoption("--write-table") or session.exitstatus != 0:
        return
    known = rows_of(README.read_text())
    for target in TARGETS:
        proof = proof_of(target)
        if proof is not None and known.get(target) != row_of(target, proof):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
