"""Where kept bytes and records live."""
