"""FTP servers for the tests: vsftpd, plain and with TLS, and pyftpdlib, with all and with few commands."""

from __future__ import annotations

import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.daemon import free_port, listens

from tests.servers.account import account
from tests.servers.daemon import driver, find, home, running
from tests.servers.tls import Certificates
from tests.servers.tree import Served, fill
from windrow.model import Allowed, Secret, Site


@dataclass(frozen=True)
class Account:
    """A user of this machine, made for the session."""

    name: str
    word: Secret
    wrong: Secret
    root: Path


@pytest.fixture(scope="session")
def ftp_account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """Make a local user whose password is in a file; vsftpd accepts no other users."""
    find("vsftpd")
    folder = tmp_path_factory.mktemp("word")
    with account("ftp") as (name, word), home("root") as root:
        (folder / "word").write_text(f"{word}\n")
        (folder / "wrong").write_text("open barley")
        right, wrong = (Secret(f"file:{folder / kind}") for kind in ("word", "wrong"))
        yield Account(name, right, wrong, fill(root))


@contextmanager
def vsftpd(user: Account, folder: Path, *more: str) -> Iterator[Served]:
    """Run vsftpd with additional lines in its configuration."""
    port = free_port()
    (folder / "empty").mkdir()
    settings = [
        *("listen=YES", "listen_address=127.0.0.1", f"listen_port={port}", "background=NO", "local_enable=YES"),
        *("write_enable=NO", "anonymous_enable=NO", "chroot_local_user=YES", f"local_root={user.root}"),
        *("allow_writeable_chroot=YES", f"secure_chroot_dir={folder / 'empty'}", "pam_service_name=vsftpd"),
        *("pasv_address=127.0.0.1", "xferlog_enable=NO", "max_login_fails=1", "delay_failed_login=0", *more),
    ]
    config = folder / "vsftpd.conf"
    config.write_text("\n".join(settings) + "\n")
    site = Site("ftp", "127.0.0.1", port, user.name, user.word, timeout=60, allowed=Allowed(everything=True))
    with running([find("vsftpd"), str(config)], folder / "log", lambda: listens(port)):
        yield Served(site, replace(site, secret=user.wrong), user.root)


@pytest.fixture(scope="session")
def vsftpd_plain(ftp_account: Account) -> Iterator[Served]:
    """Offer the tree by vsftpd, unencrypted."""
    with home("root") as folder, vsftpd(ftp_account, folder) as served:
        yield served


@pytest.fixture(scope="session")
def vsftpd_tls(ftp_account: Account, certificates: Certificates) -> Iterator[Served]:
    """Offer the tree by vsftpd, which requires TLS and the same TLS session on data connections."""
    lines = (
        *("ssl_enable=YES", f"rsa_cert_file={certificates.certificate}", f"rsa_private_key_file={certificates.key}"),
        *("force_local_logins_ssl=YES", "force_local_data_ssl=YES", "require_ssl_reuse=YES", "ssl_ciphers=HIGH"),
    )
    with home("root") as folder, vsftpd(ftp_account, folder, *lines) as served:
        secure: dict[str, Any] = {"scheme": "ftps", "ca_bundle": str(certificates.authority)}
        assert served.wrong
        yield Served(replace(served.site, **secure), replace(served.wrong, **secure), served.root)


@contextmanager
def pyftpd(root: Path, folder: Path, *lacking: str, host: str = "127.0.0.1", **settings: Any) -> Iterator[Served]:
    """Run pyftpdlib in a thread, without the commands named; settings are the handler's own."""
    with warnings.catch_warnings():  # on 3.11 it still imports modules that 3.12 has no more
        warnings.simplefilter("ignore", DeprecationWarning)
        handlers, ioloop = driver("pyftpdlib.handlers"), driver("pyftpdlib.ioloop")
        authorizers, servers = driver("pyftpdlib.authorizers"), driver("pyftpdlib.servers")

    authorizer = authorizers.DummyAuthorizer()
    authorizer.add_user("windrow", "open sesame", str(root), perm="elr")
    known = {name: properties for name, properties in handlers.FTPHandler.proto_cmds.items() if name not in lacking}
    handler = type(
        "Handler",
        (handlers.FTPHandler,),
        {"authorizer": authorizer, "proto_cmds": known, "auth_failed_timeout": 0, "use_gmt_times": True, **settings},
    )
    # Not its own choice, epoll: that may hang up on a new connection, whose number one closed in the same poll had.
    loop = ioloop.Select()
    server = servers.FTPServer((host, 0), handler, ioloop=loop)
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            server.serve_forever(timeout=0.05, blocking=False, handle_exit=False)
        server.close_all()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    (folder / "word").write_text("open sesame\n")
    (folder / "wrong").write_text("open barley")
    site = Site(
        "ftp",
        host,
        server.address[1],
        "windrow",
        Secret(f"file:{folder / 'word'}"),
        timeout=60,
        allowed=Allowed(everything=True),
    )
    try:
        yield Served(site, replace(site, secret=Secret(f"file:{folder / 'wrong'}")), root)
    finally:
        stop.set()
        thread.join(10)


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a filled folder that several servers offer; no test writes to it."""
    return fill(tmp_path_factory.mktemp("tree"))


@pytest.fixture(scope="session")
def pyftpd_whole(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Offer the tree by pyftpdlib, which has MLSD."""
    with pyftpd(tree, tmp_path_factory.mktemp("pyftpd")) as served:
        yield served


@pytest.fixture(scope="session")
def pyftpd_poor(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Offer the tree by a server with hardly more commands than RFC 959."""
    lacking = ("FEAT", "MLSD", "MLST", "SIZE", "MDTM", "EPSV", "EPRT", "OPTS")
    with pyftpd(tree, tmp_path_factory.mktemp("poor"), *lacking) as served:
        yield served


@pytest.fixture(scope="session")
def pyftpd_six(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Offer the tree over IPv6; skip if the loopback interface has no IPv6 address."""
    if not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists():
        pytest.skip("this machine has no IPv6")
    with pyftpd(tree, tmp_path_factory.mktemp("six"), host="::1") as served:
        yield served
