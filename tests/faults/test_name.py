"""Names that no honest partner would send: in listings, in zips, and on a disk."""

import os
from pathlib import Path

import pytest

from tests.faults.server import rogue_server
from tests.faults.workspace import DAY, ITEMS, put
from windrow.demo.partner import drop, pack, specimens

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"
SECRET = {"secret": "env:HOME", "timeout": 60}
LINE = b"type=file;size=100;modify=20260112090000; "
LISTED = {
    "up": b"../H.2026-01-12.6.impc.zip",
    "far_up": b"../../../../etc/H.2026-01-12.6.impc.zip",
    "absolute": b"/etc/H.2026-01-12.6.impc.zip",
    "back": b"..\\H.2026-01-12.6.impc.zip",
    "null": b"H.2026-01-12.6\x00.impc.zip",
    "bell": b"H.2026-01-12.6\x07.impc.zip",
    "escape": b"\x1b[2JH.2026-01-12.6.impc.zip",
    "delete": b"H.2026-01-12.6.impc\x7f.zip",
    "no_text": b"H.2026-01-12.6\xff\xfe.impc.zip",
    "long": b"H.2026-01-12." + b"6" * 300 + b".impc.zip",
    "right_to_left": "H.2026-01-12.6\u202e.impc.zip".encode(),
}
# What no table can hold is on the ledger alone; the others are items, and in the tracker.
REFUSED = (
    "SELECT path, reason FROM refusal UNION ALL SELECT i.key, p.reason FROM pending_step p"
    f" JOIN {ITEMS} i ON i.seq = p.item WHERE p.reason IS NOT NULL"
)


@pytest.mark.parametrize("word", LISTED)
def test_a_name_in_a_listing(make_workspace, word):
    workspace = make_workspace()
    good = workspace.add_healthy()
    with rogue_server(files={KEY: CONTENT}, lines={"add": [LINE + LISTED[word]]}) as server:
        workspace.add_source("odd", server.url(), **SECRET)
        assert workspace.run().code == 0
        refused = workspace.query_ledger(REFUSED)
        assert "1 refused" in workspace.tasks("odd")[0][2]
        assert workspace.run().code == 0
        assert {asked for asked in server.asked if asked.startswith("RETR")} == {f"RETR {KEY}"}
    workspace.assert_complete(good, KEY)
    ((path, reason),) = refused
    assert reason == {"long": "name_too_long", "right_to_left": "bad_name"}.get(word, "unsafe_name")
    path.encode()  # any text, but one that can be stored and shown
    assert workspace.query_ledger(REFUSED) == refused  # told once
    assert not [file for file in workspace.root.rglob("*") if "12.6" in file.name]


def test_names_on_a_disk(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    folder = workspace.add_folder("odd")
    put(folder, NAME, CONTENT)
    names = [b"H.2026-01-12.6\x01.impc.zip", b"H.2026-01-12.6\n.impc.zip", b"H.2026-01-12.6\xff.impc.zip"]
    names += [b"H." + b"2" * 240 + b".zip", b"..H.2026-01-12.6.impc.zip", b"..\\H.2026-01-12.7.impc.zip"]
    for name in names:
        Path(os.fsdecode(bytes(folder / "add") + b"/" + name)).write_bytes(CONTENT)
    assert workspace.run().code == 0
    workspace.assert_complete(good, KEY)
    refused = workspace.query_ledger(REFUSED)
    assert len(refused) == len(names)
    assert {reason for _, reason in refused} == {"unsafe_name", "name_too_long"}


MEMBERS = {
    "up": "../H.2026-01-12.6.specimen.impc.xml",
    "absolute": "/etc/H.2026-01-12.6.specimen.impc.xml",
    "back": "..\\H.2026-01-12.6.specimen.impc.xml",
    "drive": "C:H.2026-01-12.6.specimen.impc.xml",
    "bell": "H.2026-01-12.6\x07.specimen.impc.xml",
    "break": "H.2026-01-12.6\n.specimen.impc.xml",
    "long": f"H.2026-01-12.{'6' * 300}.specimen.impc.xml",
    "folder": "sub/H.2026-01-12.6.specimen.impc.xml",
}


@pytest.mark.parametrize("word", MEMBERS)
def test_a_name_in_a_zip(make_workspace, word):
    workspace = make_workspace()
    good = workspace.add_healthy()
    sound = f"H.{DAY}.1.specimen.impc.xml"
    key = put(
        workspace.add_folder("odd"), NAME, pack({sound: specimens("H", 1, 3), MEMBERS[word]: specimens("H", 2, 3)})
    )
    assert workspace.run().code == 0
    workspace.assert_complete(good)
    assert workspace.item_state(f"{key}/{sound}") == ("overview", "done", None)
    assert workspace.findings(key), "left out in silence"
    messages = [message for _, message in workspace.findings(key)]
    assert all(message.isprintable() for message in messages)
    assert all(message.isprintable() for _, message in workspace.zip_log(NAME))
    assert not [path for path in workspace.root.parent.rglob("*") if "12.6" in path.name]
    names = [row[0] for row in workspace.query_tracker("SELECT fname FROM xml_file WHERE fname NOT LIKE 'J.%'")]
    assert sound in names
    assert all("/" not in name and "\\" not in name and len(name) <= 128 for name in names)
