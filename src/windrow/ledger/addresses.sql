-- Queries on hosts and addresses, which are given by their numbers. Times are UNIX times.

-- row: HostRow
-- A host: an origin as one source of a collection requests it.

-- def hosts(collection: str) -> list[HostRow]
-- Return the hosts of a collection, in the order in which they were added.
SELECT seq, source, origin FROM host WHERE collection = :collection ORDER BY seq;

-- def hosts_crawled(collection: str) -> list[HostRow]
-- Return the hosts of a collection, except those known only from captures of others.
SELECT h.seq, h.source, h.origin FROM host h WHERE h.collection = :collection AND (
    EXISTS (SELECT 1 FROM address a WHERE a.host = h.seq AND (a.due IS NOT NULL OR a.interval <> -1))
    OR NOT EXISTS (SELECT 1 FROM address a WHERE a.host = h.seq)
) ORDER BY h.seq;

-- def own_or_captured_host(origin: str, collection: str, source: str) -> int | None
-- Return the number of a source's host with this origin. If it has none, return a captured host's, or None.
-- A captured host has the same collection and origin, and is known only from captures of others.
SELECT h.seq FROM host h WHERE h.origin = :origin AND h.collection = :collection AND (h.source = :source OR (
    EXISTS (SELECT 1 FROM address a WHERE a.host = h.seq)
    AND NOT EXISTS (SELECT 1 FROM address a WHERE a.host = h.seq AND (a.due IS NOT NULL OR a.interval <> -1))
)) ORDER BY h.source <> :source, h.seq LIMIT 1;

-- def host(origin: str, collection: str, source: str = "") -> int | None
-- Return the number of the host of `source` with this origin, or None. An empty `source` means any source.
SELECT seq FROM host WHERE origin = :origin AND collection = :collection
AND (:source = '' OR source = :source) ORDER BY seq LIMIT 1;

-- part: has_validators
-- The last response with a body has validators, and the body could be used.
(v.reason IS NULL AND NOT (a.failures > 0 AND (a.due = 1
    OR EXISTS (SELECT 1 FROM followed f WHERE f.attempt = v.seq AND f.reason IS NOT NULL)
    OR v.seq IN (SELECT attempt FROM unread WHERE reason IN ('soft_404', 'consent_page', 'bot_wall')))))

-- row: DueAddress
-- An address to request, with the validators of its last response with a body.
-- `last` is the digest of that body, or empty; `at` is the date of the archive record with the body, and `warc`, `offset`
-- and `length` are its place. `unread_links` is whether the body was received before a certain fact, and its links were
-- not read after it.

-- def due_between(host: int, times: tuple[int, int], below: int, limit: int, rules: int) -> list[DueAddress]
-- Return addresses of a host that are due between two `times`, in the order of due time and `place`.
-- Only the first `limit` addresses with a `place` (order number) below `below` are returned. If the last response was
-- a revisit, `at` and the place are those of the last record with the bytes. If the kind of an address changed after that
-- response, its validators and `last` are empty, and `at` is None. The validators of a body that could not be used are
-- empty: a 304 would say that it is still the same. So are those of an address that failed and is next, as after `retry`:
-- windrow may have been unable to use what it got. What is known of a response whose bytes are damaged is left out, so
-- that the bytes are received and kept anew. `rules` is the fact since which the present rules for
-- links are in force.
SELECT a.digest, a.url, a.kind, a.place, a.due AS "due: int", a.interval, a.failures,
       CASE WHEN {has_validators} THEN coalesce(v.etag, '') ELSE '' END AS "etag: str",
       CASE WHEN {has_validators} THEN coalesce(v.modified, '') ELSE '' END AS "modified: str",
       coalesce(v.digest, '') AS "last: str",
       k.started AS "at: datetime | None", coalesce(k.warc, '') AS "warc: str",
       coalesce(k.place_offset, 0) AS "offset: int", coalesce(k.place_length, 0) AS "length: int",
       v.seq < :rules AND NOT EXISTS (SELECT 1 FROM attempt n WHERE n.address = a.digest AND n.host = a.host
           AND n.seq > :rules AND n.status = 304 AND n.reason IS NULL) AS "unread_links: bool"
FROM address a LEFT JOIN attempt v ON v.seq = a.capture AND v.kind = a.kind AND (v.address, v.digest) NOT IN (
    SELECT d.address, d.digest FROM unread u JOIN attempt d ON d.seq = u.attempt WHERE u.reason = 'disk_failed')
LEFT JOIN attempt k ON k.seq = CASE WHEN v.revisit = 0 THEN v.seq ELSE (SELECT o.seq FROM attempt o
    WHERE o.address = a.digest AND o.digest = v.digest AND o.revisit = 0 ORDER BY o.seq DESC LIMIT 1) END
WHERE a.host = :host AND a.due BETWEEN :times[0] AND :times[1] AND a.place < :below ORDER BY a.due, a.place LIMIT :limit;

-- name: address_hinted
-- If the hint of an address is later than its last attempt, make the address due at most `rest` seconds after that
-- attempt. An address that is never due, or was never requested, is not changed.
UPDATE address SET due = min(due, (SELECT CAST(strftime('%s', max(v.started)) AS INTEGER) FROM attempt v
    WHERE v.address = :digest AND v.host = :host) + :rest)
WHERE digest = :digest AND host = :host AND due > 0
AND (SELECT max(v.started) FROM attempt v WHERE v.address = :digest AND v.host = :host) < :hint;

-- def rests(now: int) -> dict[str, int]
-- Return a dict from origin to the time, after `now`, until which it asked not to be requested.
SELECT origin, until FROM rest WHERE until > :now;

-- row: FoundAddress
-- An address and its `position`, a number that increases in the order in which addresses were found.

-- def found_after(collection: str, after: int, limit: int) -> list[FoundAddress]
-- Return a collection's addresses after the position `after`, in the order in which they were found.
SELECT a.rowid AS "position: int", a.url FROM address a CROSS JOIN host h ON h.seq = a.host AND h.collection = :collection
WHERE a.rowid > :after ORDER BY a.rowid LIMIT :limit;

-- def count_upto(collection: str, position: int) -> int
-- Count a collection's addresses up to and including a position (`FoundAddress`).
-- An address that several sources have counts once. Addresses that were ever taken down are left out.
SELECT count(DISTINCT a.digest) FROM address a CROSS JOIN host h ON h.seq = a.host AND h.collection = :collection
WHERE a.rowid <= :position
AND NOT EXISTS (SELECT 1 FROM tombstone t WHERE (t.address = a.digest AND t.host = 0) OR t.host = h.seq);

-- def last_position() -> int
-- Return the position of the address that was found last, in any collection, or 0.
SELECT coalesce(max(rowid), 0) FROM address;

-- part: rests
-- Each run requests the address again (an interval of a second or none), and one has: it is due, but nothing is left.
(due BETWEEN 2 AND :now AND failures = 0 AND interval BETWEEN 0 AND 1)

-- part: fails
-- The last attempt failed, not only a guess led to the address, and the document is not gone: since its last answer with content, it did not answer 410, or
-- 404 twice. One 404 is enough for the collections `gone_at_once`, but what such a source itself names is never gone.
(a.failures > 0 AND NOT EXISTS (SELECT 1 FROM request r WHERE r.digest = a.digest AND r.host = a.host
    AND CASE WHEN json_valid(r.context) THEN json_extract(r.context, '$.is_guess') END)
    AND (a.capture = 0 OR coalesce((SELECT sum(1 + (m.status = 410)) FROM attempt m
    WHERE m.address = a.digest AND m.host = a.host AND m.status IN (404, 410)
    AND m.seq > coalesce((SELECT max(g.seq) FROM attempt g WHERE g.address = a.digest AND g.host = a.host
        AND g.status < 400), 0)), 0)
    < CASE WHEN NOT EXISTS (SELECT 1 FROM host o WHERE o.seq = a.host
        AND o.collection IN (SELECT value FROM json_each(:gone_at_once))) THEN 2 WHEN a.via = 0 THEN 1e18 ELSE 1 END))

-- row: AddressCount
-- Counts of a source's addresses of one kind: `known`, `pages` (had, and not failing), `failing` and `due`.
-- `next_due` is the earliest due time of those that were requested, which may have passed.

-- def by_source(now: int, gone_at_once: Sequence[str] = ()) -> list[AddressCount]
-- Count the addresses of each source by kind.
-- The table is read once in its own order, which takes less than half the time of a join with each address's host.
-- Those that are due at the time `now` or before are counted as due, except those that each run requests. Documents that
-- are gone are not failing: a first 404 means that in the collections `gone_at_once`, and a second one in all.
-- An address known only from captures of others is a page if its last capture, except those that say that nothing
-- changed, has a status from 200 to 299.
SELECT h.collection, h.source, c.kind, sum(c.known) AS "known: int", sum(c.pages) AS "pages: int",
       sum(c.failing) AS "failing: int", sum(c.due) AS "due: int", min(c.next_due) AS "next_due: int | None"
FROM (SELECT host, kind, count(*) AS known,
        sum(CASE WHEN failures > 0 THEN 0 WHEN capture <> 0 THEN 1 WHEN interval = -1 THEN coalesce((
            SELECT v.status BETWEEN 200 AND 299 FROM attempt v WHERE v.address = a.digest AND v.host = a.host
            AND v.status <> 304 ORDER BY v.started DESC, v.seq DESC LIMIT 1), 0) ELSE 0 END) AS pages,
        sum(CASE WHEN failures > 0 THEN {fails} ELSE 0 END) AS failing,  -- AND would look for the attempts of all
        sum(coalesce(due <= :now AND NOT {rests}, 0)) AS due, min(CASE WHEN due > 0 THEN due END) AS next_due
    FROM address a GROUP BY +host, kind) c
JOIN host h ON h.seq = c.host GROUP BY h.collection, h.source, c.kind;

-- def known_by_source(now: int) -> list[AddressCount]
-- Count the addresses of each source by kind; in the rows of kind 0, also all that are due at `now`.
-- Those that each run requests are not counted as due, and nothing else is counted. Most addresses are of kind 0: the
-- others are counted in the table, and all of them in an index, which is shorter.
WITH other AS (SELECT host, kind, sum(kind <> 0) AS known, sum(coalesce({rests}, 0)) AS resting FROM address
    WHERE kind <> 0 OR {rests} GROUP BY +host, kind)
SELECT h.collection, h.source, c.kind AS "kind: int", sum(c.known) AS "known: int", 0 AS "pages: int", 0 AS "failing: int",
       sum(c.due) AS "due: int", NULL AS "next_due: int | None"
FROM (SELECT host, 0 AS kind, count(*) AS known, sum(coalesce(due <= :now, 0)) AS due FROM address GROUP BY host
    UNION ALL SELECT host, kind, known, 0 FROM other UNION ALL SELECT host, 0, -known, -resting FROM other) c
JOIN host h ON h.seq = c.host GROUP BY h.collection, h.source, c.kind;

-- row: NeverRequested
-- The number of a host's addresses that were never requested, and one of them (empty: none).

-- def never_requested(host: int) -> NeverRequested
-- Count the addresses of a host that were never requested, and return one of them as an example.
SELECT count(*) AS "number: int", coalesce(min(url), '') AS "example: str" FROM address WHERE host = :host AND due = 0;

-- row: KnownPage
-- An address that is known and not requested here, with its kind and order number.

-- def known_only(host: int) -> list[KnownPage]
-- Return the addresses of a host that are known, but never requested by this workspace.
SELECT url, kind, place FROM address WHERE host = :host AND interval = -1 ORDER BY place, url;

-- name: host_released
-- Mark the addresses of a host as known only, so that they are never due, except those of a kind that stays.
UPDATE address SET due = NULL, interval = -1 WHERE host = ? AND due IS NOT NULL AND kind IS NOT ?;

-- row: DueCount
-- The number of a host's addresses that are due.

-- def due_by_host(collection: str, until: int) -> list[DueCount]
-- Count the addresses of each host of a collection that are due at the time `until` or before.
SELECT h.source, h.origin, count(*) AS "number: int" FROM host h JOIN address a ON a.host = h.seq AND a.due <= :until
WHERE h.collection = :collection GROUP BY h.source, h.origin ORDER BY h.seq;

-- def next_of_source(collection: str, source: str, until: int, limit: int) -> list[str]
-- Return the addresses of a source that are due at the time `until` or before, ordered by host and due time.
SELECT a.url FROM host h JOIN address a ON a.host = h.seq AND a.due <= :until
WHERE h.collection = :collection AND h.source = :source ORDER BY h.seq, a.due, a.place LIMIT :limit;

-- def is_known(collection: str, digest: int) -> bool
-- Return whether a collection has the address with this digest.
SELECT 1 FROM address a JOIN host h ON h.seq = a.host AND h.collection = :collection WHERE a.digest = :digest;

-- row: AddressRow
-- An address with its origin and source.
-- `via` is the digest of the address at which it was found, or 0 for a seed. `due` is 0 if it was never requested, 1 if
-- it is next, and None if it is never due. `interval` is in seconds, `ELSEWHERE` if the address is known only from
-- captures of others, or below that if it is taken down.

-- part: address
SELECT a.digest, a.url, h.origin, h.source, h.collection, a.via,
       (SELECT v.url FROM address v JOIN host g ON g.seq = v.host AND g.collection = h.collection
           WHERE v.digest = a.via) AS via_url,
       a.due, a.interval, a.capture, a.failures, a.host, a.kind
FROM address a JOIN host h ON h.seq = a.host AND h.collection = :collection WHERE a.digest = :digest

-- part: last_first
ORDER BY a.capture DESC, a.due IS NULL, a.host

-- def get(collection: str, digest: int) -> AddressRow | None
-- Return the address of a collection with this digest, or None if it is not known.
-- If several sources have it, the row is that of the source that fetched it last.
{address} {last_first} LIMIT 1;

-- def of_sources(collection: str, digest: int) -> list[AddressRow]
-- Return an address once for each source of a collection that has it.
-- The row of the source that fetched it last is the first.
{address} {last_first};

-- row: HostState
-- A host with counts of its addresses, and the next time when one is due.
-- `asked` is the time of the last attempt at one of them or at robots.txt.

-- def host_states(source: str, host_name: str, now: int) -> list[HostState]
-- Return the hosts of `source` (empty: of all sources) whose host name is `host_name` (empty: all hosts).
-- A host name means all of its ports, and the schemes HTTP and HTTPS. Addresses are counted as due or not at `now`.
SELECT h.seq, h.origin, h.source, h.collection, count(a.digest) AS "addresses: int", coalesce(sum(a.capture > 0),
       0) AS "pages: int",
       coalesce(sum(a.failures > 0), 0) AS "failing: int", coalesce(sum(a.due <= :now), 0) AS "due: int",
       min(CASE WHEN a.due > :now THEN a.due END) AS "next_due: int | None",
       (SELECT v.started FROM attempt v WHERE v.host = h.seq AND v.listed_file IS NULL ORDER BY v.seq DESC LIMIT 1)
           AS "asked: datetime | None"
FROM host h LEFT JOIN address a ON a.host = h.seq
WHERE (:source = '' OR h.source = :source) AND (:host_name = '' OR h.origin IN ('http://' || :host_name, 'https://' || :host_name)
    OR h.origin LIKE 'http://' || :host_name || ':%' OR h.origin LIKE 'https://' || :host_name || ':%')
GROUP BY h.seq ORDER BY h.origin;

-- row: ChosenAddress
-- An address of a source, when it is due (0: never requested; 1: next; None: never), and its failures in a row.

-- def chosen(collection: str, digests: Sequence[int]) -> list[ChosenAddress]
-- Return a collection's addresses with these digests that are not taken down, one for each source.
SELECT a.digest, h.source, a.url, a.due, a.failures FROM address a JOIN host h ON h.seq = a.host
WHERE h.collection = :collection AND NOT EXISTS (SELECT 1 FROM tombstone t
    WHERE (t.address = a.digest AND t.host = 0 OR t.host = h.seq)
    AND NOT EXISTS (SELECT 1 FROM tombstone_end e WHERE e.tombstone = t.seq AND e.event = 'lifted'))
AND a.digest IN (SELECT value FROM json_each(:digests));

-- part: why_failed
(SELECT coalesce(v.reason, CASE
        WHEN v.status >= 500 THEN 'server_error' WHEN v.status = 404 THEN 'not_found' WHEN v.status = 410 THEN 'gone'
        WHEN v.status IN (401, 403) THEN 'permission_denied' WHEN v.status = 429 THEN 'rate_limited'
        WHEN v.status >= 400 THEN 'protocol_error' WHEN v.message <> '' THEN 'truncated' END,
        (SELECT f.reason FROM followed f WHERE f.attempt = v.seq),
        (SELECT u.reason FROM unread u WHERE u.attempt = v.seq AND u.reason IN ('soft_404', 'consent_page', 'bot_wall')))
    FROM attempt v
    WHERE v.address = a.digest AND v.host = a.host ORDER BY v.seq DESC LIMIT 1)

-- def count_partial() -> dict[str, int]
-- Return a dict from source to the number of its addresses whose last attempt received only a part.
SELECT h.source, count(*) AS "number: int" FROM address a JOIN host h ON h.seq = a.host
WHERE a.failures > 0 AND a.due IS NOT NULL AND (SELECT v.reason IS NULL AND v.message <> '' FROM attempt v
    WHERE v.address = a.digest AND v.host = a.host ORDER BY v.seq DESC LIMIT 1) GROUP BY h.source;

-- def failing(collection: str, source: str, reason: str, excluded: Sequence[str] = ()) -> list[ChosenAddress]
-- Return the addresses of a source whose last attempt failed for `reason` (empty: any source or reason).
-- An attempt that received only a part of the body counts as failed, with the reason `truncated`. An attempt without a
-- reason has that of its status (`reason_of_status`), or the reason why its answer was not used.
-- Addresses of the sources `excluded`, and those that are never due, are left out.
SELECT a.digest, h.source, a.url, a.due, a.failures FROM address a JOIN host h ON h.seq = a.host
WHERE h.collection = :collection AND (:source = '' OR h.source = :source) AND a.due IS NOT NULL AND a.failures > 0
AND h.source NOT IN (SELECT value FROM json_each(:excluded))
AND (:reason = '' OR {why_failed} = :reason)
ORDER BY a.host, a.url;

-- row: FailingAddresses
-- The number of a source's addresses whose last attempt failed for a reason.

-- def failing_reasons(gone_at_once: Sequence[str] = ()) -> list[FailingAddresses]
-- Count by source and reason the addresses that `failing` lists, without those that are gone (`by_source`).
SELECT source, reason AS "reason: Reason", count(*) AS "number: int" FROM (
    SELECT h.source, {why_failed} AS reason FROM address a JOIN host h ON h.seq = a.host
    WHERE a.due IS NOT NULL AND {fails}
) WHERE reason IS NOT NULL GROUP BY source, reason;

-- def failed_captures(collection: str, source: str, reason: str, excluded: Sequence[str]) -> list[ChosenAddress]
-- Return the addresses of wanted captures whose record could not be read, for `reason` (empty: any), as failed.
-- They are those of a source; an empty `source` means any source except those in `excluded`.
SELECT DISTINCT a.digest, h.source, a.url, 0 AS "due: int | None", 1 AS "failures: int" FROM capture_failed f
JOIN attempt v ON v.seq = f.attempt JOIN address a ON a.digest = v.address AND a.host = v.host JOIN host h ON h.seq = a.host
WHERE f.collection = :collection AND (:source = '' OR f.source = :source) AND (:reason = '' OR f.reason = :reason)
AND f.source NOT IN (SELECT value FROM json_each(:excluded)) ORDER BY a.url, h.source;

-- def waiting(collection: str, source: str, reason: str, excluded: Sequence[str] = ()) -> list[ChosenAddress]
-- Return the addresses of a source (empty: any) that are requested next or were never requested.
-- Addresses of the sources `excluded` are left out, and so are those that are never due. If `reason` is not empty, the
-- addresses whose last attempt failed for this reason are returned instead.
SELECT a.digest, h.source, a.url, a.due, a.failures FROM address a JOIN host h ON h.seq = a.host
WHERE h.collection = :collection AND (:source = '' OR h.source = :source) AND a.due IS NOT NULL
AND h.source NOT IN (SELECT value FROM json_each(:excluded))
AND ((:reason = '' AND a.due <= 1) OR (:reason <> '' AND a.failures > 0 AND {why_failed} = :reason))
ORDER BY a.host, a.url;

-- name: addresses_due_again
-- Make a host's addresses that are due later due now; those that were never requested still come first.
UPDATE address SET due = 1 WHERE host = ? AND due > 1;

-- name: far_due_again
-- Make the addresses due now that would be due after a time.
UPDATE address SET due = 1 WHERE due > ?1;

-- name: ahead_due_again
-- Make the addresses due now that were requested at times to come, in sessions since the first one that was ahead.
UPDATE address SET due = 1 WHERE due > 1 AND (digest, host) IN (SELECT v.address, v.host FROM attempt v
    WHERE v.at > ?1 AND v.seq > (SELECT min(s.seq) FROM session s
        WHERE max(s.at, coalesce((SELECT e.at FROM session_end e WHERE e.session = s.seq), '')) > ?1));

-- name: rests_ahead_end
-- Delete the pauses that end after the first session began that was ahead: their times may be those of its clock.
DELETE FROM rest WHERE until > (SELECT CAST(strftime('%s', min(at)) AS INTEGER) FROM session WHERE at > ?1);

-- name: refused_due_again
-- Make the addresses of a host due now whose last attempt was no request, for one of some reasons (JSON).
UPDATE address SET due = 1 WHERE host = ?1 AND due > 1 AND failures > 0
AND (SELECT v.reason FROM attempt v WHERE v.address = address.digest AND v.host = address.host
    ORDER BY v.seq DESC LIMIT 1) IN (SELECT value FROM json_each(?2));

-- name: address_due_at
-- Set when an address of a source is due. An empty source means all sources of the collection.
UPDATE address SET due = ?1 WHERE digest = ?2
AND host IN (SELECT seq FROM host WHERE collection = ?3 AND (?4 = '' OR source = ?4));

-- name: begun_never_again
-- Make some addresses of a source never due: its seeds, and its addresses at origins that it no longer has.
-- So are the addresses to which its repeated requests were redirected. Only addresses of one kind are changed, and not
-- those with some digests. The lists are JSON.
UPDATE address SET due = NULL WHERE due IS NOT NULL AND kind = ?1 AND digest NOT IN (SELECT value FROM json_each(?4))
AND host IN (SELECT seq FROM host WHERE collection = ?2 AND source = ?3) AND (via = 0
    OR EXISTS (SELECT 1 FROM request r WHERE r.digest = address.digest AND r.host = address.host
        AND CASE WHEN json_valid(r.context) THEN json_extract(r.context, '$.hops') > 0 AND json_extract(r.context, '$.every') > 0 END)
    OR host IN (SELECT seq FROM host WHERE collection = ?2 AND source = ?3
        AND origin NOT IN (SELECT value FROM json_each(?5))));

-- name: address_paced
-- Set the interval of the address of an attempt, and make it due when the interval has passed since the attempt.
-- An address that is due before its old interval has passed, is failing, or has a later attempt, is not changed.
UPDATE address SET due = ?1 + ?2, interval = ?2
WHERE (digest, host) = (SELECT v.address, v.host FROM attempt v WHERE v.seq = ?3)
AND failures = 0 AND due >= ?1 + interval - 1
AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.address = address.digest AND v.host = address.host AND v.seq > ?3);

-- name: address_unused
-- Set the failures in a row of the address of an attempt whose answer was not used, and make it due at a time at the
-- latest. An address with a later attempt is not changed.
UPDATE address SET failures = ?1, due = min(coalesce(due, ?2), ?2)
WHERE (digest, host) = (SELECT v.address, v.host FROM attempt v WHERE v.seq = ?3)
AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.address = address.digest AND v.host = address.host AND v.seq > ?3);

-- name: request_every
-- Set the `every` of a stored request of a source. A request that was only made once so far has none. If only a redirect
-- led to the request so far, it is now one of its own, without the number of redirects before it.
UPDATE request SET context = json_remove(json_set(context, '$.every', ?1), '$.hops')
WHERE digest = ?2 AND host IN (SELECT seq FROM host WHERE collection = ?3 AND source = ?4)
AND CASE WHEN json_valid(context) THEN json_extract(context, '$.every') IS NOT ?1 OR json_extract(context, '$.hops') IS NOT NULL END;

-- name: redirected_every
-- Set the `every` of a stored request of a source to which only redirects lead. It is not repeated by itself.
UPDATE request SET context = json_set(context, '$.every', ?1)
WHERE digest = ?2 AND host IN (SELECT seq FROM host WHERE collection = ?3 AND source = ?4)
AND CASE WHEN json_valid(context) THEN json_extract(context, '$.every') IS NOT ?1 AND json_extract(context, '$.hops') > 0 END;

-- name: address_abandoned
-- Make an address of a source never due, unless it is requested by itself: only redirects led to it.
UPDATE address SET due = NULL WHERE digest = ?1 AND due IS NOT NULL
AND host IN (SELECT seq FROM host WHERE collection = ?2 AND source = ?3)
AND EXISTS (SELECT 1 FROM request r WHERE r.digest = address.digest AND r.host = address.host
    AND CASE WHEN json_valid(r.context) THEN json_extract(r.context, '$.hops') > 0 END);

-- name: address_due_sooner
-- Make an address of a source due at most `every` seconds after its last attempt, unless it failed or is taken down. It
-- is due next if it would never be due.
UPDATE address SET due = coalesce(min(due, (SELECT CAST(strftime('%s', max(v.started)) AS INTEGER) FROM attempt v
    WHERE v.address = ?2 AND v.host = address.host) + ?1), 1)
WHERE digest = ?2 AND host IN (SELECT seq FROM host WHERE collection = ?3 AND source = ?4)
AND (due > 1 AND failures = 0 OR due IS NULL AND interval >= 0);

-- name: address_due_by
-- Make an address due when its last response expires, unless it is due before, is never due, or has a later attempt.
UPDATE address SET due = ?1 WHERE (digest, host) = (SELECT v.address, v.host FROM attempt v WHERE v.seq = ?2)
AND due > ?1
AND NOT EXISTS (SELECT 1 FROM attempt v WHERE v.address = address.digest AND v.host = address.host AND v.seq > ?2);

-- row: InconsistentAddress
-- An address whose due time or `capture` does not agree with its attempts.
-- `attempts` is the number of its attempts, `last` the number of the last one that captured it, or 0.

-- def inconsistent() -> Iterator[InconsistentAddress]
-- Yield addresses whose due time or last capture does not agree with their attempts.
-- Addresses that are never due are left out, and so are attempts of other programs, whose duration is not known.
SELECT url, due AS "due: int", capture, attempts AS "attempts: int", last AS "last: int" FROM (
    SELECT a.url, a.due AS due, a.capture AS capture, count(v.seq) AS attempts,
           max(CASE WHEN v.status = 200 AND v.warc <> '' THEN v.seq ELSE 0 END) AS last
    FROM address a LEFT JOIN attempt v ON v.address = a.digest AND v.host = a.host
        AND (v.status IS NULL OR v.seconds > 0
            OR EXISTS (SELECT 1 FROM captured c WHERE c.attempt = v.seq AND c.capture_index = 0 AND c.original <> 0))
    WHERE a.due IS NOT NULL GROUP BY a.digest, a.host)
WHERE (attempts = 0 AND due > 1) OR capture <> last;

-- def next_due(host: int) -> int | None
-- Return the earliest time when an address of a host is due, or None if none will ever be due.
SELECT min(due) FROM address WHERE host = :host;

-- def request_rows(host: int, digests: Sequence[int]) -> dict[int, RequestRow]
-- Return a dict from digest to the stored request of the address of a host with this digest.
-- An address that is not in the dict is requested by a plain GET.
SELECT digest, method, headers, body, context, attachments, seconds FROM request
WHERE host = :host AND digest IN (SELECT value FROM json_each(:digests));
