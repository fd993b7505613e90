-- Queries on listed files, whichever sources list them. Files and attempts are given by their numbers.

-- row: KnownFile
-- A listed file.
-- `failed_step` is the step at which it failed, "" if its name was refused, or None if it has not failed. `attempt` is
-- its last attempt, or 0.

-- def known(collection: str, keys: Sequence[str]) -> dict[str, KnownFile]
-- Return a dict from key to listed file, for those of these keys that a collection has.
SELECT f.file_key AS key, f.seq AS file, CASE WHEN p.status = 5 THEN p.step END AS "failed_step: str | None",
       coalesce((SELECT max(v.seq) FROM attempt v WHERE v.listed_file = f.seq), 0) AS "attempt: int"
FROM listed_file f LEFT JOIN pending_step p ON p.item = f.seq
WHERE f.collection = :collection AND f.file_key IN (SELECT value FROM json_each(:keys)) ORDER BY f.seq;

-- def numbers(collection: str) -> list[int]
-- Return the numbers of a collection's listed files, in order.
SELECT seq FROM listed_file WHERE collection = :collection ORDER BY seq;

-- row: SameName
-- A fetched file, and one of the same name in another folder that was fetched earlier, with other bytes.

-- def with_same_name(collection: str, folders: Sequence[str], kind: str) -> list[SameName]
-- Return the files with other bytes than an earlier one of the same name in another of these folders.
-- Those reported under this kind since their latest transfer are left out; earlier transfers do not count.
SELECT f.seq AS file, f.file_key AS key, o.file_key AS other_key
FROM listed_file f CROSS JOIN json_each(:folders) d
JOIN listed_file o ON o.collection = f.collection AND o.seq <> f.seq
    AND o.file_key = d.value || substr(f.file_key, instr(f.file_key, '/'))
JOIN attempt v ON v.seq = (SELECT max(a.seq) FROM attempt a
    WHERE a.listed_file = f.seq AND a.reason IS NULL AND a.end_seq IS NOT NULL)
JOIN attempt w ON w.seq = (SELECT max(a.seq) FROM attempt a
    WHERE a.listed_file = o.seq AND a.reason IS NULL AND a.end_seq IS NOT NULL)
WHERE f.collection = :collection AND v.digest <> w.digest AND w.seq < v.seq
AND NOT EXISTS (SELECT 1 FROM finding n WHERE n.item = f.seq AND n.kind = :kind AND n.seq > v.seq)
ORDER BY f.seq, o.seq;

-- row: ArrivalCount
-- The number of files whose attempts ended with the same `reason` (None: fetched).
-- `compared` is true if the files were compared with a checksum file.

-- def fetched_between(collection: str, facts: tuple[int, int]) -> list[ArrivalCount]
-- Count by reason and `compared` the files with an attempt that ended between two facts.
SELECT v.reason, v.checksum <> '' AS "compared: bool", count(DISTINCT v.listed_file) AS "number: int" FROM attempt v
JOIN listed_file f ON f.seq = v.listed_file WHERE v.end_seq BETWEEN :facts[0] AND :facts[1]
AND f.collection = :collection GROUP BY 1, 2 ORDER BY 1, 2;

-- def by_address(address: str) -> list[ItemKey]
-- Return the files that were requested from an address.
SELECT DISTINCT f.seq AS item, f.file_key AS key FROM attempt v JOIN listed_file f ON f.seq = v.listed_file
WHERE v.url = :address ORDER BY 1;

-- def by_path(source: str, path: str) -> list[ItemKey]
-- Return the files that a source lists, or has listed, at a path.
SELECT f.seq AS item, f.file_key AS key FROM mirror o JOIN listed_file f ON f.seq = o.listed_file
WHERE o.source = :source AND o.path = :path;

-- def of_attempt(attempt: int) -> list[ItemKey]
-- Return the file of an attempt, by the number of the attempt or of its end.
SELECT f.seq AS item, f.file_key AS key FROM listed_file f WHERE f.seq IN (
    SELECT listed_file FROM attempt WHERE seq = :attempt
    UNION SELECT listed_file FROM attempt WHERE end_seq IS NOT seq AND end_seq = :attempt);

-- def keys_by_status(collection: str, statuses: tuple[Status, Status], source: str, reason: str,
--     excluded: Sequence[str] = ()) -> list[str]
-- Return the keys of the files from a source (empty: any) with one of two statuses and a reason (empty: any).
-- Files that only the sources `excluded` list, or have listed, are left out. A file without a pending step has the
-- statuses and reasons of the members that its latest attempt fetched.
SELECT DISTINCT f.file_key FROM listed_file f LEFT JOIN pending_step p ON p.item = f.seq
LEFT JOIN mirror o ON o.listed_file = f.seq WHERE f.collection = :collection
AND (:source = '' OR o.source = :source)
AND (o.source IS NULL OR o.source NOT IN (SELECT value FROM json_each(:excluded)))
AND ((p.status IN (:statuses[0], :statuses[1]) AND (:reason = '' OR p.reason = :reason OR EXISTS (
    SELECT 1 FROM attempt v JOIN member m ON m.attempt = v.seq JOIN pending_step c ON c.item = m.seq
    WHERE v.listed_file = f.seq AND c.reason = :reason)))
OR (p.item IS NULL AND EXISTS (SELECT 1 FROM member m JOIN pending_step c ON c.item = m.seq
    WHERE m.attempt = (SELECT max(v.seq) FROM attempt v WHERE v.listed_file = f.seq)
    AND c.status IN (:statuses[0], :statuses[1]) AND (:reason = '' OR c.reason = :reason))));
