"""Captures: existing captures, in the archive or in WARC files, that rules select for a collection."""
