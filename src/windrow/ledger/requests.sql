-- Queries for collections that find documents by requests: on answers that were followed, values learned, and offers.
-- An answer is given by the number of its attempt.

-- def followed_upto(collection: str, source: str) -> int
-- Return the latest answer of a source among those that were followed, or 0.
SELECT coalesce(max(attempt), 0) FROM followed WHERE collection = :collection AND source = :source;

-- def followed(attempt: int) -> Followed | None
-- Return the result of following an answer, or None if it was not followed.
SELECT attempt, requests, offers, fresh, reason, ending, findings, seconds FROM followed WHERE attempt = :attempt;

-- def latest(collection: str, source: str, limit: int) -> list[Followed]
-- Return the results of following the last answers of a source, the latest first.
SELECT attempt, requests, offers, fresh, reason, ending, findings, seconds FROM followed
WHERE collection = :collection AND source = :source
ORDER BY attempt DESC LIMIT :limit;

-- def has_document(collection: str, source: str) -> bool
-- Return whether a source ever returned a document that leads nowhere, and so is no list.
SELECT EXISTS (SELECT 1 FROM followed f CROSS JOIN attempt v ON v.seq = f.attempt AND v.reason IS NULL AND v.status < 400
    CROSS JOIN address a ON a.digest = v.address AND a.host = v.host AND a.url NOT LIKE '%/robots.txt'
    WHERE f.collection = :collection AND f.source = :source AND f.requests = 0 AND f.offers = 0 AND f.reason IS NULL);

-- def count_failing(collection: str, source: str) -> int
-- Count the addresses of a source whose last request failed, except those that were not found or are gone.
SELECT count(*) FROM host h JOIN address a ON a.host = h.seq AND a.failures > 0
JOIN attempt v ON v.seq = (SELECT max(b.seq) FROM attempt b WHERE b.address = a.digest AND b.host = a.host)
WHERE h.collection = :collection AND h.source = :source AND v.reason IS NOT NULL
AND coalesce(v.status, 0) NOT IN (404, 410);

-- def count_unused_before(attempt: int) -> int
-- Count the answers in a row, before an attempt at the same address, that were followed and not used.
SELECT count(*) FROM attempt v JOIN attempt b ON b.address = v.address AND b.host = v.host AND b.seq < v.seq
JOIN followed f ON f.attempt = b.seq AND f.reason IS NOT NULL WHERE v.seq = :attempt
AND b.seq > coalesce((SELECT max(k.seq) FROM attempt k JOIN followed g ON g.attempt = k.seq AND g.reason IS NULL
    WHERE k.address = v.address AND k.host = v.host), 0);

-- row: UnusedAnswers
-- The number of a source's addresses whose last answer was not used for a reason, and one of them.

-- def unused(collection: str, source: str) -> list[UnusedAnswers]
-- Count the addresses of a source whose last answer has a status below 400 and was not used, by reason.
-- Addresses that are never due are left out.
SELECT f.reason AS "reason: str", count(*) AS "number: int", min(a.url) AS "example: str"
FROM host h JOIN address a ON a.host = h.seq AND a.failures > 0 AND a.due IS NOT NULL
JOIN attempt v ON v.seq = (SELECT max(b.seq) FROM attempt b WHERE b.address = a.digest AND b.host = a.host)
JOIN followed f ON f.attempt = v.seq AND f.reason IS NOT NULL
WHERE h.collection = :collection AND h.source = :source AND v.status < 400 GROUP BY f.reason ORDER BY f.reason;

-- def unreplaced(collection: str, source: str, until: int, read_to: int, robots: int) -> str | None
-- Return an address of a source whose last document up to the fact `until` has not been replaced, or None.
-- It is replaced if a later answer, up to the fact `read_to`, has other bytes and is not unread. Attempts of the kind
-- `robots` are left out.
SELECT a.url FROM host h JOIN address a ON a.host = h.seq
JOIN attempt v ON v.seq = (SELECT max(k.seq) FROM attempt k WHERE k.address = a.digest AND k.host = a.host
    AND k.seq <= :until AND k.status = 200 AND k.digest <> '' AND k.kind <> :robots)
WHERE h.collection = :collection AND h.source = :source
AND NOT EXISTS (SELECT 1 FROM attempt b WHERE b.address = a.digest AND b.host = a.host AND b.seq > :until
    AND b.seq <= :read_to AND b.status = 200 AND b.reason IS NULL AND b.digest NOT IN ('', v.digest)
    AND NOT EXISTS (SELECT 1 FROM unread u WHERE u.attempt = b.seq)) LIMIT 1;

-- part: session_since
-- The last session that began before a time, or 0: facts with smaller numbers are from before the time.
coalesce((SELECT s.seq FROM session s WHERE s.at < :since ORDER BY s.at DESC, s.seq DESC LIMIT 1), 0)

-- row: DailyYield
-- A day (YYYY-MM-DD), and the fewest things that an answer or a session gave on this day.
-- For `daily_shares`, `fewest` is a percentage of documents instead.

-- def daily_yields(collection: str, source: str, address: int, before: int, since: datetime) -> list[DailyYield]
-- Return for each day the fewest offers in an answer of the list at `address`.
-- Only answers since `since` and before the attempt `before` count. Answers with drift or a reason do not count.
SELECT substr(v.started, 1, 10) AS "day: str", min(f.offers) AS "fewest: int"
FROM attempt v JOIN followed f ON f.attempt = v.seq
WHERE v.address = :address AND v.seq < :before AND v.seq > {session_since} AND v.started >= :since
AND f.collection = :collection
AND f.source = :source AND f.reason IS NULL AND instr(f.findings, '["Drift", ') = 0
GROUP BY 1 ORDER BY 1;

-- def daily_captures(collection: str, source: str, before: int, since: datetime) -> list[DailyYield]
-- Return for each day the fewest captures that one session took for a source.
-- Only sessions before `before` and since `since` count, if the source's task in phase 1 did not fail. Tasks with a
-- reason do not count, since they count what a rule left out.
SELECT substr(t.at, 1, 10) AS "day: str", min((SELECT count(*) FROM captured c
    WHERE c.attempt BETWEEN t.seq AND e.seq AND c.collection = t.collection AND c.source = t.source)) AS "fewest: int"
FROM task t CROSS JOIN task_end e ON e.task = t.seq
WHERE t.collection = :collection AND t.source = :source AND t.phase = 1 AND t.session < :before
AND t.session >= {session_since} AND t.at >= :since AND e.failed = 0 AND e.reason IS NULL GROUP BY 1 ORDER BY 1;

-- def daily_shares(source: str, kind: int, before: int, since: datetime, least: int) -> list[DailyYield]
-- Return for each day the lowest percentage of documents among a source's responses in one session.
-- Only responses of the `kind` count, and only sessions before `before` and since `since` in which the source's task in
-- phase 1 did not fail and got at least `least` responses. Each `+` keeps SQLite from reading the tasks of all sources,
-- and from making an index of all attempts.
SELECT substr(began, 1, 10) AS "day: str", min(100 * pages / responses) AS "fewest: int" FROM (
    SELECT t.at AS began, count(*) AS responses,
           sum(v.reason IS NULL AND (v.status BETWEEN 200 AND 299 OR v.status = 304)) AS pages
    FROM task t CROSS JOIN task_end e ON e.task = t.seq CROSS JOIN attempt v ON v.seq BETWEEN t.seq AND e.seq
    CROSS JOIN host h ON h.seq = v.host
    WHERE t.source = :source AND t.phase = 1 AND t.session < :before AND t.session >= {session_since} AND t.at >= :since
    AND e.failed = 0 AND h.collection = t.collection AND h.source = t.source
    AND +v.kind = :kind
    AND v.status IS NOT NULL AND v.address <> 0 GROUP BY +t.seq
) WHERE responses >= :least GROUP BY 1 ORDER BY 1;

-- def learned_texts(collection: str, source: str) -> dict[str, str]
-- Return a dict from name to value, as JSON: what a discovery learned about a source.
-- The values that windrow itself stores are left out.
SELECT name, value FROM learned WHERE collection = :collection AND source = :source
AND name NOT IN ('windrow.address', 'windrow.listing');

-- def learned_texts_as(collection: str, name: str) -> dict[str, str]
-- Return a dict from source to the value, as JSON, that was learned about it under a name.
SELECT source, value FROM learned WHERE collection = :collection AND name = :name;

-- def answers(collection: str, source: str, after: int, kinds: Iterable[int], limit: int) -> list[RecordedAttempt]
-- Return a source's attempts of these `kinds`, at addresses, after the attempt `after`, in order.
SELECT {recorded} {from_attempts} WHERE h.collection = :collection AND v.seq > :after
AND v.kind IN (SELECT value FROM json_each(:kinds))
AND {at_address} AND coalesce((SELECT c.source FROM captured c WHERE c.attempt = v.seq), h.source) = :source
ORDER BY v.seq LIMIT :limit;

-- def offers(attempt: int) -> list[Offering]
-- Return the offers of an answer, in their order.
SELECT name, part_offset, part_length, url FROM offered WHERE attempt = :attempt ORDER BY ordinal;

-- def known(collection: str, source: str, keys: Sequence[str]) -> set[str]
-- Return those of the `keys` that a source has ever offered.
SELECT name FROM offer_known WHERE collection = :collection AND source = :source
AND name IN (SELECT value FROM json_each(:keys));

-- def listed_keys(collection: str, source: str, began: int) -> set[str]
-- Return the keys that a source offered in the answer `began` and later ones.
SELECT o.name FROM followed f JOIN offered o ON o.attempt = f.attempt
WHERE f.collection = :collection AND f.source = :source AND f.attempt >= :began;

-- def listed_addresses(collection: str, source: str, began: int) -> set[int]
-- Return the digests of the addresses of the followed answers of a source, from the answer `began` on.
SELECT v.address AS "address: int" FROM followed f JOIN attempt v ON v.seq = f.attempt
WHERE f.collection = :collection AND f.source = :source AND f.attempt >= :began;

-- row: WholeListingRow
-- A complete listing of a source: the attempts of its first and its last answer.

-- def whole_listing(ended: int) -> WholeListingRow | None
-- Return the complete listing that ended with an attempt, or None.
SELECT collection, source, began, ended FROM whole_listing WHERE ended = :ended;

-- def whole_listings_before(listing: WholeListingRow, limit: int) -> list[WholeListingRow]
-- Return earlier complete listings of the same source, the latest first.
SELECT collection, source, began, ended FROM whole_listing WHERE collection = :listing.collection
AND source = :listing.source AND ended < :listing.ended
ORDER BY ended DESC LIMIT :limit;

-- def listed(listing: WholeListingRow) -> int
-- Count the different keys that were offered in a complete listing.
SELECT count(DISTINCT o.name) FROM followed f JOIN offered o ON o.attempt = f.attempt
WHERE f.collection = :listing.collection AND f.source = :listing.source AND f.attempt BETWEEN :listing.began
AND :listing.ended;

-- def missing(listing: WholeListingRow) -> list[str]
-- Return the keys that a source offered before a complete listing, but not in it.
SELECT k.name FROM offer_known k WHERE k.collection = :listing.collection AND k.source = :listing.source
AND k.attempt < :listing.began
AND k.name NOT IN (SELECT o.name FROM followed f JOIN offered o ON o.attempt = f.attempt
    WHERE f.collection = :listing.collection AND f.source = :listing.source AND f.attempt BETWEEN :listing.began
    AND :listing.ended)
ORDER BY k.name;

-- def request_row(attempt: int) -> RequestRow | None
-- Return the request of an attempt, or None if it was a plain GET of its URL or is not stored any more.
SELECT r.digest, r.method, r.headers, r.body, r.context, r.attachments, r.seconds
FROM attempt v JOIN request r ON r.digest = v.address AND r.host = v.host WHERE v.seq = :attempt;

-- row: RequestAttempt
-- An attempt at a request. `kept` is true if the bytes of its answer are still stored.

-- def attempts(collection: str, address: int, limit: int) -> list[RequestAttempt]
-- Return the last attempts at a request, the latest first, with the source or service that was requested.
SELECT v.seq AS attempt, h.source, v.status, v.reason, v.warc <> '' AS "kept: bool", v.digest
FROM attempt v JOIN host h ON h.seq = v.host AND h.collection = :collection
WHERE v.address = :address ORDER BY v.seq DESC LIMIT :limit;

-- row: EarlierAnswer
-- The status of an answer, and where it redirects to, or empty.

-- def answer_before(collection: str, source: str, address: int, attempt: int) -> EarlierAnswer | None
-- Return the last answer of an address of a source before an attempt, without those that failed.
SELECT v.status AS "status: int", v.location FROM attempt v
JOIN host h ON h.seq = v.host AND h.collection = :collection AND h.source = :source
WHERE v.address = :address AND v.seq < :attempt AND v.reason IS NULL AND v.status < 400 ORDER BY v.seq DESC LIMIT 1;

-- row: SentRedirect
-- An attempt at a source that was answered with a permanent redirect: its address, and the Location as sent.

-- def permanent_redirects(collection: str, session: int) -> list[SentRedirect]
-- Return the permanent redirects (301, 308) that the sources of a collection sent in a session.
SELECT h.source, a.url, v.location FROM session s CROSS JOIN attempt v ON v.seq > s.seq AND v.seq < {next_session}
CROSS JOIN host h ON h.seq = v.host AND h.collection = :collection
CROSS JOIN address a ON a.digest = v.address AND a.host = v.host
WHERE s.seq = :session AND v.location <> '' AND v.status IN (301, 308);

-- part: stands
-- The address is not taken down.
NOT EXISTS (SELECT 1 FROM tombstone t WHERE (t.host = ?2 OR (t.host = 0 AND t.address = ?1))
    AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted'))

-- name: ask_again
-- Make an address due as if it had never been requested, unless it is taken down.
UPDATE address SET due = 0 WHERE digest = ?1 AND host = ?2 AND {stands};

-- name: ask_when_named
UPDATE address SET due = 0 WHERE digest = ?1 AND host = ?2
AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.address = ?1 AND v.host = ?2 AND v.seq > ?3) AND {stands};

-- row: UnarchivedAnswer
-- An answer whose bytes are kept only as long as a step needs them, and the file with the bytes.

-- def unarchived(collection: str) -> list[UnarchivedAnswer]
-- Return a collection's answers that are not archived and whose bytes still exist.
-- The names of their files begin with `unarchived-`, which is a range of the index since '.' follows '-'.
SELECT v.seq AS attempt, v.address AS "address: int", v.host, v.warc FROM attempt v JOIN host h ON h.seq = v.host
WHERE v.warc >= 'unarchived-' AND v.warc < 'unarchived.' AND h.collection = :collection;

-- name: answer_bytes_dropped
-- Record that the bytes of an answer are deleted. The attempt remains as a fact.
UPDATE attempt SET warc = '', place_offset = NULL, place_length = NULL WHERE seq = ?;

-- name: answer_without_bytes
-- Forget the last capture of an address, so that the next answer is not compared with it.
UPDATE address SET capture = 0 WHERE digest = ? AND host = ?;

-- def files_needed(files: Sequence[str]) -> set[str]
-- Return those `files` of the archive that have bytes to which the ledger refers.
SELECT DISTINCT warc FROM attempt WHERE warc IN (SELECT value FROM json_each(:files));
