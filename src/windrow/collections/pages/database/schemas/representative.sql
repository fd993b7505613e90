-- The representative of each group of present generations with equal or nearly equal texts. Every generation of a group
-- has a row, including the representative; a generation without a row is not in a group.
CREATE TABLE IF NOT EXISTS windrow_representative (
  generation_id INTEGER PRIMARY KEY,
  representative_id INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS windrow_represented ON windrow_representative (representative_id);

-- Present generations that are suspected of being soft 404s, with the text because of which they are suspected.
CREATE TABLE IF NOT EXISTS windrow_soft_404 (
  generation_id INTEGER PRIMARY KEY,
  text_pile_id INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS windrow_soft_404_by_text ON windrow_soft_404 (text_pile_id);

-- To find the pages that name an address as canonical.
CREATE INDEX IF NOT EXISTS windrow_file_by_canonical ON file_summary (canonical_url_id)
  WHERE canonical_url_id IS NOT NULL;
