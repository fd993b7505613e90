-- Near-duplicates, beside the standard's tables: of open generations with a text long enough to be compared.

-- The sketch of a generation's main text (windrow.formats.near). `rank` is a hash of text and address: an order in
-- which all generations stand, whenever they came.
CREATE TABLE IF NOT EXISTS windrow_signature (
  generation_id INTEGER PRIMARY KEY,
  rank INTEGER NOT NULL,
  sketch BLOB NOT NULL
);

-- The bands of each sketch: generations with a band in common may be alike.
CREATE TABLE IF NOT EXISTS windrow_band (
  band INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  generation_id INTEGER NOT NULL,
  PRIMARY KEY (band, rank, generation_id)
) WITHOUT ROWID;

-- A generation, the one that its text is nearly equal to, and the share of shingles that they have in common.
-- `other_id` has no row of its own here: clusters are stars.
CREATE TABLE IF NOT EXISTS windrow_near_duplicate (
  generation_id INTEGER PRIMARY KEY,
  other_id INTEGER NOT NULL,
  similarity REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS windrow_near_by_other ON windrow_near_duplicate (other_id);
