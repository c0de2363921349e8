"""The UDP socket of a device, and a network between it and the server that can be made worse.

Follows src/esp/esp_udp.cc of 78/esp-ml307.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections import deque
from collections.abc import Callable
from typing import Final

from firmware_test_client.config import Network
from firmware_test_client.errors import ConnectError
from firmware_test_client.records import Counters

_BUFFER: Final = 1500  # bytes; what is longer is cut off (EspUdp::ReceiveTask)
_AT_ONCE: Final = 64  # datagrams read in one step of the event loop
_HOLD: Final = 0.2  # seconds until a datagram that waits to be overtaken is passed on

Deliver = Callable[[bytes], None]


class Impaired:
    """One direction of a network: loses, duplicates, reorders and delays datagrams."""

    def __init__(self, network: Network, counters: Counters, deliver: Deliver) -> None:
        self._network = network
        self._counters = counters
        self._deliver = deliver
        self._random = random.Random(network.seed)  # noqa: S311  repeatable faults, no secret
        self._loop = asyncio.get_running_loop()
        self._overtaken: bytes | None = None  # waits for the next datagram
        self._delayed: deque[tuple[float, bytes]] = deque()  # when due; none overtakes
        self._timers: set[asyncio.TimerHandle] = set()

    def take(self, datagram: bytes) -> None:
        """Pass a datagram on, or not."""
        network, draw = self._network, self._random.random
        if draw() < network.loss:
            self._counters.udp_lost += 1
            return
        if draw() < network.reorder and self._overtaken is None:
            self._counters.udp_reordered += 1
            self._overtaken = datagram
            self._later(_HOLD, self._release)
            return
        self._delay(datagram)
        if draw() < network.duplicate:
            self._counters.udp_duplicated += 1
            self._delay(datagram)
        self._release()

    def close(self) -> None:
        """Lose what is still on its way."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _release(self) -> None:
        datagram, self._overtaken = self._overtaken, None
        if datagram is not None:
            self._delay(datagram)

    def _delay(self, datagram: bytes) -> None:
        if not self._network.jitter_ms:
            self._deliver(datagram)
            return
        wait = self._random.uniform(0, self._network.jitter_ms) / 1000
        self._delayed.append((self._loop.time() + wait, datagram))
        if len(self._delayed) == 1:
            self._later(wait, self._deliver_due)

    def _deliver_due(self) -> None:
        now = self._loop.time()
        while self._delayed and self._delayed[0][0] <= now:
            self._deliver(self._delayed.popleft()[1])
        if self._delayed:
            self._later(self._delayed[0][0] - now, self._deliver_due)

    def _later(self, delay: float, work: Callable[[], None]) -> None:
        def run() -> None:
            self._timers.discard(timer)
            work()

        timer = self._loop.call_later(delay, run)
        self._timers.add(timer)


class UdpSocket:
    """A connected IPv4 socket of one conversation.

    Args:
        address: IPv4 address and port of the server.
        receive: takes each datagram.
        networks: to the server, from the server.
    """

    def __init__(
        self,
        address: tuple[str, int],
        receive: Deliver,
        networks: tuple[Network, Network],
        counters: Counters,
    ) -> None:
        self._address = address
        self._loop = asyncio.get_running_loop()
        uplink, downlink = networks
        self._uplink = Impaired(uplink, counters, self._send_now)
        self._downlink = Impaired(downlink, counters, receive)
        self._reading = True
        self._dead = False
        self._socket = self._connect()

    @property
    def port(self) -> int:
        """The device's own port."""
        port: int = self._socket.getsockname()[1]
        return port

    def send(self, datagram: bytes) -> bool:
        """Send a datagram; False when the socket is dead or closed."""
        if self._dead:
            return False
        self._uplink.take(datagram)
        return True

    def change_port(self) -> None:
        """Go on from another port, as behind a router that has forgotten its mapping."""
        if not self._dead:
            old, self._socket = self._socket, self._connect()
            self._loop.remove_reader(old)
            old.close()

    def stop_reading(self) -> None:
        """Leave incoming datagrams in the socket."""
        self._reading = False
        self._loop.remove_reader(self._socket)

    def resume_reading(self) -> None:
        """End `stop_reading`."""
        self._reading = True
        if not self._dead:
            self._loop.add_reader(self._socket, self._read)

    def close(self) -> None:
        """Close the socket."""
        self._dead = True
        self._uplink.close()
        self._downlink.close()
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def _connect(self) -> socket.socket:
        opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        opened.setblocking(False)
        try:
            opened.connect(self._address)
        except OSError as error:
            opened.close()
            host, port = self._address
            raise ConnectError(f"cannot send UDP to {host}:{port}: {error}") from error
        if self._reading:
            self._loop.add_reader(opened, self._read)
        return opened

    def _send_now(self, datagram: bytes) -> None:
        for _ in range(2):  # the first may only fetch the ICMP error of an earlier datagram
            with contextlib.suppress(OSError):
                self._socket.send(datagram)
                return

    def _read(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                datagram = self._socket.recv(_BUFFER)
            except BlockingIOError:
                return
            except OSError:
                continue  # an ICMP error, which lwIP does not report
            if not datagram:
                # EspUdp::ReceiveTask ends with an empty datagram, and Send refuses from then on.
                self._dead = True
                self._loop.remove_reader(self._socket)
                return
            self._downlink.take(datagram)
            if self._dead or not self._reading:
                return
