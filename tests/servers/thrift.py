"""A gateway with the methods of HBase's Thrift interface that windrow uses, whose answers a test gives."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.servers.daemon import driver


class Gateway:
    """Answers as an empty table with the families `families`; a test replaces methods."""

    def __init__(self, name: str, families: tuple[str, ...]) -> None:
        driver("happybase")  # loads the module Hbase_thrift
        self.thrift = driver("Hbase_thrift")
        self.name = name.encode()
        self.families = {f"{family}:".encode(): self.thrift.ColumnDescriptor(
            name=f"{family}:".encode(), maxVersions=1, compression="SNAPPY") for family in families}  # fmt: skip
        self.calls = 0

    def row(self, key: bytes, **cells: bytes) -> Any:
        """Return a row; the names of cells have `__` in place of a colon."""
        columns = {name.replace("__", ":").encode(): self.thrift.TCell(cell, 1) for name, cell in cells.items()}
        return self.thrift.TRowResult(row=key, columns=columns)

    def getTableNames(self) -> list[bytes]:  # noqa: N802 as in HBase
        return [self.name]

    def getColumnDescriptors(self, _name: bytes) -> dict[bytes, Any]:  # noqa: N802 as in HBase
        return self.families

    def getRows(self, _name: bytes, _rows: list[bytes], _attributes: object) -> list[Any]:  # noqa: N802 as in HBase
        return []

    def getRowsWithColumns(self, _name: bytes, rows: list[bytes], _columns: object, attributes: object) -> list[Any]:  # noqa: N802 as in HBase
        return self.getRows(self.name, rows, attributes)

    def scannerOpenWithScan(self, _name: bytes, _scan: object, _attributes: object) -> int:  # noqa: N802 as in HBase
        return 1

    def scannerGetList(self, _scanner: int, _count: int) -> list[Any]:  # noqa: N802 as in HBase
        return []

    def scannerClose(self, _scanner: int) -> None:  # noqa: N802 as in HBase
        pass

    def mutateRows(self, _name: bytes, _batches: object, _attributes: object) -> None:  # noqa: N802 as in HBase
        pass


def is_listening(port: int) -> bool:
    """Return whether a server accepts connections on a port of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def serving_gateway(gateway: Gateway) -> Iterator[int]:
    """Serve a gateway on a port of this machine."""
    rpc, protocol = driver("thriftpy2.rpc"), driver("thriftpy2.protocol")
    transport = driver("thriftpy2.transport")
    with socket.socket() as reservation:
        reservation.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEPORT, 1
        )  # as the server's, so that both can have the port
        reservation.bind(("127.0.0.1", 0))
        port = reservation.getsockname()[1]
        server = rpc.make_server(
            gateway.thrift.Hbase, gateway, "127.0.0.1", port, proto_factory=protocol.TCompactProtocolFactory(),
            trans_factory=transport.TFramedTransportFactory(), client_timeout=10_000,
        )  # fmt: skip
        server.daemon = True
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        while not is_listening(port):
            time.sleep(0.01)
    yield port
    server.close()
    server.trans.close()  # ends the call that waits for the next connection
    thread.join()


@contextmanager
def serving_bytes(answer: bytes) -> Iterator[int]:
    """Serve the same bytes to every connection on a port of this machine, once it has sent something, and close it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, suppress(OSError):
                        connection.recv(1 << 16)
                        connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
