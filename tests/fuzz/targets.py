"""Every reader of files, as one table: how bytes are put where it reads them, and what is then done with the result.

What may come of it is a value or a LinrankError; anything else is a fault, and so is a limit of memory or time passed.
"""

import contextlib
import hashlib
import json
import struct
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Self
from unittest.mock import patch

import numpy as np

from fuzz import seeds
from linrank import Comparison, LinrankError, MinBatSRank, import_model, load, read, read_logs
from linrank.cli.path import read_costs
from linrank.cli.wanted import read_bounds
from linrank.dataset.features import scores_of
from linrank.dataset.storage import open_dataset, verify_dataset
from linrank.dataset.stored_dataset import StoredDataset
from linrank.executors.local import Threads
from linrank.executors.round_log import RoundLog
from linrank.experiments import comparison_page, comparison_weights
from linrank.fusing.candidates import Leg
from linrank.fusing.fuse import signals_of
from linrank.fusing.legs import Legs, read_legs
from linrank.fusing.query_classes import read_classes
from linrank.fusing.responses import read_responses
from linrank.importing.registry import FORMS
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.reading.logs.judgments import read_judgments
from linrank.reading.scores import read_scores
from linrank.reading.trec import read_qrels, read_run


@dataclass(frozen=True)
class Target:
    """A reader: `use` is given the path of a file called `file`, in which the input is, as `sealed` leaves it.

    `seal` makes the checksums fit again, since whoever writes a file can do the same; `is_json` has values replaced by
    others; `environment` is what the process is started with.
    """

    use: Callable[[Path], object]
    seeds: Callable[[], list[bytes]]
    file: str = "file"
    seal: Callable[[bytes], bytes] = bytes
    is_json: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    set_up: Callable[[Path], object] = lambda folder: None


class Runner:
    """A target, in a folder of its own."""

    def __init__(self, name: str) -> None:
        self.target = TARGETS[name]
        self._folder = tempfile.TemporaryDirectory(prefix=f"linrank-fuzz-{name}-", dir=_in_memory())
        self.path = Path(self._folder.name) / self.target.file
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.target.set_up(Path(self._folder.name))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def run(self, data: bytes) -> str | None:
        """What the reader says where it refuses the input; any other exception is the caller's to hear of."""
        self.path.write_bytes(self.target.seal(data))
        try:
            self.target.use(self.path)
        except LinrankError as error:
            return str(error)
        return None


def corpus_of(name: str) -> Path:
    """The folder of a target's inputs; with and without the compiler they are the same."""
    return Path(__file__).resolve().parent / "corpus" / name.removesuffix("-plain")


def _in_memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def train_on(data) -> None:
    """Whatever leads through the kernels: a pass over the pairs, forth and back."""
    weights = np.ones(data.n_features)
    scores_of(data.features, weights)
    if data.labels is None:
        return
    with Threads(1) as executor:
        objective = RankingObjective(SquaredHinge(), L2(), 1.0, PlacedData.of(data, executor))
        objective.at(weights).hessian_product(weights)


def use_text(path: Path) -> None:
    data = read(path, missing="query_min", n_threads=1)
    if data.n_features <= 10_000:
        train_on(data)


def use_groups(path: Path) -> None:
    read(path.with_name("data"), n_threads=1)


def use_stored(path: Path) -> None:
    verify_dataset(path)
    data = open_dataset(path)
    data.describe()
    data.fingerprint()
    assert len(list(data.comments or ())) in (0, data.n_documents)
    train_on(data)


def use_stored_in_chunks(path: Path) -> None:
    for chunk in StoredDataset.open(path).chunks():
        scores_of(chunk.features, np.ones(chunk.n_features))


def use_table(path: Path) -> None:
    data = read(path, missing="keep")
    data.describe()


_VIEWS = ("to_markdown", "to_latex", "to_csv", "to_json", "to_frame", "_repr_html_", "__repr__", "described")


def use_results(path: Path) -> None:
    """Every view and the page, without its curve, which the data alone makes, and with few intervals."""
    folder = path.parent.parent if path.parent.name == "Fold1" else path.parent
    left_out = patch.object(comparison_page, "compared_curve", side_effect=LinrankError("left out."))
    # The plan names its data from here.
    with contextlib.chdir(folder), left_out, patch.object(comparison_weights, "RESAMPLES", 2):
        opened = Comparison.open(folder)
        for view in _VIEWS:
            assert len(getattr(opened, view)()) > 0
        assert opened.report().stat().st_size > 0
        opened.results.scores("ranksvm", "Fold1")


# The folder is sound, and opened once.
_opened = lru_cache(maxsize=1)(Comparison.open)


def use_scores_of_results(path: Path) -> None:
    _opened(path.parent.parent).results.scores("ranksvm", "Fold1")


def use_logs(path: Path) -> None:
    read_logs(path, seeds.JUDGED, missing="query_min")


def use_state(path: Path) -> None:
    ranker = MinBatSRank.load_state(path)
    rows = np.eye(2, ranker.n_features_in_)
    # What a setting makes a training take is its owner's wish.
    if not isinstance(ranker.batch_pairs, int) or ranker.batch_pairs < 1000:
        ranker.partial_fit(rows, [0, 1], qid=[1, 1])
    ranker.predict(rows)


def use_model(path: Path) -> None:
    """Scores of documents within a model's curves, at their ends and beyond."""
    model = load(path)
    if model.n_features <= 1000:
        model.predict(np.array([[0.0], [1.5], [-1e9], [1e9]]) * np.ones(model.n_features), qid=[1, 1, 2, 2])


def use_signals(path: Path) -> None:
    leg = Leg("bm25", np.array([0, 2]), np.array([0, 1], dtype=np.int32), np.array([2.0, 1.0]))
    signals_of(path, Legs((leg,), ["q1"], ["a", "b"]))


def use_rounds(path: Path) -> None:
    log = RoundLog(path, seeds.ABOUT, resume=True)
    log.close(done=False)


def sealed_model(data: bytes) -> bytes:
    """A model's JSON with the checksum that fits its fields."""
    try:
        document = json.loads(data)
        content = {name: value for name, value in document.items() if name in seeds.MODEL_FIELDS}
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
        document["checksum"] = "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()
        return json.dumps(document).encode()
    except (AttributeError, RecursionError, ValueError):
        return data


def sealed_state(data: bytes) -> bytes:
    """A learner's state with the checksum that fits it."""
    line, _, arrays = data.partition(b"\n")
    try:
        header = json.loads(line)
        header.pop("checksum", None)
        digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
        digest.update(arrays)
        return json.dumps({**header, "checksum": f"sha256:{digest.hexdigest()}"}).encode() + b"\n" + arrays
    except (AttributeError, RecursionError, TypeError, ValueError):
        return data


_PREAMBLE = struct.Struct("<12sIQQ16sI8x")


def sealed_dataset(data: bytes) -> bytes:
    """A .linrank file with all of the checksums that fit it: of its arrays, of its header, of its first bytes."""
    if len(data) < 64:
        return data
    magic, version, length, _, writer, _ = _PREAMBLE.unpack(data[: _PREAMBLE.size])
    text = data[64 : 64 + min(length, len(data))]
    try:
        header = json.loads(text)
        for entry in header["arrays"].values():
            n_bytes = int(np.prod(entry["shape"], dtype=np.int64)) * np.dtype(entry["dtype"]).itemsize
            entry["checksum"] = f"{zlib.crc32(data[entry['offset'] : entry['offset'] + n_bytes]):08x}"
        made = json.dumps(header).encode()
        # Where it became shorter, blanks keep the arrays in their places.
        text = made.ljust(len(text)) if len(made) <= len(text) else text
    except Exception:  # noqa: BLE001 - no checksum fits what is no header
        pass
    start = _PREAMBLE.pack(magic, version, len(text), len(data), writer, zlib.crc32(text))
    return start + struct.pack("<I", zlib.crc32(start)) + text + data[64 + len(text) :]


def sealed_rounds(data: bytes) -> bytes:
    """Rounds of a training, each record with the length and checksum that fit it."""
    head, *records = data.split(seeds.BETWEEN)
    return head + b"".join(struct.pack("<QI", len(record), zlib.crc32(record)) + record for record in records)


def _results(file: str, use=use_results, **options) -> Target:
    return Target(use, lambda: [seeds.results_folder()[file]], file, set_up=_write_results, **options)


def _write_results(folder: Path) -> None:
    for name, content in seeds.results_folder().items():
        place = folder / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(content)


_PLAIN = {"NUMBA_DISABLE_JIT": "1"}
TARGETS = {
    "text": Target(use_text, seeds.texts, "file.txt"),
    # Coverage sees nothing of compiled kernels: without the compiler it sees every branch of the parser, slowly.
    "text-plain": Target(use_text, seeds.texts, "file.txt", environment=_PLAIN),
    "groups": Target(use_groups, seeds.groups, "data.query", set_up=seeds.write_data),
    "stored": Target(use_stored, seeds.stored, "file.linrank", sealed_dataset),
    "stored-plain": Target(use_stored, seeds.stored, "file.linrank", sealed_dataset, environment=_PLAIN),
    "stored-chunks": Target(use_stored_in_chunks, seeds.stored_in_order, "file.linrank", sealed_dataset),
    "model": Target(use_model, seeds.models, "file.json", sealed_model, is_json=True),
    "results-plan": _results("comparison.json", is_json=True),
    "results-job": _results("Fold1/ranksvm.json", is_json=True),
    "results-model": _results("recommended.json", is_json=True, seal=sealed_model),
    "results-scores": _results("Fold1/ranksvm.scores.npy", use_scores_of_results),
    "logs": Target(use_logs, seeds.logs, "log.json", is_json=True),
    "judgments": Target(read_judgments, seeds.judgments, "judged.csv"),
    "judgments-json": Target(read_judgments, seeds.judgments_json, "judged.json", is_json=True),
    "qrels": Target(read_qrels, seeds.qrels),
    "run": Target(read_run, seeds.runs),
    "hits": Target(read_legs, seeds.hits, "hits.csv"),
    "hits-parquet": Target(read_legs, seeds.hits_in_parquet, "hits.parquet"),
    "signals": Target(use_signals, seeds.signals, "signals.csv"),
    "classes": Target(lambda path: read_classes(path, "kind"), seeds.classes, "queries.csv"),
    "responses": Target(read_responses, seeds.responses, "responses.jsonl", is_json=True),
    "scores": Target(read_scores, seeds.scores),
    "csv": Target(use_table, seeds.csv_tables, "file.csv"),
    "parquet": Target(use_table, seeds.parquet_tables, "file.parquet"),
    "arrow": Target(use_table, seeds.arrow_tables, "file.arrow"),
    "bounds": Target(lambda path: read_bounds(str(path), ("a", "b", "c d")), seeds.bounds),
    "costs": Target(lambda path: read_costs(str(path), ("a", "b")), seeds.costs),
    "state": Target(use_state, seeds.states, "file", sealed_state),
    "rounds": Target(use_rounds, seeds.rounds, "file", sealed_rounds),
} | {
    f"import-{name}": Target(
        lambda path, name=name: import_model(path, form=name), lambda name=name: seeds.foreign_models(name),
        is_json=name in ("solr", "ltr-plugin", "json"),
    )
    for name in FORMS
}  # fmt: skip
