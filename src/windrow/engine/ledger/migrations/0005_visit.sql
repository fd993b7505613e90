-- What was asked, where no address of ours tells it (the rules of a host, and wherever they moved to), and
-- the media type of what came.
ALTER TABLE visit ADD COLUMN url VARCHAR(2048) NOT NULL DEFAULT '';
ALTER TABLE visit ADD COLUMN mime VARCHAR(128) NOT NULL DEFAULT '';

-- The collection's own word for what lies at an address.
ALTER TABLE address ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;

-- Present state: until when a host asked to be left alone (seconds since 1970).
CREATE TABLE rest (host BIGINT PRIMARY KEY, until BIGINT NOT NULL);
