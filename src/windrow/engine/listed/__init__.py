"""Listings: list folders, and fetch files over connections that are used for several batches."""
