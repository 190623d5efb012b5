"""Linear learning to rank: exact, sparse, measured by the right definition, and ready for a search engine."""
