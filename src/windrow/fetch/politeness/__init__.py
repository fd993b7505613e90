"""How an origin is treated, whoever asks it: robots.txt, the pace, private addresses, and who we say we are. Pure."""
