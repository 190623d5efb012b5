"""Stage 1: files become rows."""
