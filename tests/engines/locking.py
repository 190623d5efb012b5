"""Resolves what engines need of Maven Central and writes their locks: PYTHONPATH=tests python -m engines.locking NAME …

Maven's own rules, as far as these engines need them: parents, properties, managed versions, imported lists of versions,
exclusions, the scopes compile and runtime, and the nearest of two versions wins.
"""

import hashlib
import re
import sys
import xml.etree.ElementTree as ET
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from engines.maven import LOCKS, read

SOLR, JETTY, VESPA, LUCENE, ICU = "8.11.4", "9.4.53.v20231009", "8.738.17", "10.4.0", "77.1"

# What each lock starts from.
ROOTS = {
    "solr": [
        f"org.apache.solr:solr-ltr:{SOLR}",
        f"org.apache.solr:solr-core:{SOLR}",
        f"org.eclipse.jetty:jetty-xml:{JETTY}",
        f"org.eclipse.jetty:jetty-servlet:{JETTY}",
    ],
    "opensearch": [
        "org.opensearch.distribution.integ-test-zip:opensearch:3.6.0:zip",
        f"com.ibm.icu:icu4j:{ICU}",
        f"com.ibm.icu:icu4j-localespi:{ICU}",
    ],
    # What a search pipeline normalises and combines by; it needs the other.
    "opensearch-hybrid": [
        "org.opensearch.plugin:opensearch-knn:3.6.0.0:zip",
        "org.opensearch.plugin:neural-search:3.6.0.0:zip",
    ],
    "lucene": [f"org.apache.lucene:lucene-expressions:{LUCENE}"],
    # Its ranking expressions need no more of it; what else the library declares is for a whole container.
    "vespa": [
        f"com.yahoo.vespa:searchlib:{VESPA}",
        f"com.yahoo.vespa:vespajlib:{VESPA}",
        "com.google.guava:guava:33.4.8-jre",
        "com.google.guava:failureaccess:1.0.3",
    ],
}
ALONE = {"vespa"}
# Solr reads Hadoop's file system only where it is told to.
LEFT_OUT = {"org.apache.hadoop:*"}


@dataclass(frozen=True)
class Artifact:
    group: str
    name: str
    version: str
    extension: str = "jar"
    classifier: str = ""

    @property
    def key(self) -> str:
        return f"{self.group}:{self.name}" + (f":{self.classifier}" if self.classifier else "")

    def path(self, extension: str) -> str:
        tail = f"-{self.classifier}" if self.classifier and extension != "pom" else ""
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{self.name}-{self.version}{tail}.{extension}"


def without_namespaces(content: bytes) -> ET.Element:
    root = ET.fromstring(content)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


class Pom:
    """A project's dependencies, with what its parents say of them."""

    def __init__(self, artifact: Artifact):
        root = without_namespaces(read(artifact.path("pom")))
        parent = root.find("parent")
        above = (
            pom(Artifact(*(parent.findtext(tag) for tag in ("groupId", "artifactId", "version"))))
            if parent is not None
            else None
        )
        self.properties = dict(above.properties) if above else {}
        self.properties |= {each.tag: each.text or "" for each in root.iterfind("properties/*")}
        own = {"groupId": artifact.group, "artifactId": artifact.name, "version": artifact.version}
        self.properties |= {
            f"{prefix}{tag}": value for tag, value in own.items() for prefix in ("project.", "pom.", "")
        }
        if parent is not None:
            self.properties |= {f"project.parent.{each.tag}": each.text for each in parent}
        self.raw_managed = (above.raw_managed if above else []) + root.findall(
            "dependencyManagement/dependencies/dependency"
        )
        self.raw_needed = (above.raw_needed if above else []) + root.findall("dependencies/dependency")
        self.managed = {}
        for each in self.raw_managed:
            dependency = self.dependency(each)
            if dependency["scope"] == "import":
                imported = pom(Artifact(*(dependency[tag] for tag in ("groupId", "artifactId", "version"))))
                self.managed = imported.managed | self.managed
            else:
                self.managed[key_of(dependency)] = dependency

    def dependency(self, element: ET.Element) -> dict:
        found = {
            tag: self.filled(element.findtext(tag) or "")
            for tag in ("groupId", "artifactId", "version", "scope", "type", "classifier", "optional")
        }
        found["exclusions"] = {
            f"{self.filled(each.findtext('groupId'))}:{self.filled(each.findtext('artifactId') or '*')}"
            for each in element.iterfind("exclusions/exclusion")
        }
        return found

    def filled(self, text: str) -> str:
        for _ in range(10):
            text = re.sub(r"\$\{([^}]+)\}", lambda found: self.properties.get(found[1], found[0]), text).strip()
        return text

    @property
    def needed(self) -> list[dict]:
        return [self.dependency(each) for each in self.raw_needed]


def key_of(dependency: dict) -> str:
    return (
        f"{dependency['groupId']}:{dependency['artifactId']}:{dependency['type'] or 'jar'}:{dependency['classifier']}"
    )


@cache
def pom(artifact: Artifact) -> Pom:
    return Pom(artifact)


def excluded(group: str, name: str, exclusions: frozenset[str]) -> bool:
    return not exclusions.isdisjoint({f"{group}:{name}", f"{group}:*", "*:*"})


def resolved(roots: list[str]) -> list[Artifact]:
    """All that the roots need at run time, breadth first: managed versions first, then the nearest of each."""
    roots = [Artifact(*root.split(":")) for root in roots]
    managed = {}
    for root in reversed(roots):
        if root.extension == "jar":
            managed |= pom(root).managed
    chosen, waiting = {}, deque((root, frozenset(LEFT_OUT)) for root in roots)
    while waiting:
        artifact, exclusions = waiting.popleft()
        if artifact.key in chosen:
            continue
        chosen[artifact.key] = artifact
        if artifact.extension != "jar":
            continue
        own = pom(artifact)
        for dependency in own.needed:
            inherited = own.managed.get(key_of(dependency), {})
            scope = dependency["scope"] or inherited.get("scope") or "compile"
            optional = (dependency["optional"] or inherited.get("optional")) == "true"
            group, name = dependency["groupId"], dependency["artifactId"]
            if scope not in ("compile", "runtime") or optional or excluded(group, name, exclusions):
                continue
            if (dependency["type"] or "jar") != "jar":
                continue
            version = dependency["version"] or inherited.get("version", "")
            if artifact not in roots:
                version = managed.get(key_of(dependency), {}).get("version") or version
            more = dependency["exclusions"] | inherited.get("exclusions", set())
            waiting.append((Artifact(group, name, version, classifier=dependency["classifier"]), exclusions | more))
    return list(chosen.values())


def lock(name: str) -> None:
    artifacts = [Artifact(*root.split(":")) for root in ROOTS[name]] if name in ALONE else resolved(ROOTS[name])
    paths = [artifact.path(artifact.extension) for artifact in artifacts]
    with ThreadPoolExecutor(8) as pool:
        sums = pool.map(lambda path: hashlib.sha256(read(path)).hexdigest(), paths)
    lines = [
        "# Written by tests/engines/locking.py",
        *(f"{found} {path}" for found, path in zip(sums, paths, strict=True)),
    ]
    (LOCKS / f"{name}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:] or ROOTS:
        lock(name)
