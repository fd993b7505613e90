"""What the configuration holds for the collection `drops`: [drops], its centres, and what its sources say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.config.address import place
from windrow.config.file import File
from windrow.config.kind import DATABASE, DURATION, OPTIONAL, PATTERN, SECRET, SIZE, SWITCH, TEXT, TEXTS, count
from windrow.config.layer import Layers, flatten, settle
from windrow.config.resource import SHIPPED
from windrow.config.setting import Setting
from windrow.config.workspace import Centre, Database, Drops, Value
from windrow.errors import ConfigError
from windrow.model import Site, Source

if TYPE_CHECKING:
    from windrow.config.declared import Around, Declared

CENTRES = "drops.centre"

SETTINGS = (
    Setting("drops.tracker", DATABASE, "tracker.sqlite", "the tracker: a file, or a database's address"),
    Setting("drops.tracker_secret", SECRET, "", "where the password of the tracker's database is"),
    Setting("drops.store", DATABASE, "drops.sqlite", "the loaded records: a file, or a database's address"),
    Setting("drops.store_secret", SECRET, "", "where the password of the records' database is"),
    Setting("drops.listers", count(1, 64), 10, "sources that are listed at one time", "--listers"),
    Setting("drops.downloaders", count(1, 64), 4, "transfers at one time", "--downloaders"),
    Setting(
        "drops.list_within", DURATION, "15 min", "time for all listings; slower sources are left behind; 0: no end"
    ),
    Setting(
        "drops.fetch_within",
        DURATION,
        "6 h",
        "time for all transfers; what is under way then goes on in the next run; 0: no end",
    ),
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
SOURCE = (
    Setting("centre", TEXT, "", "short name of the centre that runs it"),
    Setting("secret", SECRET, "", "where its password is: env:NAME or file:PATH"),
    Setting("key", SECRET, "", "where its private SSH key is: file:PATH or env:NAME"),
    Setting("connections", count(1, 64), _KNOWN.connections, "connections at one time"),
    Setting("attempts", count(0, 20), 0, "attempts at one transfer; 0: as drops.attempts says"),
    Setting("pace", DURATION, _KNOWN.pace, "least time between two requests to its host, whatever leads there"),
    Setting("listing_timeout", DURATION, _SITE.listing_timeout, "longest time for the whole listing of a folder"),
    Setting("least_rate", SIZE, _SITE.least_rate, "bytes a second that its transfers must bring; 0: any"),
    Setting("passive", SWITCH, _SITE.passive, "FTP: we open the data connection"),
    Setting("host_keys", TEXTS, [], "SFTP: pinned host keys, beside those that were trusted"),
    Setting("manifest", TEXT, _SITE.manifest, "HTTPS: path of a list of names, in place of an index page"),
    Setting("private", SWITCH, _SITE.private, "it may live at an address of a private network"),
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

_ON_SITE = (
    "secret",
    "key",
    "timeout",
    "proxy",
    "passive",
    "family",
    "manifest",
    "private",
    "listing_timeout",
    "least_rate",
)


def source(one: Declared, values: Mapping[str, Value], around: Around) -> Source:
    """Make a source of what was declared: a site, and a folder there."""
    url = values["url"]
    if not url.value:
        raise ConfigError(f"{one.file}: source.{one.name}.url is missing", hint=f"edit {one.file}")
    try:
        where = place(url.value, around.root)
    except ConfigError as error:
        raise ConfigError(f"{url.origin}: {url.name}: {error}", hint=f"edit {one.file}") from None
    bundle = values["ca_bundle"].value
    keys = dict.fromkeys((*values["host_keys"].value, *around.keys.get(one.name, ())))
    site = Site(
        **where._asdict(),
        **{name: values[name].value for name in _ON_SITE},
        ca_bundle=str(bundle) if bundle else "",
        host_keys=tuple(keys),
        agent=around.agent,
    )
    told = around.values["drops.attempts"]
    attempts = values["attempts"].value
    if not attempts or told.origin.startswith("flag"):
        attempts = told.value
    return Source(
        one.name,
        values["collection"].value,
        site,
        values["centre"].value,
        values["state"].value == "available" and values["centre"].value.lower() not in around.closed,
        values["connections"].value,
        attempts,
        values["pace"].value,
        {"state": values["state"].value},
    )


def centres(tables: Any, root: Path, file: str) -> list[tuple[Centre, tuple[Value, ...]]]:
    """Read the tables [[drops.centre]]."""
    if not isinstance(tables, list) or not all(isinstance(tree, dict) for tree in tables):
        raise ConfigError(f"{file}: {CENTRES}: wanted tables [[{CENTRES}]]", hint=f"edit {root / file}")
    made: dict[str, tuple[Centre, tuple[Value, ...]]] = {}
    known = {setting.name: setting for setting in CENTRE}
    for number, tree in enumerate(tables):
        prefix = f"{CENTRES}[{number}]."
        layers = Layers({}, {}, flatten(tree, known, file, prefix), prefix)
        values = settle(CENTRE, layers, root)
        centre = Centre(**{name: value.value for name, value in values.items()})
        if not centre.short_name or centre.short_name.lower() in made:
            raise ConfigError(f"{file}: {prefix}short_name is missing or there twice", hint="windrow config")
        made[centre.short_name.lower()] = (centre, tuple(values.values()))
    return list(made.values())


def drops(values: Mapping[str, Value], declared: tuple[Centre, ...], main: File) -> Drops:
    """Gather what [drops] says."""

    def of(name: str) -> Any:
        return values[f"drops.{name}"].value

    schemas = {kind: _file(values[f"drops.schemas.{kind}"], main) or path for kind, path in SHIPPED.items()}
    lists = {
        name.rpartition(".")[2]: path
        for name, value in values.items()
        if name.startswith("drops.lists.") and (path := _file(value, main))
    }
    return Drops(
        tracker=Database(of("tracker"), of("tracker_secret")),
        store=Database(of("store"), of("store_secret")),
        listers=of("listers"),
        downloaders=of("downloaders"),
        attempts=of("attempts"),
        list_within=of("list_within"),
        fetch_within=of("fetch_within"),
        zip_name=of("zip_name"),
        xml_name=of("xml_name"),
        schemas=schemas,
        lists=lists,
        centres=declared,
    )


def _file(value: Value, main: File) -> Path | None:
    path: Path | None = value.value
    if path is not None and not path.is_file():
        raise ConfigError(f"{value.origin}: {value.name}: there is no file {path}", hint=f"edit {main.name}")
    return path
