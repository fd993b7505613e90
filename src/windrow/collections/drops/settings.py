"""The settings of the collection `drops`: [drops], its centres and its sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from windrow.errors import ConfigError
from windrow.model import Allowed, Site, Source
from windrow.settings.configuration import (
    Configuration,
    DatabaseAddress,
    Given,
    SourceTable,
    Surroundings,
    filled,
    source_at_url,
)
from windrow.settings.kinds import DATABASE, DURATION, OPTIONAL_PATH, PATTERN, SECRET, SIZE, SWITCH, TEXT, TEXTS, count
from windrow.settings.setting import Setting, Value

_SCHEMAS = Path(__file__).parent / "schemas"
SHIPPED = MappingProxyType(
    {
        "specimen": _SCHEMAS / "specimen_definition.xsd",
        "experiment": _SCHEMAS / "procedure_definition.xsd",
    }
)
"""The schemas that come with windrow."""


@dataclass(frozen=True, slots=True)
class Centre:
    """A centre as declared (tracker report, table centre)."""

    short_name: str
    full_name: str = ""
    email: str = ""
    phone: str = ""
    address: str = ""
    imits_name: str = ""
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class Drops:
    """The settings of the collection `drops`. An empty pattern means the standard's own."""

    tracker: DatabaseAddress
    store: DatabaseAddress
    listers: int
    downloaders: int
    attempts: int
    listing_deadline: float  # seconds; 0: however long it takes
    download_deadline: float
    zip_name: str
    xml_name: str
    schemas: Mapping[str, Path]  # specimen, experiment
    lists: Mapping[str, Path]  # only those configured
    centres: tuple[Centre, ...]


CENTRES = "drops.centre"

SETTINGS = (
    Setting("drops.tracker", DATABASE, "tracker.sqlite", "the tracker: a file, or a database's address", written=True),
    Setting("drops.tracker_secret", SECRET, "", "where the password of the tracker's database is"),
    Setting(
        "drops.store", DATABASE, "drops.sqlite", "the loaded records: a file, or a database's address", written=True
    ),
    Setting("drops.store_secret", SECRET, "", "where the password of the records' database is"),
    Setting("drops.listers", count(1, 64), 10, "sources that are listed at one time", "--listers"),
    Setting("drops.downloaders", count(1, 64), 4, "transfers at one time", "--downloaders"),
    Setting(
        "drops.listing_deadline", DURATION, "15 min", "time for all listings; slower sources are left behind; 0: no end"
    ),
    Setting(
        "drops.download_deadline",
        DURATION,
        "6 h",
        "time for all transfers; what is under way then goes on in the next run; 0: no end",
    ),
    Setting("drops.attempts", count(1, 20), 3, "attempts at one source before the next", "--attempts"),
    Setting(
        "drops.zip_name", PATTERN, "", "form of a zip's name, with groups centre, date, inc; empty: the standard's"
    ),
    Setting("drops.xml_name", PATTERN, "", "form of a document's name, with a group kind too; empty: the standard's"),
    Setting("drops.schemas.specimen", OPTIONAL_PATH, "", "XSD of specimen documents; empty: the one shipped"),
    Setting("drops.schemas.experiment", OPTIONAL_PATH, "", "XSD of experiment documents; empty: the one shipped"),
    Setting("drops.lists.status_codes", OPTIONAL_PATH, "", "the known status codes"),
    Setting("drops.lists.projects", OPTIONAL_PATH, "", "the known projects"),
    Setting("drops.lists.pipelines", OPTIONAL_PATH, "", "IMPReSS: the known pipelines, procedures and parameters"),
    Setting("drops.lists.strains", OPTIONAL_PATH, "", "the known strains"),
    Setting("drops.lists.colonies", OPTIONAL_PATH, "", "iMITS: the known colonies (phenotype attempts)"),
    Setting(
        "drops.lists.parent_colonies", OPTIONAL_PATH, "", "iMITS: the colonies they come from (microinjection attempts)"
    ),
)

_SITE = Site("")
ALLOWED = Allowed(everything=True)
"""The addresses that a source of drops allows by default: a drop is often in a private network."""

_KNOWN = Source("", "", _SITE)
SOURCE = (
    Setting("centre", TEXT, "", "short name of the centre that runs it", "--centre"),
    Setting("secret", SECRET, "", "where its password is: env:NAME or file:PATH", "--secret"),
    Setting("ssh_key", SECRET, "", "where its private SSH key is: file:PATH or env:NAME", "--ssh-key"),
    Setting("connections", count(1, 64), _KNOWN.connections, "connections at one time"),
    Setting("attempts", count(0, 20), 0, "attempts at one transfer; 0: as drops.attempts says"),
    Setting("delay", DURATION, _KNOWN.pace, "least time between two requests to its host, whatever leads there"),
    Setting("listing_timeout", DURATION, _SITE.listing_timeout, "longest time for the whole listing of a folder"),
    Setting("min_rate", SIZE, _SITE.min_rate, "bytes a second that its transfers must bring; 0: any"),
    Setting("passive", SWITCH, _SITE.passive, "FTP: we open the data connection"),
    Setting("host_keys", TEXTS, [], "SFTP: pinned host keys, beside those that were trusted"),
    Setting("manifest", TEXT, _SITE.manifest, "HTTPS: path of a list of names, in place of an index page"),
    Setting("allow_private", SWITCH, ALLOWED.everything, "it may live at an address of a private network"),
)

CENTRE = (
    Setting("short_name", TEXT, "", "the code that its files begin with"),
    Setting("full_name", TEXT, "", "its name"),
    Setting("email", TEXT, "", "whom to write to"),
    Setting("phone", TEXT, "", "whom to call, with country and area code"),
    Setting("address", TEXT, "", "postal address"),
    Setting("imits_name", TEXT, "", "its name in iMITS"),
    Setting("is_active", SWITCH, True, "its sources are asked"),
)

_ON_SITE = ("secret", "passive", "manifest", "listing_timeout", "min_rate")


def source(table: SourceTable, values: Mapping[str, Value], surroundings: Surroundings) -> Source:
    """Build a source from its declaration: a site and a folder on it."""
    base = source_at_url(table, values, surroundings)
    keys = dict.fromkeys((*values["host_keys"].value, *surroundings.keys.get(table.name, ())))
    site = replace(
        base.site, **{name: values[name].value for name in _ON_SITE}, key=values["ssh_key"].value, host_keys=tuple(keys)
    )
    site = replace(site, allowed=Allowed(everything=values["allow_private"].value))
    configured = surroundings.values["drops.attempts"]
    attempts = values["attempts"].value
    if not attempts or configured.origin.startswith("flag"):
        attempts = configured.value
    closed = {centre.short_name.lower() for centre in surroundings.section.centres if not centre.is_active}
    return replace(
        base,
        site=site,
        owner=values["centre"].value,
        active=base.active and values["centre"].value.lower() not in closed,
        connections=values["connections"].value,
        attempts=attempts,
        pace=values["delay"].value,
        options={"state": values["state"].value},
    )


def drops(given: Given) -> Drops:
    """Build the settings of [drops] and its centres; raise ConfigError if they cannot be used."""
    databases = {
        name: DatabaseAddress(*(given.values[f"drops.{setting}"].value for setting in (name, f"{name}_secret")))
        for name in ("tracker", "store")
    }
    schemas = {kind: _file(given, f"drops.schemas.{kind}") or path for kind, path in SHIPPED.items()}
    lists = {
        name.rpartition(".")[2]: path
        for name in given.values
        if name.startswith("drops.lists.") and (path := _file(given, name))
    }
    collected = {"schemas": schemas, "lists": lists, "centres": _centres(given)}
    return filled(Drops, given.values, "drops", **databases, **collected)


def _centres(given: Given) -> tuple[Centre, ...]:
    """Read the tables [[drops.centre]]."""
    centres: dict[str, Centre] = {}
    for values in given.rows[CENTRES]:
        centre = Centre(**{name: value.value for name, value in values.items()})
        if not centre.short_name or centre.short_name.lower() in centres:
            table_name = values["short_name"].name
            raise ConfigError(f"{given.file}: {table_name} is missing or given twice", hint="windrow config")
        centres[centre.short_name.lower()] = centre
    return tuple(centres.values())


def _file(given: Given, name: str) -> Path | None:
    value = given.values[name]
    path: Path | None = value.value
    if path is not None and not path.is_file():
        raise ConfigError(f"{value.origin}: {value.name}: the file {path} does not exist", hint=f"edit {given.file}")
    return path


CONFIGURATION = Configuration(
    examples=(
        "windrow new source harwell sftp://harvest@drop.example.org/out/ --collection drops --centre H",
        "windrow new source jax https://drop.example.org/jax/ --collection drops --centre J --secret env:JAX_PASSWORD",
        "windrow run drops --every 6h --downloaders 8",
        "windrow run --from xsd --to data",
        "windrow run --from unzip ./held",
        "windrow try H.2026-01-12.1.impc.zip --collection drops",
        "windrow try sftp://harvest@drop.example.org/add/H.2026-01-12.1.impc.zip --collection drops --json",
        "windrow why H.2026-01-12.1.impc.zip",
        "windrow why sftp://drop.example.org/add/H.2026-01-12.1.impc.zip",
        "windrow export tracker --as mysql | mariadb phenodcc_tracker",
        "windrow export tracker --as postgresql > tracker.sql",
    ),
    settings=SETTINGS,
    source=SOURCE,
    tables={CENTRES: CENTRE},
    section=drops,
    build=source,
    template="""\
[drops]
tracker = "tracker.sqlite"  # or "mysql+pymysql://user@host/phenodcc_tracker"
# tracker_secret = "env:TRACKER_PASSWORD"

# [[drops.centre]]
# short_name = "H"
# full_name = "MRC Harwell"

# A source of drops:
# [source.example]
# url = "sftp://user@host/base/"
# collection = "drops"
# centre = "H"
# secret = "env:EXAMPLE_PASSWORD"
""",
)
