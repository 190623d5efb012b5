"""Stage 6: scores become quality."""
