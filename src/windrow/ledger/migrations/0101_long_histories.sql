-- Find the tasks of one source or of one phase, and their ends, without reading those of all sessions: a workspace that
-- is run hourly has half a million tasks after a year.

CREATE INDEX task_by_source ON task (source, session, seq);
CREATE INDEX task_by_collection ON task (collection, session, phase);
CREATE INDEX task_end_by_task ON task_end (task);
CREATE INDEX task_end_with_reason ON task_end (task) WHERE reason IS NOT NULL;  -- finds what rules left out
CREATE INDEX task_end_failed ON task_end (task) WHERE failed;
CREATE INDEX session_by_time ON session (at, seq);
CREATE INDEX session_end_by_session ON session_end (session);
CREATE INDEX host_by_collection ON host (collection);
