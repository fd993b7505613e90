-- The Summary Database 0.0.0, table by table as it is published.

CREATE TABLE text_pile (
  text_pile_id INTEGER PRIMARY KEY,
  blake2b512_digest BLOB NOT NULL UNIQUE,
  text TEXT NOT NULL,
  secondary_text TEXT NOT NULL,
  big_headlines TEXT NOT NULL,
  small_headlines TEXT NOT NULL,
  code_text TEXT NOT NULL,
  quote_text TEXT NOT NULL
);

CREATE TABLE entity_generation (
  entity_generation_id INTEGER PRIMARY KEY,
  entity_generation_uuid BLOB NOT NULL UNIQUE,
  url_id INTEGER NOT NULL REFERENCES url,
  url_fragment TEXT,
  first_seen_unix_utc INTEGER NOT NULL,
  last_seen_unix_utc INTEGER NOT NULL,
  confirmed_end_unix_utc INTEGER,
  marked_duplicate BOOL NOT NULL DEFAULT 0,
  text_pile_id INTEGER REFERENCES text_pile,
  CHECK (first_seen_unix_utc <= last_seen_unix_utc)
);
CREATE INDEX entity_generation_by_uuid ON entity_generation (entity_generation_uuid);
CREATE INDEX entity_generation_by_first_seen ON entity_generation (url_id, url_fragment, first_seen_unix_utc);
CREATE INDEX entity_generation_by_text_pile ON entity_generation (text_pile_id, confirmed_end_unix_utc);
CREATE INDEX entity_generation_by_active ON entity_generation (marked_duplicate, confirmed_end_unix_utc);

CREATE TABLE duplicate_summary (
  subject_entity_generation_id INTEGER NOT NULL REFERENCES entity_generation,
  duplicate_of_entity_generation_id INTEGER NOT NULL REFERENCES entity_generation,
  duplicate_status_start_unix_utc INTEGER NOT NULL,
  duplicate_status_end_unix_utc INTEGER
);
CREATE INDEX duplicate_summary_by_duplicate
  ON duplicate_summary (subject_entity_generation_id, duplicate_status_end_unix_utc);

CREATE TABLE crawl_summary (
  crawl_summary_id INTEGER PRIMARY KEY,
  entity_generation_id INTEGER NOT NULL REFERENCES entity_generation,
  was_robotstxt_approved BOOL NOT NULL,
  crawl_type INTEGER NOT NULL,
  crawl_uuid BLOB NOT NULL,
  agent_uuid BLOB NOT NULL,
  time_started_unix_utc INTEGER NOT NULL,
  exit_code INTEGER NOT NULL,
  request_duration_ms INTEGER
);
CREATE INDEX crawl_summary_by_crawl_uuid ON crawl_summary (crawl_uuid);

CREATE TABLE http_summary (
  crawl_summary_id INTEGER PRIMARY KEY REFERENCES crawl_summary,
  status_code INTEGER NOT NULL,
  etag TEXT
);

CREATE TABLE file_summary (
  entity_generation_id INTEGER PRIMARY KEY REFERENCES entity_generation,
  file_size INTEGER,
  mimetype_id INTEGER REFERENCES mimetype,
  canonical_url_id INTEGER REFERENCES url
);

CREATE TABLE redirect_summary (
  entity_generation_id INTEGER PRIMARY KEY REFERENCES entity_generation,
  to_url_id INTEGER NOT NULL REFERENCES url,
  information_source INTEGER NOT NULL,
  by_security_policy BOOL NOT NULL,
  to_url_fragment TEXT
);

CREATE TABLE link_summary (
  link_summary_id INTEGER NOT NULL UNIQUE,
  entity_generation_id INTEGER NOT NULL REFERENCES entity_generation,
  link_to_url INTEGER NOT NULL REFERENCES url,
  link_to_fragment TEXT,
  rel_nofollow BOOL NOT NULL,
  rel_me BOOL NOT NULL,
  rel_tag BOOL NOT NULL,
  in_header BOOL NOT NULL,
  in_footer BOOL NOT NULL,
  in_aside BOOL NOT NULL,
  in_nav BOOL NOT NULL,
  in_form BOOL NOT NULL,
  in_main BOOL NOT NULL,
  in_article BOOL NOT NULL,
  in_section BOOL NOT NULL,
  in_table BOOL NOT NULL,
  in_figure BOOL NOT NULL,
  in_address BOOL NOT NULL,
  in_code BOOL NOT NULL,
  in_headline BOOL NOT NULL,
  in_list BOOL NOT NULL,
  in_paragraph BOOL NOT NULL,
  contains_headline BOOL NOT NULL,
  destination_type INTEGER,
  link_locality INTEGER NOT NULL,
  html_tag_name VARCHAR,
  text VARCHAR,
  PRIMARY KEY (link_summary_id, entity_generation_id)
) WITHOUT ROWID;
CREATE INDEX link_summary_by_target ON link_summary (link_to_url);

CREATE TABLE document_description (
  entity_generation_id INTEGER PRIMARY KEY REFERENCES entity_generation,
  time_created_unix_utc INTEGER,
  time_updated_unix_utc INTEGER,
  primary_language VARCHAR,
  title TEXT,
  primary_headline TEXT,
  description TEXT,
  indexiness INTEGER NOT NULL
);

CREATE TABLE token (
  token_id INTEGER PRIMARY KEY,
  token_text TEXT NOT NULL UNIQUE
);

-- Sorted by pile, in the order of writing: if rows were sorted by word, each batch would change the whole table.
CREATE TABLE token_statistics (
  token_id INTEGER NOT NULL REFERENCES token,
  text_pile_id INTEGER NOT NULL REFERENCES text_pile,
  occurances INTEGER NOT NULL,
  PRIMARY KEY (text_pile_id, token_id)
) WITHOUT ROWID;

-- The table does not store texts a second time: FTS5 reads its columns from a view of windrow.

CREATE VIRTUAL TABLE full_text_entity_index USING fts5 (
  text_pile_id UNINDEXED, "any", title, description, text, secondary_text,
  big_headlines, small_headlines, code_text, quote_text,
  content = 'windrow_full_text', content_rowid = 'text_pile_id',
  tokenize = 'unicode61 remove_diacritics 2'
);

-- The title and description that each text pile has in the full-text table.
CREATE TABLE windrow_full_text_row (
  text_pile_id INTEGER PRIMARY KEY,
  title TEXT,
  description TEXT
);

CREATE VIEW windrow_full_text AS
SELECT r.text_pile_id, 'any' AS "any", r.title, r.description, p.text, p.secondary_text, p.big_headlines,
  p.small_headlines, p.code_text, p.quote_text
FROM windrow_full_text_row r JOIN text_pile p ON p.text_pile_id = r.text_pile_id;
