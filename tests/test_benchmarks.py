"""What the benchmarks' table of speeds says: what is stored, and what became worse. (How fast we are is not tested.)"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def speed(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import speed

    return speed


@pytest.fixture
def two_rows(speed, monkeypatch):
    monkeypatch.setattr(speed, "rows", lambda: dict.fromkeys(("hinge", "writing 6 digits")))


def row(seconds=1.0, data="made 1", beside=(), **ratios):
    return {
        "work": "work", "data": data, "seconds": seconds, "ratios": ratios, "peak": None, "beside": dict(beside),
        "least": None, "said": "",
    }  # fmt: skip


def test_the_pages_tables_are_the_stored_rows_which_are_rows_that_are_measured(speed):
    baseline = json.loads(speed.BASELINE.read_text())
    listed = subprocess.run([sys.executable, speed.__file__, "--list"], capture_output=True, text=True, check=True)
    names = listed.stdout.splitlines()
    assert list(baseline["rows"]) == [name for name in names if name in baseline["rows"]]
    for page in speed.PAGES:
        text = page.read_text()
        assert text.count(speed.START) == text.count(speed.END) == 1
        assert text == speed.with_table(text, speed.readme_table(baseline)), page


def test_a_ratio_is_worse_where_it_exceeds_the_baseline_by_more_than_its_noise(speed):
    stored = row(reads=50.0, passes=10.0)
    assert speed.worse(row(reads=50.0 * 1.39, passes=10.1), stored) == set()
    assert speed.worse(row(reads=50.0 * 1.41, passes=10.0), stored) == {"reads"}
    assert speed.worse(row(reads=20.0, passes=11.0), stored) == {"passes"}
    steadier = "reads of processors"
    assert speed.worse(row(**{steadier: 1.3}), row(**{steadier: 1.0})) == {steadier}


def test_seconds_alone_other_data_and_new_ratios_are_not_compared(speed):
    assert not speed.worse(row(seconds=9.0, reads=1.0), row(seconds=1.0, reads=1.0))
    assert not speed.worse(row(data="made 2", reads=9.0), row(reads=1.0))
    assert not speed.worse(row(reads=9.0), {})
    assert not speed.worse(row(starts=9.0), row(reads=1.0))


def test_within_a_tolerance_every_end_is_as_good(speed):
    stored = row(**{"above the least": 1e-9})
    assert not speed.worse(row(**{"above the least": 9e-7}), stored)
    assert speed.worse(row(**{"above the least": 2e-6}), stored) == {"above the least"}


@pytest.mark.usefixtures("two_rows")
def test_the_exit_code_tells_of_a_worse_row_that_stays_worse_when_measured_again(speed, tmp_path, monkeypatch, capsys):
    baseline = tmp_path / "speed.json"
    baseline.write_text(json.dumps({"machine": "", "rows": {"hinge": row(passes=10.0)}}))
    monkeypatch.setattr(speed, "BASELINE", baseline)
    monkeypatch.setattr(sys, "argv", ["speed.py", "--only", "hinge"])
    for passes, code in (([20.0, 10.0], 0), ([20.0, 11.0], 1), ([9.0], 0)):
        left = iter(passes)
        monkeypatch.setattr(speed, "measure", lambda *_, left=left: row(passes=next(left)))
        assert speed.main() == code
        assert ("**worse**" in capsys.readouterr().out) == bool(code)
        assert next(left, None) is None


@pytest.mark.usefixtures("two_rows")
def test_storing_keeps_other_rows_and_who_was_not_there_to_run_beside(speed, tmp_path, monkeypatch):
    baseline, page = tmp_path / "speed.json", tmp_path / "page.md"
    page.write_text(f"before\n{speed.START}old\n{speed.END}after\n")
    monkeypatch.setattr(speed, "BASELINE", baseline)
    monkeypatch.setattr(speed, "PAGES", (page,))
    known = {"machine": "", "rows": {"writing 6 digits": row(), "hinge": row(beside={"other": 3.0}, passes=5.0)}}
    speed.store(known, "hinge", row(seconds=2.0, passes=4.0))
    rows = json.loads(baseline.read_text())["rows"]
    assert list(rows) == ["hinge", "writing 6 digits"]
    assert rows["hinge"] == row(seconds=2.0, beside={"other": 3.0}, passes=4.0)
    assert page.read_text().startswith(f"before\n{speed.START}{speed.HEAD}| work | 2 s | 4 passes |  | other: 3 s |\n")
    assert page.read_text().endswith(f"{speed.END}after\n")


@pytest.mark.usefixtures("speed")
def test_a_command_is_measured_with_its_own_peak_of_memory():
    from measuring import run

    held = bytearray(300_000_000)
    small = run(sys.executable, "-c", "print('said')")
    large = run(sys.executable, "-c", "held = bytes(range(200)) * 500_000")
    assert small.output == "said\n"
    assert small.peak < 60 < 100 < large.peak < 160 < len(held) / 1e6


@pytest.mark.usefixtures("speed")
def test_turns_tell_the_least_time_and_the_median_ratio():
    from measuring import Turns

    told = iter([(4.0, 1.0), (1.0, 1.0), (3.0, 5.0), (3.0, 1.0), (6.0, 4.0), (2.0, 2.0)])
    turns = Turns({"ours": lambda: next(told), "theirs": lambda: next(told)}, rounds=3)
    assert turns.least("ours") == 3.0
    assert turns.ratios("ours", "theirs", "reads", 2.0) == {"reads": 6.0, "reads of processors": 4.0}
