"""Files that were changed on purpose, checksums and all: each is refused by name, or as good as any other file."""

import json
import math
import re
import struct
import zlib

import numpy as np
import pytest
from scipy import sparse

from linrank.dataset.features import scores_of
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.storage import open_dataset, save_dataset, verify_dataset
from linrank.errors import LinrankError
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData

PREAMBLE = struct.Struct("<12sIQQ16sI8x")
NUMBERS = [0, 1, -1, 2, 5, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32, 2**40, 2**63 - 1, -(2**63), 10**15]
NASTY = [*NUMBERS, 10**30, 0.5, 1e308, float("nan"), None, True, "", "x", "<U1000000000", "|O", "<f4", ">i8", "<M8[ns]"]
NASTY += [[], [1], [0], [-1], [10**18], [2**31, 2**33], {}, {"a": 1}, ["x", "x"], [None, "y"], [[1], [2]], "\ud800"]
ROWS = 12


def sample(kind):
    """Data with everything a file may hold."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((ROWS, 4)) * (rng.random((ROWS, 4)) < 0.6)
    qid = {"text": list("abcabcaabbcc"), "objects": np.array([1, "b", 0.5] * 4, dtype=object)}.get(
        kind, np.repeat(np.array(["2020-01-01", "2021-01-01", "1999-12-31"], dtype="datetime64[D]"), 4)
    )
    return RankingDataset.from_arrays(
        features if kind == "dates" else sparse.csr_array(features),
        rng.integers(0, 3, ROWS),
        qid=qid,
        feature_names=list("wxyz"),
        comments=[f"docid = d{row}" for row in range(ROWS)],
        document_weights=rng.integers(0, 3, ROWS),
        query_weights=[1, 2, 3],
    )


class Mutator:
    """Changes a file of bytes at random, and makes its checksums fit again."""

    def __init__(self, whole, seed):
        self.whole = whole
        self.header = json.loads(whole[64 : 64 + struct.unpack_from("<Q", whole, 16)[0]])
        self.room = min(entry["offset"] for entry in self.header["arrays"].values()) - 64
        self.rng = np.random.default_rng(seed)

    def mutant(self):
        raw, header = bytearray(self.whole), json.loads(json.dumps(self.header))
        for _ in range(self.rng.integers(1, 4)):
            self.pick([self.flip, self.rewrite, self.rewrite, self.edit, self.edit, self.cut])(raw, header)
        for entry in header["arrays"].values() if isinstance(header["arrays"], dict) else ():
            self.seal(raw, entry)
        text = json.dumps(header).encode()
        if self.rng.random() < 0.1:
            text = bytes(byte ^ (self.rng.random() < 0.01) for byte in text)
        text = text[: self.room].ljust(self.room)
        start = PREAMBLE.pack(bytes(raw[:12]), 1, len(text), len(raw), b"0.1.0", zlib.crc32(text))
        start += struct.pack("<I", zlib.crc32(start))
        raw[: 64 + len(text)] = (start + text)[: len(raw)]
        return bytes(raw)

    def pick(self, values):
        return values[self.rng.integers(len(values))]

    def section(self, header):
        entry = self.pick(list(self.header["arrays"].values()))
        return entry, np.dtype(entry["dtype"]), math.prod(entry["shape"])

    def flip(self, raw, header):
        entry, dtype, n = self.section(header)
        place = entry["offset"] + int(self.rng.integers(max(1, n * dtype.itemsize)))
        if place < len(raw):
            raw[place] ^= 1 << int(self.rng.integers(8))

    def rewrite(self, raw, header):
        entry, dtype, n = self.section(header)
        word = {"i": "i", "f": "d", "u": "B"}.get(dtype.kind, "I")
        place = entry["offset"] + dtype.itemsize * int(self.rng.integers(max(1, n)))
        if word == "d":
            made = struct.pack("<d", self.pick([np.nan, np.inf, -np.inf, 1e308, -1.0, 5e-324]))
        else:
            made = (self.pick(NUMBERS) % 2**64).to_bytes(8, "little")[: min(8, dtype.itemsize)]
        if place + len(made) <= len(raw):
            raw[place : place + len(made)] = made

    def edit(self, raw, header):
        places = [(header, key) for key in header]
        if isinstance(header["arrays"], dict):
            places += [(header["arrays"], name) for name in header["arrays"]]
            entries = [entry for entry in header["arrays"].values() if isinstance(entry, dict)]
            places += [(entry, key) for entry in entries for key in entry if key != "checksum"] * 2
        holder, key = self.pick(places)
        if self.rng.random() < 0.1:
            del holder[key]
            holder["n_documents"] = holder.get("n_documents", 0)
        else:
            holder[key] = self.pick(NASTY)
        header.setdefault("arrays", {})

    def cut(self, raw, header):
        if self.rng.random() < 0.3:
            del raw[int(self.rng.integers(64, len(raw))) :]

    def seal(self, raw, entry):
        try:
            n_bytes = math.prod(entry["shape"]) * np.dtype(entry["dtype"]).itemsize
            entry["checksum"] = f"{zlib.crc32(raw[entry['offset'] : entry['offset'] + n_bytes]):08x}"
        except Exception:  # noqa: BLE001 - no checksum fits what is no array
            return


def use(path):
    """Open a file and do with it what leads through the kernels."""
    verify_dataset(path)
    data = open_dataset(path)
    data.describe()
    data.fingerprint()
    assert len(list(data.comments or ())) in (0, data.n_documents)
    part = data.subset(np.arange(data.n_queries)[::2])
    save_dataset(part, path.with_suffix(".again"))
    weights = np.ones(data.n_features)
    scores_of(data.features, weights)
    with Threads(1) as executor:
        objective = RankingObjective(SquaredHinge(), L2(), 1.0, PlacedData.of(data, executor))
        objective.at(weights).hessian_product(weights)


@pytest.mark.parametrize("kind", ["text", "objects", "dates"])
def test_a_file_changed_on_purpose_is_refused_by_name_or_does_no_harm(tmp_path, kind):
    """Without the checks this ends in a segmentation fault, or in an IndexError, OverflowError, MemoryError, …."""
    path = tmp_path / "data.linrank"
    save_dataset(sample(kind), path)
    use(path)
    mutator = Mutator(path.read_bytes(), seed=1)
    refused = 0
    for _ in range(500):
        path.write_bytes(mutator.mutant())
        try:
            use(path)
        except LinrankError as error:
            # (Nothing is wrong with a file whose numbers are just too large to be trained on.)
            assert str(error).startswith(f"{path}: ") or re.search(r"[;.] ", str(error))  # noqa: PT017
            refused += 1
    assert 300 < refused < 500
