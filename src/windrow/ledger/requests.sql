-- What is found by requests.

-- def followed_upto(collection: str, source: str) -> int
-- Return the last attempt of a source that was followed, 0 before the first.
SELECT coalesce(max(attempt), 0) FROM followed WHERE collection = :collection AND source = :source;

-- def followed(attempt: int) -> Followed | None
-- Return what an answer led to.
SELECT attempt, requests, offers, fresh, reason, ending, findings, seconds FROM followed WHERE attempt = :attempt;

-- def latest(collection: str, source: str, limit: int) -> list[Followed]
-- Return what the last answers of a source led to, the latest first.
SELECT attempt, requests, offers, fresh, reason, ending, findings, seconds FROM followed
WHERE collection = :collection AND source = :source
ORDER BY attempt DESC LIMIT :limit;

-- def learned_texts(collection: str, source: str) -> dict[str, str]
-- Return what a discovery learned of a source, as JSON; where that was is the engine's own.
SELECT name, value FROM learned WHERE collection = :collection AND source = :source
AND name NOT IN ('windrow.address', 'windrow.listing');

-- def learned_texts_as(collection: str, name: str) -> dict[str, str]
-- Return what was learned under a name of each source that has it, as JSON.
SELECT source, value FROM learned WHERE collection = :collection AND name = :name;

-- def answers(collection: str, source: str, after: int, kinds: Iterable[int], limit: int) -> list[RecordedAttempt]
-- Return attempts of a source after a given one, of some kinds, in the order of the ledger.
SELECT {recorded} {from_attempts} WHERE h.collection = :collection AND v.seq > :after
AND v.kind IN (SELECT value FROM json_each(:kinds))
AND {at_address} AND coalesce((SELECT c.source FROM captured c WHERE c.attempt = v.seq), h.source) = :source
ORDER BY v.seq LIMIT :limit;

-- def offers(attempt: int) -> list[Offering]
-- Return what an answer offered, in its order.
SELECT name, part_offset, part_length, url FROM offered WHERE attempt = :attempt ORDER BY ordinal;

-- def known(collection: str, source: str, keys: Sequence[str]) -> set[str]
-- Return those of the keys that a source offered before.
SELECT name FROM offer_known WHERE collection = :collection AND source = :source
AND name IN (SELECT value FROM json_each(:keys));

-- row: WholeListingRow
-- A listing of all that a source has: the attempts that its first and last answer came in.

-- def whole_listing(ended: int) -> WholeListingRow | None
-- Return the listing that ended with an attempt.
SELECT collection, source, began, ended FROM whole_listing WHERE ended = :ended;

-- def whole_listings_before(listing: WholeListingRow, limit: int) -> list[WholeListingRow]
-- Return the listings of the same source that ended before one did, the latest first.
SELECT collection, source, began, ended FROM whole_listing WHERE collection = :listing.collection
AND source = :listing.source AND ended < :listing.ended
ORDER BY ended DESC LIMIT :limit;

-- def listed(listing: WholeListingRow) -> int
-- Count what a listing had.
SELECT count(DISTINCT o.name) FROM followed f JOIN offered o ON o.attempt = f.attempt
WHERE f.collection = :listing.collection AND f.source = :listing.source AND f.attempt BETWEEN :listing.began
AND :listing.ended;

-- def missing(listing: WholeListingRow) -> list[str]
-- Return the keys of what a source had offered before a listing, and did not offer in it.
SELECT k.name FROM offer_known k WHERE k.collection = :listing.collection AND k.source = :listing.source
AND k.attempt < :listing.began
AND k.name NOT IN (SELECT o.name FROM followed f JOIN offered o ON o.attempt = f.attempt
    WHERE f.collection = :listing.collection AND f.source = :listing.source AND f.attempt BETWEEN :listing.began
    AND :listing.ended)
ORDER BY k.name;

-- def asked_row(attempt: int) -> RequestRow | None
-- Return what an attempt asked, where that is not the URL alone.
SELECT r.digest, r.method, r.headers, r.body, r.context, r.attachments, r.seconds
FROM attempt v JOIN request r ON r.digest = v.address AND r.host = v.host WHERE v.seq = :attempt;

-- row: RequestAttempt
-- An attempt at a request, and what was asked: `kept` where there are bytes of an answer.
-- One that is not archived has its digest, and no bytes any more once it was read.

-- def attempts(collection: str, address: int, limit: int) -> list[RequestAttempt]
-- Return the last attempts at a request, the latest first, and the source or service that was asked.
SELECT v.seq AS attempt, h.source, v.status, v.reason, v.warc <> '' AS "kept: bool", v.digest
FROM attempt v JOIN host h ON h.seq = v.host AND h.collection = :collection
WHERE v.address = :address ORDER BY v.seq DESC LIMIT :limit;

-- part: stands
NOT EXISTS (SELECT 1 FROM tombstone t WHERE (t.host = ?2 OR (t.host = 0 AND t.address = ?1))
    AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted'))

-- name: ask_again
-- What was taken down is never due: an answer that leads to it does not change that.
UPDATE address SET due = 0 WHERE digest = ?1 AND host = ?2 AND {stands};

-- name: ask_when_named
UPDATE address SET due = 0 WHERE digest = ?1 AND host = ?2
AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.address = ?1 AND v.host = ?2 AND v.seq > ?3) AND {stands};

-- row: UnarchivedAnswer
-- An answer whose bytes are there only until no step waits for them: what was asked, and the file they lie in.

-- def unarchived(collection: str) -> list[UnarchivedAnswer]
-- Return the answers to a collection that are not archived and whose bytes are there still.
-- In the names of files '.' follows '-'.
SELECT v.seq AS attempt, v.address AS "address: int", v.host, v.warc FROM attempt v JOIN host h ON h.seq = v.host
WHERE v.warc >= 'unarchived-' AND v.warc < 'unarchived.' AND h.collection = :collection;

-- name: answer_bytes_dropped
-- Nobody needs the bytes any more; what came, and when, stays as a fact.
UPDATE attempt SET warc = '', place_offset = NULL, place_length = NULL WHERE seq = ?;

-- name: answer_without_bytes
-- What comes next is compared with no earlier answer.
UPDATE address SET capture = 0 WHERE digest = ? AND host = ?;

-- def files_needed(files: Sequence[str]) -> set[str]
-- Return those of some files of the archive in which bytes lie that the ledger names.
SELECT DISTINCT warc FROM attempt WHERE warc IN (SELECT value FROM json_each(:files));
