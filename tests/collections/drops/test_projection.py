"""The projection of a real ledger into the tracker's rows, in any batches."""

from __future__ import annotations

import itertools
import shutil
from contextlib import closing
from datetime import UTC, date, datetime, timedelta

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from windrow.collections.drops.adapter.current_states import read_shown_states
from windrow.collections.drops.collection import COLLECTION
from windrow.collections.drops.database.declared import Declarations, make_declared_rows, make_seeds
from windrow.collections.drops.database.projection import find_touched, project_facts, project_progress, project_states
from windrow.collections.drops.database.projection_tables import ProjectionTables
from windrow.collections.drops.database.tracker_tables import NATURAL_KEYS, TRACKER
from windrow.collections.drops.phase import phase_id
from windrow.collections.drops.settings import Centre
from windrow.ledger import Ledger
from windrow.ledger.facts import facts
from windrow.model import Attempt, Finding, Level, Member, Offer, Reading, Secret, Site, Source, Status
from windrow.reasons import Reason

AT = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
SOURCES = (
    Source("one", "drops", Site("ftp", "ftp.example.org", username="u", secret=Secret("env:ONE"), base="/drop"), "H"),
    Source("two", "drops", Site("sftp", "sftp.example.org", 2222, key=Secret("file:/k")), "Own", active=False),
)
DECLARED = Declarations(AT, (Centre("Own", "Our own", "", "", "", "", True),), SOURCES)
DONE, FAILED, RUNNING = Status.DONE, Status.FAILED, Status.RUNNING
GOOD = "H.2012-11-20.03.impc.zip"


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger(tmp_path / "ledger.db")
    yield opened
    opened.close()


class HarvestFacts:
    """Writes the facts of a harvest as the engine does."""

    def __init__(self, writer, command="run"):
        self.writer = writer
        self.session = writer.sessions.open("me", command)

    def task(self, name, source="", *, failed=False):
        task = self.writer.sessions.open_task(self.session, "drops", source, phase_id(name))
        self.writer.sessions.close_task(task, Reason.TIMEOUT if failed else None, f"{source} told", failed=failed)
        return task

    def listed(self, name, *sources, folder="add", reason=None):
        item = self.writer.listed_files.add(
            self.session, "drops", "zip", f"{folder}/{name}", step="download", size=10, owner="H", reason=reason
        )
        for source in sources:
            self.writer.mirrors.add(
                self.session, source, item, Offer(f"{folder}/{name}", f"{folder}/{name}", 10), "listed"
            )
        return item

    def step(self, item, name, status, reason=None):
        if status is RUNNING:
            self.writer.items.start(self.session, item, name)
        else:
            then = COLLECTION.step_after("xml", name)
            self.writer.items.add_reading(self.session, item, (name, "1"), "", Reading(reason), then)

    def fetch(self, item, source, reason=None, *, cut=False):
        host = self.writer.addresses.host_of(self.session, "drops", source, f"ftp://{source}")
        fetch = self.writer.attempts.begin(self.session, host, item, f"ftp://{source}/x", AT)
        if cut:
            return fetch
        message = "slow" if reason else ""
        end = Attempt(1, f"ftp://{source}/x", 0, True, AT, 1.5, 226, None, reason, message, received=12)
        self.writer.at += timedelta(seconds=5)
        ended = self.writer.attempts.record_attempt(self.session, host, end, begun=fetch)
        if reason:
            self.writer.items.fail(item, "download", reason, ended)
        else:
            self.writer.items.arrive(item, "unzip", fetch, ended)
        return fetch

    def unzip(self, item, fetch, *names):
        self.writer.items.add_reading(self.session, item, ("unzip", "1"), "sha256:00", Reading(md5="0" * 32), then="")
        members = []
        for name in names:
            reason = Reason.BAD_NAME if name.startswith("no name") else None
            member = Member(name, 99, "sha256:11", "f" * 32, reason=reason)
            members.append(
                self.writer.listed_files.add_member(
                    self.session, "drops", "xml", f"k/{name}", attempt=fetch, member=member, step="xsd"
                )
            )
        return members

    def close(self, outcome=0):
        self.writer.sessions.close(self.session, outcome)


def open_projection(url):
    tables = ProjectionTables(url, TRACKER, "drops", natural_keys=NATURAL_KEYS)
    tables.seed(make_seeds(AT.replace(tzinfo=None)))
    tables.apply(make_declared_rows(DECLARED), 0)
    return tables


def apply(projection, ledger, *cuts, declared=DECLARED):
    all_facts = list(facts(ledger))
    edges = sorted({0, *cuts, len(all_facts)})
    for start, end in itertools.pairwise(edges):
        batch = all_facts[start:end]
        projection.apply(
            [*project_facts(batch, declared), *project_states(*read_shown_states(ledger, find_touched(batch)))],
            batch[-1].seq,
        )


def rows(projection, name, *columns):
    table = TRACKER.tables[name]
    chosen = (
        [table.c[column] for column in columns] if columns else [c for c in table.columns if c.name != "last_update"]
    )
    with projection.engine.begin() as connection:
        return [tuple(row) for row in connection.execute(sa.select(*chosen).order_by(table.c.id))]


@pytest.fixture(params=["sqlite", "mariadb", "postgresql"])
def projection(request, tmp_path):
    url = f"sqlite:///{tmp_path}/t.db" if request.param == "sqlite" else request.getfixturevalue(f"{request.param}_url")
    tables = open_projection(url)
    yield tables
    tables.close()


def harvest(ledger):
    """Two sources, one of them down; a bad name; a zip that came at the third attempt, one of its files invalid."""
    with ledger.writing() as writer:
        writer.at = AT
        harvest_facts = HarvestFacts(writer)
        harvest_facts.task("zip_name", "one")
        harvest_facts.task("zip_name", "two", failed=True)
        harvest_facts.listed("nonsense.zip", "one", reason=Reason.BAD_NAME)
        item = harvest_facts.listed(GOOD, "one", "two")
        harvest_facts.listed(GOOD, "one", folder="edit")
        harvest_facts.fetch(item, "one", Reason.TIMEOUT)
        harvest_facts.fetch(item, "one", Reason.TIMEOUT)
        fetch = harvest_facts.fetch(item, "two")
        good, _ = harvest_facts.unzip(item, fetch, "H.2012-11-20.3.specimen.impc.xml", "no name.xml")
        harvest_facts.step(good, "xsd", RUNNING)
        writer.items.add_findings(
            1,
            good,
            phase_id("xsd"),
            [
                Finding("SchemaError", "bad\0 ü", Level.ERROR, 70_000, None),
                Finding("schemaerror", "x", Level.WARN, 1, 2),
            ],
        )
        harvest_facts.step(good, "xsd", FAILED, Reason.NOT_VALID)
        harvest_facts.close(3)
    return fetch


def test_a_harvest_in_the_tracker(ledger, projection):
    fetch = harvest(ledger)
    apply(projection, ledger)
    at = AT.replace(tzinfo=None)
    later = [at + timedelta(seconds=5 * n) for n in range(5)]
    assert rows(projection, "zip_file") == [
        (1, "nonsense.zip", None, None, None, 10, None),
        (2, GOOD, 3, date(2012, 11, 20), 3, 12, "0" * 32),
    ]
    assert rows(projection, "zip_action") == [(1, 1, 1, 2, 5), (2, 2, 1, 5, 5), (3, 2, 2, 1, 1)]
    assert rows(projection, "file_source_has_zip") == [(1, 1, 1, 0), (2, 2, 1, 1), (3, 2, 2, 0), (4, 3, 1, 0)]
    assert rows(projection, "zip_download") == [
        (1, 2, at, later[1], 12, 1, 5),
        (2, 2, at, later[2], 12, 1, 5),
        (3, 3, at, later[3], 12, 5, 5),
    ]
    assert rows(projection, "xml_file") == [
        (1, 3, "H.2012-11-20.3.specimen.impc.xml", 3, date(2012, 11, 20), 3, 99, "f" * 32, 6, 5),
        (2, 3, "no name.xml", None, None, None, 99, "f" * 32, 5, 5),
    ]
    assert rows(projection, "an_exception", "id", "short_name") == [(1, "Timeout"), (2, "SchemaError")]
    assert rows(projection, "zip_log") == [(1, 1, 1, "slow"), (2, 2, 1, "slow")]
    assert rows(projection, "xml_log") == [(1, 1, 2, "bad\ufffd ü", 70_000, None), (2, 1, 2, "x", 1, 2)]
    assert rows(projection, "crawling_session") == [(1, at, later[3], 2, at)]
    assert rows(projection, "session_task") == [
        (1, 1, 2, "one told", at, at, 0, at),
        (2, 1, 2, "two told", at, at, 1, at),
    ]
    projection.note(project_progress({fetch: 77, 999: 1}))
    assert rows(projection, "zip_download", "downloaded_size_bytes")[2] == (77,)


def test_centres_and_sources(projection):
    assert rows(projection, "file_source") == [
        (1, 3, 1, "ftp.example.org", "u", "env:ONE", "/drop/", 1, AT.replace(tzinfo=None)),
        (2, 12, 2, "sftp.example.org:2222", "", "file:/k", "/", 2, AT.replace(tzinfo=None)),
    ]
    assert rows(projection, "centre", "id", "short_name", "full_name")[11] == (12, "Own", "Our own")
    h = Centre("h", "", "h@example.org", "", "", "", False)
    projection.apply(make_declared_rows(Declarations(AT, (h,), SOURCES[:1], removed_sources=("two", "never"))), 0)
    assert rows(projection, "centre", "short_name", "full_name", "email", "is_active")[2] == (
        "H",
        "MRC Harwell",
        "h@example.org",
        False,
    )
    assert rows(projection, "file_source", "id", "state_id") == [(1, 1), (2, 3)]
    with projection.engine.begin() as connection:
        connection.execute(sa.text("delete from centre where short_name = 'Own'"))
    projection.apply(make_declared_rows(DECLARED), 0)
    assert rows(projection, "centre", "id", "short_name")[11] == (12, "Own")
    assert rows(projection, "file_source", "id", "centre_id") == [(1, 3), (2, 12)]


def test_crash_retry_cancel_and_qc(ledger, projection):
    with ledger.writing() as writer:
        harvest_facts = HarvestFacts(writer)
        item = harvest_facts.listed(GOOD, "one")
        cut = harvest_facts.fetch(item, "one", cut=True)
    apply(projection, ledger)
    assert rows(projection, "zip_download", "phase_id", "status_id") == [(1, 2)]
    assert rows(projection, "crawling_session", "finish_time", "status") == [(None, 0)]
    with ledger.writing() as writer:
        harvest_facts = HarvestFacts(writer)
        fetch = harvest_facts.fetch(item, "one")
        (xml,) = harvest_facts.unzip(item, fetch, "H.2012-11-20.3.experiment.impc.xml")
        for name in ("xsd", "upload", "data", "context", "overview"):
            harvest_facts.step(xml, name, DONE)
        writer.items.retry(harvest_facts.session, item, "download")
    apply(projection, ledger)
    assert rows(projection, "zip_download", "phase_id", "status_id") == [(1, 5), (10, 3)]
    assert rows(projection, "zip_action", "phase_id", "status_id") == [(10, 3)], "an action equals its latest download"
    assert rows(projection, "zip_log", "zip_id") == [(1,)]
    assert rows(projection, "an_exception", "short_name") == [("Interrupted",)]
    with projection.engine.begin() as connection:
        connection.execute(sa.text("update xml_file set phase_id = 11"))
    with ledger.writing() as writer:
        harvest_facts = HarvestFacts(writer)
        harvest_facts.step(xml, "overview", DONE)
        harvest_facts.fetch(item, "one", cut=True)
        writer.items.end(harvest_facts.session, item, Reason.CANCELLED, "by hand")
        harvest_facts.close()
    apply(projection, ledger)
    assert rows(projection, "xml_file", "phase_id", "status_id") == [(11, 3)]
    assert rows(projection, "zip_action", "phase_id", "status_id") == [(1, 4)]
    assert rows(projection, "zip_download", "phase_id", "status_id") == [(1, 5), (10, 3), (1, 4)]
    assert rows(projection, "zip_log", "zip_id", "message")[1] == (3, "by hand")
    assert cut


def test_projecting_again_gives_the_same(ledger, projection):
    write(ledger, [0, 1, 2, 3, 4, 5, 6, 7] * 3)
    apply(projection, ledger)
    before = {name: rows(projection, name) for name in TRACKER.tables}
    assert len(before["zip_download"]) > 3
    apply(projection, ledger)
    assert {name: rows(projection, name) for name in TRACKER.tables} == before


def test_other_collections_and_unknown_sources(ledger, projection):
    with ledger.writing() as writer:
        session = writer.sessions.open("me", "run")
        page = writer.listed_files.add(session, "pages", "page", "http://x/", step="crawl")
        writer.items.add_reading(session, page, ("crawl", ""), "", Reading(), then="")
        writer.items.add_findings(session, page, 1, [Finding("X", "y")])
        host = writer.addresses.host_of(session, "pages", "web", "http://x")
        attempt = writer.attempts.begin(session, host, page, "http://x/", AT)
        end = Attempt(1, "http://x/", 0, True, AT, 1.0, 200, received=5)
        writer.attempts.record_attempt(session, host, end, begun=attempt)
        task = writer.sessions.open_task(session, "pages", "web", 1)
        writer.sessions.close_task(task, None, "fine", failed=True)
        writer.sessions.close(session, 3)
        harvest_facts = HarvestFacts(writer)
        harvest_facts.fetch(harvest_facts.listed(GOOD, "undeclared"), "undeclared", Reason.TIMEOUT)
    apply(projection, ledger)
    assert rows(projection, "crawling_session", "status") == [(1,), (0,)]
    assert rows(projection, "session_task") == rows(projection, "zip_download") == rows(projection, "zip_log") == []
    assert rows(projection, "zip_action", "phase_id", "status_id") == [(1, 5)]


def write(ledger, acts):
    """Write the facts of numbered acts, also in orders that never occur."""
    with ledger.writing() as writer:
        writer.at = AT
        harvest_facts = HarvestFacts(writer)
        items, fetches, xmls = [], {}, []
        for step, act in enumerate(acts):
            item = items[step % len(items)] if items else None
            xml = xmls[step % len(xmls)] if xmls else None
            if act == 0 or item is None:
                name = ("H.2024-01-01.{}.impc.zip", "h.2024-01-01.{}.IMPC.zip", "Bad {}.zip")[step % 3].format(
                    step // 2
                )
                folder = ("add", "edit", "delete")[step % 3]
                items.append(harvest_facts.listed(name, "one", "two", folder=folder))
            elif act == 1:
                fetches[item] = harvest_facts.fetch(item, ("one", "two")[step % 2])
            elif act == 2:
                harvest_facts.fetch(item, "one", Reason.TIMEOUT)
            elif act == 3 and item in fetches:
                xmls += harvest_facts.unzip(item, fetches[item], f"H.2024-01-01.{step}.specimen.impc.xml")
            elif act == 4 and xml:
                harvest_facts.step(xml, "xsd", (DONE, FAILED)[step % 2], (None, Reason.NOT_VALID)[step % 2])
                writer.items.add_findings(harvest_facts.session, xml, 6, [Finding(f"Kind{step % 3}", "m", line=step)])
            elif act == 5:
                harvest_facts.fetch(item, "two", cut=True)
            elif act == 6:
                harvest_facts.task("unzip", "one", failed=step % 2 == 0)
                harvest_facts.close(step % 4)
                harvest_facts = HarvestFacts(writer)
            else:
                writer.items.retry(harvest_facts.session, item, "download")


@pytest.fixture(scope="module")
def new_projection(tmp_path_factory):
    """Return the database of a projection that has no facts yet."""
    path = tmp_path_factory.mktemp("projection") / "new.db"
    open_projection(f"sqlite:///{path}").close()
    return path


@settings(
    max_examples=20,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(acts=st.lists(st.integers(0, 7), max_size=40), data=st.data())
def test_batches_make_no_difference(tmp_path_factory, new_projection, acts, data):
    folder = tmp_path_factory.mktemp("b")
    contents = []
    with closing(Ledger(folder / "ledger.db")) as ledger:
        write(ledger, acts)
        count = len(list(facts(ledger)))
        cuts = data.draw(st.sets(st.integers(0, count), max_size=12))
        for name, edges in (("whole", ()), ("cut", cuts)):
            shutil.copy(new_projection, folder / f"{name}.db")
            with closing(
                ProjectionTables(f"sqlite:///{folder}/{name}.db", TRACKER, "drops", natural_keys=NATURAL_KEYS)
            ) as projection:
                apply(projection, ledger, *edges)
                contents.append({table: rows(projection, table) for table in TRACKER.tables})
                latest = "select count(*) from zip_action a where exists (select 1 from zip_download d join file_source_has_zip h on h.id = d.zf_id where h.za_id = a.id) and not exists (select 1 from zip_download d join file_source_has_zip h on h.id = d.zf_id where h.za_id = a.id and d.phase_id = a.phase_id and d.status_id = a.status_id and d.id = (select max(e.id) from zip_download e join file_source_has_zip g on g.id = e.zf_id where g.za_id = a.id))"
                with projection.engine.begin() as connection:
                    assert connection.exec_driver_sql(latest).scalar() == 0
    assert contents[0] == contents[1]
