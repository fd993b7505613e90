-- What a crawl knows and did. An address is one row however often it is seen; a visit is a fact.

-- An origin (scheme, host and port) that a source's crawl may ask.
CREATE TABLE host (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL,
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, origin VARCHAR(512) NOT NULL
);
CREATE UNIQUE INDEX host_by_origin ON host (origin, collection);

-- Keyed by 64 bits of the URL's hash. `via` is the address it was first found at, 0 for a seed. The
-- last four are present state: when it is due (seconds since 1970; 0 for never asked, NULL for never
-- again), after how many seconds it was last thought to change, its last visit with a body, and how
-- many visits in a row failed.
CREATE TABLE address (
    digest BIGINT PRIMARY KEY, host BIGINT NOT NULL, url VARCHAR(2048) NOT NULL, via BIGINT NOT NULL,
    place INTEGER NOT NULL, due BIGINT, pause BIGINT NOT NULL, capture BIGINT NOT NULL, failures INTEGER NOT NULL
);
CREATE INDEX address_due ON address (host, due, place);

-- One question to a host and what came of it. `kind` is the collection's own word for it.
CREATE TABLE visit (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL, host BIGINT NOT NULL,
    address BIGINT NOT NULL, kind INTEGER NOT NULL, allowed INTEGER NOT NULL, started VARCHAR(32) NOT NULL,
    seconds DOUBLE PRECISION NOT NULL, status INTEGER, reason VARCHAR(32), message TEXT NOT NULL,
    digest VARCHAR(96) NOT NULL, size BIGINT, warc VARCHAR(256) NOT NULL, place_offset BIGINT,
    place_length BIGINT, revisit INTEGER NOT NULL, etag VARCHAR(256) NOT NULL,
    modified VARCHAR(64) NOT NULL, location VARCHAR(2048) NOT NULL
);
CREATE INDEX visit_by_address ON visit (address);
CREATE INDEX visit_by_warc ON visit (warc, place_offset);
