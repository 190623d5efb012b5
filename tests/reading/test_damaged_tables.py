"""Tables that were damaged, or made so on purpose: each is read or refused by name; none ends the process."""

import gzip
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zstandard

from linrank import LinrankError, read

# In a process of its own, so that a segmentation fault is a failure here and not the end of all tests.
READING = """
import sys
from pathlib import Path
from linrank import LinrankError, read
refused = 0
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        read(path, missing="keep").describe()
    except LinrankError as error:
        assert str(path) in str(error), error
        refused += 1
print(refused)
"""


def number_refused(folder):
    command = [sys.executable, "-c", READING, folder]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return int(ended.stdout)


def arrow_bytes(table, compression=None):
    pa = pytest.importorskip("pyarrow")
    held = io.BytesIO()
    with pa.ipc.new_file(held, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return held.getvalue()


def parquet_bytes(table, compression=None):
    held = io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(table, held, compression=compression or "none")
    return held.getvalue()


def sample():
    pa = pytest.importorskip("pyarrow")
    qid = pa.array([f"query {n // 4}" for n in range(40)])
    return pa.table(
        {
            "label": pa.array([n % 3 for n in range(40)]),
            "qid": qid,
            "coded": pa.array([float(n % 5) for n in range(40)]).dictionary_encode(),
            "a": pa.array([None if n % 7 == 0 else n / 2 for n in range(40)]),
            "price": pa.array(list(range(40)), pa.decimal128(9, 2)),
        }
    )


def damaged(whole, rng):
    """A file with some bytes overwritten, or cut off, or longer."""
    made = bytearray(whole)
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(made)))
        value = rng.choice([0, 1, 0x7F, 0x80, 0xFF, int(rng.integers(256))])
        made[place : place + int(rng.choice([1, 1, 4, 8]))] = bytes([value]) * int(rng.choice([1, 1, 4, 8]))
    if rng.random() < 0.1:
        del made[int(rng.integers(len(made))) :]
    return bytes(made)


@pytest.mark.parametrize("compression", [None, "zstd"])
@pytest.mark.parametrize(("ending", "written"), [("arrow", arrow_bytes), ("parquet", parquet_bytes)])
def test_damaged_files_are_read_or_refused(ending, written, compression, tmp_path):
    whole, rng = written(sample(), compression), np.random.default_rng(0)
    for number in range(150):
        (tmp_path / f"{number:03}.{ending}").write_bytes(damaged(whole, rng))
    assert number_refused(tmp_path) > 50


def test_texts_and_codes_that_lead_out_of_a_batch_are_refused(tmp_path):
    """Arrow does not look where offsets and codes lead: without our looking, this reads beyond the file."""
    whole = arrow_bytes(sample())
    offsets = np.arange(41, dtype=np.int32) * len("query 0")
    for place in (10, 40):
        changed = offsets.copy()
        changed[place] = 2**31 - 1
        path = tmp_path / f"{place}.arrow"
        assert offsets.tobytes() in whole
        path.write_bytes(whole.replace(offsets.tobytes(), changed.tobytes()))
    assert number_refused(tmp_path) == 2


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not say what a process had")
def test_a_page_that_claims_gigabytes_takes_no_memory(tmp_path):
    corpus = Path(__file__).parents[1] / "fuzz" / "corpus" / "parquet"
    (tmp_path / "page.parquet").write_bytes((corpus / "page-of-796-mb").read_bytes())
    # Its own: what getrusage says begins with what the process had that it was forked from.
    program = READING + "\nprint(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    command = [sys.executable, "-c", program, tmp_path]
    refused, kilobytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert refused == "1"
    assert int(kilobytes) < 600_000


def test_a_file_that_becomes_shorter_while_it_is_read_is_no_crash(tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "data.arrow"
    rows = sample()
    with pa.ipc.new_file(path, rows.schema) as writer:
        for _ in range(50):
            writer.write_table(rows)
    program = """
import os, sys
from linrank.reading.column_roles import ColumnRoles
from linrank.reading.tables import file_source
from linrank.reading.table_sources import naming_file
from linrank import LinrankError
path = sys.argv[1]
try:
    with naming_file(path, "arrow"):
        batches = file_source(path, "arrow", ColumnRoles()).batches([0, 1, 3])
        held = [next(batches)]
        os.truncate(path, 1000)
        held += batches
except LinrankError as error:
    print(str(error)[-60:])
print(float(held[0][0].values.sum()))
"""
    ended = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith("39.0\n")


@pytest.mark.parametrize("seed", range(4))
def test_damaged_csv_is_read_or_refused(seed, tmp_path):
    whole = b'label,qid,a,"b,c"\n1,q1,0.5,true\n0,"q""1",,false\n2,q2,1e3,true\n\n1,q2,nan,false\n'
    rng = np.random.default_rng(seed)
    pieces = [b"", b'"', b",", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"x", b"1e999", b"1_0", b'""', b"a" * 200]
    path = Path(tmp_path) / "table.csv"
    refused = 0
    for _ in range(300):
        made = bytearray(whole)
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(len(made)))
            made[place : place + int(rng.choice([0, 1, 5]))] = pieces[rng.integers(len(pieces))]
        path.write_bytes(made)
        try:
            read(path, missing="keep").describe()
        except LinrankError as error:
            assert str(path) in str(error)  # noqa: PT017
            refused += 1
    assert refused > 50


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_compressed_csv_that_unpacks_to_more_than_data_does_is_refused(ending, compress, tmp_path):
    path = tmp_path / f"data.csv.{ending}"
    path.write_bytes(compress(b"label,qid,a,b\n" + b"1,7,0,0\n" * 3_000_000))
    with pytest.raises(LinrankError, match=r"unpacks to more than 500 times its size, as no data does\. Unpack it"):
        read(path)
    path.write_bytes(compress(b"label,qid,a,b\n" + b"1,7,0,0\n" * 30))
    assert read(path).n_documents == 30
    path.write_bytes(compress(b"label,qid,a,b\n\n1,7,0,x\n"))
    with pytest.raises(LinrankError, match=r":3: column 'b' holds 'x'"):
        read(path)


def test_a_fault_after_a_very_long_field_is_told_without_its_line(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(f"label,qid,a,docid\n1,2,3,{'y' * 200_000}\n1,2,x,z\n")
    with pytest.raises(LinrankError, match=r"data\.csv: column 'a' holds 'x', which is no number"):
        read(path, docid="docid")
