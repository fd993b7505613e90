"""Papers: documents that are found by the indexes of captures, and stored in the journal-extract table."""
