"""The databases of papers: their records, their rows in a table, and the index of the catalogue."""
