"""Stores of records and documents."""
