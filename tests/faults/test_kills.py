"""Commands killed at moments that are the same every time; `make test-faults` kills them at random ones, 200 times."""

import os
from pathlib import Path

import pytest

from processes import ran

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

# Before a file that is whole is forced to disk, and before and after it is given its name.
SOURCE = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[1:3]
import kills

def at(owner, name, call, after):
    calls = [0]
    original = getattr(owner, name)
    def killing(*arguments, **settings):
        calls[0] += 1
        if calls[0] == call and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **settings)
        if calls[0] == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(owner, name, killing)

kills.in_new_folder()
for name in sys.argv[3:]:
    trial = kills.Trial(name)
    for owner, function, after in ((os, "fsync", False), (Path, "replace", False), (Path, "replace", True)):
        for call in (1, 2, 3, 4):
            for with_old in (True, False):
                found = trial.kill(lambda: at(owner, function, call, after), with_old=with_old)
                print(name, function, call, after, found)
    trial.clear()
"""


@pytest.mark.parametrize(
    "names",
    [("train", "tune", "path"), ("convert", "convert to text", "convert --memory", "export", "fuse")],
    ids=" ".join,
)
def test_an_output_is_the_old_one_or_the_new_one(names, tmp_path):
    here = Path(__file__).parent
    folders = (here, here.parent)
    code, out, err = ran(SOURCE, *folders, *names, env={"TMPDIR": str(tmp_path), "PYTHONWARNINGS": "ignore"})
    assert code == 0, out + err
    # Every case was killed before it had its output, and after.
    for name in names:
        found = {line.split()[-1] for line in out.splitlines() if line.startswith(f"{name} ")}
        assert found & {"new"}, out
        assert found & {"old", "left"}, out
