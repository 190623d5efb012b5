"""Weights of hybrid search: the legs of an engine become one order, by the engine's own rules."""
