-- name: host_named
SELECT seq FROM host WHERE origin = ? AND collection = ?;

-- name: intake
-- How far the records of a WARC file of another maker are on record.
SELECT item, source, place_offset FROM intake WHERE warc = ?;

-- name: payload
-- Where the bytes lie that a revisit refers to.
SELECT digest, size, warc, place_offset, place_length FROM payload WHERE spelled = ?;

-- name: intake_resolved
-- Revisits, after a given one, whose bytes have come since.
SELECT w.item, w.place_offset, i.warc, i.source FROM intake_waiting w JOIN payload p ON p.spelled = w.spelled
JOIN intake i ON i.item = w.item WHERE (w.item, w.place_offset) > (?, ?) ORDER BY w.item, w.place_offset LIMIT ?;

-- name: intake_waiting_of
-- How many revisits of a source's files wait for their bytes.
SELECT count(*) FROM intake_waiting w JOIN intake i ON i.item = w.item WHERE i.source = ?;

-- name: payload_place
-- Where bytes lie that only another address has.
SELECT warc, place_offset, place_length FROM payload WHERE digest = ? LIMIT 1;

-- name: hosts_crawled
-- The origins that a collection's crawls may ask, without those that are only known from elsewhere.
SELECT h.seq, h.source, h.origin FROM host h WHERE h.collection = ? AND (
    EXISTS (SELECT 1 FROM address a WHERE a.host = h.seq AND (a.due IS NOT NULL OR a.pause <> -1))
    OR NOT EXISTS (SELECT 1 FROM address a WHERE a.host = h.seq)
) ORDER BY h.seq;

-- name: intake_names
-- What people call a WARC file of another maker.
SELECT name FROM intake_name WHERE item = ? ORDER BY name;

-- name: intake_called
SELECT i.seq, i.item_key FROM intake_name n JOIN item i ON i.seq = n.item WHERE n.name = ? ORDER BY i.seq;

-- name: intake_called_at_end
SELECT DISTINCT i.seq, i.item_key FROM intake_name n JOIN item i ON i.seq = n.item 
WHERE substr(n.name, -length(?1)) = ?1 ORDER BY i.seq LIMIT ?2;
