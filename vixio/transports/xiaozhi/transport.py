"""The transport for xiaozhi devices: greets each and hands it to the session's handler."""

from __future__ import annotations

import asyncio
import logging
import traceback
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from vixio.audio.codec import load_codec, load_decoder
from vixio.audio.echo import EchoCanceller, is_installed
from vixio.core.audio import LISTEN_RATE, AudioFormat
from vixio.core.device import Device
from vixio.core.errors import ConnectionClosed, VixioError
from vixio.core.extras import how_to_install
from vixio.core.log_fields import logged_as
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.types import JsonObject
from vixio.core.transport import GOING_AWAY, DeviceToolsCallback, SessionHandler, TransportBase
from vixio.transports.admission.admission import Admission
from vixio.transports.xiaozhi.channel import Carrier, Channel
from vixio.transports.xiaozhi.connection import POLICY_VIOLATION, XiaozhiConnection
from vixio.transports.xiaozhi.hello import (
    DEFAULT_FRAME_MS,
    Hello,
    HelloRefused,
    parse_hello,
)
from vixio.transports.xiaozhi.protocol import Ignored, XiaozhiProtocol, parse_object
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.transports.xiaozhi.standing import SpeakRequests, StandingConnection
from vixio.transports.xiaozhi.wake_words import WakeWords
from vixio.transports.xiaozhi.websocket.carrier import WebSocketCarrier

INTERNAL_ERROR = 1011
STOPPING = "the server is stopping"

UNSAID = Hello(2, AudioFormat(LISTEN_RATE, DEFAULT_FRAME_MS), frozenset({"mcp"}))
"""Of a device on a standing channel, until it begins a conversation: firmware has a tool server."""

_log = logging.getLogger(__name__)


class XiaozhiTransport(TransportBase):
    """Devices of one carrier, by default the WebSocket.

    Transports that share an ``admission`` share its limits.
    """

    def __init__(
        self,
        settings: XiaozhiSettings | None = None,
        admission: Admission | None = None,
        carrier: Carrier | None = None,
    ) -> None:
        self._settings = settings if settings is not None else XiaozhiSettings()
        self.admission = admission if admission is not None else Admission()
        self._carrier = carrier or WebSocketCarrier(self._settings, self.admission)
        self._counters = self.admission.counters
        self._wake_words = WakeWords(self._settings.wake_words)
        self._handler: SessionHandler | None = None
        self._connections: dict[str, XiaozhiConnection] = {}  # by session id
        self._started = False
        self._canceller_missed = False
        self._requests = SpeakRequests()
        self._loading: asyncio.Task[None] | None = None

    @property
    def carrier(self) -> Carrier:
        """What devices come by."""
        return self._carrier

    @property
    def port(self) -> int:
        """The port that is listened on, also where the settings say 0."""
        return self._carrier.port

    @property
    def ports(self) -> Sequence[int]:
        """All that are listened on."""
        return self.carrier.ports

    async def start(self, handler: SessionHandler) -> None:
        """Listen. Raises ConfigError if the port is taken or libopus is missing."""
        await asyncio.to_thread(load_decoder)
        self._handler = handler
        await self._carrier.start(self._serve)
        self._started = True
        # No device speaks yet: what replies need is loaded behind the open port.
        self._loading = asyncio.create_task(asyncio.to_thread(load_codec))
        self.admission.start()

    async def stop(self) -> None:
        """Refuse new devices, close all (1001) and free the port. Idempotent."""
        if not self._started:
            return
        self._started = False
        self.admission.stop()
        for connection in self._connections.values():
            connection.end(STOPPING, GOING_AWAY, STOPPING)
        await self._carrier.stop()
        if self._loading is not None:
            await asyncio.wait([self._loading])

    def set_device_tools_callback(self, session_id: str, callback: DeviceToolsCallback) -> None:
        """Call ``callback`` with the device's tools, now if known and whenever they change."""
        connection = self._connections.get(session_id)
        if connection is not None:
            connection.add_tools_callback(callback)

    def stats(self) -> dict[str, Any]:
        """Return how many devices are connected, and the gauges of carrier and admission."""
        return {
            "connected": len(self._connections),
            **self._carrier.stats(),
            **self.admission.stats(),
        }

    async def _serve(self, channel: Channel) -> None:
        """Serve one device from its admission to its end. Never raises."""
        with ExitStack() as fields:
            fields.enter_context(logged_as(device=channel.identity.device_id))
            await self._serve_device(channel, fields)

    async def _serve_device(self, channel: Channel, fields: ExitStack) -> None:
        """``fields`` takes those of the log, as soon as they are known."""
        connection: XiaozhiConnection | None = None
        code, reason = 1000, ""
        try:
            hello = UNSAID if channel.standing else await self._receive_hello(channel)
            if isinstance(hello, HelloRefused):
                self._counters.add(f"xiaozhi.refused.hello.{hello.reason}")
                self.admission.refused(
                    f"hello.{hello.reason}", channel.address, channel.identity.device_id
                )
                code, reason = POLICY_VIOLATION, hello.message
                return
            connection = self._open(channel, hello)
            fields.enter_context(logged_as(session=connection.session_id))
            if not channel.standing:
                await connection.send_hello()
            await self._converse(connection, hello, channel)
        except ConnectionClosed:
            pass  # the device is gone, which is how every conversation ends
        except Exception as error:  # noqa: BLE001  one session's bug must not reach the wire or others
            self._counters.add("xiaozhi.closed.handler_failed")
            _log.error("session failed", extra=_describe(error))
            code, reason = INTERNAL_ERROR, "internal error"
        finally:
            if connection is None:
                await channel.close(code, reason)
            else:
                self._connections.pop(connection.session_id, None)
                await connection.close(code, reason)

    async def _receive_hello(self, channel: Channel) -> Hello | HelloRefused:
        timeout = self._settings.timeouts.hello
        try:
            async with asyncio.timeout(timeout):
                data = await channel.inbox.get()
        except TimeoutError:
            return HelloRefused("timeout", f"no hello within {timeout:g} s")
        except EOFError:
            raise ConnectionClosed("the device is gone") from None
        message = parse_object(data) if isinstance(data, str) else Ignored("binary")
        if isinstance(message, Ignored) or message.get("type") != "hello":
            return HelloRefused("missing", "the first message must be a hello")
        return parse_hello(message, channel.version)

    def _open(self, channel: Channel, hello: Hello) -> XiaozhiConnection:
        channel.agree(hello.version, hello.codec)
        identity = channel.identity
        stated = self.admission.firmware.get(identity.device_id)
        device = Device(
            identity.device_id,
            client_id=identity.client_id,
            address=channel.address,
            features=hello.features,
            sent_id=identity.sent_id,
            transport=channel.transport,
            protocol=str(hello.version),
            board=stated.board,
            firmware=stated.version,
            http_url=self._http_url(channel),
        )
        protocol = XiaozhiProtocol(
            str(uuid.uuid4()), hello.version, self._wake_words, standing=channel.standing
        )
        if channel.standing:
            return StandingConnection(
                channel,
                protocol,
                device,
                self._settings,
                self.admission,
                self._requests,
                self._canceller,
            )
        return XiaozhiConnection(
            channel,
            protocol,
            device,
            self._settings,
            self.admission,
            frame_ms=hello.audio.frame_ms,
            codec=hello.codec,
            echo=self._canceller(hello),
            text_font=hello.text_font,
        )

    def _canceller(self, hello: Hello) -> EchoCanceller | None:
        """Return an echo canceller for a device that leaves that to the server, if there is one."""
        if "aec" not in hello.features or hello.codec != "opus":
            return None
        if is_installed():
            return EchoCanceller()
        if not self._canceller_missed:
            self._canceller_missed = True
            _log.warning(
                "a device leaves echo cancellation to the server, which has none: it is not heard "
                "while it speaks",
                extra={"remedy": how_to_install("aec")},
            )
        return None

    async def _converse(
        self, connection: XiaozhiConnection, hello: Hello, channel: Channel
    ) -> None:
        """Run the handler with everything that goes on beside it."""
        assert self._handler is not None  # noqa: S101  start() sets it before listening
        self._counters.add("xiaozhi.connections")
        self._connections[connection.session_id] = connection
        if "mcp" in hello.features:
            connection.start_tools(self._vision(connection))
        keep_alive = asyncio.create_task(connection.keep_alive())
        try:
            await self._handler(connection)
        finally:
            await cancel_and_wait(keep_alive)

    def _http_url(self, channel: Channel) -> str:
        address = self._settings.http_address
        if address is None:
            return ""
        return address(channel.headers, channel.own_host, trust_forwarded=channel.behind_proxy)

    def _vision(self, connection: XiaozhiConnection) -> JsonObject | None:
        """Return where the device's camera posts its photos; None without a vision service."""
        offer, device = self._settings.vision, connection.device
        if offer is None or not device.http_url:
            return None
        return offer(connection.session_id, device.id, device.http_url)


def _describe(error: BaseException) -> dict[str, str]:
    """Return an error's class and place. Its message only if it is ours: others quote user data."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "error": type(error).__name__,
        "at": f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "",
        "detail": str(error) if isinstance(error, VixioError) else "",
    }
