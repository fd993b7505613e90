"""The demo: make a workspace, start a small internet on this machine, and harvest it twice."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from windrow.demo.internet import HOST, USER, DemoWeb, RunningServer, serve_ftp, serve_https, serve_sftp, serve_sites
from windrow.demo.library import SOURCE_TOML, write_library
from windrow.demo.partner import write_first_day, write_second_day
from windrow.demo.site import COUNCIL, TOWN_SOURCES
from windrow.errors import MissingExtra, UsageError

WORKSPACE_TOML = """# The workspace of `windrow demo`. Look around: windrow status, windrow why NAME, windrow config
name = "demo"
contact = "operator@example.org"

[pages]
operator = "demo"
delay = "20 ms"
private_hosts = ["127.0.0.1"]  # the demo's sites are on this machine

[events]
branches = ["Town"]
entities = ["Harbour Council"]

[news]
rewrite_changed = true  # a corrected article is written again, with its revisions

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
MARKER_FILE = ".windrow-demo"
"""The name of an empty file that marks a folder as that of an earlier demo, so that the folder may be emptied."""


class DemoResult(NamedTuple):
    """A message for each part of the demo that was left out, and the origins of the sites by name."""

    missing: list[str]
    sites: dict[str, str]


def play_demo(folder: Path, say: Callable[[str], None], run: Callable[[str, bool], int]) -> DemoResult:
    """Play the demo in a folder that is new or empty, or contains an earlier demo.

    `run(collection, again)` harvests a collection of the workspace in that folder and returns the exit code; with
    `again`, addresses that are not due yet are harvested, too. `say` prints a line for the user.
    """
    empty_folder(folder)
    internet = folder / "internet"
    write_first_day(internet)
    password = secrets.token_hex(8)
    (folder / "password").write_text(password)
    (folder / "password").chmod(0o600)
    (folder / "windrow.toml").write_text(WORKSPACE_TOML)
    (folder / "sources").mkdir()
    missing: list[str] = []
    with ExitStack() as stack:
        servers: list[tuple[str, str, AbstractContextManager[RunningServer]]] = [
            ("H", "ftp", serve_ftp(internet / "H", password)),
            ("J", "sftp", serve_sftp(internet / "J", password)),
            ("Ucd", "https", serve_https(internet / "Ucd", folder)),
        ]
        for centre, scheme, server in servers:
            try:
                served = stack.enter_context(server)
            except MissingExtra as error:
                missing.append(_describe_missing(scheme, error))
                continue
            user = f"{USER}@" if scheme != "https" else ""
            url = f"{scheme}://{user}{HOST}:{served.port}/"
            write_source(folder, centre, url, served.settings, has_password=bool(user))
            say(f"{centre} serves {scheme}://{HOST}:{served.port}/")
        write_source(folder, "Wtsi", f"{(internet / 'Wtsi').resolve().as_uri()}/", {}, has_password=False)
        say(f"Wtsi serves the folder {internet / 'Wtsi'}")
        sites = stack.enter_context(serve_sites())
        if find_spec("icalendar") is None:
            missing.append(_describe_missing(COUNCIL, MissingExtra("reading its calendar", "events")))
            sites.origins.pop(COUNCIL)
        _write_site_sources(folder, sites, say)
        if find_spec("pypdfium2") is None:
            missing.append(_describe_missing("library", MissingExtra("reading its papers", "pdf")))
        write_library(folder / "library")
        (folder / "sources" / "library.toml").write_text(SOURCE_TOML)
        say("the library has a WARC file of papers, and its CDX")
        say("Monday: the first harvest of everything")
        for collection in ("drops", "pages", "news", *(["events"] if COUNCIL in sites.origins else []), "papers"):
            run(collection, False)
        write_second_day(internet)
        sites.day = 2
        say("Tuesday: one centre adds documents, one corrects some, one withdraws some")
        run("drops", False)
        say("Tuesday: the ferry has a new timetable; the museum removed a report and has other news")
        run("pages", True)
        say("Tuesday: the newspaper corrects an article and adds one; the council moves a meeting and cancels one")
        run("news", True)
        if COUNCIL in sites.origins:
            run("events", True)
    return DemoResult(missing, dict(sites.origins))


def _describe_missing(source: str, error: MissingExtra) -> str:
    return f"{source}: {error} ({error.hint})"


def empty_folder(folder: Path) -> None:
    """Create the folder, or empty it, and add MARKER_FILE; raise UsageError if it has files but not MARKER_FILE."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARKER_FILE).exists():
            raise UsageError(f"{folder} is neither empty nor an earlier demo", hint="windrow demo ANOTHER_DIR")
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / MARKER_FILE).touch()


def write_source(folder: Path, centre: str, url: str, settings: dict[str, str], *, has_password: bool) -> None:
    """Write the file of a drops source. If `has_password` is true, its secret is read from the file `password`."""
    lines = [f'url = "{url}"', 'collection = "drops"', f'centre = "{centre}"']
    if has_password:
        lines.append('secret = "file:password"')
    for name, value in settings.items():
        lines.append(f'{name} = ["{value}"]' if name == "host_keys" else f'{name} = "{value}"')
    (folder / "sources" / f"{centre.lower()}.toml").write_text("\n".join(lines) + "\n")


def _write_site_sources(folder: Path, sites: DemoWeb, say: Callable[[str], None]) -> None:
    for name, origin in sites.origins.items():
        template = TOWN_SOURCES.get(name, 'collection = "pages"\nseeds = ["{origin}/"]\n')
        (folder / "sources" / f"{name}.toml").write_text(template.format(origin=origin))
        say(f"the {name} serves {origin}/")
