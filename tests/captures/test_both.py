"""A collection with both kinds of discovery: its source sends requests, and takes captures of another collection."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from tests.captures.quotes import CRAWLED, PAGES, harvest_pages
from tests.captures.titles import COLLECTION, LINK
from tests.clock import pass_time, real_clock  # noqa: F401
from tests.sessions import session_settings
from tests.toy_collection.site import Site, page
from windrow.adapters.records import RecordAdapter
from windrow.app.takedowns import take_down
from windrow.config import load
from windrow.contract import Captures, FollowResult, Observation, Offering, Request, Requests, Skip, observed
from windrow.engine.check import Fault, check_archive, check_index, check_states
from windrow.engine.progress import Progress
from windrow.engine.session import Session
from windrow.errors import UsageError
from windrow.ledger import Ledger
from windrow.reasons import Reason
from windrow.settings.configuration import Configuration
from windrow.settings.setting import ASKED, CAPTURED, store_of

NO_ARTICLE = Skip(Reason.NOT_WANTED, message="it is no article")


def begin(source, learned):
    return (Request("/list", "home"),)


def follow(source, learned, answer):
    links = LINK.findall(answer.view.read()) if answer.request.name == "home" else ()
    learned_names = {"asked": [*learned.get("asked", []), answer.request.url.rpartition("/")[2]]}
    return FollowResult(tuple(Request(link.decode(), "article") for link in links), learned=learned_names)


def select(source, options):
    return lambda line: None if "article" in line.url else NO_ARTICLE


def take(source, learned, answer):
    learned_names = {"taken": [*learned.get("taken", []), answer.request.url.rpartition("/")[2]]}
    return FollowResult(offers=(Offering(answer.request.url),), learned=learned_names)


BOTH = replace(
    COLLECTION,
    discovery=(Requests(begin, follow), Captures(select, "1", take)),
    configuration=Configuration(settings=(store_of("titles"),), source=(*ASKED, *CAPTURED)),
)
ADAPTER = RecordAdapter(BOTH)


@pytest.fixture
def site():
    website = Site(
        {
            "/": page("home", "/article1.html", "/article2.html", "/about.html"),
            "/list": page("list", "/article2.html", "/article3.html"),
            "/about.html": page("about"),
            **{f"/article{number}.html": page(f"title {number}") for number in (1, 2, 3)},
        }
    )
    yield website
    website.close()


def configure(root, site, *, url=True, taken=True):
    lines = f'url = "{site.url}"\ndelay = "1ms"\n' if url else ""
    lines += 'from = ["pages:web"]\n' if taken else ""
    (root / "windrow.toml").write_text(
        f'{CRAWLED}\n[source.web]\ncollection = "pages"\nurl = "{site.url}"\n\n'
        f'[source.heads]\ncollection = "titles"\n{lines}'
    )
    return load(root, environ={}, collections={"pages": PAGES, "titles": BOTH})


def run(workspace):
    with Session(session_settings(workspace), "run") as session:
        session.run_harvest(harvest_pages(workspace))
        session.run_harvest(ADAPTER.harvest(workspace))
    ledger = Ledger(workspace.ledger)
    faults = [*check_archive(ledger, workspace.archive.folder), *check_index(ledger, workspace.archive.folder)]
    faults += [*check_states(ledger), *ADAPTER.check(workspace, ledger)]
    learned = ledger.requests.learned("titles", "heads")
    ledger.close()
    assert [fault for fault in faults if isinstance(fault, Fault)] == []
    return {name: sorted(names) for name, names in learned.items()}


def titles(workspace):
    with ADAPTER._store(workspace) as store:
        return sorted(version.value["title"] for version in store.versions())


def test_a_source_asks_by_requests_and_takes_captures_and_each_answer_is_followed_by_its_own_discovery(tmp_path, site):
    workspace = configure(tmp_path, site)
    learned = run(workspace)
    assert titles(workspace) == ["list", "title 1", "title 2", "title 3"]
    assert learned["taken"] == ["article1.html", "article2.html"]
    assert learned["asked"] == ["article2.html", "article3.html", "list"]
    paths = site.paths()
    assert sorted(paths) == sorted({*paths}), "what both discoveries and pages want was asked once"
    asked = len(site.asked)
    assert run(workspace) == learned
    assert titles(workspace) == ["list", "title 1", "title 2", "title 3"]
    assert len([asked_page for asked_page in site.asked[asked:] if "article" in asked_page.path]) == 0


def test_a_source_of_two_discoveries_may_be_asked_alone_or_take_captures_alone(tmp_path, site):
    for name, more, expected in (
        ("asked", {"taken": False}, ["list", "title 2", "title 3"]),
        ("taken", {"url": False}, ["title 1", "title 2"]),
    ):
        (tmp_path / name).mkdir()
        workspace = configure(tmp_path / name, site, **more)
        assert [*run(workspace)] == [name]
        assert titles(workspace) == expected


def test_records_of_a_source_of_two_discoveries_are_the_same_after_replay(tmp_path, site):
    workspace = configure(tmp_path, site)
    run(workspace)
    with ADAPTER._store(workspace) as store:
        before = [*store.versions()]
    asked = len(site.asked)
    assert ADAPTER.replay(workspace, session_settings(workspace), Progress(None)).versions.changed == 0
    with ADAPTER._store(workspace) as store:
        assert [*store.versions()] == before
    assert len(site.asked) == asked


def test_captures_belong_to_the_source_that_took_them_and_are_not_taken_down_with_another(tmp_path, site):
    configure(tmp_path, site, taken=False)
    with (tmp_path / "windrow.toml").open("a") as file:
        file.write('[source.old]\ncollection = "titles"\nfrom = ["pages:web"]\n')
    workspace = load(tmp_path, environ={}, collections={"pages": PAGES, "titles": BOTH})
    run(workspace)
    with closing(Ledger(workspace.ledger)) as ledger:
        assert {host.source for host in ledger.addresses.hosts("titles")} == {"heads", "old"}
    with ADAPTER._store(workspace) as store:
        taken = {version.key for version in store.versions() if version.source == "old"}
    assert taken

    def take_down_source(name):
        return take_down(workspace, session_settings(workspace), (name,), "asked", {"titles": ADAPTER})

    with closing(sqlite3.connect(workspace.ledger)) as database, database:  # as an earlier windrow stored them
        own, other = (
            database.execute("SELECT seq FROM host WHERE source = ?", (source,)).fetchone()[0]
            for source in ("old", "heads")
        )
        database.execute("UPDATE attempt SET host = ? WHERE host = ?", (other, own))
    with pytest.raises(UsageError, match="belongs to the source old too"):
        take_down_source("heads")
    with closing(sqlite3.connect(workspace.ledger)) as database, database:
        old_attempts = "SELECT attempt FROM captured WHERE source = 'old'"
        database.execute(f"UPDATE attempt SET host = ? WHERE seq IN ({old_attempts})", (own,))
    assert take_down_source("heads")[0].done
    with ADAPTER._store(workspace) as store:
        assert {version.source for version in store.versions()} == {"old"}


def begin_repeatedly(source, learned):
    return (Request("/list", "list", every=0),)


def select_all(source, options):
    return lambda line: None


def test_an_address_is_requested_although_an_index_line_of_it_fails(tmp_path, site):
    """The retry of the line made the address never due, and every later run was fine without it."""
    configure(tmp_path, site, taken=False)
    (tmp_path / "old.cdx").write_text(f"x 20240301120000 {site.url}list text/html 200 - - - 100 0 missing.warc.gz\n")
    with (tmp_path / "windrow.toml").open("a") as file:
        file.write(f'cdx = ["{tmp_path / "old.cdx"}"]\n')
    workspace = load(tmp_path, environ={}, collections={"titles": BOTH})
    discovery = (Requests(begin_repeatedly, follow), Captures(select_all, "1", take))
    collection = replace(BOTH, discovery=discovery)
    for number in (1, 2, 3):  # the first run records the failure, the second one retries the line
        with Session(session_settings(workspace), "run") as session:
            session.run_harvest(replace(ADAPTER.harvest(workspace), collection=collection))
        assert site.paths().count("/list") == number
        pass_time(2)
    with closing(Ledger(workspace.ledger)) as ledger:
        assert ledger.captures.failed_by_source() == {"heads": 1}


def observe_gone(recorded, observation):
    attempt = recorded.attempt
    gone = Observation(attempt.url, None, names=(attempt.url,))
    return observed(recorded, gone if attempt.status == 404 else observation)


def test_captures_that_say_a_page_is_not_there_any_more_are_taken_where_a_collection_names_their_status(tmp_path, site):
    collection = replace(
        BOTH,
        discovery=Captures(select, "1", statuses=(404,)),
        steps=(replace(BOTH.steps[0], make_entry=observe_gone),),
    )
    workspace = configure(tmp_path, site, url=False)
    for session_name in ("first", "second"):
        if session_name == "second":
            del site.pages["/article1.html"]
        with Session(session_settings(workspace), "run") as session:
            session.run_harvest(harvest_pages(workspace))
            session.run_harvest(replace(ADAPTER.harvest(workspace), collection=collection))
        with closing(Ledger(workspace.ledger)) as ledger, ledger.writing() as writer:
            writer.addresses.make_due_again(
                [host_state.seq for host_state in ledger.addresses.host_states("web", "", 0)]
            )
    with ADAPTER._store(workspace) as store:
        assert [version.change for version in store.history(f"{site.url}article1.html")] == ["new", "gone"]
        assert store.history(f"{site.url}article2.html")[-1].change != "gone"
