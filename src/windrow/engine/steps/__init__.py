"""Steps: due work taken through the functions of a collection, in the pool, in order."""
