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
SHIPPED_SCHEMAS = MappingProxyType(
    {"specimen": _SCHEMAS / "specimen_definition.xsd", "experiment": _SCHEMAS / "procedure_definition.xsd"}
)
"""The schemas that come with windrow."""


@dataclass(frozen=True, slots=True)
class Centre:
    """A centre as the workspace declares it, with fields as in the tracker's table `centre`."""

    short_name: str
    full_name: str = ""
    email: str = ""
    phone: str = ""
    address: str = ""
    imits_name: str = ""
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class Drops:
    """The settings of [drops]. Deadlines are in seconds (0: no limit); an empty pattern means the standard's."""

    tracker: DatabaseAddress
    store: DatabaseAddress
    listers: int
    downloaders: int
    attempts: int
    listing_deadline: float
    download_deadline: float
    zip_name: str
    xml_name: str
    schemas: Mapping[str, Path]  # of `specimen` and `experiment` documents
    lists: Mapping[str, Path]  # the configured reference lists, by name
    centres: tuple[Centre, ...]


CENTRE_TABLE = "drops.centre"

SETTINGS = (
    Setting("drops.tracker", DATABASE, "tracker.sqlite", "the tracker: a file, or a database's address", written=True),
    Setting("drops.tracker_secret", SECRET, "", "where the password of the tracker's database is stored"),
    Setting(
        "drops.store", DATABASE, "drops.sqlite", "the loaded records: a file, or a database's address", written=True
    ),
    Setting("drops.store_secret", SECRET, "", "where the password of the records' database is stored"),
    Setting("drops.listers", count(1, 64), 10, "sources that are listed at one time", "--listers"),
    Setting("drops.downloaders", count(1, 64), 4, "transfers at one time", "--downloaders"),
    Setting(
        "drops.listing_deadline",
        DURATION,
        "15 min",
        "time for all listings together; slower sources are left out; 0: no limit",
    ),
    Setting(
        "drops.download_deadline",
        DURATION,
        "6 h",
        "time for all transfers together; the next run continues those that are not complete by then; 0: no limit",
    ),
    Setting("drops.attempts", count(1, 20), 3, "attempts at one source before the next one is tried", "--attempts"),
    Setting("drops.zip_name", PATTERN, "", "names of zips, with groups centre, date and inc; empty: the standard's"),
    Setting(
        "drops.xml_name", PATTERN, "", "XML file names, with groups centre, date, inc and kind; empty: the standard's"
    ),
    Setting("drops.schemas.specimen", OPTIONAL_PATH, "", "XSD of specimen documents; empty: windrow's own"),
    Setting("drops.schemas.experiment", OPTIONAL_PATH, "", "XSD of experiment documents; empty: windrow's own"),
    Setting("drops.lists.status_codes", OPTIONAL_PATH, "", "the known status codes"),
    Setting("drops.lists.projects", OPTIONAL_PATH, "", "the known projects"),
    Setting("drops.lists.pipelines", OPTIONAL_PATH, "", "IMPReSS: the known pipelines, procedures and parameters"),
    Setting("drops.lists.strains", OPTIONAL_PATH, "", "the known strains"),
    Setting("drops.lists.colonies", OPTIONAL_PATH, "", "iMITS: the known colonies (phenotype attempts)"),
    Setting(
        "drops.lists.parent_colonies", OPTIONAL_PATH, "", "iMITS: the known parent colonies (microinjection attempts)"
    ),
)

_DEFAULT_SITE = Site("")
ALLOWED = Allowed(everything=True)
"""The addresses that a source may have by default: all, because sources of drops are often in private networks."""

_DEFAULT_SOURCE = Source("", "", _DEFAULT_SITE)
SOURCE_SETTINGS = (
    Setting("centre", TEXT, "", "short name of the centre that runs it", "--centre"),
    Setting("secret", SECRET, "", "where its password is: env:NAME or file:PATH", "--secret"),
    Setting("ssh_key", SECRET, "", "where its private SSH key is: file:PATH or env:NAME", "--ssh-key"),
    Setting("connections", count(1, 64), _DEFAULT_SOURCE.connections, "connections at one time"),
    Setting("attempts", count(0, 20), 0, "attempts at one transfer; 0: as in drops.attempts"),
    Setting("delay", DURATION, _DEFAULT_SOURCE.pace, "minimum time between two requests to its host"),
    Setting(
        "listing_timeout", DURATION, _DEFAULT_SITE.listing_timeout, "maximum time for the whole listing of a folder"
    ),
    Setting("min_rate", SIZE, _DEFAULT_SITE.min_rate, "minimum speed of its transfers, in bytes per second; 0: none"),
    Setting("passive", SWITCH, _DEFAULT_SITE.passive, "FTP: windrow opens the data connection"),
    Setting("host_keys", TEXTS, [], "SFTP: pinned host keys, in addition to those that were trusted"),
    Setting("manifest", TEXT, _DEFAULT_SITE.manifest, "HTTPS: path of a list of names, in place of an index page"),
    Setting("allow_private", SWITCH, ALLOWED.everything, "allow an address in a private network"),
)

CENTRE_SETTINGS = (
    Setting("short_name", TEXT, "", "the code with which the names of its files begin"),
    Setting("full_name", TEXT, "", "its name"),
    Setting("email", TEXT, "", "e-mail address of its contact person"),
    Setting("phone", TEXT, "", "telephone number of its contact person, with country and area code"),
    Setting("address", TEXT, "", "postal address"),
    Setting("imits_name", TEXT, "", "its name in iMITS"),
    Setting("is_active", SWITCH, True, "whether the sources that it runs are used"),
)

_SITE_SETTINGS = ("secret", "passive", "manifest", "listing_timeout", "min_rate")


def build_source(table: SourceTable, values: Mapping[str, Value], surroundings: Surroundings) -> Source:
    """Build a source, which is inactive if it or its centre is declared inactive.

    The flag --attempts overrides the source's own setting `attempts`.
    """
    base_source = source_at_url(table, values, surroundings)
    host_keys = dict.fromkeys((*values["host_keys"].value, *surroundings.keys.get(table.name, ())))
    site = replace(
        base_source.site,
        **{name: values[name].value for name in _SITE_SETTINGS},
        key=values["ssh_key"].value,
        host_keys=tuple(host_keys),
    )
    site = replace(site, allowed=Allowed(everything=values["allow_private"].value))
    default_attempts = surroundings.values["drops.attempts"]
    attempts = values["attempts"].value
    if not attempts or default_attempts.origin.startswith("flag"):
        attempts = default_attempts.value
    inactive_centres = {centre.short_name.lower() for centre in surroundings.section.centres if not centre.is_active}
    return replace(
        base_source,
        site=site,
        owner=values["centre"].value,
        active=base_source.active and values["centre"].value.lower() not in inactive_centres,
        connections=values["connections"].value,
        attempts=attempts,
        pace=values["delay"].value,
        options={"state": values["state"].value},
    )


def build_settings(given: Given) -> Drops:
    """Build the settings of [drops] and its centres; raise ConfigError if a centre or a path is not valid."""
    databases = {
        name: DatabaseAddress(*(given.values[f"drops.{setting}"].value for setting in (name, f"{name}_secret")))
        for name in ("tracker", "store")
    }
    schemas = {
        kind: _read_file_setting(given, f"drops.schemas.{kind}") or path for kind, path in SHIPPED_SCHEMAS.items()
    }
    lists = {
        name.rpartition(".")[2]: path
        for name in given.values
        if name.startswith("drops.lists.") and (path := _read_file_setting(given, name))
    }
    built_values = {"schemas": schemas, "lists": lists, "centres": _read_centres(given)}
    return filled(Drops, given.values, "drops", **databases, **built_values)


def _read_centres(given: Given) -> tuple[Centre, ...]:
    centres: dict[str, Centre] = {}
    for values in given.rows[CENTRE_TABLE]:
        centre = Centre(**{name: value.value for name, value in values.items()})
        if not centre.short_name or centre.short_name.lower() in centres:
            problem = f"{centre.short_name!r} is given twice" if centre.short_name else "is missing or empty"
            raise ConfigError(f"{given.file}: {values['short_name'].name} {problem}", hint="windrow config")
        centres[centre.short_name.lower()] = centre
    return tuple(centres.values())


def _read_file_setting(given: Given, setting_name: str) -> Path | None:
    setting = given.values[setting_name]
    path: Path | None = setting.value
    if path is not None and not path.is_file():
        raise ConfigError(f"{setting.origin}: {setting.name}: {path} is not a file", hint="correct the path")
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
    source=SOURCE_SETTINGS,
    tables={CENTRE_TABLE: CENTRE_SETTINGS},
    section=build_settings,
    build=build_source,
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
