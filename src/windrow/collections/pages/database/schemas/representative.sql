-- Which page stands for a group of open generations with equal or nearly equal texts. Every generation of a group
-- has a row, the one that stands for it too; a generation without a row stands for itself.
CREATE TABLE IF NOT EXISTS windrow_representative (
  generation_id INTEGER PRIMARY KEY,
  representative_id INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS windrow_represented ON windrow_representative (representative_id);

-- Pages that name an address as canonical are found by that address.
CREATE INDEX IF NOT EXISTS windrow_file_by_canonical ON file_summary (canonical_url_id)
  WHERE canonical_url_id IS NOT NULL;
