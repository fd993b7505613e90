-- Several collections on one site: an address belongs to a host, which is an origin within a collection, so that each
-- collection has every address it wants; that a site asked to be left alone holds for all of them.

-- Sessions are counted 1, 2, 3 for people. `seq` stays their number among the facts, and in the names of WARC files.
ALTER TABLE session ADD COLUMN number BIGINT NOT NULL DEFAULT 0;
UPDATE session SET number = (SELECT count(*) FROM session s WHERE s.seq <= session.seq);
CREATE UNIQUE INDEX session_by_number ON session (number);

-- Keyed by 64 bits of the hash of what is asked: the URL alone for a plain GET. `via` is the address of the same
-- collection that it was first found at, 0 for a beginning; a low `place` goes first. What follows `place` is present
-- state: when it is due (seconds since 1970; 0 for never asked, 1 for next, NULL for never again), after how many
-- seconds it was last thought to change (-1: only known from elsewhere), its last attempt with a body, how many in a
-- row failed; and the collection's own word for what lies there. The rows stay in the order in which they were found.
CREATE TABLE address_by_host (
    digest BIGINT NOT NULL, host BIGINT NOT NULL, url VARCHAR(2048) NOT NULL, via BIGINT NOT NULL,
    place INTEGER NOT NULL, due BIGINT, pause BIGINT NOT NULL, capture BIGINT NOT NULL, failures INTEGER NOT NULL,
    kind INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (digest, host)
);
INSERT INTO address_by_host (rowid, digest, host, url, via, place, due, pause, capture, failures, kind)
SELECT rowid, digest, host, url, via, place, due, pause, capture, failures, kind FROM address ORDER BY rowid;
DROP TABLE address;
ALTER TABLE address_by_host RENAME TO address;
CREATE INDEX address_due ON address (host, due, place);

-- What is asked at an address where that is no plain GET, and a text that its discovery gave it for itself.
CREATE TABLE request (
    digest BIGINT NOT NULL, host BIGINT NOT NULL, method VARCHAR(16) NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL,
    context TEXT NOT NULL, PRIMARY KEY (digest, host)
) WITHOUT ROWID;

-- Until when an origin asked to be left alone (seconds since 1970), whichever collection it said that to.
CREATE TABLE rest_by_origin (origin VARCHAR(512) PRIMARY KEY, until BIGINT NOT NULL) WITHOUT ROWID;
INSERT INTO rest_by_origin SELECT h.origin, max(r.until) FROM rest r JOIN host h ON h.seq = r.host GROUP BY h.origin;
DROP TABLE rest;
ALTER TABLE rest_by_origin RENAME TO rest;
