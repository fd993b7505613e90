"""A web of pages behind nginx on loopback: several hosts, every page linked from the host's index."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.daemon import find, running

WORDS = [
    f"{a}{b}" for a in ("ba", "de", "ki", "lo", "mu", "ra", "si", "to") for b in ("nd", "rk", "lt", "mp", "st", "ve")
]


def make_site(folder: Path, pages: int, seed: int, *, size: int = 30_000, links: int = 135) -> list[str]:
    """Write `pages` pages of about `size` bytes; return their paths below the host's root."""
    dice = random.Random(seed)
    names = [f"p/{number:05}.html" for number in range(pages)]
    (folder / "p").mkdir(parents=True)
    for name in names:
        anchors = [f'<li><a href="/{dice.choice(names)}">{dice.choice(WORDS)}</a></li>' for _ in range(links)]
        text: list[str] = []
        while sum(map(len, text)) < size - 40 * links - 300:
            text.append(f"<p>{' '.join(dice.choices(WORDS, k=60))}.</p>")
        body = "\n".join([*text, "<ul>", *anchors, "</ul>"])
        page = f"<!doctype html><html><head><title>{name}</title></head><body><h1>{name}</h1>\n{body}</body></html>"
        (folder / name).write_text(page)
    index = "".join(f'<a href="/{name}">{name}</a>\n' for name in names)
    (folder / "index.html").write_text(f"<!doctype html><title>index</title><body>{index}</body>")
    (folder / "manifest.txt").write_text("\n".join(names))
    return names


@contextmanager
def nginx(folder: Path, roots: dict[str, Path], port: int) -> Iterator[None]:
    """Serve each address (127.0.0.N) from its root until the block ends."""
    servers = "".join(
        f"server {{ listen {address}:{port}; root {root}; index index.html; }}\n" for address, root in roots.items()
    )
    config = folder / "nginx.conf"
    user = "user root;" if os.getuid() == 0 else ""
    config.write_text(
        f"{user} worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        "events { worker_connections 512; }\n"
        f"http {{ types {{ text/html html; text/plain txt; }} access_log off; sendfile on; keepalive_requests 100000;\n"
        f"client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;\n"
        f"uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n{servers}}}\n"
    )
    command = [find("nginx"), "-c", str(config), "-p", str(folder)]
    with running(command, folder / "nginx.log", port, next(iter(roots))):
        yield
