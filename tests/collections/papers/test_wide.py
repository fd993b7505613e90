"""Tables of wide rows: common tests for SQLite and HBase, and those of one of them."""

from __future__ import annotations

import os
import random
import socket
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import ClassVar

import pytest
from benchmarks.daemon import free_port

from windrow.collections.papers.columns import MAX_CELL_SIZE, MAX_KEY_SIZE, Family, Put, WideTable, check_families
from windrow.collections.papers.database.hbase import Gateway, HbaseTable
from windrow.collections.papers.database.wide import SqliteTable, open_table, parse_gateway
from windrow.errors import ConfigError, StoreError, StoreUnreachable

FAMILIES = (Family("f", ("c",)), Family("file", ("size", "mime")), Family("grobid0", ("status", "tei_xml"), True))
RAW = bytes(range(20))


@pytest.fixture(params=["sqlite", "hbase"])
def where(request, tmp_path) -> tuple[str, str]:
    """Return the address of a store and the name of a table that does not exist there."""
    name = f"t-{uuid.uuid4().hex[:12]}"
    if request.param == "sqlite":
        return str(tmp_path / "rows.db"), name
    return request.getfixturevalue("hbase_gateway"), name


@pytest.fixture
def table(where) -> Iterator[WideTable]:
    new_table = open_table(*where, FAMILIES)
    yield new_table
    new_table.close()


def everything(table: WideTable) -> list:
    return [(key, dict(cells)) for key, cells in table.scan()]


def test_rows_are_written_read_merged_and_removed(table, where):
    assert table.get(b"sha1:A") == {}
    table.put([Put(b"sha1:A", {"f:c": b'{"u":"x"}', "file:size": b"\0\0\0\0\0\0\x33\xd0", "file:mime": b""})])
    table.put([Put(b"sha1:A", {"f:c": b"new", "grobid0:status": "Łódź ü".encode()}, ("file:size",))])
    wanted = {"f:c": b"new", "file:mime": b"", "grobid0:status": "Łódź ü".encode()}
    assert table.get(b"sha1:A") == wanted
    assert table.get(b"sha1:A", ["file", "f:c"]) == {"f:c": b"new", "file:mime": b""}
    assert table.get(b"sha1:A", ["file:size"]) == {}
    table.put([Put(b"sha1:A", {}, ("f:c",)), Put(b"sha1:B", {}, ("f:c",))])
    assert everything(table) == [(b"sha1:A", {column: wanted[column] for column in ("file:mime", "grobid0:status")})]
    again = open_table(*where, FAMILIES)
    assert everything(again) == everything(table)
    again.close()
    table.delete([b"sha1:A", b"sha1:never"])
    assert everything(table) == []


@pytest.mark.parametrize("form", ["prefixed", "bare", "raw"])
def test_all_forms_of_keys_and_any_bytes_come_back_as_they_were(table, form):
    chance = random.Random(form)
    keys = {
        "prefixed": b"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
        "bare": b"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
        "raw": RAW,
    }
    contents = [chance.randbytes(size) for size in (0, 1, 255, 256, 257, 5000)] + [b"\0" * 9000, b"<TEI/>" * 3000]
    rows = {keys[form] + bytes([at]): content for at, content in enumerate(contents)}
    table.put([Put(key, {"grobid0:tei_xml": content, "file:mime": content}) for key, content in rows.items()])
    assert everything(table) == [(key, {"file:mime": rows[key], "grobid0:tei_xml": rows[key]}) for key in sorted(rows)]
    assert table.get_many([*rows, b"none"], ["file"]) == {key: {"file:mime": content} for key, content in rows.items()}


def test_a_scan_goes_through_all_rows_in_the_order_of_bytes(table):
    keys = sorted(f"{number:x}".encode() * 3 for number in random.Random(7).sample(range(10_000), 1203))
    keys = sorted(set(keys) | {b"\x00", b"\xff\xff", b"a\x00", b"a"})
    table.put(Put(key, {"file:size" if at % 3 else "f:c": key}) for at, key in enumerate(keys))
    assert [key for key, _ in table.scan()] == keys
    assert [key for key, _ in table.scan(["f"])] == [key for at, key in enumerate(keys) if not at % 3]
    assert list(table.scan(["f:c"])) == [(key, {"f:c": key}) for at, key in enumerate(keys) if not at % 3]
    table.delete(keys[:700])
    assert [key for key, _ in table.scan(["f", "file:size"])] == keys[700:]


def test_large_cells_are_kept_and_too_large_ones_refused(table):
    large = random.Random(1).randbytes(1_900_000)
    table.put([Put(b"a", {"grobid0:tei_xml": large}), Put(b"b", {"grobid0:tei_xml": large})])
    assert [len(cells["grobid0:tei_xml"]) for _, cells in table.scan()] == [len(large)] * 2
    for wrong in (Put(b"c", {"grobid0:tei_xml": b"x" * (MAX_CELL_SIZE + 1)}), Put(b"", {"f:c": b""}), Put(b"k" * (MAX_KEY_SIZE + 1), {}),
                  Put(b"c", {"fc": b""}), Put(b"c", {"other:c": b""}), Put(b"c", {"f:a b": b""}),
                  Put(b"c", {}, ("other:c",))):  # fmt: skip
        with pytest.raises(StoreError):
            table.put([wrong])
    with pytest.raises(StoreError, match="no family"):
        table.get(b"a", ["other"])
    with pytest.raises(StoreError, match="no family"):
        list(table.scan(["other:c"]))
    assert [key for key, _ in table.scan(["f", "grobid0"])] == [b"a", b"b"]


CHILD = """
import sys
from windrow.collections.papers.columns import Family, Put
from windrow.collections.papers.database.wide import open_table
families = [Family("f"), Family("file"), Family("grobid0", (), True)]
table = open_table(sys.argv[1], sys.argv[2], families)
for number in range(100_000):
    table.put([Put(b"row%06d" % (2 * number + at), {"f:c": b"1", "grobid0:tei_xml": b"x" * 999}) for at in (0, 1)])
    print(number, flush=True)
"""


def test_what_was_written_when_the_writer_was_killed_is_there_and_can_be_written_again(where):
    with subprocess.Popen([sys.executable, "-c", CHILD, *where], stdout=subprocess.PIPE, text=True) as child:
        written = -1
        while written < 25:
            written = int(child.stdout.readline())
        os.kill(child.pid, 9)
    table = open_table(*where, FAMILIES)
    rows = everything(table)
    assert [key for key, _ in rows[: 2 * written]] == [b"row%06d" % number for number in range(2 * written)]
    assert all(set(cells) == {"f:c", "grobid0:tei_xml"} for _, cells in rows)
    table.put(Put(b"row%06d" % number, {"f:c": b"1"}) for number in range(2 * written))
    assert everything(table) == rows
    table.close()


def test_both_stores_hold_the_same_bytes(tmp_path, hbase_gateway):
    name = f"wbgrp-journal-extract-0-{uuid.uuid4().hex[:8]}"
    chance = random.Random(3)
    stores = [open_table(str(tmp_path / "rows.db"), name, FAMILIES), open_table(hbase_gateway, name, FAMILIES)]
    columns = ("f:c", "file:size", "file:mime", "grobid0:status", "grobid0:tei_xml")
    for _ in range(12):
        rows = [
            Put(b"%02x" % chance.randrange(60), {column: chance.randbytes(chance.randrange(700)) for column in chance.sample(columns, 3)},
                (chance.choice(columns),))
            for _ in range(25)
        ]  # fmt: skip
        gone = [b"%02x" % chance.randrange(60) for _ in range(3)]
        for store in stores:
            store.put(rows)
            store.delete(gone)
        first, second = map(everything, stores)
        assert first == second
    assert first
    for store in stores:
        store.close()


def socket_of(table) -> socket.socket:
    transport = table._connection.transport
    while not hasattr(transport, "sock"):
        transport = getattr(transport, "_trans", None) or transport.trans
    return transport.sock


def test_hbase_has_one_version_of_each_cell_and_snappy_where_it_was_asked_for(hbase_gateway):
    happybase = pytest.importorskip("happybase")
    name = f"wbgrp-journal-extract-0-{uuid.uuid4().hex[:8]}"
    table = open_table(hbase_gateway, name, FAMILIES)
    for content in (b"1", b"2"):
        table.put([Put(b"k", {"f:c": content})])
    host, port = parse_gateway(hbase_gateway)
    link = happybase.Connection(host, port, transport="framed", protocol="compact")
    described = link.table(name).families()
    assert {family.rstrip(b":"): (options["max_versions"], options["compression"]) for family, options in described.items()} == {
        b"f": (1, b"NONE"), b"file": (1, b"NONE"), b"grobid0": (1, b"SNAPPY")}  # fmt: skip
    assert link.table(name).cells(b"k", b"f:c", versions=5) == [b"2"]
    with pytest.raises(ConfigError, match="no family match0") as missing:
        open_table(hbase_gateway, name, (*FAMILIES, Family("match0")))
    assert (
        missing.value.hint == f"in hbase shell: alter '{name}', {{NAME => 'match0', VERSIONS => 1, TTL => 'FOREVER'}}"
    )
    link.create_table(f"{name}-short", {"f": {"max_versions": 1, "time_to_live": 86_400}})
    with pytest.raises(ConfigError, match="keeps its cells for 86,400 seconds") as short:
        open_table(hbase_gateway, f"{name}-short", (Family("f"),))
    assert "TTL => 'FOREVER'" in short.value.hint
    link.create_table(f"{name}-other", {"f": {}, "grobid0": {"max_versions": 1}})
    with pytest.raises(ConfigError, match="keeps 3 versions"):
        open_table(hbase_gateway, f"{name}-other", (Family("f"),))
    with pytest.raises(ConfigError, match="not compressed"):
        open_table(hbase_gateway, f"{name}-other", (Family("grobid0", (), True),))
    link.close()
    socket_of(table).shutdown(socket.SHUT_RDWR)  # as by a restarted gateway
    assert table.get(b"k") == {"f:c": b"2"}
    table.close()


class BreakingConnection:
    """A connection to HBase with a table that exists; the first connection breaks at its call number `breaks_at`."""

    made: ClassVar[list[BreakingConnection]] = []
    breaks_at = 1

    def __init__(self, *_: object, **__: object) -> None:
        self.made.append(self)
        self.calls = 0

    def call(self) -> None:
        self.calls += 1
        if self is self.made[0] and self.calls >= self.breaks_at:
            raise BrokenPipeError(32, "Broken pipe")

    def table(self, _name: str) -> BreakingConnection:
        return self

    def tables(self) -> list[bytes]:
        self.call()
        return [b"t"]

    def families(self) -> dict[bytes, dict[str, object]]:
        self.call()
        return {b"f:": {"max_versions": 1, "compression": b"NONE"}}

    def close(self) -> None:
        pass


@pytest.mark.parametrize("breaks_at", [1, 2])
def test_a_connection_that_breaks_while_the_table_is_opened_is_made_again(monkeypatch, breaks_at):
    happybase = pytest.importorskip("happybase")
    monkeypatch.setattr(happybase, "Connection", BreakingConnection)
    monkeypatch.setattr(BreakingConnection, "made", [])
    monkeypatch.setattr(BreakingConnection, "breaks_at", breaks_at)
    table = HbaseTable(Gateway("127.0.0.1", 9090), "t", (Family("f"),))
    table.close()
    assert [connection.calls for connection in BreakingConnection.made] == [breaks_at, 3 - breaks_at]


def test_a_gateway_that_is_not_there_is_told():
    pytest.importorskip("happybase")
    with pytest.raises(StoreUnreachable, match=r"HBase at 127\.0\.0\.1"):
        open_table(f"hbase://127.0.0.1:{free_port()}", "t", FAMILIES)
    for wrong in ("hbase://", "hbase://h:1/table", "hbase://h:x"):
        with pytest.raises(ConfigError):
            parse_gateway(wrong)


def test_a_row_that_a_gateway_is_not_set_to_take_is_returned_with_the_setting_and_the_others_are_written(hbase_gateway):
    table = open_table(hbase_gateway, f"t-{uuid.uuid4().hex[:8]}", FAMILIES)
    large = Put(b"k", {"grobid0:tei_xml": b"x" * 2_500_000})
    refused = table.put([Put(b"a", {"f:c": b"before"}), large, Put(b"z", {"f:c": b"after"})])
    assert [*refused] == [b"k"]
    assert "does not accept a message of 2500000 bytes" in refused[b"k"]
    assert "max_frame_size_in_mb" in refused[b"k"]
    assert table.put([Put(b"k", {"f:c": b"goes on"})]) == {}
    assert table.get_many([b"a", b"k", b"z"]) == {
        b"a": {"f:c": b"before"}, b"k": {"f:c": b"goes on"}, b"z": {"f:c": b"after"}
    }  # fmt: skip
    table.close()


def test_a_file_takes_new_families_and_belongs_to_one_table(tmp_path):
    path = str(tmp_path / "rows.db")
    table = open_table(path, "one", FAMILIES)
    table.put([Put(b"k", {"f:c": b"secret-value" * 100})])
    table.close()
    more = open_table(path, "one", (*FAMILIES, Family("match0", ("doi",))))
    more.put([Put(b"k", {"match0:doi": b"10.1/x"})])
    assert set(more.get(b"k")) == {"f:c", "match0:doi"}
    more.delete([b"k"])
    assert more.erase_deleted(lambda: None)
    more.close()
    assert b"secret-value" not in (tmp_path / "rows.db").read_bytes()
    with pytest.raises(ConfigError, match="contains the table one"):
        open_table(path, "two", FAMILIES)


def test_a_compressed_family_takes_less_room(tmp_path):
    table = SqliteTable(tmp_path / "rows.db", "t", FAMILIES)
    table.put([Put(b"k", {"grobid0:tei_xml": b"<TEI/>" * 5000, "f:c": b"<TEI/>" * 5000})])
    table.close()
    with closing(sqlite3.connect(tmp_path / "rows.db")) as link, link:
        sizes = dict(link.execute("SELECT column, length(value) FROM cell"))
    link.close()
    assert sizes["grobid0:tei_xml"] < 1000
    assert sizes["f:c"] == 30_000


def test_names_of_columns_that_clash_without_their_families_are_refused():
    check_families([Family("grobid0", ("status",)), Family("grobid1", ("status",))])
    for wrong in (
        [Family("grobid0", ("status",)), Family("match0", ("status",))],
        [Family("f", ("c",)), Family("file", ("c",))],
        [Family("f", ("c",)), Family("f", ("c",))],
        [Family("0f")],
    ):
        with pytest.raises(ConfigError):
            check_families(wrong)
