"""Listings: folders listed, files fetched over connections that are used again."""
