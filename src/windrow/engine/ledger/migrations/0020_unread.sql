-- Visits whose answer a step did not read, and not by the answer's fault: a later run reads it again. The reason, how
-- often in a row this version of the step failed so, and when last; the version is empty where an operator asked for
-- another attempt.
CREATE TABLE unread (
    visit BIGINT NOT NULL, collection VARCHAR(32) NOT NULL, phase INTEGER NOT NULL, version VARCHAR(128) NOT NULL,
    reason VARCHAR(32) NOT NULL, times INTEGER NOT NULL, at VARCHAR(32) NOT NULL,
    PRIMARY KEY (visit, phase)
);
