-- The base schema 0.1.0: the tables that both the crawler database and the Summary Database have.
-- Times are in seconds since 1970 (UTC), durations are in milliseconds. A UUID has 16 bytes; a boolean is 0 or 1.

CREATE TABLE unobtanium_database_info (
  key TEXT PRIMARY KEY,
  value TEXT
);

CREATE TABLE origin (
  origin_id INTEGER PRIMARY KEY,
  scheme VARCHAR NOT NULL,
  host VARCHAR,
  port INTEGER,
  str_origin TEXT NOT NULL UNIQUE
);

CREATE TABLE url (
  url_id INTEGER PRIMARY KEY,
  origin_id INTEGER NOT NULL REFERENCES origin,
  path TEXT,
  query TEXT,
  username TEXT,
  password TEXT,
  str_url TEXT NOT NULL UNIQUE
);

CREATE TABLE mimetype (
  mimetype_id INTEGER PRIMARY KEY,
  mime_type TEXT NOT NULL,
  mime_subtype TEXT NOT NULL,
  mime_suffix TEXT
);

CREATE TABLE mime_parameter (
  mimetype_id INTEGER NOT NULL REFERENCES mimetype,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  UNIQUE (mimetype_id, name)
);
