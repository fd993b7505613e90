"""Rules for requests to any origin: robots.txt, the pace, private addresses and the user agent. Pure."""
