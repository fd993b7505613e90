"""SFTP servers for the tests: OpenSSH, by key, and asyncssh's own, by password."""

from __future__ import annotations

import asyncio
import getpass
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.daemon import free_port, listens

from tests.servers.account import account
from tests.servers.daemon import driver, drop_root, find, home, running
from tests.servers.tree import Served, fill
from tests.waiting import PATIENCE
from windrow.model import Allowed, Secret, Site


def private(folder: Path, name: str, user: str, passphrase: str | None = None) -> Any:
    """Write a new ed25519 key that `user` owns; return it."""
    key = driver("asyncssh").generate_private_key("ssh-ed25519")
    path = folder / name
    path.write_bytes(key.export_private_key(passphrase=passphrase))
    path.chmod(0o600)
    if os.getuid() == 0:
        shutil.chown(path, user)
    return key


@pytest.fixture(scope="session")
def sshd() -> Iterator[Served]:
    """Run OpenSSH's server wholly as an ordinary user; it takes one key."""
    program, port = find("sshd"), free_port()
    with ExitStack() as stack:
        user = stack.enter_context(account("sftp"))[0] if os.getuid() == 0 else getpass.getuser()
        folder = stack.enter_context(home(user))
        root = fill(folder / "root")
        host = private(folder, "host", user)
        own = private(folder, "own", user)
        private(folder, "stranger", user)
        (folder / "authorized").write_bytes(own.export_public_key())
        (folder / "config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile {folder}/pid\n"
            f"AuthorizedKeysFile {folder}/authorized\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            "UsePAM no\nStrictModes no\nPermitTTY no\nAllowTcpForwarding no\nMaxStartups 100\n"
            f"Subsystem sftp internal-sftp\nForceCommand internal-sftp -d {root}\n"
        )
        command = [*drop_root(user), program, "-D", "-e", "-f", str(folder / "config")]
        site = Site(
            "sftp",
            "127.0.0.1",
            port,
            user,
            key=Secret(f"file:{folder}/own"),
            base=str(root),
            host_keys=(host.get_fingerprint("sha256"),),
            timeout=60,
            allowed=Allowed(everything=True),
        )
        stack.enter_context(running(command, folder / "log", lambda: listens(port)))
        yield Served(site, replace(site, key=Secret(f"file:{folder}/stranger")), root)


@contextmanager
def asyncssh_server(root: Path, folder: Path, sftp: Any = None, keys: Sequence[Any] = ()) -> Iterator[Served]:
    """Run asyncssh's server in a thread; `sftp` makes its SFTP side from a channel."""
    asyncssh: Any = driver("asyncssh")
    host = private(folder, "host", getpass.getuser())

    class Server(asyncssh.SSHServer):
        def begin_auth(self, username: str) -> bool:
            return True

        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, password: str) -> bool:
            return (username, password) == ("windrow", "open sesame")

    def make(channel: Any) -> Any:
        return asyncssh.SFTPServer(channel, chroot=os.fsencode(root))

    loop = asyncio.new_event_loop()
    ready: list[Any] = []
    started = threading.Event()

    async def serve() -> None:
        ready.append(
            await asyncssh.listen(
                "127.0.0.1", 0, server_factory=Server, server_host_keys=[host, *keys], sftp_factory=sftp or make
            )
        )
        started.set()
        await ready[0].wait_closed()
        await asyncio.sleep(0.1)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(PATIENCE)
    (folder / "word").write_text("open sesame\n")
    (folder / "wrong").write_text("open barley")
    site = Site(
        "sftp",
        "127.0.0.1",
        ready[0].get_port(),
        "windrow",
        Secret(f"file:{folder / 'word'}"),
        host_keys=(host.get_fingerprint("sha256"),),
        timeout=60,
        allowed=Allowed(everything=True),
    )
    try:
        yield Served(site, replace(site, secret=Secret(f"file:{folder / 'wrong'}")), root)
    finally:
        loop.call_soon_threadsafe(ready[0].close)
        thread.join(10)
        loop.close()


@pytest.fixture(scope="session")
def asyncssh_password(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Offer the tree by asyncssh's server, which takes a password and lacks OpenSSH's extensions."""
    with asyncssh_server(tree, tmp_path_factory.mktemp("asyncssh")) as served:
        yield served
