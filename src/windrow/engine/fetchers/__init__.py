"""Fetchers: the processes that ask and keep, what is said over their pipes, and their signs of life."""
