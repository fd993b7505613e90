"""The Summary Database and the crawler database in SQLite: tables, writers and readers."""
