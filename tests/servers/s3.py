"""An S3-compatible store for the tests: S3Proxy over a folder, from Maven packages; it checks signatures."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from benchmarks.daemon import free_port, listens

from tests.servers.daemon import absent, driver, find, home, running

JARS = Path(os.environ.get("WINDROW_S3", Path(__file__).parents[2] / "build" / "s3"))
KEY = "reader:open sesame"


class S3Store(NamedTuple):
    """The address of the store, and the folder whose subfolders are its buckets; world-readable ones are public."""

    endpoint: str
    folder: Path


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Store]:
    """Start the store."""
    driver("botocore")
    java = find("java")
    if not list(JARS.glob("s3proxy-*.jar")):
        absent(f"S3Proxy ({JARS})")
    port = free_port()
    with home("root") as folder:
        (folder / "buckets").mkdir()
        (folder / "s3.conf").write_text(
            f"s3proxy.endpoint=http://127.0.0.1:{port}\ns3proxy.authorization=aws-v4\ns3proxy.identity=reader\n"
            f"s3proxy.credential=open sesame\njclouds.provider=filesystem\njclouds.filesystem.basedir={folder}/buckets\n"
        )
        heap = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command = [java, *heap, "-cp", f"{JARS}/*", "org.gaul.s3proxy.Main", "--properties", str(folder / "s3.conf")]
        with running(command, folder / "log", lambda: listens(port), end=signal.SIGKILL):
            yield S3Store(f"http://127.0.0.1:{port}", folder / "buckets")
