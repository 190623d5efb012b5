"""Models in the words of other programs, one file a target: `linrank.export`, `linrank export`."""
