"""The WebSocket of a device: one reader, one writer, and faults on demand.

Headers and the order of steps follow WebsocketProtocol::OpenAudioChannel in
main/protocols/websocket_protocol.cc.
"""

from __future__ import annotations

import asyncio
import math
import socket
import struct
from collections import deque
from typing import Final, Literal, Protocol

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.protocol import State

from firmware_test_client.errors import ConnectError, Disconnected
from firmware_test_client.records import CloseInfo

HardClose = Literal["reset", "fin", "half_open"]
_PONG: Final = b"\x8a"  # FIN and opcode 0xA (RFC 6455 section 5.2): how a pong frame begins
_ABNORMAL: Final = 1006  # RFC 6455 section 7.1.5: closed without a close frame


class ChannelObserver(Protocol):
    """Receives the messages of a channel, and its end."""

    def on_message(self, data: str | bytes) -> None:
        """A text or binary message has arrived."""

    def on_sent(self, data: str | bytes) -> None:
        """A message is about to be written to the socket."""

    def on_closed(self, close: CloseInfo) -> None:
        """The connection is gone; called once, also after the device's own close."""


class Channel:
    """One connection. `send` never waits; what cannot be written at once, a writer task writes.

    Args:
        observer: receives messages and the end.
        pong_delay: seconds before a ping is answered, None: at once, inf: never.
    """

    def __init__(self, observer: ChannelObserver, pong_delay: float | None = None) -> None:
        self._observer = observer
        self._pong_delay = pong_delay
        self._socket: ClientConnection | None = None
        self._outgoing: deque[str | bytes] = deque()
        self._wake = asyncio.Event()
        self._written = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_read = asyncio.Event()
        self._may_write.set()
        self._may_read.set()
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False
        self._close: CloseInfo | None = None

    @property
    def open(self) -> bool:
        """Whether messages can be sent."""
        return self._socket is not None and not self._closed

    @property
    def waiting(self) -> int:
        """Messages not yet written, for instance while the uplink is stalled."""
        return len(self._outgoing)

    async def connect(self, url: str, headers: dict[str, str], timeout: float) -> None:
        """Open the socket.

        Raises:
            ConnectError: refused, unreachable, or no upgrade; with the HTTP status if there is one.
        """
        try:
            self._socket = await connect(
                url,
                additional_headers=headers,
                user_agent_header=None,
                compression=None,
                open_timeout=timeout,
                ping_interval=None,  # the firmware sends no pings
                close_timeout=1,
                max_size=None,
                proxy=None,
                create_connection=_connection_type(self._pong_delay),
            )
        except InvalidStatus as error:
            status = error.response.status_code
            raise ConnectError(f"{url} answered HTTP {status}", status) from error
        except (OSError, InvalidHandshake, InvalidURI, TimeoutError) as error:
            text = str(error) or type(error).__name__
            raise ConnectError(f"cannot connect to {url}: {text}") from error
        self._tasks = [
            asyncio.create_task(self._read(self._socket), name="device-reader"),
            asyncio.create_task(self._write(self._socket), name="device-writer"),
        ]

    def send(self, data: str | bytes) -> bool:
        """Write or queue a message; False when there is no connection."""
        if self._socket is None or self._closed:
            return False
        if not self._outgoing and self._may_write.is_set() and self._send_now(self._socket, data):
            return True
        self._outgoing.append(data)
        self._written.clear()
        self._wake.set()
        return True

    def _send_now(self, connection: ClientConnection, data: str | bytes) -> bool:
        """Write a message if the transport takes it now; return whether it did.

        `connection.send` and a task's turn to call it would be most of the cost of a device that
        only talks.
        """
        protocol = connection.protocol
        if connection.paused or protocol.state is not State.OPEN:
            return False
        if connection.transport.is_closing():
            return False
        self._observer.on_sent(data)
        if isinstance(data, str):
            protocol.send_text(data.encode())
        else:
            protocol.send_binary(data)
        connection.send_data()
        return True

    async def flush(self) -> None:
        """Wait until everything queued is written; during a stall, do not wait.

        Raises:
            Disconnected: the connection ended first.
        """
        if self.open and self._outgoing and self._may_write.is_set():
            await self._written.wait()
        if not self.open:
            raise Disconnected(self._why_closed())

    def stall(self) -> None:
        """Hold back everything that is sent from now on."""
        self._may_write.clear()

    def release(self) -> None:
        """End a stall: send everything that was held back in one burst."""
        self._may_write.set()

    def stop_reading(self) -> None:
        """Leave incoming data in the socket, so that the server's send buffer fills up."""
        self._may_read.clear()
        if self._socket is not None:
            self._socket.transport.pause_reading()

    def resume_reading(self) -> None:
        """End `stop_reading`."""
        if self._socket is not None and self._socket.transport.is_reading() is False:
            self._socket.transport.resume_reading()
        self._may_read.set()

    async def ping(self, timeout: float) -> float:
        """Send a WebSocket ping; the round trip in seconds.

        Raises:
            Disconnected: no pong in time, or no connection.
        """
        if self._socket is None or self._closed:
            raise Disconnected(self._why_closed())
        try:
            async with asyncio.timeout(timeout):
                return await (await self._socket.ping())
        except (TimeoutError, ConnectionClosed) as error:
            raise Disconnected(f"no pong within {timeout:g} s") from error

    async def close(self) -> None:
        """Close with a close frame and wait for the reader to see it."""
        self.release()
        self.resume_reading()
        if self._socket is not None and not self._closed:
            await self._socket.close()
        await self._end_tasks()

    def abort(self, how: HardClose) -> None:
        """End without a close frame: by RST, by FIN, or by permanent silence."""
        if self._socket is None:
            return
        if how == "half_open":
            self.stall()
            self.stop_reading()
            return
        raw = self._socket.transport.get_extra_info("socket")
        if how == "reset" and raw is not None:
            # Linger of zero seconds: close() sends RST and drops what is unsent (socket(7)).
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.transport.abort()
        self._may_read.set()

    async def _end_tasks(self) -> None:
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            if task.get_name() == "device-writer":
                task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.result()  # raises what is a defect of this package

    async def _read(self, connection: ClientConnection) -> None:
        try:
            while True:
                if not self._may_read.is_set():
                    await self._may_read.wait()
                self._observer.on_message(await connection.recv())
        except ConnectionClosed as error:
            frame = error.rcvd or error.sent  # the server's close frame first, else our own
            code = frame.code if frame is not None else _ABNORMAL
            reason = frame.reason if frame is not None else ""
            self._ended(CloseInfo(int(code), reason, asyncio.get_running_loop().time()))
        finally:
            # Without the above: a defect in the observer. Waits must end all the same.
            now = asyncio.get_running_loop().time()
            self._ended(CloseInfo(_ABNORMAL, "the reader failed", now))

    def _why_closed(self) -> str:
        if self._close is None:
            return "the connection is closed"
        return f"the connection was closed with {self._close.code} {self._close.reason}".rstrip()

    def _ended(self, close: CloseInfo) -> None:
        if self._closed:
            return
        self._closed = True
        self._close = close
        self._outgoing.clear()
        self._written.set()
        self._wake.set()
        self._observer.on_closed(close)

    async def _write(self, connection: ClientConnection) -> None:
        while not self._closed:
            await self._wake.wait()
            self._wake.clear()
            while self._outgoing and not self._closed:
                if not self._may_write.is_set():
                    await self._may_write.wait()
                    continue
                data = self._outgoing[0]
                self._observer.on_sent(data)
                try:
                    await connection.send(data)
                except ConnectionClosed:
                    return  # the reader reports the end
                if self._outgoing:
                    self._outgoing.popleft()
            self._written.set()


def _connection_type(pong_delay: float | None) -> type[ClientConnection]:
    if pong_delay is None:
        return ClientConnection

    delay: float = pong_delay

    class SlowPong(ClientConnection):
        """Delays pongs; sends everything else at once."""

        def send_data(self) -> None:
            held = [data for data in self.protocol.writes if data[:1] == _PONG]
            self.protocol.writes = [data for data in self.protocol.writes if data[:1] != _PONG]
            super().send_data()
            if math.isinf(delay):
                return
            for data in held:
                self.loop.call_later(delay, self._write_late, data)

        def _write_late(self, data: bytes) -> None:
            if not self.transport.is_closing():
                self.transport.write(data)

    return SlowPong
