-- The wordings of pages, by the hash in `windrow_observation.said`. A wording may change while the text, and with it
-- the generation, stays the same. The first half of the hash covers the columns that differ between versions (title,
-- headline, description, language, media type and canonical address), the second half all columns.
CREATE TABLE IF NOT EXISTS windrow_wording (
  said BLOB PRIMARY KEY,
  title TEXT,
  primary_headline TEXT,
  description TEXT,
  canonical_url_id INTEGER REFERENCES url,
  time_created_unix_utc INTEGER,
  time_updated_unix_utc INTEGER,
  primary_language VARCHAR,
  indexiness INTEGER NOT NULL DEFAULT 0,
  mimetype_id INTEGER REFERENCES mimetype
) WITHOUT ROWID;

-- The attempt whose reading describes each generation now.
CREATE TABLE IF NOT EXISTS windrow_reading (
  entity_generation_id INTEGER PRIMARY KEY REFERENCES entity_generation,
  attempt INTEGER NOT NULL
);

-- The past versions of generations: with the same text, but another wording. `version_id` is the number in the ledger
-- of the first attempt that saw the version.
CREATE TABLE IF NOT EXISTS windrow_past (
  version_id INTEGER PRIMARY KEY,
  entity_generation_id INTEGER NOT NULL REFERENCES entity_generation,
  first_seen_unix_utc INTEGER NOT NULL,
  last_seen_unix_utc INTEGER NOT NULL,
  confirmed_end_unix_utc INTEGER NOT NULL,
  said BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS windrow_past_by_generation ON windrow_past (entity_generation_id, first_seen_unix_utc);

-- All versions: past versions with negative ids, and the latest version of each generation with the generation's id.
CREATE VIEW IF NOT EXISTS windrow_version AS
SELECT -p.version_id AS version_id, g.entity_generation_id, g.entity_generation_uuid, g.url_id, g.url_fragment,
  p.first_seen_unix_utc, p.last_seen_unix_utc, p.confirmed_end_unix_utc, g.marked_duplicate, g.text_pile_id,
  w.title, w.primary_headline, w.description, w.primary_language, w.time_created_unix_utc, w.time_updated_unix_utc,
  w.indexiness, w.mimetype_id, w.canonical_url_id, NULL AS file_size
FROM windrow_past p JOIN entity_generation g ON g.entity_generation_id = p.entity_generation_id
JOIN windrow_wording w ON w.said = p.said
UNION ALL
SELECT g.entity_generation_id, g.entity_generation_id, g.entity_generation_uuid, g.url_id, g.url_fragment,
  coalesce((SELECT max(p.confirmed_end_unix_utc) FROM windrow_past p
    WHERE p.entity_generation_id = g.entity_generation_id), g.first_seen_unix_utc),
  g.last_seen_unix_utc, g.confirmed_end_unix_utc, g.marked_duplicate, g.text_pile_id,
  d.title, d.primary_headline, d.description, d.primary_language, d.time_created_unix_utc, d.time_updated_unix_utc,
  coalesce(d.indexiness, 0), f.mimetype_id, f.canonical_url_id, f.file_size
FROM entity_generation g
LEFT JOIN document_description d ON d.entity_generation_id = g.entity_generation_id
LEFT JOIN file_summary f ON f.entity_generation_id = g.entity_generation_id;
