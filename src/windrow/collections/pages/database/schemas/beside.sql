-- Our own tables beside the standard's: what its tables are folded from, and what is still to be done.

-- What every crawl of an address saw. `identity` says what was there: the digest of its text pile (64 bytes) or,
-- of what has no text, a hash of 32; `reason` why it has none. `payload` is the digest of the bytes that came, and
-- behind it a hash of what their head said of them; `attempt` the ledger's number of the attempt, and the rest is what
-- `crawl_summary` and `http_summary` say of it; `said` is a hash of what it calls itself, and `linked` of its links,
-- both empty where it was not read.
CREATE TABLE IF NOT EXISTS windrow_observation (
  url_id INTEGER NOT NULL REFERENCES url,
  at INTEGER NOT NULL,
  crawl_uuid BLOB NOT NULL,
  sight TEXT NOT NULL,
  identity BLOB NOT NULL,
  payload TEXT NOT NULL,
  reason TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  entity_generation_id INTEGER,
  agent_uuid BLOB NOT NULL,
  crawl_type INTEGER NOT NULL,
  was_robotstxt_approved BOOL NOT NULL,
  exit_code INTEGER NOT NULL,
  request_duration_ms INTEGER,
  status_code INTEGER,
  etag TEXT,
  said BLOB NOT NULL,
  linked BLOB NOT NULL,
  PRIMARY KEY (url_id, at, crawl_uuid)
) WITHOUT ROWID;

-- What a session saw is found by its attempts.
CREATE INDEX IF NOT EXISTS windrow_observation_by_attempt ON windrow_observation (attempt);

-- Up to which attempt each session wrote: what changed belongs to it, whichever session asked.
CREATE TABLE IF NOT EXISTS windrow_settled (
  session INTEGER PRIMARY KEY,
  upto INTEGER NOT NULL
);

-- The links of pages as crawls before the present one saw them, by the hash that `windrow_observation.linked` has: only
-- sets that differ from those in `link_summary`.
CREATE TABLE IF NOT EXISTS windrow_past_link (
  url_id INTEGER NOT NULL REFERENCES url,
  linked BLOB NOT NULL,
  link_to_url INTEGER NOT NULL REFERENCES url,
  text VARCHAR NOT NULL,
  PRIMARY KEY (url_id, linked, link_to_url, text)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS windrow_past_link_by_target ON windrow_past_link (link_to_url);

-- Generations that another crawl describes than before, whose reading was not at hand.
CREATE TABLE IF NOT EXISTS windrow_owed (
  entity_generation_id INTEGER PRIMARY KEY REFERENCES entity_generation,
  attempt INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS windrow_owed_by_attempt ON windrow_owed (attempt);

-- Generations that are new, gone, or whose text or end changed, since a follower looked last.
CREATE TABLE IF NOT EXISTS windrow_touched (
  generation_id INTEGER PRIMARY KEY
);

-- Text piles whose exact duplicates are to be looked for again.
CREATE TABLE IF NOT EXISTS windrow_regroup (
  text_pile_id INTEGER PRIMARY KEY
);

-- What refers to a generation is found without reading everything.
CREATE INDEX IF NOT EXISTS windrow_link_by_generation ON link_summary (entity_generation_id);
CREATE INDEX IF NOT EXISTS windrow_crawl_by_generation ON crawl_summary (entity_generation_id);
CREATE INDEX IF NOT EXISTS windrow_duplicate_by_original
  ON duplicate_summary (duplicate_of_entity_generation_id, duplicate_status_end_unix_utc);

-- From a word to the texts that have it: the table itself stands in the order of texts.
CREATE INDEX IF NOT EXISTS windrow_token_statistics_by_token ON token_statistics (token_id, text_pile_id);
