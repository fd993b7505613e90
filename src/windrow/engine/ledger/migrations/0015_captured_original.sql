-- What other collections took of a capture is found when that is taken down.
CREATE INDEX captured_by_original ON captured (original) WHERE original <> 0;
