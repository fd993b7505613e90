"""Harvest documents, keep every byte, answer for each of them."""
