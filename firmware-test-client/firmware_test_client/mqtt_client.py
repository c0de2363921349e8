"""The MQTT client of a device: its settings, its connection, and when it connects again.

Follows StartMqttClient and the reconnect timer of main/protocols/mqtt_protocol.cc, and ESP-MQTT,
which connects again by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from typing import Final

from firmware_test_client import mqtt_packets
from firmware_test_client.config import DeviceConfig, Mqtt
from firmware_test_client.errors import ConnectError
from firmware_test_client.main_task import Work
from firmware_test_client.mqtt_link import TLS_PORT, LinkObserver, MqttLink

RECONNECT_AFTER: Final = 60.0  # seconds, MQTT_RECONNECT_INTERVAL_MS
_PORT: Final = re.compile(r"\s*\+?(\d+)", re.ASCII)  # what std::stoi reads
_KEEPALIVE: Final = 240  # seconds, where none is stored
_OWN_KEEPALIVE: Final = 120  # seconds, ESP-MQTT's where 0 is stored


class MqttClient:
    """Keeps one device connected.

    Args:
        observer: receives messages and the loss of a connection.
        on_connected: a connection has been accepted.
        when_idle: runs its argument on the main task if the device is idle.
    """

    def __init__(
        self,
        config: DeviceConfig,
        observer: LinkObserver,
        on_connected: Callable[[], None],
        when_idle: Callable[[Work], None],
    ) -> None:
        self._config = config
        self._observer = observer
        self._on_connected = on_connected
        self._when_idle = when_idle
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.settings = Mqtt(endpoint="", client_id="")
        self.link: MqttLink | None = None

    @property
    def online(self) -> bool:
        """Whether there is a connection."""
        return self.link is not None and self.link.open

    def login(self) -> bytes:
        """The CONNECT packet of the settings in force."""
        settings = self.settings
        return mqtt_packets.connect(
            settings.client_id, settings.username, settings.password, self._keepalive
        )

    @property
    def _keepalive(self) -> int:
        return self.settings.keepalive or _OWN_KEEPALIVE

    async def start(self) -> None:
        """Read the settings and connect, in place of any connection before (StartMqttClient).

        Raises:
            ConnectError: the first attempt failed. Others follow, as `mqtt_retry` has it.
        """
        await self.stop()
        self.settings = self._stored()
        if not self.settings.endpoint:
            raise ConnectError("no MQTT server: the device has no endpoint")
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(first), name="device-mqtt")
        await first

    async def stop(self) -> None:
        """DISCONNECT, and no attempts any more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()  # raises what is a defect of this package
        self._stop_timer()
        if self.link is not None:
            await self.link.close()

    async def _run(self, first: asyncio.Future[None]) -> None:
        """ESP-MQTT's task: connects, and again `mqtt_retry` seconds after each end."""
        config, login = self._config, self.login()
        while True:
            self.link = link = MqttLink(self, self._keepalive)
            try:
                host, port = split_endpoint(self.settings.endpoint)
                await link.connect(host, port, login, config.hello_timeout)
            except ConnectError as error:
                if not first.done():
                    first.set_exception(error)
            else:
                self._stop_timer()
                self._on_connected()
                if not first.done():
                    first.set_result(None)
                await link.closed.wait()
            if config.mqtt_retry is None:
                return
            await asyncio.sleep(config.mqtt_retry * config.pause_scale)

    def _stored(self) -> Mqtt:
        if self._config.mqtt is not None:
            return self._config.mqtt
        nvs = self._config.flash.nvs
        return Mqtt(
            endpoint=nvs.string("mqtt", "endpoint"),
            client_id=nvs.string("mqtt", "client_id"),
            username=nvs.string("mqtt", "username"),
            password=nvs.string("mqtt", "password"),
            publish_topic=nvs.string("mqtt", "publish_topic"),
            keepalive=nvs.integer("mqtt", "keepalive", _KEEPALIVE),
        )

    # LinkObserver

    def on_publish(self, payload: bytes) -> None:
        """A message has arrived."""
        self._observer.on_publish(payload)

    def on_lost(self, reason: str) -> None:
        """OnDisconnected: begins the timer, which runs once and does nothing but in Idle."""
        self._stop_timer()
        delay = RECONNECT_AFTER * self._config.pause_scale
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(delay, self._when_idle, self._start_again)
        self._observer.on_lost(reason)

    async def _start_again(self) -> None:
        with contextlib.suppress(ConnectError):
            await self.start()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def split_endpoint(endpoint: str) -> tuple[str, int]:
    """Host and port: the first colon divides them, so there is no IPv6.

    Raises:
        ConnectError: std::stoi throws at the port, and the firmware restarts.
    """
    host, colon, rest = endpoint.partition(":")
    if not colon:
        return host, TLS_PORT
    port = _PORT.match(rest)
    if port is None or int(port.group(1)) > 0xFFFF:
        raise ConnectError(f"{endpoint!r} has no port number after its first colon")
    return host, int(port.group(1))
