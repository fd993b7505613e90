"""Benchmarks of the collection `papers`."""
