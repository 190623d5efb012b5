"""What is to be cited is there, and is the version and the papers that the package itself has."""

import re
from pathlib import Path

import linrank
from linrank.papers.published import PAPERS

ROOT = Path(__file__).resolve().parents[1]
CITING = (ROOT / "docs" / "citing.md").read_text()


def plain(text):
    return re.sub(r"[^a-z0-9]", "", text.lower())


def test_the_version_is_that_of_the_package():
    assert f'version: "{linrank.__version__}"' in (ROOT / "CITATION.cff").read_text()
    assert f"version = {{{linrank.__version__}}}" in CITING


def test_every_paper_that_is_reproduced_has_its_entry():
    entries = re.findall(r"@(?:article|inproceedings)\{.*?\n\}", CITING, re.DOTALL)
    assert len(entries) == len(PAPERS) == 5
    titles = {plain(re.search(r"title\s*= \{(.*)\},", entry)[1]): entry for entry in entries}
    for reference in PAPERS.values():
        title = next(title for title in titles if title in plain(reference))
        year = re.search(r"year\s*= \{(\d+)\}", titles[title])[1]
        assert year in reference
