"""Search: what is indexed, how a query is put, what is ranked, folded and shown."""
