"""Stage 4: objectives become weights, one file an algorithm."""
