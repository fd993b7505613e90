"""Apache HBase with its Thrift gateway for the tests, from Maven packages: one per session."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.daemon import free_port

from tests.servers.daemon import absent, driver, drop_root, find, home, running

JARS = Path(os.environ.get("WINDROW_HBASE", Path(__file__).parents[2] / "build" / "hbase"))
OPENED = ("java.lang", "java.lang.reflect", "java.nio", "java.io", "java.net", "java.util", "java.util.concurrent",
          "sun.nio.ch", "jdk.internal.ref")  # fmt: skip
PLACES = {
    "hbase.rootdir": "file://{folder}/hbase",
    "hbase.tmp.dir": "{folder}/tmp",
    "hbase.zookeeper.property.dataDir": "{folder}/zk",
    "hbase.zookeeper.property.clientPort": "{zookeeper}",
    "hbase.zookeeper.property.clientPortAddress": "127.0.0.1",
    "hbase.zookeeper.quorum": "127.0.0.1",
    "hbase.cluster.distributed": "false",
    "hbase.unsafe.stream.capability.enforce": "false",
    "hbase.wal.provider": "filesystem",
    "hbase.master.ipc.address": "127.0.0.1",
    "hbase.regionserver.ipc.address": "127.0.0.1",
    "hbase.master.hostname": "localhost",
    "hbase.unsafe.regionserver.hostname": "localhost",
    "hbase.io.compress.snappy.codec": "org.apache.hadoop.hbase.io.compress.xerial.SnappyCodec",
    "hbase.master.port": "0",
    "hbase.regionserver.port": "0",
    "hbase.master.info.port": "-1",
    "hbase.regionserver.info.port": "-1",
}


def java(folder: Path, program: str, *words: str) -> list[str]:
    """Return the command that runs one of HBase's programs."""
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    opened.append("--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED")
    classes = f"{folder}/conf:{folder}/jars/*"
    heap = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return [*drop_root("nobody"), find("java"), *opened, *heap, "-cp", classes, program, *words, "start"]


def answers(port: int) -> bool:
    """Return whether the gateway accepts connections and its master answers."""
    happybase = driver("happybase")
    refused, broken = driver("Hbase_thrift").IOError, driver("thriftpy2.transport").TTransportException
    try:
        link = happybase.Connection("127.0.0.1", port, timeout=20_000, transport="framed", protocol="compact")
        link.tables()
        link.close()
    except (OSError, EOFError, broken, refused):
        return False
    return True


@pytest.fixture(scope="session")
def hbase_gateway() -> Iterator[str]:
    """Start HBase and its gateway; yields the gateway's address."""
    driver("happybase")
    find("java")
    if not list(JARS.glob("hbase-thrift-*.jar")):
        absent(f"HBase ({JARS})")
    zookeeper, port = free_port(), free_port()
    with home("nobody") as folder:
        (folder / "conf").mkdir(mode=0o755)
        shutil.copytree(
            JARS, folder / "jars"
        )  # the user may not enter the folder that this repository is in, such as /root
        settings = "".join(
            f"<property><name>{name}</name><value>{value.format(folder=folder, zookeeper=zookeeper)}</value></property>"
            for name, value in PLACES.items()
        )
        (folder / "conf" / "hbase-site.xml").write_text(f"<configuration>{settings}</configuration>")
        master = java(folder, "org.apache.hadoop.hbase.master.HMaster")
        gateway = java(folder, "org.apache.hadoop.hbase.thrift.ThriftServer", "-b", "127.0.0.1", "-p", str(port),
                       "--infoport", "-1", "-f", "-c", "-nonblocking")  # fmt: skip
        with (
            running(master, folder / "master.log", lambda: True, end=signal.SIGKILL),
            running(gateway, folder / "gateway.log", lambda: answers(port), end=signal.SIGKILL),
        ):
            yield f"hbase://127.0.0.1:{port}"
