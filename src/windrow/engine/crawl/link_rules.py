"""The rules by which the links of pages are followed or refused: the settings of a source and a host's robots.txt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version

from windrow.digest import hash64
from windrow.engine.run import HarvestRun
from windrow.engine.source_counts import LINK_RULES, NOT_REQUESTED
from windrow.ledger import LedgerWriter
from windrow.ledger.typed.addresses import HostRow
from windrow.model import Source

_SETTINGS = "crawl_settings"  # under this name the hash of a source's settings is learned


class RuleHashes:
    """Hashes of the rules that are in force. When rules change, the addresses that the former ones refused are due."""

    def __init__(self, run: HarvestRun, sources: Mapping[str, Source], hosts: Iterable[HostRow]) -> None:
        """Read from the ledger which rules were in force in the last run, for sources by name and for their hosts."""
        self._run = run
        self._settings = {name: _hash_settings(source) for name, source in sources.items()}
        learned = {name: run.ledger.requests.learned(run.collection.name, name) for name in sources}
        self._former_settings = {name: learned[name].get(_SETTINGS) for name in sources}
        self._of_hosts: dict[int, tuple[int, int]] = {  # by number of the host: a hash, and the robots.txt's attempt
            host.seq: learned[host.source].get(f"{LINK_RULES}{host.seq}", (0, 0))[:2] for host in hosts
        }

    def of_settings(self, source_name: str) -> int:
        """Return the hash of a source's settings."""
        return self._settings[source_name]

    def of_host(self, host: int) -> tuple[int, int]:
        """Return the hash of a host's rules (0: unknown), and the attempt at robots.txt since which they are in force.

        The hash is one of the source's settings and of the robots.txt.
        """
        return self._of_hosts.get(host, (0, 0))

    def record_settings(self, writer: LedgerWriter, source_name: str, hosts: Sequence[int]) -> None:
        """Record the settings of a source. If they are others than in the last run, make due what those refused."""
        settings, former_settings = self._settings[source_name], self._former_settings[source_name]
        if settings == former_settings:
            return
        writer.requests.learn(self._run.collection.name, source_name, {_SETTINGS: settings}, 0)
        for host in hosts if former_settings is not None else ():
            writer.addresses.make_refused_due(host, NOT_REQUESTED)

    def record_rules(self, writer: LedgerWriter, source_name: str, host: int, rules: int, attempt: int) -> bool:
        """Record the hash of a host's rules, read by an attempt at robots.txt. Return whether more addresses are due.

        A hash of 0, as of any attempt that read no rules, and one that is in force already, change nothing.
        """
        former_rules, _ = self.of_host(host)
        if rules in {0, former_rules}:
            return False
        self._of_hosts[host] = rules, attempt
        learned = {f"{LINK_RULES}{host}": (rules, attempt, self._run.session)}
        writer.requests.learn(self._run.collection.name, source_name, learned, attempt)
        return bool(former_rules and writer.addresses.make_refused_due(host, NOT_REQUESTED))


def _hash_settings(source: Source) -> int:
    """Return a hash of what may decide which links of a page are followed."""
    return hash64(f"{version('windrow')} {source.site.agent} {sorted(source.options.items())}")
