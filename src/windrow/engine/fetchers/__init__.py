"""Fetchers: the processes that send requests and archive responses, and the messages over their pipes."""
