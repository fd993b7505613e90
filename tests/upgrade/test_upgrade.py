"""A workspace of the first version is upgraded: nothing is lost, and everything is told and projected as before.

`make.py` wrote `workspace-0008.tar.gz` with the code of then.
"""

import json
import signal
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from tests import programs
from windrow.collections.drops.adapter.tracker_books import Tracker
from windrow.config import load
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.database import migrations
from windrow.engine.ledger.facts import facts
from windrow.ledger_facts import FetchBegun, FetchEnded

PACKED = Path(__file__).parent / "workspace-0008.tar.gz"
OLD = 8

KILLED = """
import os, signal, sys
from pathlib import Path
from windrow.engine.ledger import Ledger, database
connect, known = database.sqlite3.connect, database.migrations()
def deadly(*args, **more):
    link = connect(*args, **more)
    link.create_function("die", 0, lambda: os.kill(os.getpid(), signal.SIGKILL))
    return link
def cut():
    number, text = next(one for one in known if one[0] == int(sys.argv[2]))
    parts = text.split(";\\n")
    parts.insert(int(sys.argv[3]), "SELECT die()")
    return [one if one[0] != number else (number, ";\\n".join(parts)) for one in known]
database.sqlite3.connect, database.migrations = deadly, cut
Ledger(Path(sys.argv[1]))
"""


def rows(path: Path) -> dict[str, list[tuple]]:
    """Return all rows of a database, by table."""
    with closing(sqlite3.connect(path)) as link:
        names = [row[0] for row in link.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: sorted(link.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in names}


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Path:
    """Unpack the workspace, and make its databases."""
    folder = tmp_path_factory.mktemp("packed")
    with tarfile.open(PACKED) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2, of Debian 12, has none
        tar.extractall(folder)
    (folder / "password").write_text("none")
    (folder / "password").chmod(0o600)
    for name in ("ledger", "tracker"):
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as link:
            link.executescript((folder / f"{name}.sql").read_text())
        (folder / f"{name}.sql").unlink()
    return folder


@pytest.fixture
def workspace(packed: Path, tmp_path: Path) -> Path:
    """Copy it for one test."""
    root = tmp_path / "workspace"
    root.mkdir()
    for path in sorted(packed.rglob("*")):
        if path.is_file():
            copy = root / path.relative_to(packed)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
            copy.chmod(path.stat().st_mode)
    return root


@pytest.fixture(scope="module")
def expected(packed: Path) -> dict:
    return json.loads((packed / "expected.json").read_text())


def test_nothing_is_lost_and_a_copy_of_the_old_ledger_stays(workspace: Path, packed: Path) -> None:
    before = rows(packed / "ledger.sqlite")
    Ledger(workspace / "ledger.sqlite").close()
    after = rows(workspace / "ledger.sqlite")
    changed = {"session", "rest", "address", "fetch", "fetch_end", "visit", "host", "counter"}
    assert {name: after[name] for name in before if name not in changed} == {
        name: before[name] for name in before if name not in changed
    }
    # digest, host, url, via, place, due, pause, capture, failures, kind: as they were
    assert after["address"] == before["address"]
    assert [row[:4] for row in after["session"]] == before["session"]
    numbers = [row[4] for row in sorted(after["session"])]
    assert numbers == [*range(1, len(before["session"]) + 1)]
    assert rows(workspace / f"ledger.before-{OLD + 1:04}.db") == before


VISITS = """
SELECT seq, at, session, host, address, kind, allowed, started, seconds, status, reason, message, digest, size, warc,
       place_offset, place_length, revisit, etag, modified, location, url, mime FROM attempt
WHERE item IS NULL AND end_seq = seq ORDER BY seq
"""
FETCHES = """
SELECT a.seq, a.at, a.session, a.item, h.source, a.url FROM attempt a JOIN host h ON h.seq = a.host
WHERE a.item IS NOT NULL ORDER BY a.seq
"""
ENDS = """
SELECT a.end_seq, a.ended, a.seq, a.item, h.source, a.seconds, a.status, a.received, a.reason, a.message, a.digest, a.size,
       a.warc, a.place_offset, a.place_length, a.revisit, a.etag, a.modified, a.checksum, a.started, a.mime
FROM attempt a JOIN host h ON h.seq = a.host WHERE a.item IS NOT NULL AND a.end_seq IS NOT NULL ORDER BY a.end_seq
"""


def test_fetches_and_visits_are_attempts_of_hosts_and_say_what_they_said(workspace: Path, packed: Path) -> None:
    """One fetch was cut, and one record's date is not known: that of its end stands for it."""
    for root in (packed, workspace):
        with closing(sqlite3.connect(root / "ledger.sqlite")) as link:
            cut, undated = link.execute("SELECT min(fetch), max(seq) FROM fetch_end WHERE dated <> ''").fetchone()
            if root == workspace:
                link.execute("DELETE FROM fetch_end WHERE fetch = ?", (cut,))
                link.execute("UPDATE fetch_end SET dated = '' WHERE seq = ?", (undated,))
                link.commit()
    before = rows(packed / "ledger.sqlite")
    Ledger(workspace / "ledger.sqlite").close()
    with closing(sqlite3.connect(workspace / "ledger.sqlite")) as link:
        assert link.execute(VISITS).fetchall() == sorted(before["visit"])
        assert link.execute(FETCHES).fetchall() == sorted(before["fetch"])
        ends = [list(one) for one in sorted(before["fetch_end"]) if one[2] != cut]
        for one in ends:
            one[19] = one[1] if one[0] == undated else one[19]
        assert [list(one) for one in link.execute(ENDS)] == ends
        assert link.execute("SELECT seq FROM attempt WHERE end_seq IS NULL").fetchall() == [(cut,)]
        origins = link.execute(
            "SELECT DISTINCT h.collection, h.source, h.origin, substr(a.url, 1, length(h.origin) + 1) = h.origin || '/'"
            " FROM host h JOIN attempt a ON a.host = h.seq WHERE a.item IS NOT NULL"
        ).fetchall()
        assert {source for _, source, *_ in origins} == {one[4] for one in before["fetch"]}
        assert all(same for *_, same in origins)
        assert len({(kind, source) for kind, source, *_ in origins}) == len(origins)
        (last,) = link.execute("SELECT value FROM counter").fetchone()
        assert last == max(seq for (seq,) in link.execute("SELECT seq FROM host UNION SELECT seq FROM session_end"))


@pytest.mark.parametrize("name", ["fetch", "fetch_end"])
def test_the_facts_of_attempts_are_told_as_before(workspace: Path, packed: Path, name: str) -> None:
    """Books are projected from them, from a checkpoint that was reached before the upgrade or after it."""
    before = rows(packed / "ledger.sqlite")
    ledger = Ledger(workspace / "ledger.sqlite")
    kind = {"fetch": FetchBegun, "fetch_end": FetchEnded}[name]
    told = [one for one in facts(ledger) if isinstance(one, kind)]
    assert [(one.seq, one.item, one.source) for one in told] == [
        (one[0], one[3], one[4]) for one in sorted(before[name])
    ]
    middle = told[len(told) // 2].seq
    assert [one for one in facts(ledger, middle) if isinstance(one, kind)] == [one for one in told if one.seq > middle]
    ledger.close()


def test_addresses_keep_their_order_of_finding(workspace: Path, packed: Path) -> None:
    """The crawler's books have read them up to a place in that order."""
    with closing(sqlite3.connect(packed / "ledger.sqlite")) as link:
        before = link.execute("SELECT rowid, digest FROM address ORDER BY rowid").fetchall()
    ledger = Ledger(workspace / "ledger.sqlite")
    found = ledger.addresses.found_after("pages", 0, 9999)
    assert [one.place for one in found] == [place for place, _ in before]
    ledger.close()


@pytest.mark.parametrize("number", [number for number, _ in migrations() if number > OLD])
def test_an_upgrade_that_is_killed_anywhere_loses_nothing(workspace: Path, number: int) -> None:
    whole = workspace.parent / "whole.sqlite"
    whole.write_bytes((workspace / "ledger.sqlite").read_bytes())
    Ledger(whole).close()
    pieces = dict(migrations())[number].count(";\n")
    for piece in sorted({0, 1, pieces // 2, pieces - 1, pieces}):
        done = programs.run("-c", KILLED, workspace / "ledger.sqlite", number, piece)
        assert done.returncode == -signal.SIGKILL, done.stderr
        with closing(sqlite3.connect(workspace / "ledger.sqlite")) as link:
            assert link.execute("PRAGMA user_version").fetchone() == (number - 1,)
    Ledger(workspace / "ledger.sqlite").close()
    assert rows(workspace / "ledger.sqlite") == rows(whole)


def test_why_tells_the_same(workspace: Path, expected: dict, windrow) -> None:
    """The numbers of sessions apart, which are 1, 2, 3 now, and what only the Summary Database has."""
    Ledger(workspace / "ledger.sqlite").close()
    numbers = {row[0]: row[4] for row in rows(workspace / "ledger.sqlite")["session"]}

    def events(messages: list[dict]) -> list[dict]:
        return [
            {name: value for name, value in one.items() if name not in {"story", "page"}}
            for one in messages
            if one["type"] == "event" and "session" in one
        ]

    compared = 0
    for name, then in expected["why"].items():
        wanted = [{**one, "session": numbers[one["session"]]} for one in events(then)]
        found = events(windrow("why", name, "--workspace", workspace, "--json").messages)
        assert found == wanted, name
        compared += len(found)
    assert compared > 100


def test_the_tracker_is_projected_as_it_was(workspace: Path) -> None:
    before = rows(workspace / "tracker.sqlite")
    (workspace / "tracker.sqlite").unlink()
    config = load(workspace)
    tracker = Tracker(config, tuple(one for one in config.sources if one.collection == "drops"))
    ledger = Ledger(config.ledger)
    tracker.catch_up(ledger)
    tracker.close()
    ledger.close()
    after = rows(workspace / "tracker.sqlite")
    for name in ("zip_file", "zip_action", "zip_download", "xml_file", "xml_log", "file_source_has_zip"):
        # the last column is when the row was written
        assert [row[:-1] for row in after[name]] == [row[:-1] for row in before[name]], name
    assert before["zip_download"]


def test_replay_makes_the_tables_and_the_search_of_then(workspace: Path, expected: dict, windrow) -> None:
    assert windrow("replay", "--workspace", workspace).code == 0
    with closing(sqlite3.connect(workspace / "drops.sqlite")) as link:
        found = {name: link.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in expected["store"]}
    assert found == expected["store"]
    assert windrow("run", "pages", "--from", "summarise", "--workspace", workspace).code == 0
    for word, then in expected["search"].items():
        urls = {one["url"] for one in then if one["type"] == "hit"}
        now = windrow("search", word, "--workspace", workspace, "--json").messages
        assert {one["url"] for one in now if one["type"] == "hit"} == urls, word
