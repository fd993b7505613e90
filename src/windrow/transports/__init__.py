"""Ways to reach a source: address scheme -> bytes."""

from windrow.transports.contract import Answer, Connection, Sink, Transport

__all__ = ["Answer", "Connection", "Sink", "Transport"]
