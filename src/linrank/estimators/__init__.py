"""The scikit-learn face of every method."""
