"""A web server for the tests: nginx with index pages, over http and https, open and with a password."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from benchmarks.daemon import free_port, listens

from tests.servers.daemon import find, home, running
from tests.servers.tls import Certificates
from tests.servers.tree import Served, fill
from windrow.model import Allowed, Secret, Site

CONFIG = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
{user}
events {{ worker_connections 256; }}
http {{
  log_format plain '$msec $status $request_uri'; access_log {folder}/access.log plain; default_type application/octet-stream; types {{ text/html html; }}
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{
    listen 127.0.0.1:{plain}; listen 127.0.0.1:{secure} ssl;
    ssl_certificate {certificates.certificate}; ssl_certificate_key {folder}/key.pem;
    location /drop/ {{ alias {root}/; autoindex on; autoindex_exact_size on; }}
    location /shut/ {{
      alias {root}/; autoindex on; auth_basic "shut"; auth_basic_user_file {folder}/users;
    }}
    location /moved/ {{ return 302 /drop/add/small.zip; }}
    location /gone/ {{ return 410; }}
    location /denied/ {{ return 403; }}
    location /broken/ {{ return 500; }}
    location /busy/ {{ add_header Retry-After 7 always; return 429; }}
  }}
}}
"""


@dataclass(frozen=True)
class Web:
    """One nginx: `plain` is its http site, `open` and `shut` are https, the latter with a password."""

    plain: Site
    open: Site
    shut: Site
    root: Path
    log: Path  # a line for each request: when it ended, status, path

    def folder(self, name: str) -> tuple[Path, str, str]:
        """Make a folder of its http site; return it, the site's origin, and the folder's path there."""
        path = self.root / name
        path.mkdir(exist_ok=True)
        return path, f"http://127.0.0.1:{self.plain.port}", f"/drop/{name}/"


@pytest.fixture(scope="session")
def nginx(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """Run nginx over a filled folder."""
    program, plain, secure = find("nginx"), free_port(), free_port()
    words = tmp_path_factory.mktemp("words")
    (words / "word").write_text("open sesame\n")
    owner = "www-data" if os.getuid() == 0 else ""
    with home("root") as folder:
        root = fill(folder / "root")
        (folder / "users").write_text("windrow:{PLAIN}open sesame\n")
        (folder / "key.pem").write_bytes(certificates.key.read_bytes())
        (folder / "nginx.conf").write_text(
            CONFIG.format(
                folder=folder,
                plain=plain,
                secure=secure,
                certificates=certificates,
                root=root,
                user=owner and f"user {owner};",
            )
        )
        site = Site(
            "https",
            "127.0.0.1",
            secure,
            base="/drop/",
            ca_bundle=str(certificates.authority),
            timeout=60,
            allowed=Allowed(everything=True),
        )
        with running(
            [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")],
            folder / "log",
            lambda: listens(plain) and listens(secure),
        ):
            shut = replace(site, base="/shut/", username="windrow", secret=Secret(f"file:{words}/word"))
            yield Web(replace(site, scheme="http", port=plain, ca_bundle=""), site, shut, root, folder / "access.log")


@pytest.fixture(scope="session")
def nginx_shut(nginx: Web, tmp_path_factory: pytest.TempPathFactory) -> Served:
    """Offer the tree over https with a password."""
    wrong = tmp_path_factory.mktemp("wrong") / "word"
    wrong.write_text("open barley")
    return Served(nginx.shut, replace(nginx.shut, secret=Secret(f"file:{wrong}")), nginx.root)


@pytest.fixture(scope="session")
def folder_served(tree: Path) -> Served:
    """Offer the tree as a folder of this machine."""
    return Served(Site("file", base=str(tree)), None, tree)
