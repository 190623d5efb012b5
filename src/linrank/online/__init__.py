"""Learners that see queries one after the other: a step for each, and nothing larger than the weights is kept."""
