-- The crawler database: the crawl log with requests, files, redirects and candidates, projected from the ledger.

CREATE TABLE agent (
  agent_id INTEGER PRIMARY KEY,
  time_started_unix_utc INTEGER NOT NULL,
  time_finished_unix_utc INTEGER,
  agent_uuid BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  http_user_agent TEXT
);

CREATE TABLE crawl_log (
  crawl_log_id INTEGER PRIMARY KEY,
  agent_id INTEGER NOT NULL REFERENCES agent,
  url_id INTEGER NOT NULL REFERENCES url,
  crawl_type INTEGER NOT NULL,
  crawl_uuid BLOB NOT NULL UNIQUE,
  time_started_unix_utc INTEGER NOT NULL,
  time_taken_ms INTEGER,
  exit_code INTEGER NOT NULL,
  message TEXT
);
CREATE INDEX crawl_log_quickinfo ON crawl_log (url_id, time_started_unix_utc, exit_code);

CREATE TABLE request (
  request_id INTEGER PRIMARY KEY,
  crawl_log_id INTEGER NOT NULL REFERENCES crawl_log,
  url_id INTEGER NOT NULL REFERENCES url,
  time_sent_unix_utc INTEGER NOT NULL,
  robotstxt_approved BOOL NOT NULL,
  request_duration_ms INTEGER,
  exit_code INTEGER NOT NULL,
  server_last_modified_unix_utc INTEGER,
  http_status_code INTEGER,
  http_etag TEXT
);

CREATE TABLE file (
  file_id INTEGER PRIMARY KEY,
  crawl_log_id INTEGER NOT NULL REFERENCES crawl_log,
  request_id INTEGER REFERENCES request,
  url_id INTEGER NOT NULL REFERENCES url,
  last_modified_unix_utc INTEGER,
  file_size INTEGER,
  mimetype_id INTEGER REFERENCES mimetype,
  canonical_url_id INTEGER REFERENCES url
);

CREATE TABLE file_text (
  file_id INTEGER PRIMARY KEY REFERENCES file,
  text TEXT NOT NULL
);

CREATE TABLE redirect (
  redirect_id INTEGER PRIMARY KEY,
  crawl_log_id INTEGER NOT NULL REFERENCES crawl_log,
  request_id INTEGER REFERENCES request,
  url_id INTEGER NOT NULL REFERENCES url,
  last_modified_unix_utc INTEGER,
  to_url_id INTEGER NOT NULL REFERENCES url,
  information_source INTEGER NOT NULL,
  is_permanent BOOL NOT NULL,
  by_security_policy BOOL NOT NULL,
  to_url_fragment TEXT
);

CREATE TABLE crawl_candidate (
  url_id INTEGER PRIMARY KEY REFERENCES url,
  last_crawl_time_unix_utc INTEGER,
  last_crawl_exit_code INTEGER,
  last_contentful_crawl_time_unix_utc INTEGER,
  last_contentful_http_etag TEXT
);
