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
