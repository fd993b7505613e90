-- Where kept bytes lie.

-- name: capture_of_digest
-- Where the bytes of a listed file lie.
SELECT warc, place_offset, place_length FROM attempt
WHERE item IS NOT NULL AND digest = ? AND revisit = 0 AND reason IS NULL ORDER BY end_seq LIMIT 1;

-- name: capture_original
-- Where the bytes lie that a later visit to the same address brought again, for whichever collection they came.
SELECT warc, place_offset, place_length FROM attempt
WHERE address = ? AND digest = ? AND revisit = 0 AND warc <> '' ORDER BY seq LIMIT 1;

-- name: payload_place
-- Where bytes lie that only another address has.
SELECT warc, place_offset, place_length FROM payload WHERE digest = ? LIMIT 1;

-- name: archive_promised
-- How far the ledger promises each archive file; of answers that are not archived no erased record need stay.
SELECT warc, max(place) FROM (
    SELECT warc, max(place_offset + place_length) AS place FROM attempt WHERE warc <> '' GROUP BY warc
    UNION ALL SELECT warc, max(place_offset + place_length) FROM tombstone_span
        WHERE warc NOT GLOB 'unarchived-*' GROUP BY warc
) AS told GROUP BY warc;

-- name: sessions_with_captures
-- A capture is of the session that was open when it was put on record, whichever began its attempt.
SELECT s.seq FROM session s WHERE EXISTS (SELECT 1 FROM attempt v WHERE v.item IS NULL AND v.warc <> '' AND v.seq > s.seq
    AND v.seq < coalesce((SELECT min(n.seq) FROM session n WHERE n.seq > s.seq), v.seq + 1))
OR EXISTS (SELECT 1 FROM attempt v WHERE v.item IS NOT NULL AND v.warc <> '' AND v.end_seq > s.seq
    AND v.end_seq < coalesce((SELECT min(n.seq) FROM session n WHERE n.seq > s.seq), v.end_seq + 1)) ORDER BY s.seq;

-- name: session_captures
-- The captures put on record from one session's begin to the next one's, for its index.
SELECT coalesce(a.url, v.url), v.started, v.digest, v.status, v.warc, v.place_offset, v.place_length, v.revisit, v.mime
FROM (SELECT seq FROM attempt WHERE item IS NULL AND seq > ?1
        AND seq < coalesce((SELECT min(s.seq) FROM session s WHERE s.seq > ?1), seq + 1)
    UNION ALL SELECT seq FROM attempt WHERE item IS NOT NULL AND end_seq > ?1
        AND end_seq < coalesce((SELECT min(s.seq) FROM session s WHERE s.seq > ?1), end_seq + 1)) k
CROSS JOIN attempt v ON v.seq = k.seq LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
WHERE v.warc <> '' AND v.warc NOT GLOB 'unarchived-*' AND (v.item IS NOT NULL OR v.status IS NOT 304)
AND NOT EXISTS (SELECT 1 FROM captured c WHERE c.visit = v.seq AND c.original <> 0);

-- name: captures_all
-- Every record of the archive that holds bytes of its own, file by file, and what it is a capture of.
SELECT v.warc, v.place_offset, v.place_length, v.digest, v.size, coalesce(i.item_key, a.url, v.url) FROM attempt v
LEFT JOIN item i ON i.seq = v.item LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
WHERE v.warc <> '' AND v.revisit = 0 AND (v.item IS NULL OR v.reason IS NULL)
AND NOT EXISTS (SELECT 1 FROM captured c WHERE c.visit = v.seq AND c.original <> 0) ORDER BY 1, 2;

-- name: captures_after
-- Answers that were kept after a given visit, and those that said that known bytes are still there, in the order of the
-- ledger: of these collections and sources (as a JSON list of pairs, a source empty for all). Besides those with a
-- document, those of these statuses (as a JSON list).
SELECT v.seq, v.session, s.at, coalesce((SELECT c.source FROM captured c WHERE c.visit = v.seq), h.source), v.address,
       a.url, v.kind, v.allowed, v.started, v.seconds, v.status, v.reason,
       v.message, v.digest, v.size, v.warc, v.place_offset, v.place_length, v.revisit,
       CASE WHEN v.mime <> '' OR v.revisit = 0 THEN v.mime ELSE coalesce((SELECT o.mime FROM attempt o
           WHERE o.address = v.address AND o.digest = v.digest AND o.revisit = 0 ORDER BY o.seq LIMIT 1), '') END,
       v.etag, v.modified, v.location
FROM attempt v CROSS JOIN host h ON h.seq = v.host CROSS JOIN address a ON a.digest = v.address AND a.host = v.host
CROSS JOIN session s ON s.seq = v.session
WHERE v.seq > ?1 AND v.warc <> '' AND v.warc NOT GLOB 'unarchived-*' AND v.reason IS NULL
AND (v.status BETWEEN 200 AND 299 OR (v.status = 304 AND v.digest <> '')
    OR v.status IN (SELECT value FROM json_each(?4)))
AND EXISTS (SELECT 1 FROM json_each(?2) k WHERE h.collection = json_extract(k.value, '$[0]')
    AND json_extract(k.value, '$[1]') IN ('', h.source)) ORDER BY v.seq LIMIT ?3;

-- name: captures_of_address
-- Answers that were kept of an address, whoever asked, the first one first.
SELECT {recorded} {visits}
WHERE v.address = ?1 AND h.collection = ?2 AND {at_address} AND v.warc <> '' AND v.reason IS NULL ORDER BY v.seq;

-- name: capture_index
-- How far a source got in one of the places where it looks for captures.
SELECT id, collection, source, name, rules, place, seen, taken FROM capture_index
WHERE collection = ? AND source = ? AND name = ?;

-- name: capture_indexes
SELECT id, collection, source, name, rules, place, seen, taken FROM capture_index
WHERE collection = ? AND source = ? ORDER BY id;

-- name: capture_index_begin
-- Begin to look through an index, or once more from its beginning by other rules.
INSERT INTO capture_index (collection, source, name, rules, place, seen, taken) VALUES (?,?,?,?,0,0,0)
ON CONFLICT (collection, source, name) DO UPDATE SET rules = excluded.rules, place = 0, seen = 0, taken = 0;

-- name: capture_index_forget_counts
DELETE FROM capture_left_out WHERE capture_index = ?;

-- name: capture_index_reach
UPDATE capture_index SET place = ?2, seen = seen + ?3 WHERE id = ?1;

-- name: capture_index_count
UPDATE capture_index SET taken = taken + ?2 WHERE id = ?1;

-- name: capture_leave_out
INSERT INTO capture_left_out VALUES (?,?,?,?,?)
ON CONFLICT DO UPDATE SET lines = lines + excluded.lines;

-- name: captures_left_out
SELECT reason, rule, lines, url FROM capture_left_out WHERE capture_index = ? ORDER BY lines DESC, reason, rule;

-- name: capture_taken
-- The visit in which a collection took the record at a place.
SELECT visit FROM captured WHERE collection = ? AND warc = ? AND place_offset = ? AND capture_index <> 0;

-- name: captured
-- Whose capture a visit took: the visit that it was made in, and who asked then; the index that named it, and
-- what its line said.
SELECT c.visit, c.original, coalesce(h.collection, ''), coalesce(h.source, ''), coalesce(i.name, ''), c.warc, c.place_offset,
    c.line
FROM captured c LEFT JOIN attempt o ON o.seq = c.original LEFT JOIN host h ON h.seq = o.host
LEFT JOIN capture_index i ON i.id = c.capture_index WHERE c.visit = ?;

-- name: captures_failed
-- Wanted lines of a source whose record could not be had: for reasons that may pass (as a JSON list), or where an operator
-- asked for another attempt.
SELECT f.capture_index, f.warc, f.place_offset, f.line, f.reason, f.address FROM capture_failed f
WHERE f.collection = ?1 AND f.source = ?2 AND (f.warc, f.place_offset) > (?3, ?4)
AND (f.reason IN (SELECT value FROM json_each(?5)) OR EXISTS (SELECT 1 FROM address a JOIN host h ON h.seq = a.host
    WHERE a.digest = f.address AND h.collection = f.collection AND a.due = 1))
ORDER BY f.warc, f.place_offset LIMIT ?6;

-- name: captures_failed_by_source
SELECT source, count(*) FROM capture_failed GROUP BY source;

-- name: capture_failed_at
SELECT reason FROM capture_failed WHERE collection = ? AND warc = ? AND place_offset = ?;

-- name: capture_failed_line
SELECT line FROM capture_failed WHERE collection = ? AND warc = ? AND place_offset = ?;

-- name: captures_failed_of_digest
-- Wanted lines whose record could not be had, where the line, or what was said of the record, has a text in it.
SELECT f.line, f.reason, v.message FROM capture_failed f JOIN attempt v ON v.seq = f.visit
WHERE f.collection = ?1 AND (instr(f.line, ?2) OR instr(v.message, ?2)) ORDER BY f.visit LIMIT ?3;

-- name: capture_mended
DELETE FROM capture_failed WHERE collection = ? AND warc = ? AND place_offset = ?;

-- name: capture_newest
-- The latest answer that another collection kept of an address since a given fact.
SELECT {recorded} {visits}
WHERE v.address = ?1 AND v.seq > ?2 AND {at_address} AND h.collection <> ?3 AND v.warc <> ''
AND v.warc NOT GLOB 'unarchived-*' AND v.reason IS NULL
ORDER BY v.seq DESC LIMIT 1;

-- name: rules_newest
-- The latest answer to a question for the rules of an origin, since a given fact, that another collection got.
SELECT {recorded}
FROM host h CROSS JOIN attempt v ON v.host = h.seq AND v.address = 0 CROSS JOIN session s ON s.seq = v.session
LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
WHERE h.origin = ?1 AND v.seq > ?2 AND h.collection <> ?3 AND v.url = ?1 || '/robots.txt' AND v.warc <> ''
AND v.reason IS NULL AND (v.status < 300 OR v.status BETWEEN 400 AND 499) ORDER BY v.seq DESC LIMIT 1;

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
