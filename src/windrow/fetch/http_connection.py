"""A line to a web server: one question at a time, and no more work for an answer than there are bytes in it."""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import Iterable

from windrow.errors import WindrowError
from windrow.formats.answer import AnswerReader

REST = 15.0
"""Seconds after which a line is not used again: many servers and routers have forgotten it by then."""

_BLOCK = memoryview(bytearray(1 << 17))
"""Where bytes arrive: they are gone from it before another line of this process's one loop can get any."""


class StaleConnection(Exception):
    """The line was closed at the other end before it was used again."""


class EnoughRead(Exception):
    """What takes an answer wants no more of it."""


class HttpConnection(asyncio.BufferedProtocol):
    """A connection; one question at a time. Whoever asks looks first whether it is `usable`."""

    def __init__(self) -> None:
        """Begin unconnected."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader: AnswerReader | None = None
        self._answered: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._until = 0.0  # when an answer is late, or the line has rested long enough
        self._end = self._silence = 0.0  # when an answer is late at last, and how long nothing may come
        self._full: asyncio.Future[None] | None = None  # as long as the other end takes no more
        self.fresh = True
        self.usable = True

    def pause_writing(self) -> None:
        """Note that what is to be sent piles up."""
        self._full = self._loop.create_future()

    def resume_writing(self) -> None:
        """Note that it is sent."""
        if self._full is not None and not self._full.done():
            self._full.set_result(None)
        self._full = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 the shape of its kind
        """Say where to put what comes."""
        return _BLOCK

    def buffer_updated(self, nbytes: int) -> None:
        """Hand on what came."""
        reader = self._reader
        if reader is None:
            self.close()  # it speaks unasked
            return
        self._until = min(self._end, self._loop.time() + self._silence)
        try:
            reader.feed(_BLOCK[:nbytes])
        except (WindrowError, EnoughRead) as error:  # what the sink or the reader says is told to who asked
            self._finish(error)
            return
        if reader.done:
            self._finish(None)

    def eof_received(self) -> None:
        """Take the end of what the server says; nothing is left to say for us either."""
        self._lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Take the end of the line."""
        self._lost(exc)

    def _lost(self, error: Exception | None) -> None:
        self.usable = False
        self.resume_writing()
        reader = self._reader
        if reader is None:
            return
        if not self.fresh and not reader.begun:
            self._finish(StaleConnection())
            return
        why = error
        if why is None:
            try:
                reader.end()
            except WindrowError as fault:
                why = fault
        self._finish(why)

    def _finish(self, error: Exception | None) -> None:
        reader, answered = self._reader, self._answered
        self._reader = self._answered = None
        self.resume_writing()  # who sends looks whether it is of use
        if reader is None or answered is None or answered.done():
            return
        if error is not None or not reader.keep:
            self.close()
        if error is not None:
            answered.set_exception(error)
        else:
            answered.set_result(None)

    async def ask(
        self, request: bytes, reader: AnswerReader, seconds: float, silence: float, body: Iterable[bytes] = ()
    ) -> None:
        """Send a request, and the blocks of its body, and wait until its answer is through.

        That takes `seconds` at most, `silence` of them without a word or a block that goes out.
        """
        assert self._transport is not None
        self._reader = reader
        answered = self._answered = self._loop.create_future()
        now = self._loop.time()
        self._end, self._silence = now + seconds, silence
        self._until = min(self._end, now + silence)
        if self._alarm is None:
            self._alarm = self._loop.call_at(self._until, self._late)
        elif self._alarm.when() > self._until:
            self._alarm.cancel()
            self._alarm = self._loop.call_at(self._until, self._late)
        try:
            self._transport.write(request)
            for block in body:
                self._transport.write(block)
                await (self._full or asyncio.sleep(0))
                if answered.done():
                    self.close()  # it was answered before all was sent: the rest would be taken for another question
                    break
                self._until = min(self._end, self._loop.time() + silence)
            await answered
        except BaseException:
            self._reader = None
            self.close()
            raise
        self.fresh = False
        self._until = self._loop.time() + REST

    def lift_deadline(self) -> None:
        """Let the rest of an answer take as long as it will, while something comes."""
        self._end = math.inf
        self._until = self._loop.time() + self._silence

    async def start_tls(self, context: ssl.SSLContext, host: str, seconds: float) -> None:
        """Encrypt what comes and goes from now on; the other end shows a certificate of `host` within some seconds.

        The connection is closed where that fails.
        """
        assert self._transport is not None
        self._cancel_alarm()  # a handshake may take longer than a connection rests
        transport = None
        try:
            if self.usable:
                async with asyncio.timeout(seconds):
                    # Its own limit comes later, since it would not be told as a timeout.
                    transport = await self._loop.start_tls(
                        self._transport, self, context, server_hostname=host, ssl_handshake_timeout=2 * seconds
                    )
        except BaseException:
            self.close()
            raise
        if transport is None or not self.usable:
            self.close()
            raise ConnectionResetError("the connection ended before it was encrypted")
        self._transport, self.fresh = transport, True

    def _late(self) -> None:
        """Look whether it is too late: one alarm serves many questions, since it is set anew only when it rings."""
        if self._loop.time() < self._until:
            self._alarm = self._loop.call_at(self._until, self._late)
            return
        self._alarm = None
        if self._reader is None:
            self.close()
        else:
            late = self._loop.time() >= self._end
            self._finish(TimeoutError("" if late else f"nothing came for {self._silence:g} seconds"))

    def close(self) -> None:
        """End the line at once."""
        self.usable = False
        self._cancel_alarm()
        if self._transport is not None:
            self._transport.abort()

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
