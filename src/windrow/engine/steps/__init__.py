"""Steps: run the functions of a collection on due documents, in the pool, in order."""
