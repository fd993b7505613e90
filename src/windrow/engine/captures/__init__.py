"""Captures: select existing captures, in the archive or in WARC files, for a collection by its rules."""
