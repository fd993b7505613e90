"""Captures: select existing captures, in the archive or in WARC files, by the rules of a collection."""
