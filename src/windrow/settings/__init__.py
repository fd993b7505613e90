"""The kinds of values that settings have, and how settings are read from flags, the environment and TOML files."""
