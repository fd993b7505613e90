"""The demo: a workspace is made, the small internet is harvested twice, and what came of it is shown."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from windrow.demo.internet import HOST, USER, DemoWeb, Served, ftp, https, sftp, web
from windrow.demo.library import TOML as LIBRARY
from windrow.demo.library import shelve
from windrow.demo.partner import first_day, second_day
from windrow.demo.site import COUNCIL
from windrow.demo.site import TOML as TOWN
from windrow.errors import MissingExtra, UsageError

TOML = """# The workspace that `windrow demo` made. Look around: windrow status, windrow why NAME, windrow config
name = "demo"
contact = "operator@example.org"

[pages]
operator = "demo"
delay = "20 ms"
private = ["127.0.0.1"]  # the demo's sites are on this machine

[events]
branches = ["Town"]
entities = ["Harbour Council"]

[news]
update = true  # an article that is corrected is written anew, with its revisions

[papers]
catalogue = ["library/catalogue"]

[[drops.centre]]
short_name = "H"
full_name = "Harwell"

[[drops.centre]]
short_name = "J"
full_name = "The Jackson Laboratory"

[[drops.centre]]
short_name = "Ucd"
full_name = "University of California, Davis"

[[drops.centre]]
short_name = "Wtsi"
full_name = "Wellcome Sanger Institute"
"""
MARK = ".windrow-demo"


class DemoResult(NamedTuple):
    """What could not be shown, and where the sites were."""

    missing: list[str]
    sites: dict[str, str]


def play(folder: Path, say: Callable[[str], None], run: Callable[[str, bool], int]) -> DemoResult:
    """Play the demo in a folder that is new or holds an earlier demo.

    `run` harvests a collection of the workspace in that folder, what is not due too where it is told so,
    and returns the exit code; `say` tells the person.
    """
    clear(folder)
    internet = folder / "internet"
    first_day(internet)
    password = secrets.token_hex(8)
    (folder / "password").write_text(password)
    (folder / "password").chmod(0o600)
    (folder / "windrow.toml").write_text(TOML)
    (folder / "sources").mkdir()
    missing: list[str] = []
    with ExitStack() as stack:
        servers: list[tuple[str, str, AbstractContextManager[Served]]] = [
            ("H", "ftp", ftp(internet / "H", password)),
            ("J", "sftp", sftp(internet / "J", password)),
            ("Ucd", "https", https(internet / "Ucd", folder)),
        ]
        for centre, scheme, server in servers:
            try:
                served = stack.enter_context(server)
            except MissingExtra as error:
                missing.append(_told(scheme, error))
                continue
            user = f"{USER}@" if scheme != "https" else ""
            declare(folder, centre, f"{scheme}://{user}{HOST}:{served.port}/", served.settings, secret=bool(user))
            say(f"{centre} serves {scheme}://{HOST}:{served.port}/")
        declare(folder, "Wtsi", f"file://{(internet / 'Wtsi').resolve()}/", {}, secret=False)
        say(f"Wtsi serves the folder {internet / 'Wtsi'}")
        sites = stack.enter_context(web())
        if find_spec("icalendar") is None:
            missing.append(_told(COUNCIL, MissingExtra("reading its calendar", "events")))
            sites.at.pop(COUNCIL)
        _name(folder, sites, say)
        if find_spec("pypdfium2") is None:
            missing.append(_told("library", MissingExtra("reading its papers", "pdf")))
        shelve(folder / "library")
        (folder / "sources" / "library.toml").write_text(LIBRARY)
        say("the library has a WARC file of papers, and its CDX")
        say("Monday: the first harvest of everything")
        for kind in ("drops", "pages", "news", *(["events"] if COUNCIL in sites.at else []), "papers"):
            run(kind, False)
        second_day(internet)
        sites.day = 2
        say("Tuesday: one centre adds, one corrects, one takes back")
        run("drops", False)
        say("Tuesday: the ferry has another timetable, the museum took a report back and has other news")
        run("pages", True)
        say("Tuesday: the newspaper corrects an article and prints another; the council moves a meeting, calls one off")
        run("news", True)
        if COUNCIL in sites.at:
            run("events", True)
    return DemoResult(missing, dict(sites.at))


def _told(what: str, error: MissingExtra) -> str:
    return f"{what}: {error} ({error.hint})"


def clear(folder: Path) -> None:
    """Make the folder empty, but only if nothing but an earlier demo is lost by it."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARK).exists():
            raise UsageError(f"{folder} is not empty and no earlier demo", hint="windrow demo ANOTHER_DIR")
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / MARK).touch()


def declare(folder: Path, centre: str, url: str, settings: dict[str, str], *, secret: bool) -> None:
    """Write a source's TOML."""
    lines = [f'url = "{url}"', 'collection = "drops"', f'centre = "{centre}"']
    if secret:
        lines.append('secret = "file:password"')
    for name, value in settings.items():
        lines.append(f'{name} = ["{value}"]' if name == "host_keys" else f'{name} = "{value}"')
    (folder / "sources" / f"{centre.lower()}.toml").write_text("\n".join(lines) + "\n")


def _name(folder: Path, sites: DemoWeb, say: Callable[[str], None]) -> None:
    """Write the sites' TOML, and say where they are."""
    for name, origin in sites.at.items():
        told = TOWN.get(name, 'collection = "pages"\nseeds = ["{origin}/"]\n')
        (folder / "sources" / f"{name}.toml").write_text(told.format(origin=origin))
        say(f"the {name} serves {origin}/")
