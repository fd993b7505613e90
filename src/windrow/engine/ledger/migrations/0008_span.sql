-- Which records of the archive are to be erased: a killed run's successor need not look for them, and could not find
-- what is erased by half. They stay here, since the files keep their lengths.
CREATE TABLE tombstone_span (
    tombstone BIGINT NOT NULL, warc VARCHAR(256) NOT NULL, place_offset BIGINT NOT NULL, place_length BIGINT NOT NULL,
    PRIMARY KEY (tombstone, warc, place_offset)
);
