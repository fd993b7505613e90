"""A small internet on loopback, and a workspace that harvests it."""
