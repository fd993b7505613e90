"""A certificate authority for one test session, and a certificate of it for loopback."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers.daemon import driver


@dataclass(frozen=True)
class Certificates:
    """The paths of the PEM files; `stranger` is an authority that signed none of them."""

    authority: Path
    certificate: Path
    key: Path
    stranger: Path


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Certificates]:
    """Make an authority and a certificate for 127.0.0.1, localhost and a.example."""
    trustme = driver("trustme")
    folder = tmp_path_factory.mktemp("tls")
    authority, stranger = trustme.CA(), trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost", "a.example")
    files = Certificates(folder / "ca.pem", folder / "cert.pem", folder / "key.pem", folder / "other.pem")
    authority.cert_pem.write_to_path(str(files.authority))
    stranger.cert_pem.write_to_path(str(files.stranger))
    issued.private_key_pem.write_to_path(str(files.key))
    files.certificate.write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
    yield files
