"""Requests: follow answers to further requests, and make the requests of steps to services."""
