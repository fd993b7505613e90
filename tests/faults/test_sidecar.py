"""Checksum files beside a zip: if they differ, the zip is not loaded; if they match, that is a phase of its own."""

import hashlib
from os import utime
from time import time

import pytest

from tests.clock import pass_time
from tests.faults.workspace import DAY, put
from tests.servers.script import listening
from windrow.app.summary import describe_end
from windrow.demo.partner import drop
from windrow.engine.listed.rest import MAX_SESSIONS_UNPAUSED

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"
TEN_YEARS = 3650 * 86400
SHA, MD5 = hashlib.sha256(CONTENT).hexdigest(), hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(("ending", "right"), [("sha256", SHA), ("md5", MD5)])
def test_a_checksum_that_does_not_match(make_workspace, ending, right):
    workspace = make_workspace(settings="[drops]\nattempts = 2\n")
    good = workspace.add_healthy()
    folder = workspace.add_folder("own")
    put(folder, NAME, CONTENT)
    wrong = "0" * len(right)
    put(folder, f"{NAME}.{ending}", f"{wrong}  {NAME}\n".encode())
    if ending == "md5":
        put(folder, f"{NAME}.sha256", b"no checksum here, so that the other one is used")
    assert workspace.run().code == 3
    assert workspace.item_state(KEY) == ("zip_md5", "failed", "digest_mismatch")
    assert workspace.action_state(NAME) == ("zip_md5", "failed")
    assert {row[1] for row in workspace.attempts(KEY)} == {"digest_mismatch"}
    kind, message = workspace.zip_log(NAME)[0]
    assert kind == "DigestMismatch"
    assert wrong in message
    assert right in message
    assert workspace.session_status() > 0
    assert workspace.tasks("own")[-1][:2] == (1, "digest_mismatch")
    assert NAME not in workspace.loaded_zips()
    workspace.assert_complete(good)

    put(folder, f"{NAME}.{ending}", f"{right} *{NAME}\n".encode())
    assert workspace.run().code == 0
    workspace.assert_complete(good, KEY)
    assert workspace.query_ledger("SELECT checksum FROM attempt WHERE reason IS NULL AND checksum <> ''") == [
        (f"{ending}:{right}",)
    ]


def test_a_zip_with_a_wrong_checksum_rests_until_its_checksum_file_is_changed(make_workspace):
    workspace = make_workspace(settings="[drops]\nattempts = 1\n")
    folder = workspace.add_folder("own")
    put(folder, NAME, CONTENT)
    put(folder, f"{NAME}.md5", f"{'0' * 32}  {NAME}\n".encode())
    an_hour_ago = time() - 3600
    for name in (NAME, f"{NAME}.md5"):
        utime(folder / "add" / name, (an_hour_ago, an_hour_ago))
    pass_time(TEN_YEARS)
    for _ in range(MAX_SESSIONS_UNPAUSED):
        assert workspace.run().code == 3
    assert len(workspace.attempts(KEY)) == MAX_SESSIONS_UNPAUSED
    workspace.run()
    assert len(workspace.attempts(KEY)) == MAX_SESSIONS_UNPAUSED, "it rests"
    pass_time(-TEN_YEARS)
    for _ in range(2):
        workspace.run()
        assert len(workspace.attempts(KEY)) == MAX_SESSIONS_UNPAUSED + 1, "the clock was ahead, then it rests again"
    put(folder, f"{NAME}.md5", f"{MD5}  {NAME}\n".encode())
    assert workspace.run().code == 0
    workspace.assert_complete(KEY)


def test_a_checksum_file_that_appears_or_changes_after_the_transfer_is_compared(make_workspace):
    """It was ignored for ever: the zip stayed as it had come, and each run was all well."""
    workspace = make_workspace(settings="[drops]\nattempts = 1\n")
    folder = workspace.add_folder("own")

    def put_checksum(checksum):
        put(folder, f"{NAME}.md5", f"{checksum}  {NAME}\n".encode())

    put(folder, NAME, CONTENT)
    pass_time(TEN_YEARS)  # a look by a clock that is ahead hides nothing later
    assert workspace.run().code == 0
    pass_time(-TEN_YEARS)
    put_checksum("0" * 32)
    assert workspace.run().code == 0
    ((kind, message),) = workspace.findings(KEY)
    assert kind == "DigestMismatch"
    assert message.startswith(
        f"the archived file has md5:{MD5}, but its checksum file at own now states md5:{'0' * 32}"
    )
    assert workspace.status().last.still_open == 1
    assert workspace.run().code == 3, "it is fetched again"
    assert workspace.item_state(KEY) == ("zip_md5", "failed", "digest_mismatch")
    for _ in range(2):  # the second time, it is only compared
        put_checksum(MD5)
        assert workspace.run().code == 0
        workspace.assert_complete(KEY)
    assert [reason for _, reason, *_ in workspace.attempts(KEY)] == [None, "digest_mismatch", None]
    assert workspace.query_ledger("SELECT count(*) FROM listing WHERE event = 'compared'") == [(2,)]


def test_a_zip_of_a_manifest_is_compared_after_a_day_and_then_ever_more_seldom(make_workspace):
    """A manifest lists neither sizes nor times: a zip that was replaced was never noticed."""

    def respond(connection):
        path = connection.recv(65536).split()[1].decode()
        requested.append(path)
        body = contents[path]
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    workspace = make_workspace()
    requested, contents = [], {"/list.txt": f"{KEY}\n".encode(), f"/{KEY}": CONTENT}
    with listening(respond) as port:
        workspace.add_source("web", f"http://127.0.0.1:{port}/", manifest="list.txt", timeout=60, attempts=1)
        counts = []
        for seconds in (0, 23 * 3600, 2 * 3600, 24 * 3600, TEN_YEARS, -TEN_YEARS, 50 * 3600):
            pass_time(seconds)
            contents[f"/{KEY}"] = drop("H", DAY, 5, 2)[1] if len(counts) == 6 else CONTENT
            assert workspace.run().code == 0
            counts.append(requested.count(f"/{KEY}"))
    assert counts == [1, 1, 2, 2, 3, 4, 5], "it was fetched, and compared after 25 hours, 10 years, 49 and 99 hours"
    message = f"web now offers other bytes; to fetch them: windrow retry {KEY}"
    assert workspace.findings(KEY) == [("ContentChanged", message)]
    assert describe_end(workspace.status().last) == "done, 1 warning, 1 file with other content at a source"


def test_a_checksum_that_cannot_be_read_is_said_so(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    folder = workspace.add_folder("own")
    put(folder, NAME, CONTENT)
    put(folder, f"{NAME}.md5", b"\x00\xff no checksum here" * 1000)
    assert workspace.run().code == 0
    workspace.assert_complete(good, KEY)
    assert "does not contain one" in workspace.attempts(KEY)[0][3]
