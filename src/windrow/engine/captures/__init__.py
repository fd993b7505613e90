"""Captures: what lies in the archive or in WARC files already, chosen by rules and handed to a collection."""
