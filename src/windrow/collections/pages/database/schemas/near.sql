-- Windrow's own tables of near-duplicates, for present generations with a text that is long enough to be compared.

-- The sketch of a generation's main text (windrow.formats.sketch). `rank` is a hash of text and address, by which all
-- generations are ordered.
CREATE TABLE IF NOT EXISTS windrow_signature (
  generation_id INTEGER PRIMARY KEY,
  rank INTEGER NOT NULL,
  sketch BLOB NOT NULL
);

-- The bands of each sketch: generations with a common band may be similar.
CREATE TABLE IF NOT EXISTS windrow_band (
  band INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  generation_id INTEGER NOT NULL,
  PRIMARY KEY (band, rank, generation_id)
) WITHOUT ROWID;

-- A generation, the generation whose text is nearly equal, and the share of shingles that both have in common.
-- `other_id` is not itself joined to another generation.
CREATE TABLE IF NOT EXISTS windrow_near_duplicate (
  generation_id INTEGER PRIMARY KEY,
  other_id INTEGER NOT NULL,
  similarity REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS windrow_near_by_other ON windrow_near_duplicate (other_id);
