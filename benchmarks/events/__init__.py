"""Benchmarks of the collection `events`."""
