"""Checksum files beside a zip: if they differ, the zip is not loaded; if they match, that is a phase of its own."""

import hashlib
from os import utime
from time import time

import pytest

from tests.faults.workspace import DAY, put
from windrow.demo.partner import drop
from windrow.engine.listed.rest import MAX_SESSIONS_UNPAUSED

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"
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
    for _ in range(MAX_SESSIONS_UNPAUSED):
        assert workspace.run().code == 3
    assert len(workspace.attempts(KEY)) == MAX_SESSIONS_UNPAUSED
    workspace.run()
    assert len(workspace.attempts(KEY)) == MAX_SESSIONS_UNPAUSED, "it rests"
    put(folder, f"{NAME}.md5", f"{MD5}  {NAME}\n".encode())
    assert workspace.run().code == 0
    workspace.assert_complete(KEY)


def test_a_checksum_that_cannot_be_read_is_said_so(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    folder = workspace.add_folder("own")
    put(folder, NAME, CONTENT)
    put(folder, f"{NAME}.md5", b"\x00\xff no checksum here" * 1000)
    assert workspace.run().code == 0
    workspace.assert_complete(good, KEY)
    assert "does not contain one" in workspace.attempts(KEY)[0][3]
