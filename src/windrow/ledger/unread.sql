-- Queries on attempts and items that could not be read for a cause other than their bytes, and must be read again.

-- row: UnreadDocument
-- An attempt or an item that `version` of a step failed to read: the reason, how often in a row, and when last.

-- part: superseded
u.reason IN ('capped', 'soft_404', 'consent_page', 'bot_wall') AND EXISTS (SELECT 1 FROM attempt a JOIN attempt b ON b.address = a.address
    WHERE a.seq = u.attempt AND b.host = a.host AND b.seq > a.seq AND b.reason IS NULL
    AND (b.digest NOT IN ('', a.digest) OR EXISTS (SELECT 1 FROM unread o WHERE o.attempt = b.seq
        AND o.collection = u.collection AND o.phase = u.phase AND o.reason = u.reason)))

-- def attempts(collection: str, phase: int) -> list[UnreadDocument]
-- Return the attempts that the step of a phase failed to read, in order.
-- An attempt that is unread because of a cap, or because the server sent another page, is not returned if a later attempt
-- at its address received other bytes, or is unread for the same reason.
SELECT u.attempt AS number, u.version, u.reason, u.times, u.at FROM unread u
WHERE u.collection = :collection AND u.phase = :phase AND NOT ({superseded}) ORDER BY u.attempt;

-- row: CappedSession
-- A phase, and a session in which a cap left out parts of documents in this phase.

-- def capped_in(collection: str, source: str) -> list[CappedSession]
-- Return the phases and sessions that read those documents of a source of which caps leave out parts now.
SELECT DISTINCT u.phase, (SELECT s.seq FROM session s WHERE s.at <= u.at ORDER BY s.at DESC, s.seq DESC LIMIT 1) AS "session: int"
FROM unread u JOIN attempt v ON v.seq = u.attempt JOIN host h ON h.seq = v.host
WHERE u.collection = :collection AND h.source = :source AND u.reason = 'capped' AND NOT ({superseded});

-- def items_failed(collection: str, step: str, reasons: Iterable[str]) -> list[UnreadDocument]
-- Return the items that failed at a step for one of these reasons, with the last reading of each item.
-- `times` is the number of readings by the last version after the last reading that did not fail.
SELECT p.item AS number, r.version, p.reason AS "reason: Reason", (SELECT count(*) FROM reading k
    WHERE k.item = p.item AND k.step = r.step AND k.version = r.version AND k.seq > coalesce((SELECT max(g.seq)
    FROM reading g WHERE g.item = k.item AND g.step = k.step AND g.reason IS NULL), 0)) AS "times: int", r.at
FROM pending_step p LEFT JOIN member m ON m.seq = p.item
JOIN reading r ON r.seq = (SELECT max(k.seq) FROM reading k WHERE k.item = p.item AND k.step = p.step)
WHERE p.collection = :collection AND p.step = :step AND p.status = 5 AND {of_latest}
AND p.reason IN (SELECT value FROM json_each(:reasons)) ORDER BY p.item;

-- def changed(collection: str, facts: tuple[int, int], by_session: bool) -> dict[str, int]
-- Count by source the attempts that brought other bytes than before, and that windrow itself failed to read.
-- `facts` are the first and the last of the attempts or, if `by_session`, of their sessions.
SELECT h.source, count(*) AS "number: int" FROM unread u JOIN attempt v ON v.seq = u.attempt JOIN host h ON h.seq = v.host
WHERE u.collection = :collection AND u.reason NOT IN ('capped', 'soft_404', 'consent_page', 'bot_wall')
AND CASE WHEN :by_session THEN v.session ELSE v.seq END BETWEEN :facts[0] AND :facts[1]
AND EXISTS (SELECT 1 FROM attempt p WHERE p.address = v.address AND p.host = v.host AND p.seq < v.seq
    AND p.status = 200 AND p.digest NOT IN ('', v.digest))
GROUP BY h.source;

-- row: UnreadAddress
-- An attempt that must be read again, the phase of the step, why, and the address as digest, source and URL.

-- def addresses(collection: str, source: str = "", reason: str = "", among: Sequence[int] | None = None)
--     -> list[UnreadAddress]
-- Return the attempts of a source that must be read again because reading them failed for a reason.
-- An empty text means any source or any reason. Those that `attempts` leaves out are left out here, too. `among` has digests of addresses: only attempts at these are returned,
-- unless it is None.
SELECT u.attempt, u.phase, u.reason AS "reason: str", v.address AS "address: int", coalesce(h.source, '') AS "source: str",
    coalesce(a.url, v.url) AS "url: str"
FROM unread u JOIN attempt v ON v.seq = u.attempt
LEFT JOIN host h ON h.seq = v.host LEFT JOIN address a ON a.digest = v.address AND a.host = v.host
WHERE u.collection = :collection AND (:source = '' OR h.source = :source) AND (:reason = '' OR u.reason = :reason)
AND (:among IS NULL OR v.address IN (SELECT value FROM json_each(:among))) AND NOT ({superseded}) ORDER BY u.attempt;

-- def substitutes_before(attempt: int, phase: int, reasons: Iterable[str]) -> int
-- Count the answers in a row at its address, before an attempt, that were another page than the document.
SELECT coalesce(max(u.times), 0) FROM unread u WHERE u.phase = :phase
AND u.reason IN (SELECT value FROM json_each(:reasons))
AND u.attempt = (SELECT max(b.seq) FROM attempt v JOIN attempt b ON b.address = v.address AND b.host = v.host
    AND b.seq < v.seq AND b.status < 400 WHERE v.seq = :attempt);

-- name: unread_put
INSERT OR REPLACE INTO unread VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: unread_remove
DELETE FROM unread WHERE phase = ? AND attempt = ?;

-- name: unread_ask
-- Let an attempt be read without a pause: the version of the step is cleared, as if another version had to read it.
UPDATE unread SET version = '', times = 0 WHERE phase = ? AND attempt = ?;
