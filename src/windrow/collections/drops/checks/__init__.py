"""Integrity checks, one file per family; each adds what it finds to a `Case`."""
