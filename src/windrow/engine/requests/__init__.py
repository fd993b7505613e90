"""Requests: what answers lead to, and what steps ask of services."""
