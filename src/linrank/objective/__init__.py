"""Stage 3: blocks become value, gradient and curvature."""
