"""Papers: documents that indexes of captures name, in the journal-extract table."""
