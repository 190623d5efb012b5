"""What sums over pairs are kept in while a query is swept: one file a structure, by name in `by_name.py`."""
