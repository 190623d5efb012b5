"""What would change if a new model went live: `linrank.check`, `linrank check`."""
