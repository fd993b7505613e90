"""What every transport must do alike, against real servers."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tests.fetch.bag import Bag, entries, got, on
from tests.servers.tree import LARGE, MANY, MODIFIED, ODD, SMALL, Served
from windrow.errors import TerminalFailure
from windrow.fetch.transport import transport_for
from windrow.reasons import Reason

SERVERS = [
    "vsftpd_plain",
    "vsftpd_tls",
    "pyftpd_whole",
    "pyftpd_poor",
    "sshd",
    "asyncssh_password",
    "nginx_shut",
    "folder_served",
]


@pytest.fixture(params=SERVERS)
def served(request: pytest.FixtureRequest) -> Served:
    return request.getfixturevalue(request.param)


def test_listing_tells_names_sizes_and_times(served: Served) -> None:
    found = entries(served.site, "add")
    files = {name for name, entry in found.items() if entry.is_file} - {"link.zip"}
    assert files == {"small.zip", "large.zip", "empty.zip", *ODD}
    assert all(entry.folder == "add" for entry in found.values())
    assert {name: found[name].size for name in ("small.zip", "large.zip", "empty.zip")} == {
        "small.zip": len(SMALL),
        "large.zip": len(LARGE),
        "empty.zip": 0,
    }
    modified = found["small.zip"].modified
    if modified is None:  # LIST tells neither the zone nor the year, and this server has no MDTM
        assert served.site.scheme == "ftp"
    else:
        assert abs(modified - MODIFIED) < timedelta(minutes=1)


def test_time_is_told_wherever_the_server_knows_it(request: pytest.FixtureRequest) -> None:
    for name in SERVERS:
        if name != "pyftpd_poor":
            served = request.getfixturevalue(name)
            assert entries(served.site, "add")["small.zip"].modified is not None


def test_folders_and_links_are_no_files(served: Served) -> None:
    found = entries(served.site, "add")
    assert not found["sub"].is_file
    if served.site.scheme not in {"https", "ftp"}:
        assert not found["link.zip"].is_file


def test_listing_of_an_empty_folder_is_empty(served: Served) -> None:
    assert entries(served.site, "edit") == {}


def test_listing_of_a_missing_folder_tells_that_it_is_missing(served: Served) -> None:
    assert on(served.site, lambda connection: connection.list("delete")) is None


def test_listing_of_two_thousand(served: Served) -> None:
    found = entries(served.site, "many")
    assert len(found) == MANY
    assert found["H.2026-01-02.49.impc.zip"].size == 49


def test_get_small_and_empty(served: Served) -> None:
    assert got(served.site, "add/small.zip").content == SMALL
    assert got(served.site, "add/empty.zip").content == b""


def test_get_large(served: Served) -> None:
    bag = got(served.site, "add/large.zip")
    assert bag.content == LARGE
    assert bag.size in {None, len(LARGE)}
    assert bag.opened == 1


@pytest.mark.parametrize("name", ODD)
def test_get_by_an_odd_name(served: Served, name: str) -> None:
    assert got(served.site, f"add/{name}").content == name.encode()


@pytest.mark.parametrize("held", [1, 65536, len(LARGE) - 1, len(LARGE)])
def test_resume(served: Served, held: int) -> None:
    bag = got(served.site, "add/large.zip", Bag(LARGE[:held]))
    assert bag.content == LARGE


def test_resume_of_a_file_that_became_shorter_begins_again(served: Served) -> None:
    bag = got(served.site, "add/small.zip", Bag(b"y" * (len(SMALL) + 1)))
    if served.site.scheme == "ftp" and bag.restarted == 0:  # without SIZE nobody can know
        assert bag.content == b"y" * (len(SMALL) + 1)
    else:
        assert bag.content == SMALL
        assert bag.restarted == 1


def test_resume_of_a_file_that_was_replaced_begins_again(served: Served) -> None:
    entry = entries(served.site, "add")["large.zip"]
    if entry.modified is None:
        return  # such a server's files are never gone on with: see windrow.engine.listed.queue
    same = got(served.site, "add/large.zip", Bag(LARGE[:1000], modified=entry.modified))
    assert same.content == LARGE
    before = entry.modified - timedelta(seconds=2)
    bag = got(served.site, "add/large.zip", Bag(b"z" * 1000, modified=before))
    assert (bag.content, bag.restarted) == (LARGE, 1)
    assert same.restarted == (served.site.scheme in {"http", "https"})  # these ask for a validator


def test_missing_file(served: Served) -> None:
    with pytest.raises(TerminalFailure) as failure:
        got(served.site, "add/nothing.zip")
    assert failure.value.reason is Reason.NOT_FOUND
    assert "add/nothing.zip" in str(failure.value)


def test_connection_lives_on_after_a_missing_file(served: Served) -> None:
    async def work(connection: object) -> bytes:
        with pytest.raises(TerminalFailure):
            await connection.get("add/nothing.zip", Bag())
        assert len(await connection.list("add")) > len(ODD)
        bag = Bag()
        await connection.get("add/small.zip", bag)
        return bytes(bag.content)

    assert on(served.site, work) == SMALL


def test_connection_lives_on_after_the_sink_refused(served: Served) -> None:
    class Full(Bag):
        def write(self, block: bytes | memoryview) -> None:
            raise TerminalFailure("full", Reason.TOO_LARGE)

    async def work(connection: object) -> bytes:
        with pytest.raises(TerminalFailure, match="full"):
            await connection.get("add/large.zip", Full())
        bag = Bag()
        await connection.get("add/small.zip", bag)
        return bytes(bag.content)

    assert on(served.site, work) == SMALL


def test_several_at_once_where_the_transport_allows_it(served: Served) -> None:
    async def work(connection: object) -> list[Bag]:
        bags = [Bag() for _ in range(transport_for(served.site.scheme).parallel)]
        paths = ["add/large.zip" if n % 4 == 0 else "add/small.zip" for n in range(len(bags))]
        await asyncio.gather(*(connection.get(path, bag) for path, bag in zip(paths, bags, strict=True)))
        return bags

    for number, bag in enumerate(on(served.site, work)):
        assert bag.content == (LARGE if number % 4 == 0 else SMALL)


def test_wrong_password_or_key(served: Served) -> None:
    if served.wrong is None:
        return  # a folder has none
    wrong = served.wrong
    with pytest.raises(TerminalFailure) as failure:
        entries(wrong, "add")
    assert failure.value.reason is Reason.WRONG_PASSWORD
    assert "barley" not in str(failure.value)


@pytest.mark.parametrize("path", ["add/x\r\nDELE small.zip", "add/\x00", "add/../../etc/passwd", ".."])
def test_unsafe_paths_never_reach_the_server(served: Served, path: str) -> None:
    for attempt in (lambda: got(served.site, path), lambda: entries(served.site, path)):
        with pytest.raises(TerminalFailure) as failure:
            attempt()
        assert failure.value.reason is Reason.UNSAFE_NAME
        assert "\n" not in str(failure.value)
