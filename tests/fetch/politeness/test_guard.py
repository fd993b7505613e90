"""The addresses that may be dialled, and those that may not."""

import ipaddress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from windrow.errors import ConfigError
from windrow.fetch.politeness.guard import describe_refusal, read_allowed, refusal, refusal_behind_proxy
from windrow.formats.url import normalise, parts
from windrow.model import Allowed
from windrow.reasons import Reason

CLOSED = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.8", "192.0.0.9", "192.0.0.10",
    "192.0.0.11", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.88.99.2", "192.168.0.1", "192.168.1.1", "198.18.0.1",
    "198.51.100.1", "198.51.100.7", "203.0.113.1", "203.0.113.9", "224.0.0.1", "232.1.1.1", "233.252.0.1",
    "239.255.255.250", "240.0.0.1", "255.255.255.255", "::", "::1", "[::1]", "::2", "::7f00:1", "::10.0.0.1",
    "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "64:ff9b:1:7f00:1::",
    "64:ff9b:1::808:808", "100::1", "100:0:0:1::1", "2001::1", "2001:0:7f00:1::", "2001:0:808:808::1", "2001:1::1",
    "2001:1::2", "2001:1::3", "2001:2::1", "2001:3::1", "2001:4:112::1", "2001:10::1", "2001:20::1", "2001:30::1",
    "2001:db8::1", "2002:7f00:1::", "2002:a00:1::", "2002:c0a8:101::", "2002:c0a8:101::1", "3fff::1", "5f00::1",
    "fc00::1", "fd00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1", "4000::1",
    "8000::1", "fe00::1", "ffff::1",
]  # fmt: skip
OPEN = [
    "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1",
    "192.31.196.1", "192.52.193.1", "192.175.48.1", "198.20.0.1", "223.255.255.255", "::8.8.8.8", "::ffff:8.8.8.8",
    "::ffff:0:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::", "2002:808:808::1", "2001:200::1", "2606:4700::1111",
    "2620:4f:8000::1", "2a00:1450:4001::200e", "3ffe::1",
]  # fmt: skip
PLAIN = [ipaddress.IPv4Address(number) for number in CLOSED + OPEN if ":" not in number]


@pytest.mark.parametrize("number", CLOSED)
def test_numbers_that_are_not_public_are_refused(number):
    assert refusal("example.org", number) is Reason.PRIVATE_ADDRESS


@pytest.mark.parametrize("number", OPEN)
def test_public_numbers_may_be_dialled(number):
    assert refusal("example.org", number) is None


DISGUISED = ["0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1", "127.1", "127.0.0.1.", "[::ffff:7f00:1]", "①②⑦.0.0.1",
             "%31%32%37.0.0.1", "[::1]", "localhost", "LocalHost.", "printer.localhost", "fe80::1%eth0",
             "64:ff9b::a9fe:a9fe"]  # fmt: skip


@pytest.mark.parametrize("host", DISGUISED)
def test_a_host_that_is_a_number_in_disguise_is_not_asked_through_a_proxy(host):
    assert refusal_behind_proxy(host) is Reason.PRIVATE_ADDRESS
    assert refusal_behind_proxy(host, Allowed(everything=True)) is None


def test_of_a_name_the_proxy_knows_the_number():
    assert [refusal_behind_proxy(host) for host in ("example.org", "a_b.Example", "bücher.example", "8.8.8.8")] == [
        None
    ] * 4
    assert [refusal_behind_proxy(host) for host in ("", "1.2.3.4.5", "a b", "127.0.0.1@a.example")] == [
        Reason.BAD_ADDRESS
    ] * 4
    assert refusal_behind_proxy("0x7f.1", read_allowed(["127.0.0.1"])) is None


@pytest.mark.parametrize("host", ["0x7f.1", "2130706433", "0177.0.0.1", "127.1", "[::ffff:7f00:1]", "①②⑦.0.0.1"])
def test_the_normal_spelling_of_an_address_shows_its_number(host):
    host = parts(normalise(f"http://{host}/").url).host
    assert refusal(host, host) is Reason.PRIVATE_ADDRESS


def test_what_is_allowed_may_be_dialled():
    allowed = read_allowed(["127.0.0.0/8", "fd00::/8", "wiki.example", ".lan.example", "[::1]", "4000::/16"])
    assert refusal("h", "127.0.0.5", allowed) is None
    assert refusal("h", "::ffff:127.0.0.5", allowed) is None
    assert refusal("h", "fd00::7", allowed) is None
    assert refusal("h", "::1", allowed) is None
    assert refusal("h", "4000::1", allowed) is None
    assert refusal("wiki.example", "10.0.0.1", allowed) is None
    assert refusal("a.lan.example", "192.168.1.1", allowed) is None
    assert refusal("h", "10.0.0.1", allowed) is Reason.PRIVATE_ADDRESS
    assert refusal("xlan.example", "192.168.1.1", allowed) is Reason.PRIVATE_ADDRESS
    assert refusal("h", "::1", read_allowed(["0.0.0.0/8"])) is Reason.PRIVATE_ADDRESS
    assert {refusal("h", number, Allowed(everything=True)) for number in CLOSED} == {None}


def test_a_source_may_be_at_the_number_that_its_own_address_names():
    assert read_allowed([], "10.0.0.5") == read_allowed(["10.0.0.5"])
    assert read_allowed([], "::1") == read_allowed(["::1"])
    assert read_allowed([], "0x7f.1") == read_allowed(["127.0.0.1"])
    assert refusal("localhost", "::1", read_allowed([], "localhost")) is None
    assert read_allowed([], "intranet.example") == read_allowed([], "") == Allowed()


@pytest.mark.parametrize("text", ["", "*", "10.0.0.1/8", "10.0.0.0/33", "300.1.1.1", "http://h/", "a b"])
def test_names_that_are_not_well_written(text):
    with pytest.raises(ConfigError):
        read_allowed([text])


def test_what_is_no_number():
    assert refusal("h", "h") is Reason.BAD_ADDRESS
    assert refusal("h", "") is Reason.BAD_ADDRESS
    assert refusal("h", "010.0.0.1") is Reason.BAD_ADDRESS


def test_the_message_has_the_line_of_each_kind_of_source():
    message = describe_refusal("wiki.example", Reason.PRIVATE_ADDRESS)
    for line in ('private_hosts = ["wiki.example"]', "allow_private = true", "warc_allow_private = true"):
        assert line in message
    assert describe_refusal("h", Reason.BAD_ADDRESS) == Reason.BAD_ADDRESS.meaning


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
@example(ipaddress.ip_address("2002:b00::"))  # 6to4 of a public number: private to newer Pythons, and to Debian's 3.11
def test_nothing_that_python_calls_private_may_be_dialled(number):
    if number.is_private or number.is_multicast or number.is_loopback or number.is_link_local or number.is_reserved:
        inner = getattr(number, "ipv4_mapped", None) or getattr(number, "sixtofour", None) or number
        nat = isinstance(number, ipaddress.IPv6Address) and number in ipaddress.ip_network("64:ff9b::/96")
        assert refusal("h", str(number)) is not None or inner.is_global or nat


@given(st.ip_addresses(v=6))
def test_of_ipv6_only_what_is_given_to_networks_and_wrapped_numbers_may_be_dialled(number):
    if refusal("h", str(number)) is None and number not in ipaddress.ip_network("2000::/3"):
        assert refusal("h", str(ipaddress.IPv4Address(int(number) & 0xFFFFFFFF))) is None


@given(number=st.one_of(st.ip_addresses(v=4), st.sampled_from(PLAIN)), suffix=st.integers(0, 2**80 - 1))
def test_an_inner_number_is_judged_like_the_plain_one(number, suffix):
    sixes = ["::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "::"]
    wrapped = [int(ipaddress.IPv6Address(prefix)) | int(number) for prefix in sixes]
    wrapped += [0x2002 << 112 | int(number) << 80 | suffix]
    plain = refusal("h", str(number))
    assert {refusal("h", str(ipaddress.IPv6Address(address_number))) for address_number in wrapped} == {plain}
    allowed = Allowed(networks=(ipaddress.ip_network(number),))
    others = {
        refusal("h", str(ipaddress.IPv6Address(address_number)), allowed)
        for address_number in wrapped
        if address_number > 1
    }
    assert others <= {None}
