"""The Summary Database and the crawler database: tables, writers and readers over SQLite."""
