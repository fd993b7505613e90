"""pages: whole web sites, as the Summary Database of a search engine keeps them."""
