"""Find the modules of windrow that run while a page is harvested and found, or a zip is harvested.

`python tools/flow_trace.py page|zip [--functions]`. A module runs where the body of one of its functions is entered, in
any process: the command, the fetcher, the reader. What runs while modules are imported does not count. A module is *on
the way* of each document if one of its functions is called at least ten times more for eleven documents than for one.
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
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PLACES = (
    "Sark", "Herm", "Brecqhou", "Jethou", "Lihou", "Alderney", "Burhou", "Guernsey", "Jersey", "Chausey", "Tatihou",
)  # fmt: skip
PAGE = """<!doctype html><html lang="en"><title>Ferry to {place}</title>
<main><h1>Ferry to {place}</h1><p>The ferry to {place} leaves every hour, from {hour} to eighteen.{links}</main>
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
    <mouse isBaseline="true" specimenID="M{number}" strainID="MGI:2159965" gender="female" zygosity="wild type"
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

def trace(package, folder, most):
    calls, depths = {}, threading.local()

    def leave_module(frame, event, argument):
        if event == "return":
            depths.importing -= 1
        return leave_module

    def enter(frame, event, argument):
        code = frame.f_code
        name = code.co_filename
        if not name.startswith(package):
            return
        if code.co_name == "<module>" and not name.endswith("__main__.py"):
            depths.importing = getattr(depths, "importing", 0) + 1
            frame.f_trace_lines = False
            return leave_module
        if code.co_flags & 2 and not getattr(depths, "importing", 0):
            calls[code] = calls.get(code, 0) + 1
            if calls[code] > most:
                return
            line = f"{os.getpid()}\\t{name[len(package):]}\\t{code.co_qualname}\\n"
            into = os.open(os.path.join(folder, str(os.getpid())), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(into, line.encode())
            os.close(into)

    os.register_at_fork(after_in_child=calls.clear)
    # A profile function would be called for each call of any library's function in C, too.
    sys.settrace(enter)
    threading.settrace(enter)

trace(os.environ["WINDROW_FLOW_PACKAGE"], os.environ["WINDROW_FLOW"], int(os.environ["WINDROW_FLOW_CALLS"]))
"""
"""The module `sitecustomize`, which each Python process runs; a killed process has written its calls until then."""

MORE = 10
"""How many documents the second of two compared runs has more than the first, which has one."""
BY_THE_CLOCK = frozenset({"engine/fetchers/fetcher_pool", "engine/heartbeat", "ledger/ledger"})
"""Modules that run several times a second, so that their calls rise with the duration of a run."""
COUNTED = 40
"""The most calls of a function that are counted in a process; more are not needed to see a rise by `MORE`."""

Calls = dict[int, dict[str, Counter[str]]]
"""The number of calls, by number of the process, module and function, in the order of the first calls."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 its name there
        """Log nothing."""


@contextmanager
def site(folder: Path) -> Iterator[int]:
    """Serve a folder over HTTP on this machine in the block; yield the port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def trace_page(folder: Path, documents: int = 1) -> Calls:
    """Harvest `documents` pages of a site on this machine, of which the first links to the others, and search them."""
    (folder / "site").mkdir()
    for number, place in enumerate(PLACES[:documents]):
        name = f"{place}.html" if number else "index.html"
        links = "" if number else "".join(f' <a href="{other}.html">{other}</a>' for other in PLACES[1:documents])
        text = PAGE.format(place=place, hour=number + 5, links=links)
        (folder / "site" / name).write_text(text)
    with site(folder / "site") as port:
        (folder / "windrow.toml").write_text(PAGES.format(port=port))
        return _trace(folder, ["run", "pages"], ["search", "every hour"])


def trace_zip(folder: Path, documents: int = 1) -> Calls:
    """Harvest `documents` zips from a folder of this machine until their rows are in the tracker."""
    for name in ("add", "edit", "delete"):
        (folder / "partner" / name).mkdir(parents=True)
    for number in range(1, documents + 1):
        name = f"H.2025-03-{number:02}.1"
        with zipfile.ZipFile(folder / "partner" / "add" / f"{name}.impc.zip", "w") as archive:
            archive.writestr(f"{name}.specimen.impc.xml", SPECIMEN.format(number=number))
    (folder / "windrow.toml").write_text(DROPS)
    return _trace(folder, ["run", "drops"])


FLOWS = {"page": trace_page, "zip": trace_zip}


def modules_of(calls: Calls) -> set[str]:
    """Return the modules that ran in any process."""
    return {module for modules in calls.values() for module in modules}


def on_the_way(one: Calls, more: Calls) -> dict[str, list[str]]:
    """Return, by module, the functions called for each document, from runs with one and with 1 + `MORE` documents."""
    rises: Counter[tuple[str, str]] = Counter()
    for sign, calls in ((-1, one), (1, more)):
        for modules in calls.values():
            for module, counts in modules.items():
                for function, count in counts.items():
                    rises[module, function] += sign * count
    ways: dict[str, list[str]] = {}
    for (module, function), rise in sorted(rises.items()):
        # Comprehensions are loops, as those within a function.
        if rise >= MORE and module not in BY_THE_CLOCK and not function.endswith(">"):
            ways.setdefault(module, []).append(function)
    return ways


def _trace(folder: Path, *commands: Sequence[str]) -> Calls:
    traces, site_packages = folder / "traces", folder / "python"
    traces.mkdir()
    site_packages.mkdir()
    (site_packages / "sitecustomize.py").write_text(TRACER)
    command = Path(sys.executable).parent / "windrow"
    package_path = subprocess.run(
        [sys.executable, "-c", "import windrow; print(windrow.__path__[0])"], capture_output=True, text=True, check=True
    )
    paths = [str(site_packages), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "WINDROW_FLOW": str(traces),
        "WINDROW_FLOW_CALLS": str(COUNTED),
        "WINDROW_FLOW_PACKAGE": f"{package_path.stdout.strip()}/",
        "WINDROW_RUN_SANDBOX": "false",  # the readers write traces, too
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
            calls.setdefault(int(number), {}).setdefault(module, Counter())[function] += 1
    return calls


def _show(modules: Mapping[str, Iterable[str]], *, functions: bool) -> None:
    for module, names in modules.items():
        print(f"  {module}" + (f": {', '.join(names)}" if functions else ""))


def main() -> None:
    """Print the modules that ran in each process, and the modules that ran for each document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("flow", choices=FLOWS)
    parser.add_argument("--functions", action="store_true", help="print the functions too")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        calls = FLOWS[chosen.flow](Path(folder))
        ways = on_the_way(calls, FLOWS[chosen.flow](Path(other), 1 + MORE))
    for number, modules in calls.items():
        print(f"process {number}: {len(modules)} modules")
        _show(modules, functions=chosen.functions)
    print("on the way of each document:")
    _show(ways, functions=chosen.functions)
    print(f"{len(modules_of(calls))} modules run for one {chosen.flow}, {len(ways)} of them for each {chosen.flow}")


if __name__ == "__main__":
    main()
