"""A small harvest in the process that programs are forked from: what it loads and compiles, no program does again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from windrow.app.workspace import Windrow
from windrow.demo.internet import serve_sites
from windrow.demo.partner import drop

SETTINGS = """
name = "warm-up"
contact = "operator@example.org"
[run]
fetchers = 1
readers = 1
[pages]
operator = "warm-up"
delay = "1 ms"
private_hosts = ["127.0.0.1"]
[[drops.centre]]
short_name = "H"
[source.folder]
collection = "drops"
centre = "H"
url = "file://{folder}/drop/"
[source.museum]
collection = "pages"
seeds = ["{museum}/"]
"""


def run_once() -> None:
    """Harvest a zip and a site of the demo into a workspace that is removed."""
    with TemporaryDirectory() as name, serve_sites() as sites:
        folder = Path(name)
        for action in ("add", "edit", "delete"):
            (folder / "drop" / action).mkdir(parents=True)
        zip_name, content = drop("H", "2026-01-12", 1)
        (folder / "drop" / "add" / zip_name).write_bytes(content)
        (folder / "windrow.toml").write_text(SETTINGS.format(folder=folder, museum=sites.origins["museum"]))
        Windrow(folder).run()
