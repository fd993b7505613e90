"""vsftpd and OpenSSH's sshd over a folder, and how windrow, lftp and sftp reach them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.daemon import account, find, free_port, running
from windrow.model import Secret, Site


class Server(NamedTuple):
    """A server that runs. `root` is its folder on this disk, `base` the same folder as clients name it."""

    site: Site
    root: Path
    base: str
    lftp: str  # the commands that open it in lftp
    sftp: tuple[str, ...] = ()  # the words before the file's address

    def at(self, base: str) -> Site:
        """Return the site with its base at a folder below the root."""
        return Site(**{name: getattr(self.site, name) for name in self.site.__slots__} | {"base": base})


@contextmanager
def vsftpd(root: Path, folder: Path) -> Iterator[Server]:
    """Serve `root` over FTP, in the clear; `folder` is for the server's own files."""
    program, port = find("vsftpd"), free_port()
    folder.mkdir()
    (folder / "empty").mkdir()
    with account("ftp") as (name, word):
        (folder / "word").write_text(word)
        settings = [
            *("listen=YES", "listen_address=127.0.0.1", f"listen_port={port}", "background=NO", "local_enable=YES"),
            *("write_enable=NO", "anonymous_enable=NO", "chroot_local_user=YES", f"local_root={root}"),
            *("allow_writeable_chroot=YES", f"secure_chroot_dir={folder / 'empty'}", "pam_service_name=vsftpd"),
            *("pasv_address=127.0.0.1", "xferlog_enable=NO"),
        ]
        config = folder / "vsftpd.conf"
        config.write_text("\n".join(settings) + "\n")
        site = Site("ftp", "127.0.0.1", port, name, Secret(f"file:{folder / 'word'}"))
        lftp = f"set ftp:ssl-allow no; open -u {name},{word} -p {port} 127.0.0.1"
        with running([program, str(config)], folder / "log", port):
            yield Server(site, root, "/", lftp)


@contextmanager
def sshd(root: Path, folder: Path) -> Iterator[Server]:
    """Serve `root` over SFTP, the server running wholly as an ordinary user who logs in by key."""
    program, keygen, setpriv, port = find("sshd"), find("ssh-keygen"), find("setpriv"), free_port()
    folder.mkdir()
    with account("sftp") as (name, _):
        for kind in ("host", "own"):
            subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / kind)], check=True)
        shutil.copyfile(folder / "own.pub", folder / "authorized")
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, name)
        # The peers' ssh wants the private key to be its own user's.
        shutil.copyfile(folder / "own", mine := folder / "mine")
        mine.chmod(0o600)
        (folder / "config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile {folder}/pid\n"
            f"AuthorizedKeysFile {folder}/authorized\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            "UsePAM no\nStrictModes no\nPermitTTY no\nAllowTcpForwarding no\nMaxStartups 100\n"
            f"Subsystem sftp internal-sftp\nForceCommand internal-sftp -d {root}\n"
        )
        shown = subprocess.run([keygen, "-lf", str(folder / "host.pub")], check=True, capture_output=True, text=True)
        site = Site(
            "sftp", "127.0.0.1", port, name, key=Secret(f"file:{mine}"), base=str(root),
            host_keys=(shown.stdout.split()[1],),
        )  # fmt: skip
        words = ["-F", "none", "-i", str(mine), "-o", "StrictHostKeyChecking=no", "-o", "BatchMode=yes"]
        words += ["-o", "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes", "-o", "LogLevel=ERROR"]
        lftp = f'set sftp:connect-program "ssh -a -x {" ".join(words)}"; open -u {name}, -p {port} sftp://127.0.0.1'
        number = ["--reuid", name, "--regid", str(_group(name)), "--clear-groups", "--pdeathsig=TERM"]
        command = [setpriv, *number, program, "-D", "-e", "-f", str(folder / "config")]
        with running(command, folder / "log", port):
            yield Server(site, root, str(root), lftp, ("sftp", "-q", "-P", str(port), *words, f"{name}@127.0.0.1"))


def _group(name: str) -> int:
    return int(subprocess.run(["id", "-g", name], check=True, capture_output=True, text=True).stdout)


def is_root() -> bool:
    """Return whether servers that need a user of their own can run."""
    return os.getuid() == 0
