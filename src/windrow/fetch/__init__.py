"""Ways to reach a source: an address in, bytes out. Import from its modules; the package itself loads nothing."""
