"""Which addresses of machines may be talked to: none inside a private network, unless it is named.

The test is made on the number that a name resolved to, for every connection anew: a name that resolves
to a public number now and to a private one later (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from windrow.errors import ConfigError
from windrow.politeness.host import host_fits, host_pattern
from windrow.reasons import Reason

_Number = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_CLOSED: tuple[_Network, ...] = tuple(
    ipaddress.ip_network(one)
    for one in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/3",  # multicast, reserved, broadcast
        "::/16",  # unspecified, loopback; what wraps an IPv4 number is unwrapped first
        "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7",
        "fe80::/9",  # link-local and the former site-local
        "ff00::/8",
    )
)  # fmt: skip
"""IANA's special-purpose registries of IPv4 and IPv6, with what is reserved or retired."""

_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_TRANSLATED = ipaddress.IPv6Network("::ffff:0:0:0/96")  # SIIT (RFC 2765)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052
_SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")  # RFC 3056


@dataclass(frozen=True, slots=True)
class AllowedNetworks:
    """The private hosts and networks that a workspace names."""

    hosts: tuple[str, ...] = ()
    networks: tuple[_Network, ...] = ()


def named(written: Iterable[str]) -> AllowedNetworks:
    """Read the list `private`: networks (`10.1.0.0/16`, `127.0.0.1`, `fd00::/8`) and hosts (`.intranet.example`).

    >>> named(["127.0.0.1", "wiki.example"]).hosts
    ('wiki.example',)
    """
    hosts, networks = [], []
    for text in written:
        try:
            networks.append(ipaddress.ip_network(text.strip("[]")))
        except ValueError:
            if text == "*" or "/" in text or text.rpartition(".")[2].isdecimal():
                raise ConfigError(f"private: {text[:200]!r} is neither a network nor a host") from None
            hosts.append(host_pattern(text, "private"))
    return AllowedNetworks(tuple(hosts), tuple(networks))


def refusal(host: str, number: str, allowed: AllowedNetworks = AllowedNetworks()) -> Reason | None:
    """Return why a host may not be talked to at the number it resolved to, or None.

    >>> refusal("example.org", "::ffff:127.0.0.1")
    <Reason.PRIVATE_ADDRESS: 'private_address'>
    >>> refusal("example.org", "93.184.215.14"), refusal("h", "10.0.0.1", named(["10.0.0.0/8"]))
    (None, None)
    """
    try:
        given = ipaddress.ip_address(number.partition("%")[0].strip("[]"))
    except ValueError:
        return Reason.BAD_ADDRESS
    inner = _unwrap(given)
    if not any(inner in network for network in _CLOSED):
        return None
    if any(host_fits(one, host) for one in allowed.hosts) or any(
        one in network for network in allowed.networks for one in (given, inner)
    ):
        return None
    return Reason.PRIVATE_ADDRESS


def refused(host: str, reason: Reason) -> str:
    """Say why a host is not talked to and, where a person may allow it, the line that does.

    >>> refused("[fd00::1]", Reason.PRIVATE_ADDRESS).partition("; ")[2]
    'if it may be asked, the line of its source: private = ["fd00::1"]'
    """
    if reason is not Reason.PRIVATE_ADDRESS:
        return reason.meaning
    return f'{reason.meaning}; if it may be asked, the line of its source: private = ["{host.strip("[]")}"]'


def _unwrap(number: _Number) -> _Number:
    """Return the IPv4 number that an IPv6 one stands for, where it does."""
    if isinstance(number, ipaddress.IPv4Address):
        return number
    whole = int(number)
    if any(number in network for network in (_MAPPED, _TRANSLATED, _NAT64)) or (
        number in _COMPATIBLE and whole > 0xFFFF
    ):
        return ipaddress.IPv4Address(whole & 0xFFFFFFFF)
    if number in _SIX_TO_FOUR:
        return ipaddress.IPv4Address(whole >> 80 & 0xFFFFFFFF)
    return number
