"""Decide to which IP addresses windrow may connect: public addresses, and addresses that a source allows.

Each IP address, except that of a proxy, is checked just before the connection to it is opened. So a host name that
resolves to a public address first and to a private one later (DNS rebinding) is refused. The tables are our own, since
`is_global` of Python's `ipaddress` differs between versions, counts multicast and unassigned addresses as global, and
does not find the IPv4 addresses that IPv6 addresses contain.
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

_SPECIAL_IPV4 = tuple(map(IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/3",  # multicast, reserved, broadcast
)))  # fmt: skip
"""Blocks in IANA's registry of special-purpose IPv4 addresses. The few public addresses in them have no documents."""

_ASSIGNED_IPV6 = IPv6Network("2000::/3")
"""The block from which IANA assigns public addresses. All others have a special purpose or are not assigned."""

_SPECIAL_IPV6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
"""Special blocks within `_ASSIGNED_IPV6`: for protocols such as Teredo and ORCHID, and for documentation."""

_IPV4_NETWORKS = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped (RFC 4291)
    (IPv6Network("::ffff:0:0:0/96"), 0),  # translated by SIIT (RFC 2765)
    (IPv6Network("64:ff9b::/96"), 0),  # translated by NAT64 (RFC 6052)
    (IPv6Network("::/96"), 0),  # compatible (RFC 4291)
    (IPv6Network("2002::/16"), 80),  # 6to4 (RFC 3056)
)
"""IPv6 networks whose addresses contain an IPv4 address, and the number of bits that follow the IPv4 address."""

_DELIMITERS = frozenset("/?#@\\")
"""Characters that delimit parts of a URL, so that a host name cannot contain them."""

_NOT_EMBEDDED = frozenset({IPv6Address("::"), IPv6Address("::1")})


def refusal(host_name: str, resolved: str, allowed: Allowed = ONLY_PUBLIC) -> Reason | None:
    """Return why windrow may not connect to a host at the IP address `resolved`, or None if it may.

    >>> refusal("example.org", "93.184.215.14"), refusal("example.org", "10.0.0.1")
    (None, <Reason.PRIVATE_ADDRESS: 'private_address'>)
    >>> refusal("example.org", "10.0.0.1", read_allowed(["10.0.0.0/8"]))
    """
    try:
        address = ipaddress.ip_address(resolved.partition("%")[0].strip("[]"))
    except ValueError:
        return Reason.BAD_ADDRESS
    embedded_address = _embedded_ipv4(address)
    if allowed.everything or _is_public(embedded_address):
        return None
    if any(host_matches(pattern, host_name) for pattern in allowed.hosts):
        return None
    if any(address in network or embedded_address in network for network in allowed.networks):
        return None
    return Reason.PRIVATE_ADDRESS


def refusal_behind_proxy(host_name: str, allowed: Allowed = ONLY_PUBLIC) -> Reason | None:
    """Return why windrow may not ask a proxy to connect to a host, or None if it may.

    >>> str(refusal_behind_proxy("2130706433")), str(refusal_behind_proxy("localhost"))
    ('private_address', 'private_address')
    >>> refusal_behind_proxy("example.org"), str(refusal_behind_proxy("0x7f.0.0.0.1"))
    (None, 'bad_address')
    """
    normal_host = _normal_host(host_name)
    if allowed.everything or not normal_host:
        return None if allowed.everything else Reason.BAD_ADDRESS
    ip_address = _ip_address_of(normal_host)
    return refusal(host_name, ip_address, allowed) if ip_address else None


def is_loopback(host_name: str) -> bool:
    """Return whether a host is `localhost` or a loopback address, so that nothing is sent to it over a network."""
    if host_name == "localhost":
        return True
    try:
        return ipaddress.ip_address(host_name).is_loopback
    except ValueError:
        return False


def read_allowed(texts: Iterable[str], own_host: str = "") -> Allowed:
    """Read the setting `private_hosts`: networks (`10.1.0.0/16`, `fd00::/8`) and host patterns (`.lan.example`).

    The host of the source, `own_host`, is also allowed if it is an IP address or this machine, since the user named it.
    Raises ConfigError for a text that is neither a network nor a host pattern.

    >>> read_allowed(["127.0.0.1", "wiki.example"], "localhost").hosts
    ('wiki.example', 'localhost')
    """
    hosts, networks = [], []
    for text in texts:
        try:
            networks.append(ipaddress.ip_network(text.strip("[]")))
        except ValueError:
            if text == "*" or "/" in text or text.rpartition(".")[2].isdecimal():
                raise ConfigError(f"private_hosts: {text[:200]!r} is neither a network nor a host") from None
            hosts.append(host_pattern(text, "private_hosts"))
    if own_host == "localhost":
        hosts.append(own_host)
    elif ip_address := _ip_address_of(_normal_host(own_host)):
        networks.append(ipaddress.ip_network(ip_address))
    return Allowed(tuple(hosts), tuple(networks))


def describe_refusal(host_name: str, reason: Reason) -> str:
    """Return a message that says why windrow does not connect to a host and, for a private address, how to allow it.

    >>> describe_refusal("[fd00::1]", Reason.PRIVATE_ADDRESS).partition("; ")[2].partition(" (")[0]
    'to allow it, add to its source: private_hosts = ["fd00::1"]'
    """
    if reason is not Reason.PRIVATE_ADDRESS:
        return reason.meaning
    setting = f'private_hosts = ["{host_name.strip("[]")}"]'
    setting += " (listed files: allow_private = true; warc_urls: warc_allow_private = true)"
    return f"{reason.meaning}; to allow it, add to its source: {setting}"


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _SPECIAL_IPV4)
    return address in _ASSIGNED_IPV6 and not any(address in network for network in _SPECIAL_IPV6)


def _embedded_ipv4(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv6Address) and address not in _NOT_EMBEDDED:
        for network, shift in _IPV4_NETWORKS:
            if address in network:
                return IPv4Address(int(address) >> shift & 0xFFFFFFFF)
    return address


def _normal_host(host_name: str) -> str:
    """Return the normal form of a host name or IP address (127.0.0.1 for `0x7f.1`), or "" if it is not valid."""
    bare_host = host_name.strip("[]")
    if not _DELIMITERS.isdisjoint(bare_host):
        return ""
    url = normalise(f"http://[{bare_host.partition('%')[0]}]/" if ":" in bare_host else f"http://{bare_host}/").url
    return parts(url).host.strip("[]") if url else ""


def _ip_address_of(normal_host: str) -> str:
    if normal_host == "localhost" or normal_host.endswith(".localhost"):  # loopback by RFC 6761
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(normal_host))
    except ValueError:
        return ""


_HOST_PATTERN = re.compile(r"(?:\*|\.?[^\s/:*?#@\[\]]+|\[[0-9a-fA-F:.]+\])")


def host_pattern(text: str, setting: str) -> str:
    """Return the normal form of a host pattern. Raises ConfigError about the setting `setting` if it is not valid.

    `example.org` means this host, `.example.org` this host and all hosts below it, `*` any host.

    >>> host_pattern(".B\u00fccher.Example", "hosts")
    '.xn--bcher-kva.example'
    """
    if text == "*":
        return text
    if _HOST_PATTERN.fullmatch(text) and (url := normalise(f"http://{text.removeprefix('.')}/").url):
        return ("." if text.startswith(".") else "") + parts(url).host
    raise ConfigError(
        f"{setting}: {text[:200]!r} is not a host name; write example.org, .example.org (with all below it) or * (all)"
    )


def host_matches(pattern: str, host_name: str) -> bool:
    """Return whether a host name in normal form matches `pattern`, which `host_pattern` has returned."""
    if pattern.startswith("."):
        return host_name.endswith(pattern) or host_name == pattern[1:]
    return pattern in {host_name, "*"}
