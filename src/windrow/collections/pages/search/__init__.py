"""Search: the fields of the index, the translation of queries, and the ranking, grouping and display of results."""
