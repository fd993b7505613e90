"""Faults of FTP servers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fetch.memory_sink import MemorySink, get_file, list_entries
from tests.fetch.test_fault_any import assert_fails
from tests.servers.script import env, ftp, listening, site
from tests.servers.tree import LARGE, SMALL, Served
from windrow.errors import TerminalFailure, TransientFailure
from windrow.fetch.ftp_session import FtpSession
from windrow.reasons import Reason


def test_active_mode(pyftpd_whole: Served, vsftpd_plain: Served) -> None:
    for served in (pyftpd_whole, vsftpd_plain):
        active = replace(served.site, passive=False)
        assert list_entries(active, "add")["small.zip"].size == len(SMALL)
        assert get_file(active, "add/large.zip").content == LARGE


def test_a_relative_base_begins_at_home(pyftpd_whole: Served) -> None:
    home = replace(pyftpd_whole.site, base="add")
    assert get_file(home, "small.zip").content == SMALL
    assert "small.zip" in list_entries(home, "")


def test_plain_text_is_refused_where_the_server_demands_tls(vsftpd_tls: Served) -> None:
    plain = replace(vsftpd_tls.site, scheme="ftp")
    assert_fails(lambda: list_entries(plain, "add"), TerminalFailure, Reason.TLS_FAILED)


def test_tls_is_refused_where_the_server_has_none(pyftpd_whole: Served) -> None:
    secure = replace(pyftpd_whole.site, scheme="ftps")
    assert_fails(lambda: list_entries(secure, "add"), TerminalFailure, Reason.PROTOCOL_ERROR, Reason.LOGIN_FAILED)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b"421 too many\r\n", Reason.CONNECT_FAILED),
        (b"425 no data\r\n", Reason.CONNECT_FAILED),
        (b"426 broken\r\n", Reason.INTERRUPTED),
        (b"450 busy\r\n", Reason.SERVER_ERROR),
        (b"451 disk\r\n", Reason.SERVER_ERROR),
    ],
)
@pytest.mark.parametrize("verb", ["RETR", "226"])
def test_a_refusal_for_now(reply: bytes, reason: Reason, verb: str) -> None:
    with listening(ftp({verb: reply}, b"half")) as port:
        assert_fails(lambda: get_file(site("ftp", port), "x"), TransientFailure, reason)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b"530 who?\r\n", Reason.LOGIN_FAILED),
        (b"550 No such file.\r\n", Reason.NOT_FOUND),
        (b"550 Permission denied.\r\n", Reason.PERMISSION_DENIED),
        (b"550 x: not a plain file.\r\n", Reason.NOT_A_FILE),
        (b"553 not you\r\n", Reason.PERMISSION_DENIED),
        (b"502 what?\r\n", Reason.PROTOCOL_ERROR),
        (b"hello?\r\n", Reason.PROTOCOL_ERROR),
        (b"\r\n", Reason.PROTOCOL_ERROR),
        (b"350 more?\r\n", Reason.PROTOCOL_ERROR),
    ],
)
def test_a_refusal_for_good(reply: bytes, reason: Reason) -> None:
    with listening(ftp({"RETR": reply})) as port:
        assert_fails(lambda: get_file(site("ftp", port), "x"), TerminalFailure, reason)


@pytest.mark.parametrize("reply", ["2zz done", "2", "2-9 x", "2\u00b23 x", "2\u0663\u0663 x", "2260 x"])
def test_a_success_without_a_code_of_three_digits_is_none(reply: str) -> None:
    with listening(ftp({"226": f"{reply}\r\n".encode()}, b"whole")) as port:
        assert_fails(lambda: get_file(site("ftp", port), "x"), TerminalFailure, Reason.PROTOCOL_ERROR)


def test_a_file_that_has_a_size_and_cannot_be_opened_is_not_missing() -> None:
    refusal = b"550 Failed to open file.\r\n"
    for size, reason in ((b"213 9\r\n", Reason.PERMISSION_DENIED), (b"550 What?\r\n", Reason.NOT_FOUND)):
        with listening(ftp({"RETR": refusal, "SIZE": size})) as port:
            assert_fails(lambda port=port: get_file(site("ftp", port), "x"), TerminalFailure, reason)


def test_gone_in_mid_transfer() -> None:
    with listening(ftp({}, b"half", cut=True)) as port:
        sink = MemorySink()
        assert_fails(lambda: get_file(site("ftp", port), "x", sink), TransientFailure, Reason.INTERRUPTED)
        assert sink.content == b"half"


@pytest.mark.parametrize("size", [3, 5])
def test_a_lying_size(size: int) -> None:
    for replies in ({"RETR": b"150 x (%d bytes)\r\n" % size}, {"SIZE": b"213 %d\r\n" % size}):
        with listening(ftp(replies, b"four")) as port:
            failure = assert_fails(
                lambda port=port: get_file(site("ftp", port), "x"), TransientFailure, Reason.SIZE_MISMATCH
            )
            assert f"the server announced {size}" in str(failure)


def test_a_server_that_cannot_resume() -> None:
    with listening(ftp({"REST": b"502 no\r\n"}, b"all of it")) as port:
        sink = get_file(site("ftp", port), "x", MemorySink(b"all"))
        assert (sink.content, sink.restarted) == (b"all of it", 1)


def test_the_address_in_a_passive_reply_is_not_believed() -> None:
    with listening(ftp({}, b"content")) as port:  # it names 10.9.8.7
        assert get_file(site("ftp", port), "x").content == b"content"


@pytest.mark.parametrize("reply", [b"227 where? (1,2,3)\r\n", b"227 (1,2,3,4,0,0)\r\n", b"227 (1,2,3,4,999,999)\r\n"])
def test_a_passive_reply_without_a_port(reply: bytes) -> None:
    with listening(ftp({"PASV": reply})) as port:
        assert_fails(lambda: get_file(site("ftp", port), "x"), TerminalFailure, Reason.PROTOCOL_ERROR)


@pytest.mark.parametrize("reply", [b"2" * 100_000, b"220-hello\r\n" + b"220-more\r\n" * 40_000])
def test_a_reply_without_end(reply: bytes) -> None:
    with listening(ftp({"": reply})) as port:
        assert_fails(lambda: get_file(site("ftp", port), "x"), TerminalFailure, Reason.PROTOCOL_ERROR)


def test_a_listing_too_long() -> None:
    line = b"-rw-r--r-- 1 u g 1 Nov 21 11:35 x\r\n"
    for content in (line * 200_002, b"x" * 9000 + b"\r\n"):
        with listening(ftp({}, content)) as port:
            assert_fails(lambda port=port: list_entries(site("ftp", port), "add"), TerminalFailure, Reason.TOO_LARGE)


def test_a_listing_that_is_none_but_names() -> None:
    names = b".\r\n..\r\na.zip\r\n./b/c.zip\r\n"
    with listening(ftp({"MLSD": b"502 no\r\n"}, names)) as port:
        listed = list_entries(site("ftp", port), "add")
        assert set(listed) == {"a.zip", "b/c.zip"}
        assert all(entry.is_file for entry in listed.values())


@pytest.mark.parametrize("features", [b"500 no\r\n", b"211-Features\r\n MLST type*;size*;\r\n211 End\r\n"])
@pytest.mark.parametrize("names", [b"a.zip\r\n", b""])
def test_a_server_without_mlsd_is_asked_for_names_when_its_list_is_empty(features, names) -> None:
    with listening(ftp({"FEAT": features, "MLSD": b"502 no\r\n"}, {"NLST": names})) as port:
        assert set(list_entries(site("ftp", port), "add")) == ({"a.zip"} if names else set())
    for reply in (b"550 no files\r\n", b"450 no files\r\n"):
        with listening(ftp({"FEAT": features, "MLSD": b"502 no\r\n", "NLST": reply})) as port:
            assert not list_entries(site("ftp", port), "add")


@pytest.mark.parametrize("number", [1, 2])
def test_a_size_or_time_that_is_not_to_be_had_now_ends_the_list(number) -> None:
    names = b"a.zip\r\nb.zip\r\n" if number == 2 else b"a.zip\r\n"
    busy = {"MLSD": b"502 no\r\n", "SIZE": b"450 file busy\r\n"}
    with listening(ftp(busy, {"NLST": names})) as port:
        assert_fails(lambda: list_entries(site("ftp", port), "add"), TransientFailure, Reason.SERVER_ERROR)
    times = {"MLSD": b"502 no\r\n", "FEAT": b"211-Features\r\n MDTM\r\n211 End\r\n", "MDTM": b"451 busy\r\n"}
    with listening(ftp(times, b"-rw-r--r-- 1 u g 5 Nov 21 11:35 a.zip\r\n")) as port:
        assert_fails(lambda: list_entries(site("ftp", port), "add"), TransientFailure, Reason.SERVER_ERROR)


def test_a_list_that_is_refused_or_not_complete_is_not_taken_as_whole() -> None:
    no_mlsd, line = {"MLSD": b"502 no\r\n"}, b"-rw-r--r-- 1 u g 5 Nov 21 11:35 a.zip\r\n"
    with listening(ftp({**no_mlsd, "NLST": b"550 permission denied\r\n"})) as port:
        assert_fails(lambda: list_entries(site("ftp", port), "add"), TerminalFailure, Reason.PERMISSION_DENIED)
    with listening(ftp({**no_mlsd, "NLST": b"550 no\r\n"}, b"ls: cannot open directory\r\n")) as port:
        (entry,) = list_entries(site("ftp", port), "add").values()
        assert entry.reason is Reason.PROTOCOL_ERROR
    for reply in (b"226-Options: -l\r\n226 Output truncated to 1 matches\r\n", b"226 2 matches total\r\n"):
        for replies, content in ((no_mlsd, line), ({}, b"type=file;size=5; a.zip\r\n")):
            with listening(ftp({**replies, "226": reply}, content)) as port:
                a_zip, cut = list_entries(site("ftp", port), "add").values()
                assert (a_zip.name, a_zip.size, cut.reason) == ("a.zip", 5, Reason.PROTOCOL_ERROR)
    with listening(ftp({**no_mlsd, "226": b"226 1 matches total\r\n"}, line)) as port:
        assert set(list_entries(site("ftp", port), "add")) == {"a.zip"}


@pytest.mark.parametrize(
    ("replies", "lines"),
    [
        ({}, b"type=file;size=5; a.zip\r\ntype=file;size=5; b.zi"),
        ({"MLSD": b"502 no\r\n"}, b"-rw-r--r-- 1 u g 5 Nov 21 11:35 a.zip\r\n-rw-r--r-- 1 u g 5 Nov 21 11:35 b.zi"),
        ({"MLSD": b"502 no\r\n"}, {"NLST": b"a.zip\r\nb.zi"}),
    ],
)
def test_a_last_name_without_an_end_is_whole_only_if_it_has_a_size(replies, lines) -> None:
    with listening(ftp({**replies, "SIZE": b"213 5\r\n"}, lines)) as port:
        assert set(list_entries(site("ftp", port), "add")) == {"a.zip", "b.zi"}
    with listening(ftp({**replies, "SIZE": b"550 no\r\n"}, lines)) as port:
        a_zip, cut = list_entries(site("ftp", port), "add").values()
        assert (a_zip.name, cut.reason) == ("a.zip", Reason.PROTOCOL_ERROR)
        assert cut.name.endswith("b.zi")


@pytest.mark.parametrize("is_late", [False, True])
def test_sizes_of_names_are_requested_together_and_within_the_time_of_the_listing(monkeypatch, is_late) -> None:
    pushed, push = [], FtpSession.push

    def record_push(session: FtpSession, lines: bytes) -> None:
        pushed.append(lines)
        if is_late and lines.startswith(b"SIZE"):
            session.deadline = 1e-9
        push(session, lines)

    monkeypatch.setattr(FtpSession, "push", record_push)
    names = b"".join(b"%d.zip\r\n" % number for number in range(70))
    with listening(ftp({"MLSD": b"502 no\r\n", "SIZE": b"213 7\r\n"}, names)) as port:
        if is_late:
            assert_fails(lambda: list_entries(site("ftp", port), "add"), TransientFailure, Reason.TIMEOUT)
        else:
            assert {entry.size for entry in list_entries(site("ftp", port), "add").values()} == {7}
    counts = [lines.count(b"SIZE") for lines in pushed if b"SIZE" in lines]
    assert counts == ([1, 32] if is_late else [1, 32, 32, 5])


def test_hostile_names_are_told_as_they_are() -> None:
    lines = b"type=file;size=1; ../x.zip\r\ntype=file; a\x01\xff.zip\r\ntype=OS.unix=slink:/etc/passwd; l.zip\r\n"
    with listening(ftp({}, lines)) as port:
        listed = list_entries(site("ftp", port), "add")
        assert set(listed) == {"../x.zip", "a\x01\udcff.zip", "l.zip"}
        assert not listed["l.zip"].is_file


def test_a_password_in_a_reply_goes_into_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", "open sesame")
    with listening(ftp({"PASS": b"530 open sesame is wrong\r\n"})) as port:
        shut = site("ftp", port, username="u", secret=env("WORD"))
        failure = assert_fails(lambda: get_file(shut, "x"), TerminalFailure, Reason.LOGIN_FAILED)
        assert "sesame" not in str(failure)
        assert "sesame" not in repr(failure.__cause__)


def test_text_before_the_handshake_is_refused() -> None:
    with listening(ftp({"AUTH": b"234 go\r\n230 in already\r\n"})) as port:
        assert_fails(lambda: get_file(site("ftps", port), "x"), TerminalFailure, Reason.PROTOCOL_ERROR)
