"""A file that is requested ahead, while the one before it is stored: FTP alone does so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.fetch.memory_sink import MemorySink, run_connected
from tests.servers.script import ftp, listening, site
from tests.servers.tree import LARGE, SMALL, Served
from windrow.errors import TransportError
from windrow.reasons import Reason

SERVERS = ["vsftpd_plain", "vsftpd_tls", "pyftpd_whole", "pyftpd_poor", "sshd", "nginx_shut", "folder_served"]
FILES = {"add/small.zip": SMALL, "add/large.zip": LARGE, "add/empty.zip": b""}


@pytest.fixture(params=SERVERS)
def served(request: pytest.FixtureRequest) -> Served:
    return request.getfixturevalue(request.param)


async def get_content(connection: Any, path: str, listed: int | None = None) -> bytes:
    sink = MemorySink(listed=listed)
    await connection.get(path, sink)
    return bytes(sink.content)


def get_in_turn(*paths: str) -> Callable[[Any], Awaitable[list[bytes]]]:
    """Get files one after another, each expected while the one before it is stored."""

    async def work(connection: Any) -> list[bytes]:
        contents = []
        for path in paths:
            if contents:
                connection.expect(path)
            contents.append(await get_content(connection, path, len(FILES[path])))
        return contents

    return work


def test_expected_files_come_as_others_do(served: Served) -> None:
    paths = [*FILES, *reversed(FILES)]
    assert run_connected(served.site, get_in_turn(*paths)) == [FILES[path] for path in paths]


def test_expected_files_come_in_active_mode(pyftpd_whole: Served, vsftpd_plain: Served) -> None:
    for served in (pyftpd_whole, vsftpd_plain):
        assert run_connected(replace(served.site, passive=False), get_in_turn(*FILES)) == [*FILES.values()]


def test_an_expected_file_that_is_missing_fails_by_itself(served: Served) -> None:
    async def work(connection: Any) -> tuple[Reason, bytes]:
        await get_content(connection, "add/small.zip")
        connection.expect("add/nothing.zip")
        with pytest.raises(TransportError, match=r"add/nothing\.zip") as failure:
            await get_content(connection, "add/nothing.zip")
        return failure.value.reason, await get_content(connection, "add/small.zip")

    assert run_connected(served.site, work) == (Reason.NOT_FOUND, SMALL)


def test_what_was_expected_and_is_not_wanted_leaves_the_connection_usable(served: Served) -> None:
    async def work(connection: Any) -> None:
        await get_content(connection, "add/small.zip")
        connection.expect("add/large.zip")
        assert await get_content(connection, "add/small.zip") == SMALL
        connection.expect("add/large.zip")
        assert await connection.list("edit") == []
        connection.expect("add/large.zip")
        sink = MemorySink(LARGE[:1000])
        await connection.get("add/large.zip", sink)
        assert sink.content == LARGE
        connection.expect("../outside")
        assert await get_content(connection, "add/small.zip") == SMALL
        connection.expect("add/large.zip")  # and the connection closes

    run_connected(served.site, work)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b"421 too many\r\n", Reason.CONNECT_FAILED),
        (b"425 no data\r\n", Reason.CONNECT_FAILED),
        (b"426 broken\r\n", Reason.INTERRUPTED),
        (b"450 busy\r\n", Reason.SERVER_ERROR),
        (b"550 No such file.\r\n", Reason.NOT_FOUND),
        (b"", Reason.TIMEOUT),
    ],
)
@pytest.mark.parametrize("verb", ["PASV", "RETR", "226"])
def test_a_refusal_is_told_of_the_file_that_was_expected(reply: bytes, reason: Reason, verb: str) -> None:
    async def work(connection: Any) -> Reason | None:
        assert await get_content(connection, "first", 4) == b"four"
        connection.expect("second")
        with pytest.raises(TransportError, match="second") as failure:
            await get_content(connection, "second", 4)
        return failure.value.reason

    with listening(ftp({}, b"four", later={verb: reply})) as port:
        assert run_connected(site("ftp", port, timeout=30.0 if reply else 1.0), work) is reason


@pytest.mark.parametrize("size", [3, 5])
def test_the_size_of_an_expected_file_is_asked_where_no_reply_tells_it(size: int) -> None:
    async def work(connection: Any) -> Reason | None:
        await get_content(connection, "first", 4)
        connection.expect("second")
        with pytest.raises(TransportError, match=f"second.*the server announced {size}") as failure:
            await get_content(connection, "second", 4)
        return failure.value.reason

    with listening(ftp({"SIZE": b"213 4\r\n"}, b"four", later={"SIZE": b"213 %d\r\n" % size})) as port:
        assert run_connected(site("ftp", port), work) is Reason.SIZE_MISMATCH
