-- Find the attempts at one host, the latest first, without reading those at all others. A query that does not say
-- `listed_file IS NULL` cannot use this index: an address or a range of numbers finds fewer attempts than a host does.
CREATE INDEX attempt_by_host ON attempt (host) WHERE listed_file IS NULL;
