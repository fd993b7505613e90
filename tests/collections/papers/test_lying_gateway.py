"""Gateways of HBase that answer what no HBase answers: each call ends at once, with rows that were requested or an error."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import closing
from itertools import count, islice
from typing import Any

import pytest

from tests.servers.thrift import Gateway, serving_bytes, serving_gateway
from windrow.collections.papers.columns import Family, Put
from windrow.collections.papers.database import hbase
from windrow.collections.papers.database.hbase import HbaseTable
from windrow.errors import ConfigError, StoreError

FAMILIES = (Family("f", ("c",), compressed=True),)
KEYS = [b"a", b"b", b"c"]


@pytest.fixture
def gateway() -> Gateway:
    return Gateway("t", ("f",))


@pytest.fixture
def table(gateway: Gateway) -> Iterator[HbaseTable]:
    with (
        serving_gateway(gateway) as port,
        closing(HbaseTable(hbase.Gateway("127.0.0.1", port), "t", FAMILIES)) as opened,
    ):
        yield opened


def test_an_honest_gateway_is_read(gateway: Gateway, table: HbaseTable) -> None:
    rows = [gateway.row(key, f__c=key) for key in KEYS]
    gateway.getRows = lambda _name, keys, _attributes: [row for row in rows if row.row in keys]  # type: ignore[method-assign]
    answers = iter([rows, []])
    gateway.scannerGetList = lambda _scanner, _count: next(answers)  # type: ignore[method-assign]
    assert table.get_many([b"a", b"b", b"d"]) == {b"a": {"f:c": b"a"}, b"b": {"f:c": b"b"}}
    assert [*table.scan()] == [(key, {"f:c": key}) for key in KEYS]
    assert table.put([Put(b"a", {"f:c": b"x"})]) == {}


def test_rows_that_were_not_requested_are_not_taken(gateway: Gateway, table: HbaseTable) -> None:
    gateway.getRows = lambda *_: [gateway.row(key, f__c=b"theirs") for key in (b"z", b"a", b"")]  # type: ignore[method-assign]
    assert table.get_many([b"a", b"b"]) == {b"a": {"f:c": b"theirs"}}
    assert table.get(b"b") == {}


SCANS = {
    "same row": lambda _number: b"a",
    "falling": lambda number: b"%09d" % (10**6 - number),
    "empty": lambda _number: b"",
    "two in turn": lambda number: b"ab"[number % 2 : number % 2 + 1],
    "long": lambda number: b"a" * 40_000 + b"%d" % number,
}


@pytest.mark.parametrize("lie", SCANS)
def test_a_scan_whose_rows_are_not_in_order_ends(gateway: Gateway, table: HbaseTable, lie: str) -> None:
    numbers = count()
    gateway.scannerGetList = (  # type: ignore[method-assign]
        lambda _scanner, size: [
            gateway.row(SCANS[lie](number), f__c=b"x") for number in islice(numbers, min(size, 100))
        ]
    )
    with pytest.raises(StoreError, match="rows that are not in the order of keys"):
        for number, _ in enumerate(table.scan()):
            assert number < 1000


@pytest.mark.parametrize("name", [b"\xff\xfe:c", b"f", b"other:c", b""])
def test_a_column_of_no_family_is_an_error_or_left_out(gateway: Gateway, table: HbaseTable, name: bytes) -> None:
    row = gateway.row(b"a", f__c=b"x")
    row.columns[name] = row.columns[b"f:c"]
    gateway.getRows = lambda *_: [row]  # type: ignore[method-assign]
    try:
        assert table.get(b"a").get("f:c") == b"x"
    except StoreError as error:
        assert "HBase at 127.0.0.1" in str(error)


def test_a_large_cell_is_read_or_an_error(gateway: Gateway, table: HbaseTable) -> None:
    gateway.getRows = lambda *_: [gateway.row(b"a", f__c=bytes(30 << 20))]  # type: ignore[method-assign]
    assert len(table.get(b"a")["f:c"]) == 30 << 20


@pytest.mark.parametrize(
    "change",
    [
        {"maxVersions": -1},
        {"maxVersions": 2**31 - 1},
        {"compression": "\u0661"},
        {"timeToLive": 6},
        {"name": b"\xff:"},
        {"compression": ""},
    ],
    ids=str,
)
def test_families_of_another_kind_are_refused(gateway: Gateway, change: dict[str, Any]) -> None:
    (family,) = gateway.families.values()
    for name, value in change.items():
        setattr(family, name, value)
    gateway.families = {change.get("name", b"f:"): family}
    with serving_gateway(gateway) as port:
        try:
            HbaseTable(hbase.Gateway("127.0.0.1", port), "t", FAMILIES).close()
        except (ConfigError, StoreError):
            pass
        else:
            assert "compression" in change


FRAMES = {
    "nothing": b"",
    "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "empty frame": struct.pack("!i", 0),
    "negative frame": struct.pack("!i", -5) + b"x" * 50,
    "2 GiB": struct.pack("!i", 2**31 - 1) + b"x" * 50,
    "zeros": struct.pack("!i", 200) + bytes(200),
    "ones": struct.pack("!i", 200) + b"\xff" * 200,
    "reply of another call": struct.pack("!i", 12) + b"\x82\x41\x00\x05other\x00\x00\x00",
    "long list": struct.pack("!i", 30) + b"\x82\x41\x00\x0dgetTableNames\x09\x00\xf8\xff\xff\xff\xff\x07aaaaaa",
    "long text": struct.pack("!i", 30) + b"\x82\x41\x00\x0dgetTableNames\x09\x00\x18\xff\xff\xff\xff\x07aaaaaa",
    "binary protocol": struct.pack("!i", 30) + b"\x80\x01\x00\x02\x00\x00\x00\x0dgetTableNames\x00\x00\x00\x00\x00",
}


@pytest.mark.parametrize("frame", FRAMES)
def test_bytes_that_are_no_answer_are_an_error(frame: str) -> None:
    with serving_bytes(FRAMES[frame]) as port, pytest.raises(StoreError, match="HBase at 127"):
        HbaseTable(hbase.Gateway("127.0.0.1", port), "t", FAMILIES)
