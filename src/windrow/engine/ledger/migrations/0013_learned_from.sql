-- The answer that something was learned from, 0 where that was not put on record: it goes when the answer is taken down.
ALTER TABLE learned ADD COLUMN visit BIGINT NOT NULL DEFAULT 0;
