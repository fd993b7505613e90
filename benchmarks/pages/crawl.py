"""Crawling: follow every link of eight hosts and keep every page, beside wget and Scrapy on the same two cores.

Ours is a session of the engine in a fresh Python, with the guide and the policies of `pages`: robots.txt
asked and held, each page and request in WARC, every attempt and address on the ledger. wget mirrors with
its own defaults, a process for each host, which was its fastest way, and as a person types it: all hosts in one
command. Scrapy is tuned, a process for each core, each with half the hosts; it puts bodies into SQLite and is stopped
after some pages, since all would take it minutes. Each is timed as a whole process, and then again over hosts of one
page: the difference is the rate, and the note has the rate of whole processes too, with the CPU time
of all their processes.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchmarks.comparison import Comparison, median_of, spread
from benchmarks.cpu import Meter
from benchmarks.daemon import Missing, find, free_port, place, scratch
from benchmarks.pages import wander
from benchmarks.web import make_site, nginx

PAGES = int(os.environ.get("WINDROW_CRAWL_PAGES", "20000"))
SCRAPY_PAGES = 1_000
HOSTS = 8
TURNS = int(os.environ.get("WINDROW_CRAWL_TURNS", "5"))
CORES = 2


class Task(NamedTuple):
    """A crawl: its seeds, and the number of pages, the seeds included."""

    seeds: tuple[str, ...]
    pages: int


Client = Callable[[Task, Path], int]
"""Crawls into a folder and returns the number of pages stored."""


def _run(commands: list[list[str]], into: Path, good: frozenset[int] = frozenset({0})) -> None:
    """Run commands side by side to their end."""
    running = [subprocess.Popen(command, cwd=into, stdin=subprocess.DEVNULL) for command in commands]
    codes = [process.wait() for process in running]
    assert good.issuperset(codes), (commands[0][0], codes)


def ours(task: Task, into: Path) -> int:
    """Crawl with windrow."""
    _run([_here(wander.write(task.seeds, into))], into)
    attempts, addresses = wander.kept(into)
    assert attempts == addresses, (attempts, addresses)
    return attempts


def _here(command: list[str]) -> list[str]:
    """Return a command that finds the modules of this folder from any other."""
    return [shutil.which("env") or "env", f"PYTHONPATH={Path.cwd()}:{os.environ.get('PYTHONPATH', '')}", *command]


def wget(task: Task, into: Path) -> int:
    """Mirror with wget, a process for each host: it waits for each answer, so that two processes leave cores idle."""
    program = find("wget")
    _run([[program, "--mirror", "-q", seed] for seed in task.seeds], into)
    return sum(1 for path in into.rglob("*.html"))


def wget_alone(task: Task, into: Path) -> int:
    """Mirror with one wget, which takes the hosts one after another."""
    _run([[find("wget"), "--mirror", "-q", *task.seeds]], into)
    return sum(1 for path in into.rglob("*.html"))


def scrapy(task: Task, into: Path) -> int:
    """Crawl with Scrapy, a share of the hosts and of the pages for each core."""
    program = os.environ.get("SCRAPY") or shutil.which("scrapy")
    if not program:
        raise Missing("scrapy is not here: pip install scrapy into an environment of its own, and name it by SCRAPY")
    spider = str(Path(__file__).with_name("spider.py"))
    commands = []
    for number in range(CORES):
        seeds = ",".join(task.seeds[number::CORES])
        words = ["runspider", spider, "-a", f"seeds={seeds}", "-a", f"into={into}/{number}.sqlite"]
        commands.append([program, *words, "-s", f"CLOSESPIDER_ITEMCOUNT={task.pages // CORES}"])
    _run(commands, into)
    return sum(_count(path) for path in into.glob("*.sqlite"))


def _count(path: Path) -> int:
    with closing(sqlite3.connect(path)) as link:
        return int(link.execute("SELECT count(*) FROM page").fetchone()[0])


class Clock:
    """The rates of one client, and the time it takes to start and end."""

    def __init__(self, client: Client) -> None:
        """Start without runs."""
        self.client = client
        self.whole: list[tuple[int, float]] = []
        self.bare: list[float] = []
        self.cpu: list[float] = []

    def turn(self, task: Task, idle: Task, into: Path) -> None:
        """Time a crawl, and one of hardly any pages."""
        for process in (task, idle):
            into.mkdir()
            began = time.monotonic()
            with Meter() as meter:
                pages = self.client(process, into)
                seconds = time.monotonic() - began
            shutil.rmtree(into)
            assert pages >= process.pages, (self.client.__name__, pages, process.pages)
            if process is task:
                self.whole.append((pages, seconds))
                self.cpu.append(meter.seconds / pages)
            else:
                self.bare.append(seconds)

    def rates(self) -> list[float]:
        """Return pages a second of each run, without the time to start and end."""
        start = median_of(self.bare)
        return [pages / max(seconds - start, 1e-3) for pages, seconds in self.whole]

    def describe(self) -> str:
        """Describe the rate of whole processes, and the share of starting and ending."""
        rate = median_of([pages / seconds for pages, seconds in self.whole])
        cpu = f"{median_of(self.cpu) * 1e6:.0f} µs of CPU a page"
        return f"{rate:,.0f} and {cpu} with its {median_of(self.bare):.2f} s of start and end"


def lay_out(folder: Path, pages: int) -> dict[str, Path]:
    """Write the sites; return each host's root."""
    roots = {f"127.0.0.{10 + number}": folder / f"host{number}" for number in range(HOSTS)}
    for number, root in enumerate(roots.values()):
        make_site(root, pages // HOSTS, number)
        (root / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n")
        (root / "bare.html").write_text("<!doctype html><title>bare</title>")
    return roots


def crawl(pages: int = PAGES, turns: int = TURNS) -> Iterator[Comparison]:
    """Run all in turns, so that a busy moment affects all, and compare the medians."""
    clocks = {client.__name__: Clock(client) for client in (ours, wget, wget_alone, scrapy)}
    goals = {
        "wget": ("wget --mirror, 8 processes", 1.0),
        "wget_alone": ("wget --mirror, one command for all hosts", 1.0),
        "scrapy": ("Scrapy, 2 processes", 30.0),
    }
    with scratch() as folder:
        roots, port = lay_out(folder, pages), free_port()
        task = Task(tuple(f"http://{host}:{port}/" for host in roots), pages)
        idle = Task(tuple(f"{seed}bare.html" for seed in task.seeds), HOSTS)
        with nginx(folder, roots, port):
            for turn in range(turns):
                for name, clock in clocks.items() if turn % 2 else reversed(clocks.items()):
                    limited = task._replace(pages=min(pages, SCRAPY_PAGES)) if name == "scrapy" else task
                    try:
                        clock.turn(limited, idle, folder / f"turn{turn}-{name}")
                    except Missing as missing:
                        print(f"{name}: {missing}", file=sys.stderr)
        mine = clocks.pop("ours")
        for name, clock in clocks.items():
            rates = mine.rates(), clock.rates()
            note = f"{turns} runs each, {place(folder)}; {spread(*rates)}; ours {mine.describe()}"
            note += f", theirs {clock.describe()}" if clock.whole else ""
            peer, goal = goals[name]
            ahead = median_of(rates[0]), median_of(rates[1]) or None
            description = f"crawl {pages:,} pages of {HOSTS} hosts"
            yield Comparison(description, "pages/s", ahead[0], peer, ahead[1], goal, note=note)
