"""News: every article of a list of sites, as the Normalized News Data Standard v3.0 has it."""
