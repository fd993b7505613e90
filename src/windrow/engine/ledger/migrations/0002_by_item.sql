-- What happened to one item is asked for at every retry and by `windrow why`: find it without a scan.

CREATE INDEX fetch_end_by_item ON fetch_end (item);
CREATE INDEX listing_by_item ON listing (item);
CREATE INDEX reading_by_item ON reading (item);
