"""A real OpenSearch, with its plugins for learning to rank and for hybrid search where they can be had."""

import json
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from engines.java import JAVA_HOME, class_path, java
from engines.maven import UnreachableError, fetch, fetch_locked, read
from engines.server import Server, free_port

PLUGIN = "org/opensearch/ltr/3.6.0.0/ltr-3.6.0.0.zip"

# A module that search does not need, and that takes half of the room.
UNUSED = {"ingest-geoip"}


def learning_to_rank() -> Path:
    """The plugin's archive: the one LINRANK_OPENSEARCH_LTR names, or the index's.

    Not every mirror has it, so no sum of it is locked: what comes is checked against the sum the index itself gives.
    """
    own = os.environ.get("LINRANK_OPENSEARCH_LTR")
    return Path(own) if own else fetch(PLUGIN, sha256=read(f"{PLUGIN}.sha256").decode().split()[0])


class OpenSearch(Server):
    """One node; `without_ltr` and `without_hybrid` say why it has no learning to rank or hybrid search, or are None."""

    def __init__(self):
        distribution, *locales = fetch_locked("opensearch")
        self.folder = folder = Path(tempfile.mkdtemp(prefix="opensearch-"))
        with zipfile.ZipFile(distribution) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if not set(name.split("/")) & UNUSED])
        home = folder / distribution.stem
        self.without_ltr = self.install_ltr(home / "plugins" / "opensearch-ltr")
        self.without_hybrid = self.install_hybrid(home / "plugins")
        (folder / "tmp").mkdir()
        runtime, user = JAVA_HOME, ""
        if os.geteuid() == 0:
            # It refuses to run as root. Nobody may be unable to read where Python and the cache are.
            runtime, user = shutil.copytree(JAVA_HOME, folder / "java"), "nobody"
            locales = [Path(shutil.copy(jar, folder)) for jar in locales]
            give(folder, user)
        port = free_port()
        properties = {
            "java.io.tmpdir": folder / "tmp",
            "opensearch.path.home": home,
            "opensearch.path.conf": home / "config",
            # The runtime has no Thai, without which no index is made: ICU brings it.
            "java.locale.providers": "SPI,CLDR",
        }
        settings = {
            "discovery.type": "single-node",
            "network.host": "127.0.0.1",
            "http.port": port,
            "transport.port": free_port(),
            # A nearly full disk is no reason to take no documents here.
            "cluster.routing.allocation.disk.threshold_enabled": "false",
        }
        command = [
            *java(runtime),
            f"-javaagent:{home / 'agent' / 'opensearch-agent.jar'}",
            *(f"-D{name}={value}" for name, value in properties.items()),
            *("-cp", class_path([home / "lib" / "*", *locales])),
            "org.opensearch.bootstrap.OpenSearch",
            *(f"-E{name}={value}" for name, value in settings.items()),
        ]
        super().__init__("opensearch", f"http://127.0.0.1:{port}", command, ready="/_cluster/health", user=user)

    def stop(self) -> None:
        super().stop()
        shutil.rmtree(self.folder)

    @staticmethod
    def install_ltr(folder: Path) -> str | None:
        try:
            plugin = learning_to_rank()
        except UnreachableError as error:
            return str(error)
        with zipfile.ZipFile(plugin) as archive:
            archive.extractall(folder)
        return None

    @staticmethod
    def install_hybrid(folder: Path) -> str | None:
        try:
            plugins = fetch_locked("opensearch-hybrid")
        except UnreachableError as error:
            return str(error)
        for plugin in plugins:
            with zipfile.ZipFile(plugin) as archive:
                archive.extractall(folder / plugin.stem)
        return None

    def put(self, path: str, body):
        return self.call("PUT", path, body)

    def post(self, path: str, body):
        return self.call("POST", path, body)

    def delete(self, path: str):
        return self.call("DELETE", path)

    def create_index(self, name: str, fields: dict[str, str], n_shards: int = 1) -> None:
        """An index whose fields have these types."""
        properties = {field: {"type": kind} for field, kind in fields.items()}
        self.put(f"/{name}", {"settings": {"number_of_shards": n_shards}, "mappings": {"properties": properties}})

    def index(self, name: str, documents: dict[str, dict]) -> None:
        lines = [json.dumps(line) for key, each in documents.items() for line in ({"index": {"_id": key}}, each)]
        answer = self.call(
            "POST", f"/{name}/_bulk?refresh=true", "\n".join([*lines, ""]).encode(), "application/x-ndjson"
        )
        assert not answer["errors"], answer

    def scores(self, name: str, body: dict) -> dict[str, float]:
        """The documents' scores in the order in which OpenSearch lists them."""
        found = self.post(f"/{name}/_search", {"size": 1000} | body)
        return {hit["_id"]: hit["_score"] for hit in found["hits"]["hits"]}

    def script_scores(self, name: str, language: str, source: str, **parameters) -> dict[str, float]:
        """Scores by a script, in `painless` or as a Lucene `expression`."""
        script = {"lang": language, "source": source, "params": parameters}
        return self.scores(name, {"query": {"script_score": {"query": {"match_all": {}}, "script": script}}})

    def rerank(self, name: str, model: str, *, window: int = 1000, **parameters) -> dict[str, float]:
        """Scores by a model of the plugin, over the first `window` documents of all."""
        return self.scores(name, {"query": {"match_all": {}}, "rescore": rescore(model, window, **parameters)})


def give(folder: Path, user: str) -> None:
    for path in [folder, *folder.rglob("*")]:
        shutil.chown(path, user)


def rescore(model: str, window: int = 1000, **parameters) -> dict:
    weights = {"query_weight": 0, "rescore_query_weight": 1}
    return {
        "window_size": window,
        "query": weights | {"rescore_query": {"sltr": {"model": model, "params": parameters}}},
    }
