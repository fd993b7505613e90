"""The conformance suite of transports, against real servers."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tests.fetch.memory_sink import MemorySink, get_file, list_entries, run_connected
from tests.servers.tree import LARGE, MANY, MODIFIED, ODD, SMALL, Served
from windrow.errors import TerminalFailure
from windrow.fetch.transports import transport_for
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
    listed = list_entries(served.site, "add")
    files = {name for name, entry in listed.items() if entry.is_file} - {"link.zip"}
    assert files == {"small.zip", "large.zip", "empty.zip", *ODD}
    assert all(entry.folder == "add" for entry in listed.values())
    assert {name: listed[name].size for name in ("small.zip", "large.zip", "empty.zip")} == {
        "small.zip": len(SMALL),
        "large.zip": len(LARGE),
        "empty.zip": 0,
    }
    modified = listed["small.zip"].modified
    if modified is None:  # LIST has neither zone nor year, and this server has no MDTM
        assert served.site.scheme == "ftp"
    else:
        assert abs(modified - MODIFIED) < timedelta(minutes=1)


def test_time_is_told_wherever_the_server_knows_it(request: pytest.FixtureRequest) -> None:
    for name in SERVERS:
        if name != "pyftpd_poor":
            served = request.getfixturevalue(name)
            assert list_entries(served.site, "add")["small.zip"].modified is not None


def test_folders_and_links_are_no_files(served: Served) -> None:
    listed = list_entries(served.site, "add")
    assert not listed["sub"].is_file
    if served.site.scheme not in {"https", "ftp"}:
        assert not listed["link.zip"].is_file


def test_listing_of_an_empty_folder_is_empty(served: Served) -> None:
    assert list_entries(served.site, "edit") == {}


def test_listing_of_a_missing_folder_tells_that_it_is_missing(served: Served) -> None:
    assert run_connected(served.site, lambda connection: connection.list("delete")) is None


def test_listing_of_two_thousand(served: Served) -> None:
    listed = list_entries(served.site, "many")
    assert len(listed) == MANY
    assert listed["H.2026-01-02.49.impc.zip"].size == 49


def test_get_small_and_empty(served: Served) -> None:
    assert get_file(served.site, "add/small.zip").content == SMALL
    assert get_file(served.site, "add/empty.zip").content == b""


def test_get_large(served: Served) -> None:
    sink = get_file(served.site, "add/large.zip")
    assert sink.content == LARGE
    assert sink.size in {None, len(LARGE)}
    assert sink.opened == 1


@pytest.mark.parametrize("name", ODD)
def test_get_by_an_odd_name(served: Served, name: str) -> None:
    assert get_file(served.site, f"add/{name}").content == name.encode()


@pytest.mark.parametrize("held", [1, 65536, len(LARGE) - 1, len(LARGE)])
def test_resume(served: Served, held: int) -> None:
    sink = get_file(served.site, "add/large.zip", MemorySink(LARGE[:held]))
    assert sink.content == LARGE


def test_resume_of_a_file_that_became_shorter_begins_again(served: Served) -> None:
    sink = get_file(served.site, "add/small.zip", MemorySink(b"y" * (len(SMALL) + 1)))
    if served.site.scheme == "ftp" and sink.restarted == 0:  # without SIZE this cannot be noticed
        assert sink.content == b"y" * (len(SMALL) + 1)
    else:
        assert sink.content == SMALL
        assert sink.restarted == 1


def test_resume_of_a_file_that_was_replaced_begins_again(served: Served) -> None:
    entry = list_entries(served.site, "add")["large.zip"]
    if entry.modified is None:
        return  # such a server's files are never resumed: see windrow.engine.listed.queue
    same = get_file(served.site, "add/large.zip", MemorySink(LARGE[:1000], modified=entry.modified))
    assert same.content == LARGE
    before = entry.modified - timedelta(seconds=2)
    sink = get_file(served.site, "add/large.zip", MemorySink(b"z" * 1000, modified=before))
    assert (sink.content, sink.restarted) == (LARGE, 1)
    assert same.restarted == (served.site.scheme in {"http", "https"})  # these need a validator


def test_missing_file(served: Served) -> None:
    with pytest.raises(TerminalFailure) as failure:
        get_file(served.site, "add/nothing.zip")
    assert failure.value.reason is Reason.NOT_FOUND
    assert "add/nothing.zip" in str(failure.value)


def test_connection_lives_on_after_a_missing_file(served: Served) -> None:
    async def work(connection: object) -> bytes:
        with pytest.raises(TerminalFailure):
            await connection.get("add/nothing.zip", MemorySink())
        assert len(await connection.list("add")) > len(ODD)
        sink = MemorySink()
        await connection.get("add/small.zip", sink)
        return bytes(sink.content)

    assert run_connected(served.site, work) == SMALL


def test_connection_lives_on_after_the_sink_refused(served: Served) -> None:
    class FullSink(MemorySink):
        def write(self, block: bytes | memoryview) -> None:
            raise TerminalFailure("full", Reason.TOO_LARGE)

    async def work(connection: object) -> bytes:
        with pytest.raises(TerminalFailure, match="full"):
            await connection.get("add/large.zip", FullSink())
        sink = MemorySink()
        await connection.get("add/small.zip", sink)
        return bytes(sink.content)

    assert run_connected(served.site, work) == SMALL


def test_several_at_once_where_the_transport_allows_it(served: Served) -> None:
    async def work(connection: object) -> list[MemorySink]:
        sinks = [MemorySink() for _ in range(transport_for(served.site.scheme).parallel)]
        paths = ["add/large.zip" if n % 4 == 0 else "add/small.zip" for n in range(len(sinks))]
        await asyncio.gather(*(connection.get(path, sink) for path, sink in zip(paths, sinks, strict=True)))
        return sinks

    for number, sink in enumerate(run_connected(served.site, work)):
        assert sink.content == (LARGE if number % 4 == 0 else SMALL)


def test_wrong_password_or_key(served: Served) -> None:
    if served.wrong is None:
        return  # a folder has no password
    wrong = served.wrong
    with pytest.raises(TerminalFailure) as failure:
        list_entries(wrong, "add")
    assert failure.value.reason is Reason.LOGIN_FAILED
    assert "barley" not in str(failure.value)


@pytest.mark.parametrize("path", ["add/x\r\nDELE small.zip", "add/\x00", "add/../../etc/passwd", ".."])
def test_unsafe_paths_never_reach_the_server(served: Served, path: str) -> None:
    for attempt in (lambda: get_file(served.site, path), lambda: list_entries(served.site, path)):
        with pytest.raises(TerminalFailure) as failure:
            attempt()
        assert failure.value.reason is Reason.UNSAFE_NAME
        assert "\n" not in str(failure.value)
