"""Where the collection's own databases are read and written."""
