"""Learners that see the data turn by turn, a step in each: all by the protocol of `learner.py`."""
