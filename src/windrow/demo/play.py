"""The demo: make a workspace and harvest a small internet of servers on this machine twice."""

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
from windrow.demo.library import write_library
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
private_hosts = ["127.0.0.1"]  # the demo's sites are on this machine

[events]
branches = ["Town"]
entities = ["Harbour Council"]

[news]
rewrite_changed = true  # an article that is corrected is written anew, with its revisions

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
"""The file that marks a folder as an earlier demo, which may be deleted."""


class DemoResult(NamedTuple):
    """The parts left out, each with its reason, and the origins of the sites by name."""

    missing: list[str]
    sites: dict[str, str]


def play(folder: Path, say: Callable[[str], None], run: Callable[[str, bool], int]) -> DemoResult:
    """Play the demo in a folder that is new, empty or holds an earlier demo.

    `run` harvests a collection of the workspace in that folder, with True also what is not due yet, and returns the
    exit code; `say` prints a line for the user.
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
                missing.append(_describe_missing(scheme, error))
                continue
            user = f"{USER}@" if scheme != "https" else ""
            declare(folder, centre, f"{scheme}://{user}{HOST}:{served.port}/", served.settings, secret=bool(user))
            say(f"{centre} serves {scheme}://{HOST}:{served.port}/")
        declare(folder, "Wtsi", f"file://{(internet / 'Wtsi').resolve()}/", {}, secret=False)
        say(f"Wtsi serves the folder {internet / 'Wtsi'}")
        sites = stack.enter_context(web())
        if find_spec("icalendar") is None:
            missing.append(_describe_missing(COUNCIL, MissingExtra("reading its calendar", "events")))
            sites.origins.pop(COUNCIL)
        _declare_sites(folder, sites, say)
        if find_spec("pypdfium2") is None:
            missing.append(_describe_missing("library", MissingExtra("reading its papers", "pdf")))
        write_library(folder / "library")
        (folder / "sources" / "library.toml").write_text(LIBRARY)
        say("the library has a WARC file of papers, and its CDX")
        say("Monday: the first harvest of everything")
        for kind in ("drops", "pages", "news", *(["events"] if COUNCIL in sites.origins else []), "papers"):
            run(kind, False)
        second_day(internet)
        sites.day = 2
        say("Tuesday: one centre adds, one corrects, one takes back")
        run("drops", False)
        say("Tuesday: the ferry has another timetable, the museum took a report back and has other news")
        run("pages", True)
        say("Tuesday: the newspaper corrects an article and prints another; the council moves a meeting, calls one off")
        run("news", True)
        if COUNCIL in sites.origins:
            run("events", True)
    return DemoResult(missing, dict(sites.origins))


def _describe_missing(source: str, error: MissingExtra) -> str:
    return f"{source}: {error} ({error.hint})"


def clear(folder: Path) -> None:
    """Empty the folder, or create it; UsageError if it holds anything but an earlier demo."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARK).exists():
            raise UsageError(f"{folder} is not empty and not an earlier demo", hint="windrow demo ANOTHER_DIR")
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


def _declare_sites(folder: Path, sites: DemoWeb, say: Callable[[str], None]) -> None:
    """Write a source for each site, with the site's address."""
    for name, origin in sites.origins.items():
        template = TOWN.get(name, 'collection = "pages"\nseeds = ["{origin}/"]\n')
        (folder / "sources" / f"{name}.toml").write_text(template.format(origin=origin))
        say(f"the {name} serves {origin}/")
