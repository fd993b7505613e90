"""The statements by which rows of facts are written, by the name of their table or of what is done to it."""

from __future__ import annotations

from windrow.engine.ledger.query import queries

_WIDTH = {
    "session": 4, "session_end": 4, "task": 6, "task_end": 6, "item": 14, "listing": 10, "refusal": 7,
    "fetch": 6, "fetch_end": 21, "reading": 10, "move": 8, "finding": 10, "host": 6, "visit": 23,
}  # fmt: skip
_WIDTH |= {"tombstone": 9, "tombstone_end": 8}
INSERT = {table: f"INSERT INTO {table} VALUES ({','.join('?' * width)})" for table, width in _WIDTH.items()}
INSERT["refusal"] += " ON CONFLICT DO NOTHING"
INSERT["standing"] = (
    "INSERT INTO standing VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (item) DO UPDATE SET fetch = excluded.fetch,"
    " phase = excluded.phase, status = excluded.status, reason = excluded.reason, since = excluded.since"
)
INSERT["moved"] = "UPDATE standing SET phase = ?, status = ?, reason = ?, since = ? WHERE item = ?"
INSERT["fetched"] = "UPDATE standing SET fetch = ? WHERE item = ?"
INSERT["offering"] = (
    "INSERT INTO offering VALUES (?,?,?,?,?,?,?) ON CONFLICT (source, item) DO UPDATE SET"
    " path = excluded.path, present = excluded.present, size = excluded.size,"
    " modified = excluded.modified, sidecar = excluded.sidecar"
)
INSERT["address"] = (
    # what was only known from elsewhere (a pause of -1) becomes due when a crawl of ours finds it
    "INSERT INTO address VALUES (?,?,?,?,?,0,0,0,0,?) ON CONFLICT (digest) DO UPDATE SET via = excluded.via,"
    " place = excluded.place, due = 0, pause = 0 WHERE pause = -1"
)
INSERT["known"] = (
    "INSERT INTO address (digest, host, url, via, place, due, pause, capture, failures)"
    " VALUES (?,?,?,0,?,NULL,-1,0,0) ON CONFLICT DO NOTHING"
)
INSERT["intake"] = "INSERT INTO intake VALUES (?,?,?,?,0)"
INSERT["intake_at"] = "UPDATE intake SET place_offset = ? WHERE item = ?"
INSERT["intake_named"] = "INSERT INTO intake_name VALUES (?,?) ON CONFLICT DO NOTHING"
INSERT["intake_waits"] = "INSERT INTO intake_waiting VALUES (?,?,?) ON CONFLICT DO NOTHING"
INSERT["intake_waited"] = "DELETE FROM intake_waiting WHERE item = ? AND place_offset = ?"
INSERT["payload"] = "INSERT INTO payload VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING"
INSERT["host_taken"] = "UPDATE host SET source = ? WHERE seq = ?"
INSERT["visited"] = (
    "UPDATE address SET due = ?, pause = ?, failures = ?, capture = coalesce(?, capture) WHERE digest = ?"
)
INSERT["hinted"] = queries()["hinted"]
INSERT["rest"] = "INSERT INTO rest VALUES (?, ?) ON CONFLICT (host) DO UPDATE SET until = max(until, excluded.until)"
