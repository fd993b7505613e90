-- What is asked of WARC files of other makers.

-- row: ImportRow
-- A WARC file of another maker: all its records before `offset` are on record.

-- def get(warc: str) -> ImportRow | None
-- Return how far a file is on record, None where it is not.
SELECT item, source, place_offset AS offset FROM intake WHERE warc = :warc;

-- def payload(spelled: str) -> KeptResponse | None
-- Return where bytes lie, by the digest that their own file gives them.
SELECT digest, size, warc, place_offset AS offset, place_length AS length FROM payload WHERE spelled = :spelled;

-- row: ResolvedRevisit
-- A revisit whose bytes have come since it was read.

-- def resolved(after: tuple[int, int], limit: int) -> list[ResolvedRevisit]
-- Return revisits, after a given item and offset, whose bytes have come since.
SELECT w.item, w.place_offset AS offset, i.warc, i.source FROM intake_waiting w JOIN payload p ON p.spelled = w.spelled
JOIN intake i ON i.item = w.item
WHERE (w.item, w.place_offset) > (:after[0], :after[1]) ORDER BY w.item, w.place_offset LIMIT :limit;

-- def count_waiting(source: str) -> int
-- Count the revisits of a source's files that wait for their bytes.
SELECT count(*) FROM intake_waiting w JOIN intake i ON i.item = w.item WHERE i.source = :source;

-- row: ImportSource
-- A source that files came in by, and the collection that has them.

-- def sources() -> list[ImportSource]
-- Return the sources that files came in by.
SELECT DISTINCT i.source AS name, t.collection FROM intake i JOIN item t ON t.seq = i.item ORDER BY 1;

-- def count_waiting_in(item: int) -> int
-- Count the revisits of one file that wait for their bytes.
SELECT count(*) FROM intake_waiting WHERE item = :item;

-- def names(item: int) -> list[str]
-- Return what people call a file.
SELECT name FROM intake_name WHERE item = :item ORDER BY name;

-- def named(name: str) -> list[ItemKey]
-- Return files that are called so.
SELECT i.seq AS item, i.item_key AS key FROM intake_name n JOIN item i ON i.seq = n.item
WHERE n.name = :name ORDER BY i.seq;

-- def by_tail(tail: str, limit: int) -> list[ItemKey]
-- Return files of which a name ends so.
SELECT DISTINCT i.seq AS item, i.item_key AS key FROM intake_name n JOIN item i ON i.seq = n.item
WHERE substr(n.name, -length(:tail)) = :tail ORDER BY i.seq LIMIT :limit;
