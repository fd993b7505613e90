-- What is found by requests: what each answer led to, what was learned of the sources, and what there is.

-- One answer that was followed. A source's last one is how far its following got.
CREATE TABLE followed (
    visit BIGINT PRIMARY KEY, collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, requests INTEGER NOT NULL,
    offers INTEGER NOT NULL, fresh INTEGER NOT NULL, reason VARCHAR(32), ending TEXT NOT NULL, findings TEXT NOT NULL
);
CREATE INDEX followed_by_source ON followed (collection, source, visit);

-- What a discovery learned of a source, for itself, as JSON.
CREATE TABLE learned (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, name VARCHAR(128) NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (collection, source, name)
) WITHOUT ROWID;

-- What an answer offers, and where in its plain body that lies; a length of -1 is the whole.
CREATE TABLE offered (
    visit BIGINT NOT NULL, ordinal INTEGER NOT NULL, name VARCHAR(512) NOT NULL, part_offset BIGINT NOT NULL,
    part_length BIGINT NOT NULL, url VARCHAR(2048) NOT NULL, PRIMARY KEY (visit, ordinal)
) WITHOUT ROWID;

-- What a source offered ever, and the answer that did so first.
CREATE TABLE offer_known (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, name VARCHAR(512) NOT NULL, visit BIGINT NOT NULL,
    PRIMARY KEY (collection, source, name)
) WITHOUT ROWID;
