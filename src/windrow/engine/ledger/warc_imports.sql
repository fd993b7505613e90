-- What is asked of WARC files of other makers.

-- name: warc_import
-- How far the records of a WARC file of another maker are on record.
SELECT item, source, place_offset FROM intake WHERE warc = ?;

-- name: payload
-- Where the bytes lie that a revisit refers to.
SELECT digest, size, warc, place_offset, place_length FROM payload WHERE spelled = ?;

-- name: warc_imports_resolved
-- Revisits, after a given one, whose bytes have come since.
SELECT w.item, w.place_offset, i.warc, i.source FROM intake_waiting w JOIN payload p ON p.spelled = w.spelled
JOIN intake i ON i.item = w.item WHERE (w.item, w.place_offset) > (?, ?) ORDER BY w.item, w.place_offset LIMIT ?;

-- name: warc_imports_waiting
-- How many revisits of a source's files wait for their bytes.
SELECT count(*) FROM intake_waiting w JOIN intake i ON i.item = w.item WHERE i.source = ?;

-- name: warc_imports_sources
-- The sources that WARC files of other makers came in by.
SELECT DISTINCT i.source, t.collection FROM intake i JOIN item t ON t.seq = i.item ORDER BY 1;

-- name: warc_import_waiting
-- How many revisits of one file wait for their bytes.
SELECT count(*) FROM intake_waiting WHERE item = ?;

-- name: warc_import_names
-- What people call a WARC file of another maker.
SELECT name FROM intake_name WHERE item = ? ORDER BY name;

-- name: warc_imports_named
SELECT i.seq, i.item_key FROM intake_name n JOIN item i ON i.seq = n.item WHERE n.name = ? ORDER BY i.seq;

-- name: warc_imports_by_tail
SELECT DISTINCT i.seq, i.item_key FROM intake_name n JOIN item i ON i.seq = n.item 
WHERE substr(n.name, -length(?1)) = ?1 ORDER BY i.seq LIMIT ?2;
