"""Dual problems of the hinge, with a number for every pair, and how low their rank is."""
