"""Several sources of one zip: differing bytes, changed bytes, sources that are down or no longer list it."""

import io
import os
import random
import re
import shutil
import zipfile

import pytest
from benchmarks.daemon import free_port

from tests.faults.server import rogue_server
from tests.faults.workspace import DAY, put
from windrow.app.summary import describe_end
from windrow.demo.partner import drop, pack
from windrow.model import COMPARED_SIZE

NAME, CONTENT = drop("H", DAY, 5)
OTHER = drop("H", DAY, 5, 2)[1]
KEY = f"add/{NAME}"
SECRET = {"secret": "env:HOME", "timeout": 60}


def digests(workspace, key=KEY):
    return workspace.query_ledger(
        "SELECT h.source, e.size FROM attempt e JOIN listed_file f ON f.seq = e.listed_file JOIN host h ON h.seq = e.host"
        " WHERE f.file_key = ? AND e.reason IS NULL"
        " ORDER BY e.seq",
        key,
    )


def test_two_sources_offer_different_bytes(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    put(workspace.add_folder("own", "H"), NAME, CONTENT)
    put(workspace.add_folder("copy", "J"), NAME, OTHER)
    assert workspace.run().code == 0
    workspace.assert_complete(good, KEY)
    assert digests(workspace) == [("own", len(CONTENT))]
    ((kind, message),) = workspace.findings(KEY)
    assert kind == "ContentDiffers"
    for word in ("own", "copy", f"{len(CONTENT):,}", f"{len(OTHER):,}"):
        assert word in message
    assert workspace.zip_log(NAME) == [(kind, message)]
    assert workspace.run().code == 0
    assert len(workspace.findings(KEY)) == 1


def test_a_second_host_that_appears_later_with_other_bytes_under_one_name_is_noticed(make_workspace):
    workspace = make_workspace()
    put(workspace.add_folder("own", "H"), NAME, CONTENT)
    assert workspace.run().code == 0
    put(workspace.add_folder("copy", "J"), NAME, OTHER)
    for _ in range(2):  # reported once
        assert workspace.run().code == 0
        ((kind, message),) = workspace.findings(KEY)
        assert kind == "ContentDiffers"
        for word in ("own", "copy", f"{len(CONTENT):,}", f"{len(OTHER):,}", f"windrow retry {KEY}"):
            assert word in message
    assert workspace.zip_log(NAME) == [(kind, message)]
    assert digests(workspace) == [("own", len(CONTENT))]
    workspace.assert_complete(KEY)


@pytest.mark.parametrize("later", [False, True], ids=["both-at-once", "second-host-later"])
def test_two_names_for_the_same_bytes_are_two_zips_whose_records_are_loaded_once(make_workspace, later):
    workspace = make_workspace()
    other_name = f"H.{DAY}.6.impc.zip"
    put(workspace.add_folder("own", "H"), NAME, CONTENT)
    if later:
        assert workspace.run().code == 0
    put(workspace.add_folder("copy", "J"), other_name, CONTENT)
    assert workspace.run().code == 0
    workspace.assert_complete(KEY, f"add/{other_name}")
    assert digests(workspace) == [("own", len(CONTENT))]
    assert digests(workspace, f"add/{other_name}") == [("copy", len(CONTENT))]
    told = (
        "SELECT m.member_key, f.message FROM finding f JOIN member m ON m.seq = f.item WHERE f.kind = 'AlreadyLoaded'"
    )
    messages = dict(workspace.query_ledger(told))
    with zipfile.ZipFile(io.BytesIO(CONTENT)) as archive:
        assert set(messages) == {f"add/{other_name}/{member}" for member in archive.namelist()}
    assert set(messages.values()) == {"the same bytes with the same action are published already and are still current"}
    in_force = "SELECT count(*), count(DISTINCT identifier) FROM entity WHERE valid_from IS NOT NULL"
    ((loaded, different),) = workspace.query_store(in_force)
    assert loaded == different > 0


def swapped(content):
    """Return a zip of the same size with other bytes: the centre in its documents' names differs."""
    changed = content.replace(b"H.2026", b"J.2026")
    assert len(changed) == len(content)
    assert changed != content
    return changed


@pytest.mark.parametrize("later", [False, True], ids=["both-at-once", "second-host-later"])
def test_another_host_with_other_bytes_of_equal_size_under_one_name_is_noticed(make_workspace, later):
    workspace = make_workspace()
    put(workspace.add_folder("own", "H"), NAME, CONTENT)
    if later:
        assert workspace.run().code == 0
    put(workspace.add_folder("copy", "J"), NAME, swapped(CONTENT))
    for _ in range(2):  # reported once
        assert workspace.run().code == 0
        ((kind, message),) = workspace.findings(KEY)
        assert kind == "ContentDiffers"
        for word in ("own", "copy", f"{len(CONTENT):,}", f"windrow retry {KEY}"):
            assert word in message
    assert workspace.zip_log(NAME) == [(kind, message)]
    assert digests(workspace) == [("own", len(CONTENT))]
    workspace.assert_complete(KEY)


@pytest.mark.parametrize("other_content", [OTHER, swapped(CONTENT)], ids=["other-size", "same-size"])
@pytest.mark.parametrize("later", [False, True], ids=["both-at-once", "second-host-later"])
def test_what_content_differs_advises_takes_the_other_bytes(make_workspace, later, other_content):
    workspace = make_workspace()
    put(workspace.add_folder("own", "H"), NAME, CONTENT)
    if later:
        assert workspace.run().code == 0
    put(workspace.add_folder("copy", "J"), NAME, other_content)
    assert workspace.run().code == 0
    ((_, message),) = workspace.findings(KEY)
    key, source = re.search(
        r"to fetch the file of copy: windrow retry (\S+), then: windrow run (\S+)$", message
    ).groups()
    workspace.retry(key)
    assert workspace.run(source).code == 0
    assert digests(workspace) == [("own", len(CONTENT)), ("copy", len(other_content))]
    assert workspace.run().code == 0
    assert len(digests(workspace)) == 2, "the choice of the operator stays"


@pytest.mark.parametrize("own_content", [OTHER, swapped(CONTENT)], ids=["other-size", "same-size"])
def test_the_bytes_of_the_producer_replace_those_of_another_host_in_the_next_run(make_workspace, own_content):
    """They were only taken after a retry by hand, and both runs and the status ended with "all well"."""
    workspace = make_workspace()
    put(workspace.add_folder("copy", "J"), NAME, CONTENT)
    assert workspace.run().code == 0
    assert describe_end(workspace.status().last) == "all well"
    put(workspace.add_folder("own", "H"), NAME, own_content)
    assert workspace.run().code == 0
    state = workspace.status()
    assert describe_end(state.last) == "done, 1 file with other content at a source"
    ((key, message),) = state.differing
    assert key == KEY
    assert "the next run of all sources does so, since own is preferred" in message
    assert digests(workspace) == [("copy", len(CONTENT))]
    for _ in range(2):  # the other host still differs, but its bytes do not win
        assert workspace.run().code == 0
        assert digests(workspace) == [("copy", len(CONTENT)), ("own", len(own_content))]
    ((_, message),) = workspace.status().differing
    assert message.endswith(f"to fetch the file of copy: windrow retry {KEY}, then: windrow run copy")


def test_what_a_listing_leaves_out_or_cannot_mean_is_no_change_and_no_end(make_workspace):
    workspace = make_workspace()
    with rogue_server(files={KEY: CONTENT}) as own:
        workspace.add_source("own", own.url(), **SECRET)
        moment = own.modified
        for modified, size in ((moment, len(CONTENT)), (b"", len(CONTENT)), (moment, None), (moment, 10**30)):
            own.modified, own.listed_sizes[KEY] = modified, size
            assert workspace.run().code == 0
        events = "SELECT event, size FROM listing"
        assert workspace.query_ledger(events) == [("listed", len(CONTENT))]
        own.modified, own.listed_sizes[KEY] = b"", None  # the next listing with neither is compared
        assert workspace.run().code == 0
        assert workspace.query_ledger(events)[1:] == [("changed", None)]
    assert workspace.findings(KEY) == []


def test_a_file_that_changed_and_is_not_listed_any_more_is_not_to_be_fetched(make_workspace):
    workspace = make_workspace()
    folder = workspace.add_folder("own", "H")
    put(folder, NAME, CONTENT)
    assert workspace.run().code == 0
    put(folder, NAME, OTHER)
    assert workspace.run().code == 0
    assert [file.key for file in workspace.status().differing] == [KEY]
    (folder / KEY).unlink()
    assert workspace.run().code == 0
    state = workspace.status()
    assert state.differing == ()
    assert "content_changed" not in {str(reason.reason) for reason in state.reasons}
    put(workspace.add_folder("copy", "J"), NAME, OTHER)  # it is compared with bytes whose source is without it
    assert workspace.run().code == 0
    assert "file of copy differs from that of own" in workspace.status().differing[0].message
    put(folder, NAME, OTHER + b"3")
    assert workspace.run().code == 0
    (message,) = [file.message for file in workspace.status().differing]
    assert message.startswith(f"own now offers {len(OTHER) + 1:,} bytes")
    assert f"before, it offered {len(OTHER):,} bytes" in message


def test_another_host_with_the_same_bytes_is_compared_once_and_anew_when_it_says_that_they_changed(make_workspace):
    workspace = make_workspace()
    put(workspace.add_folder("own", "H"), NAME, CONTENT)
    copy = workspace.add_folder("copy", "J")
    put(copy, NAME, CONTENT)
    compared = "SELECT count(*) FROM listing WHERE source = 'copy' AND event = 'compared'"
    for _ in range(2):
        assert workspace.run().code == 0
        assert workspace.findings(KEY) == []
        assert workspace.query_ledger(compared) == [(1,)]
    put(copy, NAME, swapped(CONTENT))
    os.utime(copy / KEY, (1, 1))
    assert workspace.run().code == 0
    assert [kind for kind, _ in workspace.findings(KEY)] == ["ContentChanged", "ContentDiffers"]
    assert workspace.query_ledger(compared) == [(2,)]


def test_of_a_large_zip_of_another_host_only_the_end_is_fetched_to_compare_it(make_workspace):
    workspace = make_workspace()
    name, content = drop("H", DAY, 7)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        documents = {member: archive.read(member) for member in archive.namelist()}
    own, other_content = (pack({"a.bin": random.Random(seed).randbytes(300_000), **documents}) for seed in (1, 2))
    assert len(own) == len(other_content) > 2 * COMPARED_SIZE
    put(workspace.add_folder("own", "H"), name, own)
    put(
        workspace.add_folder("copy", "J"), name, other_content
    )  # they differ long before the end, where the checksum of a.bin stands
    assert workspace.run().code == 0
    assert [kind for kind, _ in workspace.findings(f"add/{name}")][:1] == ["ContentDiffers"]
    comparison = "copy: compared with the same files in the archive: 0 equal, 1 different, 0 not compared"
    assert f"{comparison}; {COMPARED_SIZE:,} bytes fetched for this" in [
        comment for *_, comment in workspace.tasks("copy")
    ]


def test_bytes_that_change_wait_for_a_retry(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    folder = workspace.add_folder("own")
    put(folder, NAME, CONTENT)
    assert workspace.run().code == 0
    put(folder, NAME, OTHER)
    assert workspace.run().code == 0
    ((kind, message),) = workspace.findings(KEY)
    assert kind == "ContentChanged"
    moment = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d"
    sizes = (f"{len(OTHER):,}", f"{len(CONTENT):,}")
    assert re.match(
        rf"own now offers {sizes[0]} bytes of {moment}; before, it offered {sizes[1]} bytes of {moment};", message
    )
    assert f"windrow retry {KEY}" in message
    assert (kind, message) in workspace.zip_log(NAME)
    assert digests(workspace) == [("own", len(CONTENT))]
    workspace.assert_complete(good, KEY)
    assert workspace.run().code == 0
    assert len(workspace.findings(KEY)) == 1  # reported once
    assert [reason[:2] for reason in workspace.status().reasons] == [("content_changed", 1)]

    workspace.retry(NAME)
    assert workspace.run().code == 0
    assert digests(workspace) == [("own", len(CONTENT)), ("own", len(OTHER))]
    assert workspace.status().reasons == ()
    workspace.assert_complete(good, KEY)
    assert workspace.downloads(NAME) == [("overview", "done", len(CONTENT)), ("overview", "done", len(OTHER))]


def test_a_source_that_lists_a_zip_no_more(make_workspace):
    workspace = make_workspace(settings="[drops]\nattempts = 1\n")
    good = workspace.add_healthy()
    copy = workspace.add_folder("copy", "J")
    put(copy, NAME, CONTENT)
    alone = f"add/{drop('H', DAY, 6)[0]}"
    with rogue_server(
        files={KEY: CONTENT, alone: CONTENT}, refused={KEY: b"451 not now\r\n", alone: b"451 not now\r\n"}
    ) as own:
        workspace.add_source("own", own.url(), "H", **SECRET)
        shutil.move(copy / KEY, copy / "aside")
        assert workspace.run().code == 3
        assert workspace.item_state(KEY) == ("download", "failed", "server_error")
        shutil.move(copy / "aside", copy / KEY)
        own.files.clear()
        own.asked.clear()
        assert workspace.run().code == 0
        assert not [word for word in own.asked if word.startswith("RETR")]
    workspace.assert_complete(good, KEY)
    events = workspace.query_ledger(
        "SELECT l.source, l.event FROM listing l JOIN listed_file f ON f.seq = l.listed_file WHERE f.file_key = ?"
        " ORDER BY l.seq",
        KEY,
    )
    assert sorted(events) == [("copy", "listed"), ("own", "gone"), ("own", "listed")]
    hosts = workspace.query_tracker(
        "SELECT count(*) FROM file_source_has_zip h JOIN zip_action a ON a.id = h.za_id JOIN zip_file f ON f.id = a.zip_id"
        " WHERE f.file_name = ?",
        NAME,
    )
    assert hosts == [(2,)]
    assert [row[:2] for row in workspace.downloads(NAME)] == [("download", "failed"), ("overview", "done")]
    assert workspace.item_state(alone) == (
        "download",
        "failed",
        "server_error",
    )  # no source has it; its failure stays on record


def test_the_next_host_is_tried(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    put(workspace.add_folder("copy", "J"), NAME, CONTENT)
    with rogue_server(files={KEY: CONTENT}, refused={KEY: b"451 not now\r\n"}) as own:
        workspace.add_source("own", own.url(), "H", attempts=2, **SECRET)
        assert workspace.run().code == 3
    assert [row[:2] for row in workspace.attempts(KEY)] == [
        ("own", "server_error"),
        ("own", "server_error"),
        ("copy", None),
    ]
    assert [row[:2] for row in workspace.downloads(NAME)] == [("download", "failed")] * 2 + [("overview", "done")]
    assert [kind for kind, _ in workspace.zip_log(NAME)] == ["ServerError"] * 2
    retries = workspace.query_tracker(
        "SELECT h.num_retries FROM file_source_has_zip h JOIN zip_download d ON d.zf_id = h.id ORDER BY d.id"
    )
    assert (1,) in retries
    workspace.assert_complete(good, KEY)


def test_a_source_that_is_down_while_another_hosts_the_zip(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    put(workspace.add_folder("copy", "J"), NAME, CONTENT)
    workspace.add_source("own", f"ftp://windrow@127.0.0.1:{free_port()}/", "H", attempts=2, **SECRET)
    assert workspace.run().code == 3
    failed, reason, _ = workspace.tasks("own")[0]
    assert (failed, reason) == (1, "connect_failed")
    workspace.assert_complete(good, KEY)
    assert digests(workspace) == [("copy", len(CONTENT))]
    assert workspace.session_status() > 0


@pytest.mark.parametrize("connections", [1, 3])
def test_a_source_that_goes_between_listing_and_fetching(make_workspace, connections):
    workspace = make_workspace()
    good = workspace.add_healthy()
    files = {f"add/{name}": content for name, content in (drop("H", DAY, number) for number in range(10, 22))}
    alone = f"add/{drop('H', DAY, 30)[0]}"
    copy = workspace.add_folder("copy", "J")
    for key, content in files.items():
        (copy / key).write_bytes(content)
    with rogue_server(files=files | {alone: drop("H", DAY, 30)[1]}) as own:
        list_files = own._listing

        def list_folder(folder):
            own.shut = folder == "delete"
            return list_files(folder)

        own._listing = list_folder
        workspace.add_source("own", own.url(), "H", attempts=2, connections=connections, **SECRET)
        assert workspace.run().code == 3
        workspace.assert_complete(good, *files)
        assert workspace.item_state(alone) == ("download", "pending", None)
        failed, reason, comment = workspace.tasks("own")[-1]
        assert (failed, reason) == (1, "interrupted")
        assert "own" in comment
        own._listing = list_files
        own.shut = False
        assert workspace.run().code == 0
    workspace.assert_complete(good, alone, *files)


@pytest.fixture
def after_listing():
    """Return a function that changes a server's fields once all its folders were listed."""

    def change(server, **fields):
        list_files = server._listing

        def list_folder(folder):
            if folder == "delete":
                vars(server).update(fields)
            return list_files(folder)

        server._listing = list_folder

    return change


def test_a_moment_of_absence_is_no_reason_to_give_a_source_up(make_workspace, after_listing):
    """Connections that break together count as one failure: the source is asked again a little later."""
    workspace = make_workspace()
    files = {f"add/{name}": content for name, content in (drop("H", DAY, number) for number in range(10, 30))}
    with rogue_server(files=files) as own:
        after_listing(own, absent=3)
        workspace.add_source("own", own.url(), "H", attempts=3, connections=3, **SECRET)
        assert workspace.run().code == 0
        assert own.closed == 3
    workspace.assert_complete(*files)
    assert {row[1] for key in files for row in workspace.attempts(key)} == {None}


@pytest.mark.parametrize("connections", [1, 3])
def test_a_connection_that_the_server_closed_while_it_rested(make_workspace, after_listing, connections):
    """It is replaced by a new one: no attempt has failed, even where there is only one."""
    workspace = make_workspace()
    files = {f"add/{name}": content for name, content in (drop("H", DAY, number) for number in range(10, 30))}
    with rogue_server(files=files) as own:
        after_listing(own, forgetful=True)
        workspace.add_source("own", own.url(), "H", attempts=1, connections=connections, **SECRET)
        assert workspace.run().code == 0
    workspace.assert_complete(*files)
    assert [row[1] for key in files for row in workspace.attempts(key)] == [None] * len(files)


def test_all_sources_down_and_up_again(make_workspace):
    workspace = make_workspace()
    folder = workspace.add_folder("first", "H")
    put(folder, NAME, CONTENT)
    shutil.move(folder, workspace.root / "away")
    port = free_port()
    workspace.add_source("second", f"ftp://windrow@127.0.0.1:{port}/", "J", attempts=2, **SECRET)
    assert workspace.run().code == 3
    assert workspace.tasks("first")[0][:2] == (1, "not_found")
    assert workspace.tasks("second")[0][:2] == (1, "connect_failed")
    assert workspace.query_tracker("SELECT count(*) FROM session_task WHERE status = 1") == [(2,)]

    shutil.move(workspace.root / "away", folder)
    name, content = drop("J", DAY, 8)
    with rogue_server(files={f"add/{name}": content}) as second:
        workspace.add_source("second", second.url(), "J", **SECRET)
        assert workspace.run().code == 0
    workspace.assert_complete(KEY, f"add/{name}")
    assert workspace.session_status() == 0
