"""Rules for requests to any origin, as pure functions: robots.txt, pace, private IP addresses and user agent."""
