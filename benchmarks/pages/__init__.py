"""Benchmarks of the collection `pages`."""
