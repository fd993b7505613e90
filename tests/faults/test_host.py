"""Several sources and one zip: differing bytes, changed bytes, sources that are down or list it no more."""

import io
import os
import random
import re
import shutil
import zipfile

import pytest
from benchmarks.daemon import free_port

from tests.faults.place import DAY, put
from tests.faults.server import rogue
from windrow.demo.partner import drop, pack
from windrow.model import TAIL

NAME, CONTENT = drop("H", DAY, 5)
OTHER = drop("H", DAY, 5, 2)[1]
KEY = f"add/{NAME}"
SECRET = {"secret": "env:HOME", "timeout": 60}


def digests(made, key=KEY):
    return made.ask(
        "SELECT h.source, e.size FROM attempt e JOIN listed_file f ON f.seq = e.listed_file JOIN host h ON h.seq = e.host"
        " WHERE f.file_key = ? AND e.reason IS NULL"
        " ORDER BY e.seq",
        key,
    )


def test_two_sources_offer_different_bytes(place):
    made = place()
    good = made.healthy()
    put(made.folder("own", "H"), NAME, CONTENT)
    put(made.folder("copy", "J"), NAME, OTHER)
    assert made.run().code == 0
    made.whole(good, KEY)
    assert digests(made) == [("own", len(CONTENT))]
    ((kind, message),) = made.findings(KEY)
    assert kind == "ContentDiffers"
    for word in ("own", "copy", str(len(CONTENT)), str(len(OTHER))):
        assert word in message
    assert made.zip_log(NAME) == [(kind, message)]
    assert made.run().code == 0
    assert len(made.findings(KEY)) == 1


def test_a_second_host_that_appears_later_with_other_bytes_under_one_name_is_noticed(place):
    made = place()
    put(made.folder("own", "H"), NAME, CONTENT)
    assert made.run().code == 0
    put(made.folder("copy", "J"), NAME, OTHER)
    for _ in range(2):  # told once
        assert made.run().code == 0
        ((kind, message),) = made.findings(KEY)
        assert kind == "ContentDiffers"
        for word in ("own", "copy", f"{len(CONTENT):,}", f"{len(OTHER):,}", f"windrow retry {KEY}"):
            assert word in message
    assert made.zip_log(NAME) == [(kind, message)]
    assert digests(made) == [("own", len(CONTENT))]
    made.whole(KEY)


def swapped(content):
    """Return a zip of the same size with other bytes: one of its documents is of another centre's making."""
    other = content.replace(b"H.2026", b"J.2026")
    assert len(other) == len(content)
    assert other != content
    return other


@pytest.mark.parametrize("later", [False, True], ids=["both-at-once", "second-host-later"])
def test_another_host_with_other_bytes_of_equal_size_under_one_name_is_noticed(place, later):
    made = place()
    put(made.folder("own", "H"), NAME, CONTENT)
    if later:
        assert made.run().code == 0
    put(made.folder("copy", "J"), NAME, swapped(CONTENT))
    for _ in range(2):  # told once
        assert made.run().code == 0
        ((kind, message),) = made.findings(KEY)
        assert kind == "ContentDiffers"
        for word in ("own", "copy", str(len(CONTENT)), f"windrow retry {KEY}"):
            assert word in message
    assert made.zip_log(NAME) == [(kind, message)]
    assert digests(made) == [("own", len(CONTENT))]
    made.whole(KEY)


@pytest.mark.parametrize("other", [OTHER, swapped(CONTENT)], ids=["other-size", "same-size"])
@pytest.mark.parametrize("later", [False, True], ids=["both-at-once", "second-host-later"])
def test_what_content_differs_advises_takes_the_other_bytes(place, later, other):
    made = place()
    put(made.folder("own", "H"), NAME, CONTENT)
    if later:
        assert made.run().code == 0
    put(made.folder("copy", "J"), NAME, other)
    assert made.run().code == 0
    ((_, message),) = made.findings(KEY)
    key, source = re.search(r"to have those of copy: windrow retry (\S+), then: windrow run (\S+)$", message).groups()
    made.retry(key)
    assert made.run(source).code == 0
    assert digests(made) == [("own", len(CONTENT)), ("copy", len(other))]


def test_another_host_with_the_same_bytes_is_compared_once_and_anew_when_it_says_that_they_changed(place):
    made = place()
    put(made.folder("own", "H"), NAME, CONTENT)
    copy = made.folder("copy", "J")
    put(copy, NAME, CONTENT)
    compared = "SELECT count(*) FROM listing WHERE source = 'copy' AND event = 'compared'"
    for _ in range(2):
        assert made.run().code == 0
        assert made.findings(KEY) == []
        assert made.ask(compared) == [(1,)]
    put(copy, NAME, swapped(CONTENT))
    os.utime(copy / KEY, (1, 1))
    assert made.run().code == 0
    assert [kind for kind, _ in made.findings(KEY)] == ["ContentChanged", "ContentDiffers"]
    assert made.ask(compared) == [(2,)]


def test_of_a_large_zip_of_another_host_only_the_end_is_fetched_to_compare_it(place):
    made = place()
    name, content = drop("H", DAY, 7)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        documents = {one: archive.read(one) for one in archive.namelist()}
    own, other = (pack({"a.bin": random.Random(seed).randbytes(300_000), **documents}) for seed in (1, 2))
    assert len(own) == len(other) > 2 * TAIL
    put(made.folder("own", "H"), name, own)
    put(made.folder("copy", "J"), name, other)  # they differ long before the end, where the checksum of a.bin stands
    assert made.run().code == 0
    assert [kind for kind, _ in made.findings(f"add/{name}")][:1] == ["ContentDiffers"]
    told = "copy: compared with what is held from elsewhere: 0 the same, 1 with other bytes, 0 not compared"
    assert f"{told}; {TAIL:,} bytes fetched for it" in [comment for *_, comment in made.tasks("copy")]


def test_bytes_that_change_wait_for_a_retry(place):
    made = place()
    good = made.healthy()
    folder = made.folder("own")
    put(folder, NAME, CONTENT)
    assert made.run().code == 0
    put(folder, NAME, OTHER)
    assert made.run().code == 0
    ((kind, message),) = made.findings(KEY)
    assert kind == "ContentChanged"
    moment = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d"
    sizes = (f"{len(OTHER):,}", f"{len(CONTENT):,}")
    assert re.match(rf"own now offers {sizes[0]} bytes of {moment}, before {sizes[1]} bytes of {moment};", message)
    assert f"windrow retry {KEY}" in message
    assert (kind, message) in made.zip_log(NAME)
    assert digests(made) == [("own", len(CONTENT))]
    made.whole(good, KEY)
    assert made.run().code == 0
    assert len(made.findings(KEY)) == 1  # told once

    made.retry(NAME)
    assert made.run().code == 0
    assert digests(made) == [("own", len(CONTENT)), ("own", len(OTHER))]
    made.whole(good, KEY)
    assert made.downloads(NAME) == [("overview", "done", len(CONTENT)), ("overview", "done", len(OTHER))]


def test_a_source_that_lists_a_zip_no_more(place):
    made = place(settings="[drops]\nattempts = 1\n")
    good = made.healthy()
    copy = made.folder("copy", "J")
    put(copy, NAME, CONTENT)
    alone = f"add/{drop('H', DAY, 6)[0]}"
    with rogue(
        files={KEY: CONTENT, alone: CONTENT}, refused={KEY: b"451 not now\r\n", alone: b"451 not now\r\n"}
    ) as own:
        made.source("own", own.url(), "H", **SECRET)
        shutil.move(copy / KEY, copy / "aside")
        assert made.run().code == 3
        assert made.item(KEY) == ("download", "failed", "server_error")
        shutil.move(copy / "aside", copy / KEY)
        own.files.clear()
        own.asked.clear()
        assert made.run().code == 0
        assert not [word for word in own.asked if word.startswith("RETR")]
    made.whole(good, KEY)
    events = made.ask(
        "SELECT l.source, l.event FROM listing l JOIN listed_file f ON f.seq = l.listed_file WHERE f.file_key = ?"
        " ORDER BY l.seq",
        KEY,
    )
    assert sorted(events) == [("copy", "listed"), ("own", "gone"), ("own", "listed")]
    hosts = made.tracked(
        "SELECT count(*) FROM file_source_has_zip h JOIN zip_action a ON a.id = h.za_id JOIN zip_file f ON f.id = a.zip_id"
        " WHERE f.file_name = ?",
        NAME,
    )
    assert hosts == [(2,)]
    assert [row[:2] for row in made.downloads(NAME)] == [("download", "failed"), ("overview", "done")]
    assert made.item(alone) == ("download", "failed", "server_error")  # nobody has it; what happened stays on record


def test_the_next_host_is_tried(place):
    made = place()
    good = made.healthy()
    put(made.folder("copy", "J"), NAME, CONTENT)
    with rogue(files={KEY: CONTENT}, refused={KEY: b"451 not now\r\n"}) as own:
        made.source("own", own.url(), "H", attempts=2, **SECRET)
        assert made.run().code == 3
    assert [row[:2] for row in made.fetches(KEY)] == [("own", "server_error"), ("own", "server_error"), ("copy", None)]
    assert [row[:2] for row in made.downloads(NAME)] == [("download", "failed")] * 2 + [("overview", "done")]
    assert [kind for kind, _ in made.zip_log(NAME)] == ["ServerError"] * 2
    retries = made.tracked(
        "SELECT h.num_retries FROM file_source_has_zip h JOIN zip_download d ON d.zf_id = h.id ORDER BY d.id"
    )
    assert (1,) in retries
    made.whole(good, KEY)


def test_a_source_that_is_down_while_another_hosts_the_zip(place):
    made = place()
    good = made.healthy()
    put(made.folder("copy", "J"), NAME, CONTENT)
    made.source("own", f"ftp://windrow@127.0.0.1:{free_port()}/", "H", attempts=2, **SECRET)
    assert made.run().code == 3
    failed, reason, _ = made.tasks("own")[0]
    assert (failed, reason) == (1, "connect_failed")
    made.whole(good, KEY)
    assert digests(made) == [("copy", len(CONTENT))]
    assert made.session() > 0


@pytest.mark.parametrize("connections", [1, 3])
def test_a_source_that_goes_between_listing_and_fetching(place, connections):
    made = place()
    good = made.healthy()
    files = {f"add/{name}": content for name, content in (drop("H", DAY, number) for number in range(10, 22))}
    alone = f"add/{drop('H', DAY, 30)[0]}"
    copy = made.folder("copy", "J")
    for key, content in files.items():
        (copy / key).write_bytes(content)
    with rogue(files=files | {alone: drop("H", DAY, 30)[1]}) as own:
        listed = own._listing

        def last(folder):
            own.shut = folder == "delete"
            return listed(folder)

        own._listing = last
        made.source("own", own.url(), "H", attempts=2, connections=connections, **SECRET)
        assert made.run().code == 3
        made.whole(good, *files)
        assert made.item(alone) == ("download", "pending", None)
        failed, reason, comment = made.tasks("own")[-1]
        assert (failed, reason) == (1, "interrupted")
        assert "own" in comment
        own._listing = listed
        own.shut = False
        assert made.run().code == 0
    made.whole(good, alone, *files)


@pytest.fixture
def after_listing():
    """Return what has a server change its ways once all its folders were listed."""

    def change(server, **ways):
        listed = server._listing

        def last(folder):
            if folder == "delete":
                vars(server).update(ways)
            return listed(folder)

        server._listing = last

    return change


def test_a_moment_of_absence_is_no_reason_to_give_a_source_up(place, after_listing):
    """Connections that break together are one break: the source is asked again, a little later."""
    made = place()
    files = {f"add/{name}": content for name, content in (drop("H", DAY, number) for number in range(10, 30))}
    with rogue(files=files) as own:
        after_listing(own, absent=3)
        made.source("own", own.url(), "H", attempts=2, connections=3, **SECRET)
        assert made.run().code == 0
        assert own.turned == 3
    made.whole(*files)
    assert {row[1] for key in files for row in made.fetches(key)} == {None}


@pytest.mark.parametrize("connections", [1, 3])
def test_a_connection_that_the_server_closed_while_it_rested(place, after_listing, connections):
    """It is replaced by a new one: no attempt has failed, even where there is only one."""
    made = place()
    files = {f"add/{name}": content for name, content in (drop("H", DAY, number) for number in range(10, 30))}
    with rogue(files=files) as own:
        after_listing(own, forgetful=True)
        made.source("own", own.url(), "H", attempts=1, connections=connections, **SECRET)
        assert made.run().code == 0
    made.whole(*files)
    assert [row[1] for key in files for row in made.fetches(key)] == [None] * len(files)


def test_all_sources_down_and_up_again(place):
    made = place()
    folder = made.folder("first", "H")
    put(folder, NAME, CONTENT)
    shutil.move(folder, made.root / "away")
    port = free_port()
    made.source("second", f"ftp://windrow@127.0.0.1:{port}/", "J", attempts=2, **SECRET)
    assert made.run().code == 3
    assert made.tasks("first")[0][:2] == (1, "not_found")
    assert made.tasks("second")[0][:2] == (1, "connect_failed")
    assert made.tracked("SELECT count(*) FROM session_task WHERE status = 1") == [(2,)]

    shutil.move(made.root / "away", folder)
    name, content = drop("J", DAY, 8)
    with rogue(files={f"add/{name}": content}) as second:
        made.source("second", second.url(), "J", **SECRET)
        assert made.run().code == 0
    made.whole(KEY, f"add/{name}")
    assert made.session() == 0
