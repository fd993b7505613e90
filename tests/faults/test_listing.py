"""Listings that are false, cannot be read or show nothing are reported, and nothing is concluded from them."""

import asyncio
import shutil
from collections import deque

import pytest

from tests.faults.server import rogue_server
from tests.faults.workspace import DAY, put
from tests.servers.script import http, listening
from windrow.collections.drops.collection import plan
from windrow.demo.partner import drop
from windrow.engine.fetchers.message import TransferBatch
from windrow.engine.listed.transfer import _ConnectionEnd, _list_beside, _run_jobs
from windrow.errors import TerminalFailure, TransientFailure
from windrow.fetch.sftp import _make_entry
from windrow.fetch.sftp_client import Attributes
from windrow.fetch.transport import Connection
from windrow.model import ListingEntry, Offer, Site, Source
from windrow.reasons import Reason

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"


def refusals(workspace, source):
    return workspace.query_ledger("SELECT path, reason FROM refusal WHERE source = ? ORDER BY seq", source)


@pytest.mark.parametrize("size", [2**63, 2**64 - 1, 10**40])
def test_a_size_that_no_integer_column_holds_is_refused_and_the_run_goes_on(make_workspace, size):
    workspace = make_workspace()
    good = workspace.add_healthy()
    other_zip = drop("H", DAY, 6)
    with rogue_server(files={KEY: CONTENT, f"add/{other_zip[0]}": other_zip[1]}, listed_sizes={KEY: size}) as server:
        workspace.add_source("liar", server.url(), secret="env:HOME", timeout=60)
        assert workspace.run().code == 0
        workspace.assert_complete(good, f"add/{other_zip[0]}")
        assert refusals(workspace, "liar") == [(KEY, "too_large")]
        server.listed_sizes.clear()
        assert workspace.run().code == 0
    workspace.assert_complete(good, KEY)


@pytest.mark.parametrize("size", [2**63, 2**64 - 1])
def test_a_size_of_64_bits_in_sftp_attributes_is_refused(size):
    entry = _make_entry("add", NAME.encode(), Attributes(size, permissions=0o100644, mtime=2**63))
    assert (entry.size, entry.modified) == (size, None)
    offer = plan(Source("s", "drops", Site("sftp")), [entry], {"centres": "H"})[0]
    assert offer == Offer(KEY, KEY, reason=Reason.TOO_LARGE, unkeyed=True)


def test_a_folder_that_had_files_and_is_missing_or_empty_is_a_failed_listing_and_nothing_is_gone(make_workspace):
    workspace = make_workspace()
    folder = workspace.add_folder("own")
    for number in range(12):
        put(folder, f"refused {number}.zip", b"")
    assert workspace.run().code == 0
    shutil.move(folder / "add", folder / "unadd")
    assert workspace.run().code == 3
    (_, reason, comment), (_, _, left_out) = workspace.tasks("own")[-2:]
    assert reason == "not_found"
    assert left_out == "1 left out, such as unadd: folders, links and devices beside the folders add, edit, delete"
    assert "the folder 'add' is missing, and its 12 files were not recorded as gone" in comment
    assert workspace.query_ledger("SELECT count(*) FROM listing WHERE event = 'gone'") == [(0,)]
    shutil.move(folder / "unadd", folder / "add")
    assert workspace.run().code == 0
    shutil.rmtree(folder / "add")
    (folder / "add").mkdir()
    assert workspace.run().code == 3
    failed, reason, comment = workspace.tasks("own")[-1]
    assert (failed, reason) == (1, "no_longer_listed")
    cause = "the listing of the folder 'add' may be incomplete (it lists 0; before, it listed 12)"
    assert f"{cause}, and so 12 files missing from it were not recorded as gone" in comment
    assert workspace.query_ledger("SELECT count(*) FROM listing WHERE event = 'gone'") == [(0,)]
    assert workspace.run().code == 0  # reported once
    assert workspace.query_ledger("SELECT count(*) FROM listing WHERE event = 'gone'") == [(12,)]


def test_a_listing_with_unreadable_lines_is_failed_where_it_lacks_files_and_nothing_is_gone(make_workspace):
    workspace = make_workspace()
    other_name, other_content = drop("H", DAY, 6)
    with rogue_server(files={KEY: CONTENT, f"add/{other_name}": other_content}) as server:
        workspace.add_source("ftp", server.url(), secret="env:HOME", timeout=60)
        assert workspace.run().code == 0
        del server.files[KEY]
        server.lines["add"] = [b"-garbled-"]
        assert workspace.run().code == 3
        failed, reason, comment = workspace.tasks("ftp")[-1]
        assert (failed, reason) == (1, "protocol_error")
        message = "the folder 'add' has lines that cannot be read, and so 1 file missing from it were not recorded"
        assert message in comment
        assert workspace.query_ledger("SELECT count(*) FROM listing WHERE event = 'gone'") == [(0,)]
        server.files[KEY] = CONTENT
        assert workspace.run().code == 0  # all files are listed: the line is refused, and nothing else
        del server.files[KEY]
        del server.lines["add"]
        assert workspace.run().code == 0
    assert workspace.query_ledger("SELECT count(*) FROM listing WHERE event = 'gone'") == [(1,)]


def test_a_base_folder_without_any_of_the_three_is_a_failed_listing_and_nothing_is_gone(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    folder = workspace.add_folder("own")
    put(folder, NAME, CONTENT)
    assert workspace.run().code == 0
    for action in ("add", "edit", "delete"):
        shutil.move(folder / action, folder / f"un{action}")
    assert workspace.run().code == 3
    failed, reason, comment = workspace.tasks("own")[-1]
    assert (failed, reason) == (1, "not_found")
    assert "add, edit, delete" in comment
    assert workspace.query_ledger("SELECT count(*) FROM listing WHERE event = 'gone'") == [(0,)]
    workspace.assert_complete(good, KEY)
    (folder / "add").mkdir()  # an empty drop is no failure
    assert workspace.run().code == 0
    assert workspace.query_ledger("SELECT count(*) FROM listing WHERE event = 'gone'") == [(1,)]


def test_files_that_wait_are_open_and_those_that_no_source_lists_any_more_are_named(make_workspace):
    workspace = make_workspace()
    folder = workspace.add_folder("own")
    put(folder, NAME, CONTENT)
    assert workspace.run(limit=0).code == 0
    state = workspace.status()
    assert (state.last.still_open, state.left_out) == (1, ())
    (folder / KEY).unlink()
    assert workspace.run().code == 0
    state = workspace.status()
    rule = "files to fetch that no available source lists now"
    assert (state.last.still_open, *state.left_out) == (1, ("own", "no_host", rule, 1, KEY))
    workspace.add_source("own", f"file://{folder}/", state="removed")
    assert workspace.status().last.still_open == 0


def test_lines_of_a_manifest_that_lie_outside_are_told_and_an_empty_one_is_a_failed_listing(make_workspace):
    def answer(lines):
        return f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(lines)}\r\n\r\n{lines}".encode()

    def respond(connection):
        http(current_answer)(connection)

    workspace = make_workspace()
    outside_lines = f"wrong/{NAME}\nREADME\n/etc/{NAME}\n\nedit/\n"
    current_answer = answer(f"{KEY}\n{outside_lines}")
    with listening(respond) as port:
        workspace.add_source(
            "web", f"http://127.0.0.1:{port}/", manifest="list.txt", timeout=60, attempts=1, connections=1
        )
        assert workspace.run().code == 0  # the zip itself is answered with the manifest, and refused
        current_answer = answer("")
        assert workspace.run().code == 3
        _, reason, comment = workspace.tasks("web")[-1]
        assert reason == "protocol_error"
        assert "the manifest is empty, and 1 file missing from it were not recorded as gone" in comment
        current_answer = answer(outside_lines)
        assert workspace.run().code == 0
    assert workspace.query_ledger("SELECT count(*) FROM listing WHERE event = 'gone'") == [(1,)]
    outside = [f"wrong/{NAME}", "README", f"/etc/{NAME}"]
    assert refusals(workspace, "web") == [(path, "not_wanted") for path in outside]


def test_a_sidecar_that_may_not_be_read_is_told_and_the_zip_is_taken(make_workspace):
    workspace = make_workspace()
    side = f"{KEY}.md5"
    with rogue_server(files={KEY: CONTENT, side: b"x"}, refused={side: b"550 permission denied\r\n"}) as server:
        workspace.add_source("own", server.url(), secret="env:HOME", timeout=60)
        assert workspace.run().code == 0
    workspace.assert_complete(KEY)
    ((kind, message),) = workspace.findings(KEY)
    assert kind == "NotCompared"
    assert f"{NAME}.md5" in message
    assert workspace.zip_log(NAME) == [(kind, message)]


class Base(Connection):
    """A site whose folder `add` is empty; its base has `entries`, or cannot be listed."""

    def __init__(self, entries):
        self.entries = entries

    async def list(self, folder):
        if folder:
            return []
        if isinstance(self.entries, Exception):
            raise self.entries
        return [ListingEntry("", name, None, None, is_file=False) for name in self.entries]


BATCH = TransferBatch(1, Site("ftp"), folders=("add",))


def test_a_folder_in_another_spelling_is_left_out_only_by_a_server_that_heeds_case():
    for names, missing, beside in (
        (["Add", "x"], set(), ["x"]), (["Add", "x"], {"add"}, ["Add", "x"]), (["Add", "add"], set(), ["Add"]),
    ):  # fmt: skip
        entries = asyncio.run(_list_beside(BATCH, Base(names), missing))
        assert [entry.name for entry in entries] == beside


def test_a_base_that_cannot_be_listed_does_no_harm():
    for error, state in (
        (TerminalFailure("no", Reason.PERMISSION_DENIED), _ConnectionEnd.SOUND),
        (TransientFailure("late", Reason.TIMEOUT), _ConnectionEnd.BROKEN),
    ):
        assert asyncio.run(_run_jobs(deque(), BATCH, Base(error), None, lambda _: None, was_idle=False)) is state
