"""The kinds of values of settings, and the reading of settings from flags, the environment and TOML files."""
