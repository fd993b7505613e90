"""Fetchers: the processes that request and archive, and the messages over their pipes."""
