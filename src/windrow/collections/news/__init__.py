"""News: the articles of sites, in files as the Normalized News Data Standard 3.0 defines them."""
