-- Several sources of a collection on one origin: each has its own addresses there.
DROP INDEX host_by_origin;
CREATE UNIQUE INDEX host_by_origin ON host (origin, collection, source);
