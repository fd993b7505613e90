import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import ConfigError
from windrow.formats.url import normalise, parts
from windrow.politeness.private import named, refusal
from windrow.reasons import Reason

PRIVATE = [
    "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1",
    "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.51.100.7", "203.0.113.9",
    "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "::", "::1", "[::1]", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1", "100::1",
    "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::808:808",
    "2002:7f00:1::", "2002:c0a8:101::1", "2001:0:808:808::1", "3fff::1", "5f00::1",
]  # fmt: skip
PUBLIC = [
    "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "198.20.0.1",
    "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::200e", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
]  # fmt: skip


@pytest.mark.parametrize("number", PRIVATE)
def test_private_numbers_are_refused(number):
    assert refusal("example.org", number) is Reason.PRIVATE_ADDRESS


@pytest.mark.parametrize("number", PUBLIC)
def test_public_numbers_are_not(number):
    assert refusal("example.org", number) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://0x7f.1/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://[::ffff:7f00:1]/",
        "http://①②⑦.0.0.1/",
    ],
)
def test_disguised_numbers_are_seen_through(url):
    host = parts(normalise(url).url).host
    assert refusal(host, host) is Reason.PRIVATE_ADDRESS


def test_what_is_named_may_be_reached():
    allowed = named(["127.0.0.0/8", "fd00::/8", "wiki.example", ".lan.example", "[::1]"])
    assert refusal("h", "127.0.0.5", allowed) is None
    assert refusal("h", "::ffff:127.0.0.5", allowed) is None
    assert refusal("h", "fd00::7", allowed) is None
    assert refusal("h", "::1", allowed) is None
    assert refusal("wiki.example", "10.0.0.1", allowed) is None
    assert refusal("a.lan.example", "192.168.1.1", allowed) is None
    assert refusal("h", "10.0.0.1", allowed) is Reason.PRIVATE_ADDRESS
    assert refusal("xlan.example", "192.168.1.1", allowed) is Reason.PRIVATE_ADDRESS


@pytest.mark.parametrize("text", ["", "*", "10.0.0.1/8", "10.0.0.0/33", "300.1.1.1", "http://h/", "a b"])
def test_names_that_are_not_well_written(text):
    with pytest.raises(ConfigError):
        named([text])


def test_what_is_no_number():
    assert refusal("h", "h") is Reason.BAD_ADDRESS
    assert refusal("h", "") is Reason.BAD_ADDRESS


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_nothing_that_python_calls_private_gets_through(number):
    if number.is_private or number.is_multicast or number.is_loopback or number.is_link_local or number.is_reserved:
        inner = getattr(number, "ipv4_mapped", None) or number
        nat = isinstance(number, ipaddress.IPv6Address) and number in ipaddress.ip_network("64:ff9b::/96")
        assert refusal("h", str(number)) is not None or inner.is_global or nat


@given(st.ip_addresses(v=4))
def test_an_inner_number_is_judged_like_the_plain_one(number):
    for wrapped in (
        f"::ffff:{number}",
        f"64:ff9b::{number}",
        f"2002:{int(number) >> 16:x}:{int(number) & 0xFFFF:x}::1",
    ):
        assert refusal("h", wrapped) is refusal("h", str(number))
