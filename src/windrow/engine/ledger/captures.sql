-- Where kept bytes lie.

-- name: capture_of_digest
-- Where the bytes of a digest lie.
SELECT warc, place_offset, place_length FROM fetch_end
WHERE digest = ? AND revisit = 0 AND reason IS NULL ORDER BY seq LIMIT 1;

-- name: capture_original
-- Where the bytes lie that a later visit to the same address brought again, for whichever collection they came.
SELECT warc, place_offset, place_length FROM visit
WHERE address = ? AND digest = ? AND revisit = 0 AND warc <> '' ORDER BY seq LIMIT 1;

-- name: payload_place
-- Where bytes lie that only another address has.
SELECT warc, place_offset, place_length FROM payload WHERE digest = ? LIMIT 1;

-- name: archive_promised
-- How far the ledger promises each archive file.
SELECT warc, coalesce(max(place), 0) FROM (
    SELECT warc, max(place_offset + place_length) AS place FROM fetch_end WHERE warc <> '' GROUP BY warc
    UNION ALL SELECT warc, max(place_offset + place_length) FROM visit WHERE warc <> '' GROUP BY warc
    UNION ALL SELECT warc, max(place_offset + place_length) FROM tombstone_span GROUP BY warc
) AS told GROUP BY warc;

-- name: sessions_with_captures
-- A capture is of the session that was open when it was put on record, whichever began its fetch.
SELECT s.seq FROM session s WHERE EXISTS (SELECT 1 FROM fetch_end e WHERE e.warc <> '' AND e.seq > s.seq
    AND e.seq < coalesce((SELECT min(n.seq) FROM session n WHERE n.seq > s.seq), e.seq + 1))
OR EXISTS (SELECT 1 FROM visit v WHERE v.warc <> '' AND v.seq > s.seq
    AND v.seq < coalesce((SELECT min(n.seq) FROM session n WHERE n.seq > s.seq), v.seq + 1)) ORDER BY s.seq;

-- name: session_captures
-- The captures put on record from one session's begin to the next one's, for its index.
SELECT f.path, coalesce(nullif(e.dated, ''), e.at), e.digest, e.status, e.warc, e.place_offset, e.place_length,
       e.revisit, e.mime
FROM fetch_end e JOIN fetch f ON f.seq = e.fetch
WHERE e.seq > ?1 AND e.seq < coalesce((SELECT min(s.seq) FROM session s WHERE s.seq > ?1), e.seq + 1) AND e.warc <> ''
UNION ALL
SELECT coalesce(nullif(v.url, ''), a.url), v.started, v.digest, v.status, v.warc, v.place_offset, v.place_length,
       v.revisit, v.mime
FROM visit v LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
WHERE v.seq > ?1 AND v.seq < coalesce((SELECT min(s.seq) FROM session s WHERE s.seq > ?1), v.seq + 1) AND v.warc <> ''
AND v.status IS NOT 304;

-- name: captures_all
-- Every record of the archive that holds bytes of its own, file by file, and what it is a capture of.
SELECT e.warc, e.place_offset, e.place_length, e.digest, e.size, i.item_key FROM fetch_end e
JOIN item i ON i.seq = e.item WHERE e.reason IS NULL AND e.revisit = 0 UNION ALL
SELECT v.warc, v.place_offset, v.place_length, v.digest, v.size, coalesce(a.url, v.url) FROM visit v
LEFT JOIN address a ON a.digest = v.address AND a.host = v.host WHERE v.warc <> '' AND v.revisit = 0 ORDER BY 1, 2;

-- name: captures_after
-- Answers that were kept after a given visit, in the order of the ledger: of these collections and sources (as JSON
-- lists, empty for all), and where the media type and the address match a pattern of GLOB.
SELECT v.seq, v.session, s.at, h.source, v.address, a.url, v.kind, v.allowed, v.started, v.seconds, v.status, v.reason,
       v.message, v.digest, v.size, v.warc, v.place_offset, v.place_length, v.revisit, v.mime, v.etag, v.modified, v.location
FROM visit v CROSS JOIN host h ON h.seq = v.host CROSS JOIN address a ON a.digest = v.address AND a.host = v.host
CROSS JOIN session s ON s.seq = v.session
WHERE v.seq > ?1 AND v.warc <> '' AND v.status BETWEEN 200 AND 299
AND (?2 = '[]' OR h.collection IN (SELECT value FROM json_each(?2)))
AND (?3 = '[]' OR h.source IN (SELECT value FROM json_each(?3)))
AND (?4 = '' OR v.mime GLOB ?4) AND (?5 = '' OR a.url GLOB ?5) ORDER BY v.seq LIMIT ?6;

-- name: capture_newest
-- The latest answer that was kept of an address since a given fact, whichever collection asked.
SELECT v.seq, v.session, s.at, h.source, v.address, a.url, v.kind, v.allowed, v.started, v.seconds, v.status, v.reason,
       v.message, v.digest, v.size, v.warc, v.place_offset, v.place_length, v.revisit, v.mime, v.etag, v.modified, v.location
FROM visit v CROSS JOIN host h ON h.seq = v.host CROSS JOIN address a ON a.digest = v.address AND a.host = v.host
CROSS JOIN session s ON s.seq = v.session
WHERE v.address = ?1 AND v.seq > ?2 AND v.warc <> '' AND v.reason IS NULL ORDER BY v.seq DESC LIMIT 1;
