"""Runs harvests: sessions, discoveries, fetchers, steps, the pool. The code does not name any collection."""
