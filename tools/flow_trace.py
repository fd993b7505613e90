"""Which modules of windrow run while one page is harvested and found, or one zip is harvested to a row of the tracker.

`python tools/flow_trace.py page|zip [--functions]`. A module runs where the body of one of its functions is entered, in
any process: the command, the fetcher, the reader. What runs while modules are imported does not count.
"""

from __future__ import annotations

import argparse
import functools
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGE = """<!doctype html><html lang="en"><title>Ferry</title>
<main><h1>Ferry</h1><p>The ferry leaves every hour, from eight to eighteen.</main>
"""
PAGES = """name = "flow"

[pages]
operator = "example"
contact = "https://example.org/our-crawler"
delay = "10 ms"
private_hosts = ["127.0.0.1"]

[source.site]
collection = "pages"
seeds = ["http://127.0.0.1:{port}/"]
"""
SPECIMEN = """<?xml version="1.0" encoding="UTF-8"?>
<centreSpecimenSet xmlns="http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/specimen">
  <centre centreID="H">
    <mouse isBaseline="true" specimenID="M1" strainID="MGI:2159965" gender="female" zygosity="wild type"
           litterId="L1" pipeline="HRWL_001" phenotypingCentre="H" project="BaSH" DOB="2025-01-06"/>
  </centre>
</centreSpecimenSet>
"""
DROPS = """name = "flow"

[source.partner]
collection = "drops"
url = "file:partner"
centre = "H"
"""

TRACER = """
import os, sys, threading

def trace(package, folder):
    seen, depths = set(), threading.local()

    def enter(frame, event, argument):
        code = frame.f_code
        name = code.co_filename
        if event not in ("call", "return") or not name.startswith(package):
            return
        if code.co_name == "<module>" and not name.endswith("__main__.py"):
            depths.importing = getattr(depths, "importing", 0) + (1 if event == "call" else -1)
        elif event == "call" and code.co_flags & 2 and not getattr(depths, "importing", 0) and code not in seen:
            seen.add(code)
            line = f"{os.getpid()}\\t{name[len(package):]}\\t{code.co_qualname}\\n"
            into = os.open(os.path.join(folder, str(os.getpid())), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(into, line.encode())
            os.close(into)

    os.register_at_fork(after_in_child=seen.clear)
    sys.setprofile(enter)
    threading.setprofile(enter)

trace(os.environ["WINDROW_FLOW_PACKAGE"], os.environ["WINDROW_FLOW"])
"""
"""Is run by each Python process as `sitecustomize`; a process that is killed has written what it entered until then."""

Calls = dict[int, dict[str, list[str]]]
"""The functions that were entered first in each process, by number and module, in order."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 its name there
        """Say nothing."""


@contextmanager
def site(folder: Path) -> Iterator[int]:
    """Serve a folder on a port of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def trace_page(folder: Path) -> Calls:
    """Harvest one page of a site of this machine, and search it."""
    (folder / "site").mkdir()
    (folder / "site" / "index.html").write_text(PAGE)
    with site(folder / "site") as port:
        (folder / "windrow.toml").write_text(PAGES.format(port=port))
        return _trace(folder, ["run", "pages"], ["search", "every hour"])


def trace_zip(folder: Path) -> Calls:
    """Harvest one zip from a folder of this machine to its rows in the tracker."""
    for name in ("add", "edit", "delete"):
        (folder / "partner" / name).mkdir(parents=True)
    with zipfile.ZipFile(folder / "partner" / "add" / "H.2025-03-01.1.impc.zip", "w") as archive:
        archive.writestr("H.2025-03-01.1.specimen.impc.xml", SPECIMEN)
    (folder / "windrow.toml").write_text(DROPS)
    return _trace(folder, ["run", "drops"])


FLOWS = {"page": trace_page, "zip": trace_zip}


def _trace(folder: Path, *commands: Sequence[str]) -> Calls:
    traces, site_packages = folder / "traces", folder / "python"
    traces.mkdir()
    site_packages.mkdir()
    (site_packages / "sitecustomize.py").write_text(TRACER)
    command = Path(sys.executable).parent / "windrow"
    place = subprocess.run(
        [sys.executable, "-c", "import windrow; print(windrow.__path__[0])"], capture_output=True, text=True, check=True
    )
    paths = [str(site_packages), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "WINDROW_FLOW": str(traces),
        "WINDROW_FLOW_PACKAGE": f"{place.stdout.strip()}/",
    }
    for arguments in commands:
        done = subprocess.run(
            [command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"windrow {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")
    calls: Calls = {}
    for path in sorted(traces.iterdir(), key=lambda path: int(path.name)):
        for line in path.read_text().splitlines():
            number, name, function = line.split("\t")
            module = name.removesuffix(".py").removesuffix("/__init__")
            calls.setdefault(int(number), {}).setdefault(module, []).append(function)
    return calls


def main() -> None:
    """Print the modules by process, and how many there are in all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("flow", choices=FLOWS)
    parser.add_argument("--functions", action="store_true", help="print the functions too")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        calls = FLOWS[chosen.flow](Path(folder))
    for number, modules in calls.items():
        print(f"process {number}: {len(modules)} modules")
        for module, functions in modules.items():
            print(f"  {module}" + (f": {', '.join(functions)}" if chosen.functions else ""))
    modules_of_all = {module for modules in calls.values() for module in modules}
    print(f"{len(modules_of_all)} modules run for one {chosen.flow}")


if __name__ == "__main__":
    main()
