"""Rules for requests to any origin: robots.txt, pace, private IP addresses and user agent, as pure functions."""
