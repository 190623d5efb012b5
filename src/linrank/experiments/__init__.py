"""Stage 7: many fits become an answer."""
