import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Deterministic, so that a failure repeats; without deadlines, since the first example may compile a kernel.
settings.register_profile(
    "linrank",
    deadline=None,
    derandomize=True,
    max_examples=20 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("linrank")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of LETOR data, where it is to be had."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the LETOR data sets are not beside the project")
    return folder
