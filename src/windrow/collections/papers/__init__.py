"""Papers: documents that are found in the indexes of captures, and stored in the journal-extract table."""
