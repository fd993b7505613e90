"""A full-text index of documents in a folder."""
