"""Benchmarks of the web view."""
