"""Ways to reach a source: address scheme -> bytes."""

from windrow.transports.contract import Connection, Sink, TransferEnd, Transport

__all__ = ["Connection", "Sink", "TransferEnd", "Transport"]
