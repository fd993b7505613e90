"""Host keys, keys and passphrases, and faults of SFTP servers."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fetch.memory_sink import MemorySink, get_file, list_entries, run_connected
from tests.fetch.test_fault_any import assert_fails
from tests.servers.daemon import driver
from tests.servers.sftp import asyncssh_server
from tests.servers.tree import SMALL, Served
from windrow.errors import MissingExtra, TerminalFailure, TransientFailure
from windrow.fetch.sftp import SftpConnection, _make_entry
from windrow.fetch.sftp_client import Attributes
from windrow.fetch.transports import transport_for
from windrow.formats.listing import MAX_BYTES
from windrow.model import Secret, Site
from windrow.reasons import Reason

STRANGE = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


def test_an_unknown_host_key(sshd: Served) -> None:
    failure = assert_fails(
        lambda: list_entries(replace(sshd.site, host_keys=()), "add"), TerminalFailure, Reason.HOST_KEY_UNKNOWN
    )
    assert sshd.site.host_keys[0] in str(failure)
    assert f"windrow config trust NAME {sshd.site.host_keys[0]}" in failure.hint


def test_another_host_key_than_the_pinned_one(sshd: Served) -> None:
    failure = assert_fails(
        lambda: list_entries(replace(sshd.site, host_keys=(STRANGE,)), "add"), TerminalFailure, Reason.HOST_KEY_CHANGED
    )
    assert STRANGE in str(failure)
    assert sshd.site.host_keys[0] in str(failure)


def test_a_pinned_key_of_another_kind_is_found(tree: Path, tmp_path: Path) -> None:
    ecdsa_key = driver("asyncssh").generate_private_key("ecdsa-sha2-nistp256")
    with asyncssh_server(tree, tmp_path, keys=[ecdsa_key]) as served:
        pinned = replace(served.site, host_keys=(ecdsa_key.get_fingerprint("sha256"),))
        assert get_file(pinned, "add/small.zip").content == SMALL


def test_a_key_with_a_passphrase(sshd: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncssh = driver("asyncssh")
    own = asyncssh.import_private_key(Path(sshd.site.key.place[5:]).read_bytes())
    (tmp_path / "own").write_bytes(own.export_private_key("pkcs8-pem", passphrase="open sesame"))
    locked = replace(sshd.site, key=Secret(f"file:{tmp_path}/own"))
    assert_fails(lambda: list_entries(locked, "add"), TerminalFailure, Reason.NO_SECRET)
    monkeypatch.setenv("PHRASE", "open barley")
    wrong = replace(locked, secret=Secret("env:PHRASE"))
    failure = assert_fails(lambda: list_entries(wrong, "add"), TerminalFailure, Reason.LOGIN_FAILED)
    assert "barley" not in str(failure)
    monkeypatch.setenv("PHRASE", "open sesame")
    assert "small.zip" in list_entries(wrong, "add")


def test_a_key_that_is_none(sshd: Served, tmp_path: Path) -> None:
    (tmp_path / "own").write_text("not a key\n")
    bad = replace(sshd.site, key=Secret(f"file:{tmp_path}/own"))
    assert_fails(lambda: list_entries(bad, "add"), TerminalFailure, Reason.NO_SECRET)


def test_neither_ssh_config_nor_agent_has_a_say(sshd: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's ssh settings must not change a source's host or user."""
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / ".ssh" / "config").write_text("Host *\n  Port 1\n  User somebody\n  ProxyCommand false\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    assert "small.zip" in list_entries(sshd.site, "add")


def server_with_attributes(change: Callable[[Any, Any], Any]) -> Callable[[Path], Callable[[Any], Any]]:
    asyncssh = driver("asyncssh")

    def server_type(root: Path) -> Callable[[Any], Any]:
        class ChangedAttributes(asyncssh.SFTPServer):
            def __init__(self, channel: Any) -> None:
                super().__init__(channel, chroot=os.fsencode(root))

            def fstat(self, file: Any) -> Any:
                return change(asyncssh.SFTPAttrs.from_local(super().fstat(file)), file)

        return ChangedAttributes

    return server_type


@pytest.mark.parametrize("more", [-100, 100, 10**6])
def test_a_lying_size(tree: Path, tmp_path: Path, more: int) -> None:
    def change(attrs: Any, file: Any) -> Any:
        attrs.size += more
        return attrs

    with asyncssh_server(tree, tmp_path, server_with_attributes(change)(tree)) as served:
        assert_fails(lambda: get_file(served.site, "add/small.zip"), TransientFailure, Reason.SIZE_MISMATCH)


@pytest.mark.parametrize(("wrong", "questions"), [(0, 0), (-1, 1), (1, 1)])
def test_a_small_file_as_long_as_the_listing_told_costs_no_question_for_its_size(
    tree: Path, tmp_path: Path, wrong: int, questions: int
) -> None:
    asked = []

    def change(attrs: Any, file: Any) -> Any:
        asked.append(file)
        return attrs

    with asyncssh_server(tree, tmp_path, server_with_attributes(change)(tree)) as served:
        sink = get_file(served.site, "add/small.zip", MemorySink(listed=len(SMALL) + wrong))
    assert (sink.content, sink.size, len(asked)) == (SMALL, len(SMALL), questions)


def test_a_server_that_tells_no_size(tree: Path, tmp_path: Path) -> None:
    def change(attrs: Any, file: Any) -> Any:
        attrs.size = None
        return attrs

    with asyncssh_server(tree, tmp_path, server_with_attributes(change)(tree)) as served:
        assert get_file(served.site, "add/small.zip").content == SMALL


def test_a_server_that_reads_in_small_bites(tree: Path, tmp_path: Path) -> None:
    asyncssh = driver("asyncssh")

    class SmallReads(asyncssh.SFTPServer):
        def __init__(self, channel: Any) -> None:
            super().__init__(channel, chroot=os.fsencode(tree))

        def read(self, file: Any, offset: int, size: int) -> Any:
            return super().read(file, offset, min(size, 1000))

    with asyncssh_server(tree, tmp_path, SmallReads) as served:
        assert get_file(served.site, "add/small.zip").content == SMALL


def test_a_folder_is_not_a_file(sshd: Served) -> None:
    with pytest.raises((TransientFailure, TerminalFailure)) as failure:
        get_file(sshd.site, "add/sub")
    assert failure.value.reason in {Reason.SERVER_ERROR, Reason.NOT_A_FILE}


def test_many_failures_at_once_leave_nothing_behind(sshd: Served) -> None:
    """Cancelled and failed reads must not leave unhandled exceptions (warnings are errors)."""

    async def work(connection: Any) -> list[Any]:
        paths = ["add/nothing.zip", "add/small.zip", "add/sub"] * 10
        return await asyncio.gather(*(connection.get(path, MemorySink()) for path in paths), return_exceptions=True)

    outcomes = run_connected(sshd.site, work)
    assert sum(isinstance(outcome, Exception) for outcome in outcomes) == 20


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, sshd: Served) -> None:
    monkeypatch.setitem(sys.modules, "asyncssh", None)
    monkeypatch.delitem(sys.modules, "windrow.fetch.sftp", raising=False)
    with pytest.raises(MissingExtra) as failure:
        asyncio.run(transport_for("sftp").connect(sshd.site))
    assert "windrow[sftp]" in failure.value.hint


@pytest.mark.parametrize(
    ("permissions", "is_file"), [(None, True), (0o644, True), (0o100644, True), (0o40755, False), (0o120777, False)]
)
def test_an_entry_is_a_file_unless_its_permissions_say_otherwise(permissions: int | None, is_file: bool) -> None:
    entry = _make_entry("add", b"a.zip", Attributes(5, permissions, 0))
    assert (entry.is_file, entry.size) == (is_file, 5 if is_file else None)


class EndlessNames:
    """A folder of very many long names, without a server."""

    asked = 0

    async def open_folder(self, path: bytes) -> bytes:
        return b"handle"

    async def names(self, handle: bytes) -> list[tuple[bytes, Any]]:
        self.asked += 1
        return [(b"x" * (1 << 20), Attributes())]


def test_a_listing_of_too_many_bytes_is_refused_before_they_fill_the_memory() -> None:
    names = EndlessNames()
    connection = SftpConnection(Site("sftp", "127.0.0.1"))
    open_connection = SimpleNamespace(is_closed=lambda: False)
    connection._channel = SimpleNamespace(sftp=names, connection=open_connection, drop=lambda: None)  # type: ignore[assignment]
    with pytest.raises(TerminalFailure, match="more than 67,108,864 bytes") as raised:
        asyncio.run(connection.list("add"))
    assert raised.value.reason is Reason.TOO_LARGE
    assert names.asked == MAX_BYTES // (1 << 20) + 1
