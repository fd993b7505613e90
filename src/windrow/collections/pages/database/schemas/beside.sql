-- Windrow's own tables: the observations from which the standard's tables are computed, and the work that remains.

-- The observation of each crawl of an address. `identity` is the digest of the text pile (64 bytes), or a hash of 32
-- bytes if the content has no text. `reason` is why it has no text or only a part, or why it is not the document that
-- was requested. `payload` is the digest of the received bytes, followed by a hash of their media type and date, or by
-- `headed` if the summary depends on the header. `attempt` is the number of the attempt in the ledger. `said` is a hash
-- of the wording, and `linked` is a hash of the links; both are empty if the content was not read. The other columns
-- are those of `crawl_summary` and `http_summary`.
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

-- To find the observations of a session by its attempts.
CREATE INDEX IF NOT EXISTS windrow_observation_by_attempt ON windrow_observation (attempt);

-- To count the present documents that have a reason.
CREATE INDEX IF NOT EXISTS windrow_observation_by_reason ON windrow_observation (entity_generation_id, at, reason)
WHERE reason <> '';

-- The last attempt that each session wrote: changes are counted for that session, even if another one fetched the page.
CREATE TABLE IF NOT EXISTS windrow_settled (
  session INTEGER PRIMARY KEY,
  upto INTEGER NOT NULL
);

-- Attempts that a session read which an earlier one had written without being able to read them, and that have another
-- content now: their changes are counted for the last of these sessions.
CREATE TABLE IF NOT EXISTS windrow_completed (
  attempt INTEGER NOT NULL,
  session INTEGER NOT NULL,
  PRIMARY KEY (attempt, session)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS windrow_completed_by_session ON windrow_completed (session);

-- The links of pages as read by earlier crawls, by the hash in `windrow_observation.linked`: only sets of links that
-- differ from the links in `link_summary`.
CREATE TABLE IF NOT EXISTS windrow_past_link (
  url_id INTEGER NOT NULL REFERENCES url,
  linked BLOB NOT NULL,
  link_to_url INTEGER NOT NULL REFERENCES url,
  text VARCHAR NOT NULL,
  PRIMARY KEY (url_id, linked, link_to_url, text)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS windrow_past_link_by_target ON windrow_past_link (link_to_url);

-- Generations that another crawl describes now, and the attempt of that crawl, which must be read again.
CREATE TABLE IF NOT EXISTS windrow_owed (
  entity_generation_id INTEGER PRIMARY KEY REFERENCES entity_generation,
  attempt INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS windrow_owed_by_attempt ON windrow_owed (attempt);

-- Generations that became new, were removed, or changed their text or end after the last update of near-duplicates.
CREATE TABLE IF NOT EXISTS windrow_touched (
  generation_id INTEGER PRIMARY KEY
);

-- Text piles whose exact duplicates must be updated.
CREATE TABLE IF NOT EXISTS windrow_regroup (
  text_pile_id INTEGER PRIMARY KEY
);

-- To find the rows that refer to a generation.
CREATE INDEX IF NOT EXISTS windrow_link_by_generation ON link_summary (entity_generation_id);
CREATE INDEX IF NOT EXISTS windrow_crawl_by_generation ON crawl_summary (entity_generation_id);
CREATE INDEX IF NOT EXISTS windrow_duplicate_by_original
  ON duplicate_summary (duplicate_of_entity_generation_id, duplicate_status_end_unix_utc);

-- To find the texts that contain a word: the rows of the table itself are sorted by text.
CREATE INDEX IF NOT EXISTS windrow_token_statistics_by_token ON token_statistics (token_id, text_pile_id);
