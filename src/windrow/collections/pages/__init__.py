"""The collection `pages`: whole web sites, stored as a search engine's Summary Database."""
