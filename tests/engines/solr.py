"""A real Solr with its learning-to-rank module."""

import shutil
import urllib.parse
import xml.etree.ElementTree as ET
from pathlib import Path

from engines.java import class_path, java
from engines.maven import fetch_locked
from engines.server import Server, free_port

CONFIGURATION = Path(__file__).parent / "solr_configuration"


class Solr(Server):
    """Solr's own filter in Jetty, as its distribution starts it; `url` ends in /solr."""

    def __init__(self, folder: Path):
        jars = fetch_locked("solr")
        self.home = folder / "home"
        self.home.mkdir()
        (self.home / "solr.xml").write_text("<solr/>")
        port = free_port()
        settings = {
            "jetty.port": port,
            # The document type of Jetty's files need not be looked up.
            "org.eclipse.jetty.xml.XmlParser.Validating": "false",
            "solr.solr.home": self.home,
            "solr.log.dir": folder,
        }
        command = [
            *java(),
            *(f"-D{name}={value}" for name, value in settings.items()),
            *("-cp", class_path(jars)),
            *("org.eclipse.jetty.xml.XmlConfiguration", str(CONFIGURATION / "jetty.xml")),
        ]
        super().__init__("solr", f"http://127.0.0.1:{port}/solr", command, ready="/admin/info/system")

    def create_core(self, name: str, fields: dict[str, str] | None = None) -> None:
        """A core with learning to rank: fields `*_f` hold float32, `*_t` text; `fields` are more, with their types."""
        configuration = self.home / name / "conf"
        configuration.mkdir(parents=True)
        shutil.copy(CONFIGURATION / "solrconfig.xml", configuration)
        schema = ET.parse(CONFIGURATION / "schema.xml")
        for field, kind in (fields or {}).items():
            ET.SubElement(schema.getroot(), "field", name=field, type=kind)
        schema.write(configuration / "schema.xml", encoding="utf-8")
        self.call("GET", f"/admin/cores?action=CREATE&name={name}&instanceDir={name}")

    def put(self, core: str, path: str, body):
        return self.call("PUT", f"/{core}{path}", body)

    def delete(self, core: str, path: str):
        return self.call("DELETE", f"/{core}{path}")

    def index(self, core: str, documents: list[dict]) -> None:
        self.call("POST", f"/{core}/update?commit=true", documents)

    def select(self, core: str, **parameters) -> dict:
        """The answer to a search; `q` is all documents unless given."""
        parameters = {"q": "*:*", "rows": 1000} | parameters
        return self.call("GET", f"/{core}/select?{urllib.parse.urlencode(parameters)}")

    def rerank(self, core: str, model: str, *, documents: int = 1000, **parameters) -> dict[str, float]:
        """The documents' scores under a model, in the order in which Solr lists them."""
        quoted = model.replace("\\", "\\\\").replace("'", "\\'")
        found = self.select(core, fl="id,score", rq=f"{{!ltr model='{quoted}' reRankDocs={documents}}}", **parameters)
        return {each["id"]: each["score"] for each in found["response"]["docs"]}
