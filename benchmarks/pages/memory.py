"""Memory of a crawl: the peak over all its processes, 20,000 pages beside 200,000.

The pages are made by nginx as they are asked for, a tree of links on each of 18 hosts, so that no disk is
filled by them; ours keeps all of them as ever. WINDROW_MEMORY_DEPTH (3) is how deep the smaller trees are.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.comparison import Comparison
from benchmarks.daemon import find, free_port, place, running, scratch
from benchmarks.memory import run_measured
from benchmarks.pages import wander

HOSTS = 18
DEPTH = int(os.environ.get("WINDROW_MEMORY_DEPTH", "3"))
FLAT = 1 / 1.2
"""Ten times the pages may take a fifth more memory."""
TEXT = "Each of these pages says the same, and that at some length. " * 20


def pages(hosts: int, depth: int) -> int:
    """Return how many pages the trees of a depth on so many hosts have."""
    return hosts * sum(int(10**level) for level in range(depth + 1))


def config(folder: Path, port: int, hosts: int, depths: tuple[int, ...]) -> Path:
    """Write nginx's configuration: it answers with a tree of each depth below a path of its own."""
    user = "user root;" if os.getuid() == 0 else ""
    locations = ""
    for depth in depths:
        links = "".join(f'<a href=\\"/{depth}/${{n}}{digit}\\">on</a> ' for digit in range(10))
        head = 'default_type text/html; return 200 "<!doctype html><title>page $n</title><p>page $n'
        locations += f'location ~ "^/{depth}/(?<n>\\d{{0,{depth - 1}}})$" {{ {head} {TEXT}</p>{links}"; }}\n'
        locations += f'location ~ "^/{depth}/(?<n>\\d{{{depth}}})$" {{ {head} {TEXT}</p>"; }}\n'
    servers = "".join(f"server {{ listen 127.0.0.{10 + host}:{port};\n{locations} }}\n" for host in range(hosts))
    path = folder / "nginx.conf"
    path.write_text(
        f"{user} worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        "events { worker_connections 512; }\n"
        f"http {{ access_log off; keepalive_requests 1000000; root {folder}/none;\n"
        f"client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;\n"
        f"uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n{servers}}}\n"
    )
    return path


def crawl(folder: Path, port: int, hosts: int, depth: int) -> tuple[int, float]:
    """Crawl all trees of a depth; return the peak in bytes, and pages a second."""
    into = folder / f"crawl{depth}"
    into.mkdir()
    seeds = [f"http://127.0.0.{10 + host}:{port}/{depth}/" for host in range(hosts)]
    began = time.monotonic()
    code, peak = run_measured(wander.write(seeds, into), Path.cwd())
    seconds = time.monotonic() - began
    attempts, addresses = wander.kept(into)
    assert (code, attempts, addresses) == (0, pages(hosts, depth), pages(hosts, depth)), (code, attempts, addresses)
    shutil.rmtree(into)
    return peak, attempts / seconds


def memory(hosts: int = HOSTS, depth: int = DEPTH) -> Iterator[Comparison]:
    """Crawl both, and compare their peaks."""
    few, many = depth, depth + 1
    with scratch() as folder:
        port = free_port()
        command = [find("nginx"), "-c", str(config(folder, port, hosts, (few, many))), "-p", str(folder)]
        with running(command, folder / "log", port, "127.0.0.10"):
            small, _ = crawl(folder, port, hosts, few)
            large, speed = crawl(folder, port, hosts, many)
        note = f"sum of PSS over the process tree; {speed:,.0f} pages/s, {place(folder)}, load {os.getloadavg()[0]:.1f}"
        yield Comparison(
            f"peak memory, {pages(hosts, many):,} pages of {hosts} hosts", "MB", large / 1e6,
            f"windrow with {pages(hosts, few):,}", small / 1e6, FLAT, "less", note,
        )  # fmt: skip
