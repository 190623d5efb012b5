"""Changes that no test can notice, since what is computed is the same: by file, and what the change is."""

EQUIVALENT: dict[tuple[str, str], str] = {}
