-- What was taken down: an address of a crawl, or with `host` all of an origin; by whom, and why. Nothing of it is
-- asked for again. `target` is how it is called, `holder` who ran the command.
CREATE TABLE tombstone (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL, collection VARCHAR(32) NOT NULL,
    target VARCHAR(2048) NOT NULL, address BIGINT NOT NULL, host BIGINT NOT NULL, holder VARCHAR(256) NOT NULL,
    reason TEXT NOT NULL
);
CREATE INDEX tombstone_by_address ON tombstone (address, host);

-- What became of it: everything is gone ('done'), with what that was, or it may be asked for again ('lifted').
CREATE TABLE tombstone_end (
    seq BIGINT PRIMARY KEY, at VARCHAR(32) NOT NULL, session BIGINT NOT NULL, tombstone BIGINT NOT NULL,
    event VARCHAR(16) NOT NULL, captures BIGINT NOT NULL, bytes BIGINT NOT NULL, records BIGINT NOT NULL
);
CREATE INDEX tombstone_end_by_tombstone ON tombstone_end (tombstone);

-- The rules of a host are found without a look at its pages.
CREATE INDEX visit_rules ON visit (host, seq) WHERE address = 0;
