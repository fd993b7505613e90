"""Zips of XML that partner centres put on their servers, as the tracker of the data coordination centre has them."""
