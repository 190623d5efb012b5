"""Models of other programs, one file a form: `linrank.import_model`, `linrank import`."""
