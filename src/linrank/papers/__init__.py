"""The papers' own apparatus: what they printed, their figures from our runs, and their tables run again."""
