"""The settings: one table of name, kind, default and meaning.

The loader, `windrow config` and the reference page are all made from it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.config.kind import (
    COMMAND,
    DATABASE,
    DURATION,
    OPEN,
    OPTIONAL,
    PATH,
    PATTERN,
    SECRET,
    SIZE,
    SWITCH,
    TEXT,
    TEXTS,
    Kind,
    choice,
    count,
)
from windrow.model import Limits, Site, Source

PREFIX = "WINDROW_"


class Setting(NamedTuple):
    """One setting. `default` is spelled as TOML would; a `flag` of `windrow run` sets it too."""

    name: str
    kind: Kind
    default: Any
    help: str
    flag: str = ""

    @property
    def env(self) -> str:
        """Return the name of its environment variable.

        >>> SETTINGS["ledger.path"].env
        'WINDROW_LEDGER_PATH'
        """
        return variable(self.name)


def variable(name: str) -> str:
    """Spell a dotted name as an environment variable."""
    return PREFIX + "".join(c if c.isalnum() else "_" for c in name).upper()


_LIMITS = Limits()
_WORKSPACE = (
    Setting("name", TEXT, "", "what this workspace is called; empty: its folder's name"),
    Setting("contact", TEXT, "", "e-mail or page of the operator, told to servers and shown on pages"),
    Setting("agent", TEXT, "", "how windrow names itself to web servers; empty: windrow, version, contact"),
    Setting("ledger.path", PATH, "ledger.sqlite", "the file of the ledger"),
    Setting("archive.folder", PATH, "archive", "where the captures are kept, as WARC files"),
    Setting("archive.rotation", SIZE, "1 GiB", "a WARC file that has grown to this size is closed"),
    Setting("limits.transfer", SIZE, _LIMITS.transfer, "most bytes of one transfer"),
    Setting("limits.members", count(1, 10**7), _LIMITS.members, "most members of one archive"),
    Setting("limits.member", SIZE, _LIMITS.member, "most bytes of one member, inflated"),
    Setting("limits.total", SIZE, _LIMITS.total, "most bytes of all members of an archive, inflated"),
    Setting("limits.ratio", count(1, 10**5), _LIMITS.ratio, "most bytes that one packed byte may become"),
    Setting("limits.elements", count(1, 10**10), _LIMITS.elements, "most elements of one document"),
    Setting("limits.seconds", DURATION, _LIMITS.seconds, "longest time to read one document"),
    Setting("limits.memory", SIZE, _LIMITS.memory, "most memory to read one document"),
    Setting("limits.spare", SIZE, _LIMITS.spare, "room that must stay free on the disk"),
    Setting("run.fetchers", count(0, 64), 0, "processes that fetch; 0: as many as suit the machine"),
    Setting("run.readers", count(0, 256), 0, "processes that read documents; 0: as many as suit the machine"),
    Setting("run.every", DURATION, 0, "run again after this time; 0: run once", "--every"),
    Setting("run.notify", COMMAND, "", "command that gets every session's summary, as JSON on its input"),
    Setting("drops.tracker", DATABASE, "tracker.sqlite", "the tracker: a file, or a database's address"),
    Setting("drops.tracker_secret", SECRET, "", "where the password of the tracker's database is"),
    Setting("drops.store", DATABASE, "drops.sqlite", "the loaded records: a file, or a database's address"),
    Setting("drops.store_secret", SECRET, "", "where the password of the records' database is"),
    Setting("drops.listers", count(1, 64), 10, "sources that are listed at one time", "--listers"),
    Setting("drops.downloaders", count(1, 64), 4, "transfers at one time", "--downloaders"),
    Setting("drops.attempts", count(1, 20), 3, "attempts at one source before the next", "--attempts"),
    Setting(
        "drops.zip_name", PATTERN, "", "form of a zip's name, with groups centre, date, inc; empty: the standard's"
    ),
    Setting("drops.xml_name", PATTERN, "", "form of a document's name, with a group kind too; empty: the standard's"),
    Setting("drops.schemas.specimen", OPTIONAL, "", "XSD of specimen documents; empty: the one shipped"),
    Setting("drops.schemas.experiment", OPTIONAL, "", "XSD of experiment documents; empty: the one shipped"),
    Setting("drops.lists.status_codes", OPTIONAL, "", "the known status codes"),
    Setting("drops.lists.projects", OPTIONAL, "", "the known projects"),
    Setting("drops.lists.pipelines", OPTIONAL, "", "IMPReSS: the known pipelines, procedures and parameters"),
    Setting("drops.lists.strains", OPTIONAL, "", "the known strains"),
    Setting("drops.lists.colonies", OPTIONAL, "", "iMITS: the known colonies (phenotype attempts)"),
    Setting(
        "drops.lists.parent_colonies", OPTIONAL, "", "iMITS: the colonies they come from (microinjection attempts)"
    ),
)

_SITE = Site("")
_KNOWN = Source("", "", _SITE)
_SOURCE = (
    Setting("url", TEXT, "", "where it is: scheme, user, host, port and base folder; never a password"),
    Setting("collection", TEXT, "", "what is harvested there"),
    Setting("centre", TEXT, "", "drops: short name of the centre that runs it"),
    Setting("secret", SECRET, "", "where its password is: env:NAME or file:PATH"),
    Setting("key", SECRET, "", "where its private SSH key is: file:PATH or env:NAME"),
    Setting("state", choice("available", "maintenance", "removed"), "available", "only available is asked"),
    Setting("connections", count(1, 64), _KNOWN.connections, "connections at one time"),
    Setting("attempts", count(0, 20), 0, "attempts at one transfer; 0: as drops.attempts says"),
    Setting("pace", DURATION, _KNOWN.pace, "least time between two requests to its host, whatever leads there"),
    Setting("timeout", DURATION, _SITE.timeout, "longest silence of the server"),
    Setting("proxy", OPEN, _SITE.proxy, "HTTP proxy on the way there"),
    Setting("ca_bundle", OPTIONAL, _SITE.ca_bundle, "certificates to trust there, instead of the system's"),
    Setting("passive", SWITCH, _SITE.passive, "FTP: we open the data connection"),
    Setting("family", choice("any", "ipv4", "ipv6"), _SITE.family, "which addresses of the host to use"),
    Setting("host_keys", TEXTS, [], "SFTP: pinned host keys, beside those that were trusted"),
    Setting("manifest", TEXT, _SITE.manifest, "HTTPS: path of a list of names, in place of an index page"),
    Setting("private", SWITCH, _SITE.private, "it may live at an address of a private network"),
)

_CENTRE = (
    Setting("short_name", TEXT, "", "the code that its files begin with"),
    Setting("full_name", TEXT, "", "its name"),
    Setting("email", TEXT, "", "whom to write to"),
    Setting("phone", TEXT, "", "whom to call, with country and area code"),
    Setting("address", TEXT, "", "postal address"),
    Setting("imits_name", TEXT, "", "its name in iMITS"),
    Setting("is_active", SWITCH, True, "its sources are asked"),
)

SETTINGS = {setting.name: setting for setting in _WORKSPACE}
SOURCE_SETTINGS = {setting.name: setting for setting in _SOURCE}
CENTRE_SETTINGS = {setting.name: setting for setting in _CENTRE}
