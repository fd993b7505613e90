"""Search: the fields of the index, the translation of queries, and the ranking, folding and display of results."""
