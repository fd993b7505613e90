-- Queries on members: the documents in listed files, as attempts fetched them. Files and attempts are given by their
-- numbers, and `facts` are the numbers of the first and the last fact of a range.

-- row: LoadedRow
-- The number of rows that a step loaded for a member.

-- def loaded(step: str, collection: str) -> list[LoadedRow]
-- Return the number of rows that a step loaded for each member whose last reading succeeded.
-- Readings from before the beginning of the last successful replay are left out.
SELECT r.item AS member, m.member_key AS key, r.number FROM reading r JOIN member m ON m.seq = r.item
WHERE r.step = :step AND m.collection = :collection AND r.reason IS NULL AND r.seq = (SELECT max(k.seq) FROM reading k
    WHERE k.item = r.item AND k.step = r.step)
AND r.seq > coalesce((SELECT max(s.seq) FROM session s JOIN session_end e ON e.session = s.seq
    WHERE s.command = 'replay' AND e.outcome = 0), 0) ORDER BY r.item;

-- row: LoadedMember
-- A member that a step loaded.

-- def last_loaded(step: str, collection: str) -> LoadedMember | None
-- Return the member that a step loaded last, or None. Readings are left out as in `loaded`.
SELECT r.item AS member, m.member_key AS key FROM reading r JOIN member m ON m.seq = r.item
WHERE r.step = :step AND m.collection = :collection AND r.reason IS NULL
AND r.seq > coalesce((SELECT max(s.seq) FROM session s JOIN session_end e ON e.session = s.seq
    WHERE s.command = 'replay' AND e.outcome = 0), 0) ORDER BY r.seq DESC LIMIT 1;

-- row: PassedCount
-- The number of files with the same result of a step.
-- `passed` is true if all members of a file have passed the step, `failed` if a member failed at it and none had been
-- refused or had failed at another step before. An empty step is the check of names and entries.

-- def passed_between(collection: str, facts: tuple[int, int]) -> list[PassedCount]
-- Count by step and result the files whose members were found, or were read by a step, between two facts.
SELECT k.step, CASE WHEN k.good = (SELECT count(*) FROM member o WHERE o.attempt = k.attempt)
       THEN 1 ELSE NOT EXISTS (SELECT 1 FROM member o WHERE o.attempt = k.attempt AND NOT EXISTS (
           SELECT 1 FROM reading g WHERE g.item = o.seq AND g.step = k.step AND g.reason IS NULL AND g.seq <= :facts[1])
       ) END AS "passed: bool", k.failed > 0 AND NOT EXISTS (SELECT 1 FROM member o WHERE o.attempt = k.attempt
           AND (o.reason IS NOT NULL OR EXISTS (SELECT 1 FROM reading g WHERE g.item = o.seq
               AND g.step <> k.step AND g.reason IS NOT NULL AND g.seq < k.first))) AS "failed: bool",
       count(*) AS "number: int"
FROM (SELECT m.attempt, r.step, sum(r.reason IS NOT NULL) AS failed, min(r.seq) AS first,
        sum(r.reason IS NULL) AS good FROM reading r JOIN member m ON m.seq = r.item
    WHERE r.seq BETWEEN :facts[0] AND :facts[1] AND m.collection = :collection GROUP BY 1, 2) k GROUP BY 1, 2, 3
UNION ALL SELECT '', n.refused = 0, n.refused > 0, count(*) FROM (
    SELECT sum(m.reason IS NOT NULL) AS refused FROM member m WHERE m.seq BETWEEN :facts[0] AND :facts[1]
    AND m.collection = :collection GROUP BY m.attempt) n GROUP BY 2, 3;

-- row: BroughtMember
-- A member, the step that it waits for, failed at or was ended before, and the reason.

-- def brought(attempt: int) -> list[BroughtMember]
-- Return the members that an attempt fetched, in the order of their ranks.
SELECT m.seq AS member, m.member_key AS key, m.kind, p.step, p.status, p.reason
FROM member m LEFT JOIN pending_step p ON p.item = m.seq WHERE m.attempt = :attempt ORDER BY m.rank, m.seq;

-- def count_named(collection: str, reasons: Iterable[str]) -> int
-- Count a collection's members that were refused for one of these reasons.
SELECT count(*) FROM member WHERE collection = :collection AND reason IN (SELECT value FROM json_each(:reasons));

-- row: MemberCount
-- The number of an attempt's members with the same pending step (None: all steps are done) and status.
-- `started` is whether this step has begun for them.

-- def count(files: Sequence[int]) -> list[MemberCount]
-- Count the members of files by attempt and pending step.
SELECT v.listed_file AS "file: int", m.attempt, p.step AS "step: str | None", p.status AS "status: Status | None",
       EXISTS (SELECT 1 FROM step_start s WHERE s.item = p.item AND s.seq > p.since) AS "started: bool",
       count(*) AS "number: int"
FROM attempt v JOIN member m ON m.attempt = v.seq LEFT JOIN pending_step p ON p.item = m.seq
WHERE v.listed_file IN (SELECT value FROM json_each(:files)) GROUP BY 1, 2, 3, 4, 5;

-- def of_file(file: int) -> list[int]
-- Return the numbers of the members of a file from all attempts to fetch it, in order.
SELECT m.seq FROM attempt v JOIN member m ON m.attempt = v.seq WHERE v.listed_file = :file ORDER BY m.seq;

-- def ended(files: Sequence[int]) -> list[int]
-- Return the numbers of members that ended because their file, one of `files`, was cancelled or retried.
SELECT p.item FROM attempt v JOIN member m ON m.attempt = v.seq JOIN pending_step p ON p.item = m.seq
WHERE v.listed_file IN (SELECT value FROM json_each(:files)) AND p.status = 4 ORDER BY p.item;
