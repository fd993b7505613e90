"""The command `windrow` for a shell: forked from the process that has it loaded (`tests.programs`), in a tenth of the time.

It is started without this repository's modules. It waits for the program's end, and returns its exit code; if it is
killed, so is the program.
"""

import os
import pickle
import socket
import struct
import sys
import time
from typing import Any

with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.environ["TEST_PROGRAMS"])

    def ask(question: dict[str, Any], *descriptors: int) -> Any:
        """Send a question in the form of `multiprocessing.connection.Connection`, and return the answer."""
        message = pickle.dumps(question)
        server.sendall(struct.pack("!i", len(message)) + message)
        if descriptors:
            socket.send_fds(server, [bytes([len(descriptors)])], descriptors)
        length = struct.unpack("!i", server.recv(4, socket.MSG_WAITALL))[0]
        return pickle.loads(server.recv(length, socket.MSG_WAITALL))

    words = ["-m", "windrow", *sys.argv[1:]]
    pid = ask({"words": words, "cwd": os.getcwd(), "env": dict(os.environ)}, 0, 1, 2)  # noqa: PTH109 its import is slow
    while (code := ask({"poll": pid})) is None:
        time.sleep(0.01)
sys.exit(code if code >= 0 else 128 - code)
