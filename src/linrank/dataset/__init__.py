"""Stage 2: rows become blocks of whole queries."""
