-- What is found by requests.

-- name: followed_last
SELECT coalesce(max(visit), 0) FROM followed WHERE collection = ? AND source = ?;

-- name: followed_of
SELECT visit, requests, offers, fresh, reason, ending, findings, seconds FROM followed WHERE visit = ?;

-- name: followed_latest
-- The last answers of a source that were followed, the latest first.
SELECT visit, requests, offers, fresh, reason, ending, findings, seconds FROM followed WHERE collection = ? AND source = ?
ORDER BY visit DESC LIMIT ?;

-- name: learned
-- What a discovery learned; where its source was is the engine's own.
SELECT name, value FROM learned WHERE collection = ? AND source = ? AND name NOT IN ('windrow.address', 'windrow.listing');

-- name: learned_as
SELECT source, value FROM learned WHERE collection = ? AND name = ?;

-- name: visits_of_source
-- Visits of one source after a given one that were for some kinds of things (as a JSON list), in the order of the ledger.
SELECT {recorded} {visits} WHERE h.collection = ?1 AND v.seq > ?3 AND v.kind IN (SELECT value FROM json_each(?4))
AND {at_address} AND coalesce((SELECT c.source FROM captured c WHERE c.visit = v.seq), h.source) = ?2
ORDER BY v.seq LIMIT ?5;

-- name: offers_of
SELECT name, part_offset, part_length, url FROM offered WHERE visit = ? ORDER BY ordinal;

-- name: offers_known
SELECT name FROM offer_known WHERE collection = ? AND source = ? AND name IN ({marks});

-- name: whole_listing
SELECT collection, source, began, ended FROM whole_listing WHERE ended = ?;

-- name: whole_listings_before
SELECT collection, source, began, ended FROM whole_listing WHERE collection = ? AND source = ? AND ended < ?
ORDER BY ended DESC LIMIT ?;

-- name: listing_offers
SELECT count(DISTINCT o.name) FROM followed f JOIN offered o ON o.visit = f.visit
WHERE f.collection = ? AND f.source = ? AND f.visit BETWEEN ? AND ?;

-- name: listing_missing
-- What a source had offered before a listing began, and did not offer in it.
SELECT k.name FROM offer_known k WHERE k.collection = ?1 AND k.source = ?2 AND k.visit < ?3
AND k.name NOT IN (SELECT o.name FROM followed f JOIN offered o ON o.visit = f.visit
    WHERE f.collection = ?1 AND f.source = ?2 AND f.visit BETWEEN ?3 AND ?4) ORDER BY k.name;

-- name: visit_request
-- What a visit asked.
SELECT r.digest, r.method, r.headers, r.body, r.context, r.attachments, r.seconds
FROM attempt v JOIN request r ON r.digest = v.address AND r.host = v.host WHERE v.seq = ?;

-- name: attempts_at
-- The last attempts at a request, the latest first, and the source or service that was asked.
SELECT v.seq, h.source, v.status, v.reason, v.warc <> '', v.digest FROM attempt v JOIN host h ON h.seq = v.host AND h.collection = ?
WHERE v.address = ? ORDER BY v.seq DESC LIMIT ?;

-- part: stands
NOT EXISTS (SELECT 1 FROM tombstone t WHERE (t.host = ?2 OR (t.host = 0 AND t.address = ?1))
    AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted'))

-- name: ask_again
-- What was taken down is never due: an answer that leads to it does not change that.
UPDATE address SET due = 0 WHERE digest = ?1 AND host = ?2 AND {stands};

-- name: ask_when_named
UPDATE address SET due = 0 WHERE digest = ?1 AND host = ?2
AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.address = ?1 AND v.host = ?2 AND v.seq > ?3) AND {stands};

-- name: answers_unarchived
-- Answers whose bytes are there only until no step waits for them ('.' follows '-').
SELECT v.seq, v.address, v.host, v.warc FROM attempt v JOIN host h ON h.seq = v.host
WHERE v.warc >= 'unarchived-' AND v.warc < 'unarchived.' AND h.collection = ?;

-- name: answer_bytes_dropped
-- Nobody needs the bytes any more; what came, and when, stays as a fact.
UPDATE attempt SET warc = '', place_offset = NULL, place_length = NULL WHERE seq = ?;

-- name: answer_without_bytes
-- What comes next is compared with no earlier answer.
UPDATE address SET capture = 0 WHERE digest = ? AND host = ?;

-- name: unarchived_files
-- Which of some files hold bytes that are needed still.
SELECT DISTINCT warc FROM attempt WHERE warc IN ({marks});
