"""Stores of JSON documents with ids, in databases with views: one SQLite file, or a CouchDB."""
