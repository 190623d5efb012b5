"""Commands as a user types them, in a folder of the test's own."""

import pytest

from linrank.cli import main


@pytest.fixture
def folder(tmp_path):
    """Where commands are typed; a module that wants files there has a fixture of this name of its own."""
    return tmp_path


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """The exit code of a command, what it printed, and what it said beside."""
    monkeypatch.chdir(folder)

    def call(*words):
        code = main([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call
