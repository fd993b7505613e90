-- Listings of all that a source has: the answers with which each began and ended.
CREATE TABLE whole_listing (
    collection VARCHAR(32) NOT NULL, source VARCHAR(128) NOT NULL, began BIGINT NOT NULL, ended BIGINT PRIMARY KEY
);
CREATE INDEX whole_listing_by_source ON whole_listing (collection, source, ended);
