-- Queries on hosts and addresses.

-- def hosts(collection: str) -> list[HostRow]
-- Return the origins that a collection's crawls may ask.
SELECT seq, source, origin FROM host WHERE collection = :collection ORDER BY seq;

-- def hosts_crawled(collection: str) -> list[HostRow]
-- Return the same without those that are only known from WARC files of other makers.
SELECT h.seq, h.source, h.origin FROM host h WHERE h.collection = :collection AND (
    EXISTS (SELECT 1 FROM address a WHERE a.host = h.seq AND (a.due IS NOT NULL OR a.pause <> -1))
    OR NOT EXISTS (SELECT 1 FROM address a WHERE a.host = h.seq)
) ORDER BY h.seq;

-- def host(origin: str, collection: str, source: str = "") -> int | None
-- Return the number of a collection's origin, as one of its sources asks it; empty: whichever did so first.
SELECT seq FROM host WHERE origin = :origin AND collection = :collection
AND (:source = '' OR source = :source) ORDER BY seq LIMIT 1;

-- row: DueAddress
-- What to ask of a host, and what it said last.
-- `last` is the digest of its last body, empty for none, and `at` the date of the record that holds it.

-- def due_between(host: int, first: int, last: int, below: int, limit: int) -> list[DueAddress]
-- Return what to ask of a host, and what it said last: new addresses first.
-- A capture of bytes that were known tells the date of the record that holds them. What came of it as something else is
-- not asked after: of what was kept beside a page and is one now, the whole answer is wanted.
SELECT a.digest, a.url, a.kind, a.place, a.pause, a.failures, coalesce(v.etag, '') AS "etag: str",
       coalesce(v.modified, '') AS "modified: str",
       coalesce(v.digest, '') AS "last: str",
       CASE WHEN v.revisit = 0 THEN v.started ELSE (SELECT min(k.started) FROM attempt k
           WHERE k.address = a.digest AND k.digest = v.digest AND k.revisit = 0) END AS "at: datetime | None"
FROM address a LEFT JOIN attempt v ON v.seq = a.capture AND v.kind = a.kind
WHERE a.host = :host AND a.due BETWEEN :first AND :last AND a.place < :below ORDER BY a.due, a.place LIMIT :limit;

-- name: address_hinted
-- Make an address due that is said to have changed since its last attempt, but not sooner than a while after that.
UPDATE address SET due = min(due, (SELECT CAST(strftime('%s', max(v.started)) AS INTEGER) FROM attempt v
    WHERE v.address = :digest AND v.host = :host) + :rest)
WHERE digest = :digest AND host = :host AND due > 0
AND (SELECT max(v.started) FROM attempt v WHERE v.address = :digest AND v.host = :host) < :hint;

-- def rests(at: int) -> dict[str, int]
-- Return until when origins asked to be left alone, in UNIX seconds: those that still do at a time.
-- It holds for all collections, whichever of them an origin said that to.
SELECT origin, until FROM rest WHERE until > :at;

-- def found_after(collection: str, after: int, limit: int) -> list[FoundAddress]
-- Return a collection's addresses in the order in which they were found.
SELECT a.rowid AS "place: int", a.url FROM address a CROSS JOIN host h ON h.seq = a.host AND h.collection = :collection
WHERE a.rowid > :after ORDER BY a.rowid LIMIT :limit;

-- def count_upto(collection: str, place: int) -> int
-- Count a collection's addresses up to a place in that order, without those that were taken down.
SELECT count(*) FROM address a CROSS JOIN host h ON h.seq = a.host AND h.collection = :collection
WHERE a.rowid <= :place
AND NOT EXISTS (SELECT 1 FROM tombstone t WHERE (t.address = a.digest AND t.host = 0) OR t.host = h.seq);

-- def last_place() -> int
-- Return the last place in that order, 0 before the first.
SELECT coalesce(max(rowid), 0) FROM address;

-- row: AddressCount
-- How a source's addresses of one kind stand: all, with a body, failing, due, and when the next is due.

-- def by_source(at: int) -> list[AddressCount]
-- Count how the addresses of each source stand at a time.
SELECT h.collection, h.source, a.kind, count(*) AS "known: int",
       sum(a.capture <> 0 AND a.failures = 0) AS "pages: int", sum(a.failures > 0) AS "failing: int",
       sum(coalesce(a.due <= :at, 0)) AS "due: int", min(CASE WHEN a.due > 0 THEN a.due END) AS "next_due: int | None"
FROM address a JOIN host h ON h.seq = a.host GROUP BY h.collection, h.source, a.kind;

-- def never_asked(host: int) -> NeverAsked
-- Count the addresses of a host that were never asked, and name one of them.
SELECT count(*) AS "number: int", coalesce(min(url), '') AS "example: str" FROM address WHERE host = :host AND due = 0;

-- def due_by_host(collection: str, at: int) -> list[DueCount]
-- Count the addresses of each host that are due at a time.
SELECT h.source, h.origin, count(*) AS "number: int" FROM host h JOIN address a ON a.host = h.seq AND a.due <= :at
WHERE h.collection = :collection GROUP BY h.source, h.origin ORDER BY h.seq;

-- def next_of_source(collection: str, source: str, at: int, limit: int) -> list[str]
-- Return addresses of a source that would be asked first at a time.
SELECT a.url FROM host h JOIN address a ON a.host = h.seq AND a.due <= :at
WHERE h.collection = :collection AND h.source = :source ORDER BY h.seq, a.due, a.place LIMIT :limit;

-- def is_known(collection: str, digest: int) -> bool
-- Tell whether a collection knows an address.
SELECT 1 FROM address a JOIN host h ON h.seq = a.host AND h.collection = :collection WHERE a.digest = :digest;

-- row: AddressRow
-- An address, the origin and source it belongs to, and where it was found: `via`, 0 for a seed.
-- `due` is in UNIX seconds: 0 for never asked, 1 for next, None for never; `pause` in seconds, `ELSEWHERE` where
-- only a WARC file of another maker names it.

-- part: address
SELECT a.digest, a.url, h.origin, h.source, h.collection, a.via,
       (SELECT v.url FROM address v JOIN host g ON g.seq = v.host AND g.collection = h.collection
           WHERE v.digest = a.via) AS via_url,
       a.due, a.pause, a.capture, a.failures, a.host, a.kind
FROM address a JOIN host h ON h.seq = a.host AND h.collection = :collection WHERE a.digest = :digest

-- def get(collection: str, digest: int) -> AddressRow | None
-- Return an address of a collection, None where it is not known.
{address};

-- def of_sources(collection: str, digest: int) -> list[AddressRow]
-- Return an address as each source of a collection has it that asks it.
{address};

-- row: HostState
-- An origin and its addresses: all, with a body, failing, due, when the next is due (UNIX seconds), last asked.

-- def host_states(source: str, host: str, at: int) -> list[HostState]
-- Return origins with how their addresses stand at a time (UNIX seconds): of a source, or at a host; not both.
-- A port may stand behind the host; an empty text means any.
SELECT h.seq, h.origin, h.source, h.collection, count(a.digest) AS "addresses: int", coalesce(sum(a.capture > 0),
       0) AS "pages: int",
       coalesce(sum(a.failures > 0), 0) AS "failing: int", coalesce(sum(a.due <= :at), 0) AS "due: int",
       min(CASE WHEN a.due > :at THEN a.due END) AS "next_due: int | None",
       (SELECT max(v.started) FROM attempt v WHERE v.host = h.seq) AS "asked: datetime | None"
FROM host h LEFT JOIN address a ON a.host = h.seq
WHERE (:source = '' OR h.source = :source) AND (:host = '' OR h.origin IN ('http://' || :host, 'https://' || :host)
    OR h.origin LIKE 'http://' || :host || ':%' OR h.origin LIKE 'https://' || :host || ':%')
GROUP BY h.seq ORDER BY h.origin;

-- def chosen(collection: str, digests: Sequence[int]) -> list[ChosenAddress]
-- Return those of some addresses that a collection knows, and that were not taken down.
SELECT a.digest, a.url, a.due, a.failures FROM address a JOIN host h ON h.seq = a.host
WHERE h.collection = :collection AND NOT EXISTS (SELECT 1 FROM tombstone t
    WHERE (t.address = a.digest AND t.host = 0 OR t.host = h.seq)
    AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted'))
AND a.digest IN (SELECT value FROM json_each(:digests));

-- def failing(collection: str, source: str, reason: str) -> list[ChosenAddress]
-- Return those that fail now, of a source and for the reason of their last attempt; empty means any.
SELECT a.digest, a.url, a.due, a.failures FROM address a JOIN host h ON h.seq = a.host
WHERE h.collection = :collection AND (:source = '' OR h.source = :source) AND a.due IS NOT NULL AND a.failures > 0
AND (:reason = '' OR (SELECT v.reason FROM attempt v
    WHERE v.address = a.digest AND v.host = a.host ORDER BY v.seq DESC LIMIT 1) = :reason)
ORDER BY a.host, a.url;

-- def waiting(collection: str, source: str, reason: str) -> list[ChosenAddress]
-- Return those that wait: never asked so far, or failing for a reason.
SELECT a.digest, a.url, a.due, a.failures FROM address a JOIN host h ON h.seq = a.host
WHERE h.collection = :collection AND (:source = '' OR h.source = :source) AND a.due IS NOT NULL
AND ((:reason = '' AND a.due <= 1) OR (:reason <> '' AND a.failures > 0 AND
    (SELECT v.reason FROM attempt v
        WHERE v.address = a.digest AND v.host = a.host ORDER BY v.seq DESC LIMIT 1) = :reason))
ORDER BY a.host, a.url;

-- name: addresses_due_again
-- Make the addresses of a host due, after those that were never asked.
UPDATE address SET due = 1 WHERE host = ? AND due > 1;

-- name: address_due_at
UPDATE address SET due = ? WHERE digest = ? AND host IN (SELECT seq FROM host WHERE collection = ?);

-- name: begun_never_again
-- What a source began with (found at no address), and what lies at origins that are none of its own any more, is not
-- asked again; but for some numbers. The lists are JSON.
UPDATE address SET due = NULL WHERE due IS NOT NULL AND kind = ?1 AND digest NOT IN (SELECT value FROM json_each(?4))
AND host IN (SELECT seq FROM host WHERE collection = ?2 AND source = ?3) AND (via = 0
    OR host IN (SELECT seq FROM host WHERE collection = ?2 AND source = ?3
        AND origin NOT IN (SELECT value FROM json_each(?5))));

-- name: address_paced
-- The interval of an address after its last attempt, once its content is known. One that was made due sooner stays so.
UPDATE address SET due = ?1 + ?2, pause = ?2
WHERE (digest, host) = (SELECT v.address, v.host FROM attempt v WHERE v.seq = ?3)
AND failures = 0 AND due >= ?1 + pause - 1
AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.address = address.digest AND v.host = address.host AND v.seq > ?3);

-- name: address_due_by
-- What its last attempt brought holds until then; one that is never due stays so.
UPDATE address SET due = ?1 WHERE (digest, host) = (SELECT v.address, v.host FROM attempt v WHERE v.seq = ?2)
AND due > ?1
AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.address = address.digest AND v.host = address.host AND v.seq > ?2);

-- def wrong() -> Iterator[WrongAddress]
-- Yield addresses that are due, or have a last capture, other than their attempts say.
-- Not those that are never due: they are known from elsewhere, or were taken down. Nor what others asked, which took no
-- time that we know of.
SELECT url, due AS "due: int", capture, attempts AS "attempts: int", last AS "last: int" FROM (
    SELECT a.url, a.due AS due, a.capture AS capture, count(v.seq) AS attempts,
           max(CASE WHEN v.status = 200 AND v.warc <> '' THEN v.seq ELSE 0 END) AS last
    FROM address a LEFT JOIN attempt v ON v.address = a.digest AND v.host = a.host
        AND (v.status IS NULL OR v.seconds > 0
            OR EXISTS (SELECT 1 FROM captured c WHERE c.attempt = v.seq AND c.capture_index = 0))
    WHERE a.due IS NOT NULL GROUP BY a.digest, a.host)
WHERE (attempts = 0 AND due > 1) OR capture <> last;

-- def next_due(host: int) -> int | None
-- Return when the next address of a host is due, in seconds since 1970; None where none ever is.
SELECT min(due) FROM address WHERE host = :host;

-- def request_rows(host: int, digests: Sequence[int]) -> dict[int, RequestRow]
-- Return what is asked at those of a host's addresses where that is no plain GET, by their digests.
SELECT digest, method, headers, body, context, attachments, seconds FROM request
WHERE host = :host AND digest IN (SELECT value FROM json_each(:digests));
