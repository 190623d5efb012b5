"""Feature logs of search engines, and judgements of their documents, become a dataset."""
