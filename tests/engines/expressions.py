"""Lucene's and Vespa's own compilers of expressions, each in a process of its own with a Java machine inside."""

import json
import subprocess
import sys
from pathlib import Path

from engines.maven import fetch_locked


class ExpressionError(Exception):
    """The compiler refuses an expression, or has no value for a name in it."""


class Expressions:
    """The compiler of `lucene` or `vespa`, asked line by line; it ends with its standard input."""

    def __init__(self, language: str):
        jars = [str(jar) for jar in fetch_locked(language)]
        self.child = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("evaluator.py")), language, *jars],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )

    def evaluate(self, expression: str, values: dict[str, float]) -> float:
        """The expression's value, where names in it stand for these."""
        self.child.stdin.write(json.dumps({"expression": expression, "values": values}) + "\n")
        self.child.stdin.flush()
        answer = json.loads(self.child.stdout.readline())
        if "error" in answer:
            raise ExpressionError(answer["error"])
        return float.fromhex(answer["value"])

    def stop(self) -> None:
        self.child.stdin.close()
        self.child.wait(20)
        self.child.stdout.close()
