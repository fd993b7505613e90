"""Ports that tests choose for servers."""

from __future__ import annotations

import socket

import pytest
from benchmarks.daemon import free_port


def test_a_free_port_is_given_to_nobody_else_and_a_server_can_listen_on_it() -> None:
    port = free_port()
    with socket.socket() as listener, pytest.raises(OSError, match="in use"):
        listener.bind(("127.0.0.1", port))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    with socket.create_server(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)) as line:
        assert line.getpeername()[1] == port
    assert free_port() != port
