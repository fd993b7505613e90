"""Takedowns over collections: records that others made of a capture go with it, and no file keeps its bytes."""

import sqlite3
import zlib
from contextlib import closing

import pytest

from tests.captures import test_foreign as foreign
from tests.captures.quotes import ADAPTER, configure, run, run_quotes
from tests.engine.warc_intake import take_warcs
from tests.sessions import session_settings
from tests.toy_collection.site import Site, page
from windrow.app import takedowns
from windrow.app.takedowns import take_down
from windrow.collections.pages.adapter import ADAPTER as PAGES
from windrow.digest import hash64
from windrow.engine.check import Fault, check_archive, check_index, check_states
from windrow.engine.crawl.left_out import LeftOutCounter
from windrow.engine.run import SessionSettings
from windrow.engine.session import Session
from windrow.engine.takedown import TakedownTarget, take_down_targets
from windrow.errors import ArchiveError
from windrow.ledger import Ledger
from windrow.ledger.typed.captures import RuleRow
from windrow.model import Limits
from windrow.reasons import Reason

SECRET = "xylophone"


@pytest.fixture
def site():
    website = Site(
        {
            "/": page("home", "/article1.html", "/article2.html"),
            "/article1.html": page("one", body=f"<p><q>never say {SECRET}</q></p>"),
            "/article2.html": page("two", body="<p><q>that is the question</q></p>"),
        }
    )
    yield website
    website.close()


def take_down_by_name(workspace, *names, adapters=("pages", "quotes")):
    adapter_by_name = {"pages": PAGES, "quotes": ADAPTER}
    return take_down(
        workspace, session_settings(workspace), names, "asked", {name: adapter_by_name[name] for name in adapters}
    )


def quotes(workspace):
    with ADAPTER._store(workspace) as store:
        assert not list(store.faults())
        return sorted(version.value["quote"] for version in store.versions() if version.value)


def unpack_members(content):
    """Yield the content of a file, and of each gzip member in it."""
    yield content
    while content:
        member = zlib.decompressobj(31)
        try:
            yield member.decompress(content)
        except zlib.error:
            return
        content = member.unused_data


def files_with_secret(root):
    """Return the names of the files that contain the secret."""
    word = SECRET.encode()
    files = [path for path in root.rglob("*") if path.is_file()]
    return {file.name for file in files if any(word in part for part in unpack_members(file.read_bytes()))}


def find_faults(workspace):
    ledger = Ledger(workspace.ledger)
    faults = [*check_archive(ledger, workspace.archive.folder), *check_index(ledger, workspace.archive.folder)]
    faults += [*check_states(ledger), *ADAPTER.check(workspace, ledger), *PAGES.check(workspace, ledger)]
    ledger.close()
    return [fault for fault in faults if isinstance(fault, Fault)]


@pytest.mark.parametrize("target", ["address", "source", "host"])
def test_forgetting_a_capture_takes_with_it_the_records_that_another_collection_made_of_it(tmp_path, site, target):
    workspace = configure(tmp_path, site)
    run(workspace)
    assert len(quotes(workspace)) == 2
    assert "quotes.db" in files_with_secret(tmp_path)
    name = {"address": f"{site.url}article1.html", "source": "web", "host": site.url.split("/")[2]}[target]
    takedowns = take_down_by_name(workspace, name)
    assert [takedown for takedown in takedowns if takedown.errors or not takedown.done] == []
    assert quotes(workspace) == (["that is the question"] if target == "address" else [])
    assert files_with_secret(tmp_path) == set()
    assert find_faults(workspace) == []
    run(workspace)  # it is neither requested nor taken again
    assert quotes(workspace) == (["that is the question"] if target == "address" else [])
    assert files_with_secret(tmp_path) == set()


def test_an_address_that_several_collections_know_is_counted_once(tmp_path, site, monkeypatch):
    workspace = configure(tmp_path, site)
    run(workspace)
    monkeypatch.setattr(takedowns, "capable", lambda _capability, _among: {"pages": PAGES, "quotes": ADAPTER})
    with closing(Ledger(workspace.ledger)) as ledger:
        url = f"{site.url}article1.html"
        (counted,) = takedowns.estimate_takedowns(workspace, ledger, [url])
        assert (counted.target, counted.addresses) == (url, 1)


@pytest.mark.parametrize("name", ["said", "web"])
def test_a_dry_run_counts_the_captures_that_forgetting_removes(tmp_path, site, monkeypatch, name):
    workspace = configure(tmp_path, site)
    run(workspace)
    monkeypatch.setattr(takedowns, "capable", lambda _capability, _among: {"pages": PAGES, "quotes": ADAPTER})
    with closing(Ledger(workspace.ledger)) as ledger:
        (estimate,) = takedowns.estimate_takedowns(workspace, ledger, [name])
    (takedown,) = take_down_by_name(workspace, name)
    assert (estimate.target, estimate.captures) == (takedown.target, takedown.captures)
    assert bool(estimate.captures) == bool(estimate.bytes) == (name == "web")


def test_forgetting_a_record_takes_with_it_the_page_that_it_was_made_of(tmp_path, site):
    workspace = configure(tmp_path, site)
    run(workspace)
    (takedown,) = take_down_by_name(workspace, f"{site.url}article1.html#1")
    assert takedown.done
    assert not takedown.errors
    assert quotes(workspace) == ["that is the question"]
    assert files_with_secret(tmp_path) == set()
    assert find_faults(workspace) == []


def test_forgetting_a_source_that_took_captures_names_the_source_that_keeps_the_bytes(tmp_path, site):
    workspace = configure(tmp_path, site)
    run(workspace)
    (takedown,) = take_down_by_name(workspace, "said")
    assert takedown.errors == (
        "2 captures not removed, since pages uses the bytes for its source web, which keeps them; only if that source is to lose them too: windrow forget web",
    )
    assert takedown.done
    assert quotes(workspace) == []
    assert find_faults(workspace) == []
    assert "quotes.db" not in files_with_secret(tmp_path)
    (takedown,) = take_down_by_name(workspace, "web")
    assert takedown.errors == ()
    assert files_with_secret(tmp_path) == set()


def test_forgetting_that_was_cut_short_is_finished_in_all_collections_by_whichever_run_comes_next(
    tmp_path, site, monkeypatch
):
    workspace = configure(tmp_path, site)
    run(workspace)
    url = f"{site.url}article1.html"

    def fail(*_arguments):
        raise ArchiveError("the disk failed")

    with monkeypatch.context() as patch:
        patch.setattr("windrow.engine.takedown.related_records", fail)
        (failed,) = take_down_by_name(workspace, url, adapters=["pages"])
    assert (failed.done, failed.errors[0]) == (False, "the disk failed")
    takedowns = take_down_by_name(workspace, adapters=["pages"])
    assert "quotes is not installed" in takedowns[0].errors[0]
    assert not takedowns[0].done
    assert "quotes.db" in files_with_secret(tmp_path)
    assert [result.done for result in take_down_by_name(workspace)] == [True]
    assert quotes(workspace) == ["that is the question"]
    assert files_with_secret(tmp_path) == set()
    assert find_faults(workspace) == []
    files = [path.read_bytes() for path in (tmp_path / "archive").rglob("*.warc*")]
    requests = [part for content in files for part in unpack_members(content) if b"GET /article1.html" in part]
    assert requests == [], "records beside the capture are searched again after their file could not be read"


def test_a_broken_part_that_may_be_about_the_target_is_named(tmp_path):
    root, path = tmp_path / "workspace", tmp_path / "broken.warc"
    root.mkdir()
    records = [
        foreign.response_record("http://a.example/1", b"one"),
        foreign.response_record("http://a.example/2", b"two"),
    ]
    path.write_bytes(records[0] + b"WARC/1.0\r\nContent-Length: never\r\n\r\n\r\n" + records[1])
    assert take_warcs(root, path) == 0
    setup = SessionSettings(root / "ledger.sqlite", root / "archive", Limits())
    with Session(setup, "forget") as session:
        address = hash64("http://a.example/1")
        (result,) = take_down_targets(session, [TakedownTarget("http://a.example/1", address)], "asked", {})
    assert f"such as that at byte {len(records[0])}, cannot be read" in " ".join(result.errors)


def test_forgetting_an_address_keeps_out_what_files_of_other_makers_have_of_it(tmp_path):
    paths = []
    for name in ("first", "second"):
        warc = foreign.ForeignWarc(tmp_path / f"{name}.warc.gz")
        warc.add("/said/1.html", foreign.quotes_page(f"never say {SECRET}"))
        warc.add(f"/said/{name}.html", foreign.quotes_page(name))
        paths.append(warc.close().path)
    root = tmp_path / "workspace"
    root.mkdir()
    run_quotes(foreign.configure(root, warc=paths[:1]))
    workspace = foreign.configure(root, warc=paths)
    assert quotes(workspace) == ["first", f"never say {SECRET}"]
    counter = LeftOutCounter()
    with closing(Ledger(workspace.ledger)) as ledger, ledger.writing() as writer:
        for name in ("1", "first"):
            writer.captures.leave_out(1, RuleRow(Reason.NOT_WANTED, name, 1, f"{foreign.ORIGIN}/said/{name}.html"))
            counter.add(Reason.NOT_WANTED, name, 1, f"{foreign.ORIGIN}/said/{name}.html")
        counter.record(writer, ledger.sessions.latest(), "quotes", "press", 1)
    (takedown,) = take_down_by_name(workspace, f"{foreign.ORIGIN}/said/1.html", adapters=["quotes"])
    with closing(Ledger(workspace.ledger)) as ledger:
        assert ledger.takedowns.left_out() == {f"{foreign.ORIGIN}/said/first.html"}
        examples = {count.example for _, count in ledger.sessions.rule_counts("press")}
        assert examples >= {"(forgotten)", f"{foreign.ORIGIN}/said/first.html"}
        assert f"{foreign.ORIGIN}/said/1.html" not in examples
    assert takedown.done
    run_quotes(workspace)
    assert quotes(workspace) == ["first", "second"]
    assert files_with_secret(root) == set()


def test_a_capture_of_another_maker_taken_down_leaves_nothing_of_its_index_line_on_the_ledger(tmp_path):
    warc = foreign.ForeignWarc(tmp_path / "press.warc.gz")
    warc.add("/said/1.html", foreign.quotes_page("one"))
    warc.add("/said/2.html", foreign.quotes_page("two"))
    warc.close()
    digests = [line.split()[5] for line in warc.lines]
    failed = warc.lines[0].replace(digests[0], "A" * 32)  # whose digest is not that of the record
    (tmp_path / "press.cdx").write_text("\n".join([*warc.lines, failed.replace("press.warc", "copy.warc")]) + "\n")
    (tmp_path / "copy.warc.gz").write_bytes(warc.path.read_bytes())
    workspace = foreign.configure(tmp_path, cdx=[tmp_path / "press.cdx"], warc=[tmp_path])
    run_quotes(workspace)
    assert foreign.capture_counts(workspace)[3] == ["digest_mismatch"]
    take_down(workspace, session_settings(workspace), [f"{foreign.ORIGIN}/said/1.html"], "asked", {"quotes": ADAPTER})
    lines = foreign.taken_lines(workspace)
    assert lines["/said/1.html"] is None
    assert lines["/said/2.html"].offset == int(warc.lines[1].split()[9])
    assert foreign.capture_counts(workspace)[3] == []
    with closing(sqlite3.connect(workspace.ledger)) as connection:
        dump = "\n".join(connection.iterdump())
    assert [digest in dump for digest in ("A" * 32, *digests)] == [False, False, True]
