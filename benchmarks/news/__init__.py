"""Benchmarks of the collection `news`."""
