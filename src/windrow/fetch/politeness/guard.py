"""Which IP addresses may be connected to: public ones, and those that a source allows.

Each address is checked just before the connection is made, never a name: a name that resolves to a public address first
and to a private one later (DNS rebinding) gains nothing. The tables are our own: `is_global` of Python's `ipaddress`
differs between versions, counts multicast and unassigned addresses as global, and does not look into IPv6 addresses
that contain an IPv4 one.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from windrow.errors import ConfigError
from windrow.formats.url import normalise, parts
from windrow.model import ONLY_PUBLIC, Allowed
from windrow.reasons import Reason

_CLOSED_IPV4 = tuple(map(IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/3",  # multicast, reserved, broadcast
)))  # fmt: skip
"""IANA's registry of special-purpose IPv4 addresses, whole blocks: its exceptions serve no documents."""

_OPEN_IPV6 = IPv6Network("2000::/3")
"""All that IANA assigns to networks; outside are loopback, local, multicast and unassigned addresses."""

_CLOSED_IPV6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
"""Special blocks within that: for protocols such as Teredo and ORCHID, and for documentation."""

_WRAPPERS = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped (RFC 4291)
    (IPv6Network("::ffff:0:0:0/96"), 0),  # translated by SIIT (RFC 2765)
    (IPv6Network("64:ff9b::/96"), 0),  # translated by NAT64 (RFC 6052)
    (IPv6Network("::/96"), 0),  # compatible (RFC 4291)
    (IPv6Network("2002::/16"), 80),  # 6to4 (RFC 3056)
)
"""IPv6 networks whose addresses contain an IPv4 one, and the number of bits to its right."""

_DELIMITERS = frozenset("/?#@\\")
"""Delimiters of a host in a URL: a host cannot contain them."""

_NO_WRAPPERS = frozenset({IPv6Address("::"), IPv6Address("::1")})


def refusal(host: str, number: str, allowed: Allowed = ONLY_PUBLIC) -> Reason | None:
    """Return why a host may not be connected to at an address that it resolved to; None if it may.

    >>> refusal("example.org", "93.184.215.14"), refusal("example.org", "10.0.0.1")
    (None, <Reason.PRIVATE_ADDRESS: 'private_address'>)
    >>> refusal("example.org", "10.0.0.1", read_allowed(["10.0.0.0/8"]))
    """
    try:
        parsed = ipaddress.ip_address(number.partition("%")[0].strip("[]"))
    except ValueError:
        return Reason.BAD_ADDRESS
    inner = _unwrap(parsed)
    if allowed.everything or _is_public(inner):
        return None
    if any(host_matches(pattern, host) for pattern in allowed.hosts):
        return None
    if any(parsed in network or inner in network for network in allowed.networks):
        return None
    return Reason.PRIVATE_ADDRESS


def refusal_behind_proxy(host: str, allowed: Allowed = ONLY_PUBLIC) -> Reason | None:
    """Return why a proxy may not be asked to connect to a host, or None if it may.

    >>> str(refusal_behind_proxy("2130706433")), str(refusal_behind_proxy("localhost"))
    ('private_address', 'private_address')
    >>> refusal_behind_proxy("example.org"), str(refusal_behind_proxy("0x7f.0.0.0.1"))
    (None, 'bad_address')
    """
    name = _normal_host(host)
    if allowed.everything or not name:
        return None if allowed.everything else Reason.BAD_ADDRESS
    number = _literal_number(name)
    return refusal(host, number, allowed) if number else None


def loopback(host: str) -> bool:
    """Return whether a host name means this machine, so that nothing is sent over a network."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_allowed(written: Iterable[str], own_host: str = "") -> Allowed:
    """Read the list `private_hosts`: networks (`10.1.0.0/16`, `127.0.0.1`, `fd00::/8`) and hosts (`.intranet.example`).

    A source's `own_host` is allowed too if it is an IP address or this machine: the user named it. ConfigError for
    anything else.

    >>> read_allowed(["127.0.0.1", "wiki.example"], "localhost").hosts
    ('wiki.example', 'localhost')
    """
    hosts, networks = [], []
    for text in written:
        try:
            networks.append(ipaddress.ip_network(text.strip("[]")))
        except ValueError:
            if text == "*" or "/" in text or text.rpartition(".")[2].isdecimal():
                raise ConfigError(f"private_hosts: {text[:200]!r} is neither a network nor a host") from None
            hosts.append(host_pattern(text, "private_hosts"))
    if own_host == "localhost":
        hosts.append(own_host)
    elif number := _literal_number(_normal_host(own_host)):
        networks.append(ipaddress.ip_network(number))
    return Allowed(tuple(hosts), tuple(networks))


def describe_refusal(host: str, reason: Reason) -> str:
    """Return why a host is not contacted and, if the user may allow it, the setting that does.

    >>> describe_refusal("[fd00::1]", Reason.PRIVATE_ADDRESS).partition("; ")[2].partition(" (")[0]
    'to allow it, add to its source: private_hosts = ["fd00::1"]'
    """
    if reason is not Reason.PRIVATE_ADDRESS:
        return reason.meaning
    line = f'private_hosts = ["{host.strip("[]")}"]'
    line += " (listed files: allow_private = true; warc_urls: warc_allow_private = true)"
    return f"{reason.meaning}; to allow it, add to its source: {line}"


def _is_public(number: IPv4Address | IPv6Address) -> bool:
    if isinstance(number, IPv4Address):
        return not any(number in network for network in _CLOSED_IPV4)
    return number in _OPEN_IPV6 and not any(number in network for network in _CLOSED_IPV6)


def _unwrap(number: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address in an IPv6 one; any other address unchanged."""
    if isinstance(number, IPv6Address) and number not in _NO_WRAPPERS:
        for network, shift in _WRAPPERS:
            if number in network:
                return IPv4Address(int(number) >> shift & 0xFFFFFFFF)
    return number


def _normal_host(host: str) -> str:
    """Return the normal form of a host, so that `0x7f.1` and 2130706433 are 127.0.0.1; "" if it is not valid."""
    bare = host.strip("[]")
    if not _DELIMITERS.isdisjoint(bare):
        return ""
    url = normalise(f"http://[{bare.partition('%')[0]}]/" if ":" in bare else f"http://{bare}/").url
    return parts(url).host.strip("[]") if url else ""


def _literal_number(name: str) -> str:
    """Return the IP address that a normal host stands for, or an empty text for a name that has to be resolved."""
    if name == "localhost" or name.endswith(".localhost"):  # loopback, whoever resolves it (RFC 6761)
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return ""


_HOST = re.compile(r"(?:\*|\.?[^\s/:*?#@\[\]]+|\[[0-9a-fA-F:.]+\])")


def host_pattern(text: str, setting: str) -> str:
    """Return the normal form of a host pattern: `example.org` is this host, `.example.org` it and all below, `*` any.

    >>> host_pattern(".B\u00fccher.Example", "hosts")
    '.xn--bcher-kva.example'
    """
    if text == "*":
        return text
    if _HOST.fullmatch(text) and (url := normalise(f"http://{text.removeprefix('.')}/").url):
        return ("." if text.startswith(".") else "") + parts(url).host
    raise ConfigError(f"{setting}: {text[:200]!r} is not a host: example.org, .example.org or *")


def host_matches(name: str, host: str) -> bool:
    """Return whether a host's normal name matches a pattern from `host_pattern`."""
    if name.startswith("."):
        return host.endswith(name) or host == name[1:]
    return name in {host, "*"}
