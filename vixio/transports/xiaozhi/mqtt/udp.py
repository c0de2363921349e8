"""The audio of devices that come by MQTT: one UDP port, packets encrypted by AES-128-CTR.

====== ===========================================================================
byte   content, big-endian (firmware: main/protocols/mqtt_protocol.cc, SendAudio)
====== ===========================================================================
0      1: audio
1      flags; the firmware does not look at them
2-3    length of the payload
4-7    SSRC: which conversation it is
8-11   timestamp in milliseconds
12-15  sequence number, from 1 on
16-    the payload, encrypted; these 16 bytes are the first counter block
====== ===========================================================================

The channel has no authentication: it is obscured, not protected (docs/security.md). Both directions
have one key, and the counter's low word is the sequence number, to which AES-CTR adds one for each
16 bytes. So the keystream of two packets overlaps wherever length, SSRC, timestamp and flags are
equal. What is sent here has other flags than what devices send, and never the same timestamp twice.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from vixio.core.clock import now
from vixio.core.metrics import Counters
from vixio.core.waiters import Waiters
from vixio.transports.admission.limits import Limits
from vixio.transports.admission.port_errors import port_error
from vixio.transports.xiaozhi.websocket.quota import InputQuota, Verdict, packet_seconds

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

HEADER: Final = struct.Struct(">BBHIII")
AUDIO: Final = 1
UPLINK: Final = 0
DOWNLINK: Final = 1
"""Flags. Devices copy theirs from the nonce."""

_WORD: Final = 0xFFFF_FFFF

FARTHEST: Final = 1_000
"""Packets that may be missing in front of one: a minute of audio. Farther ahead is none of the
device's."""

PROOFS: Final = 5
"""Packets in a row that a new source address has to send. Whoever does not know the key sends
noise, of which one in 36 has the right length by chance, and five in a row one in 60 million."""

READS_IN_A_ROW: Final = 64
"""Datagrams taken before the loop runs other tasks, in 0.5 ms."""

MAX_DATAGRAM: Final = 2_048
"""More than a network's packet. The rest of a longer one is cut off, so its length is wrong."""

BUFFER_BYTES: Final = 1 << 20
"""For what comes while the loop is busy: 0.1 s of a thousand devices, as far as the system allows
it (net.core.rmem_max)."""

Address = tuple[Any, ...]

_log = logging.getLogger(__name__)

Take = Callable[[bytes, int, int], None]
"""Takes an Opus packet, its timestamp in milliseconds, and how many are missing in front of it."""


class UdpAudio:
    """The audio of one conversation. ``frame_ms``: the length of the packets that come."""

    def __init__(self, port: UdpPort, ssrc: int, limits: Limits, frame_ms: int, take: Take) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self.key = secrets.token_bytes(16)
        self.nonce = HEADER.pack(AUDIO, UPLINK, 0, ssrc, 0, 0)
        self.last_heard = now()
        self.address: Address | None = None
        """Where the device is; None: it has sent nothing yet."""
        self._port = port
        self._ssrc = ssrc
        self._seconds = frame_ms / 1000
        self._take = take
        self._quota = InputQuota(limits)
        # In counter mode both directions are the same operation.
        self._cipher: CipherContext = Cipher(
            algorithms.AES(self.key), modes.CTR(self.nonce)
        ).encryptor()
        self._heard = 0
        """The highest sequence number that came."""
        self._sent = 0
        self._stamp = 0
        """The timestamp that was sent last, and by how much it is ahead of that of its reply."""
        self._ahead = 0
        self._found = Waiters()
        self._moving: Address | None = None
        self._proofs: list[tuple[int, int, bytes]] = []

    async def found(self, timeout: float) -> bool:
        """Wait until it is known where the device is; return whether it is."""
        try:
            async with asyncio.timeout(timeout):
                while self.address is None:
                    await self._found.wait()
        except TimeoutError:
            return False
        return True

    def send(self, packet: bytes, timestamp_ms: int) -> None:
        """Send an Opus packet; nothing before it is known to where. ``timestamp_ms``: its place in
        the reply."""
        if self.address is None:
            self._port.counters.add("udp.unsent")
            return
        stamp = timestamp_ms + self._ahead
        if stamp <= self._stamp:
            stamp = self._stamp + 1
            self._ahead = stamp - timestamp_ms
        self._stamp = stamp
        self._sent += 1
        header = HEADER.pack(
            AUDIO, DOWNLINK, len(packet), self._ssrc, stamp & _WORD, self._sent & _WORD
        )
        self._port.send(header + self._crypt(header, packet), self.address)

    def take(self, datagram: bytes, address: Address) -> None:
        """Take what came from ``address`` for this conversation."""
        add = self._port.counters.add
        _, flags, length, _, stamp, sequence = HEADER.unpack_from(datagram)
        if length != len(datagram) - HEADER.size or flags != UPLINK:
            add("udp.dropped.malformed")
            return
        if not length:
            # A device that is to speak has nothing to say: it tells where it is.
            if self.address is None:
                self._settle(address)
            return
        if not self._heard < sequence <= self._heard + FARTHEST:
            add("udp.dropped.late" if sequence <= self._heard else "udp.dropped.far")
            return
        packet = self._crypt(datagram[: HEADER.size], datagram[HEADER.size :])
        if address == self.address:
            self._moving = None
            self._accept(packet, stamp, sequence)
        elif packet_seconds(packet) != self._seconds:
            add("udp.dropped.unproved")
            if address == self._moving:
                self._moving = None
        elif self.address is None:
            self._settle(address)
            self._accept(packet, stamp, sequence)
        else:
            self._follow(address, packet, stamp, sequence)

    def close(self) -> None:
        """Take and send nothing more. Idempotent."""
        self._port.forget(self._ssrc)
        self.address = None
        self._found.wake()

    def _follow(self, address: Address, packet: bytes, stamp: int, sequence: int) -> None:
        """Go on with a device whose address changes, as behind a NAT, once it has proved itself."""
        if address != self._moving or (self._proofs and sequence <= self._proofs[-1][1]):
            self._moving = address
            self._proofs = []
        self._proofs.append((stamp, sequence, packet))
        if len(self._proofs) < PROOFS:
            return
        proofs, self._proofs = self._proofs, []
        self._moving = None
        self._port.counters.add("udp.moved")
        self._settle(address)
        for at, number, held in proofs:
            self._accept(held, at, number)

    def _settle(self, address: Address) -> None:
        self.address = address
        self._found.wake()

    def _accept(self, packet: bytes, stamp: int, sequence: int) -> None:
        missing, self._heard = sequence - self._heard - 1, sequence
        add = self._port.counters.add
        if missing:
            add("udp.lost", missing)
        self.last_heard = now()
        if self._quota.judge_packet(packet, self.last_heard) is not Verdict.TAKE:
            add("udp.dropped.too_much")
            return
        # Timestamps of an earlier reply say nothing of this one.
        played = stamp - self._ahead
        self._take(packet, played if stamp and played > 0 else 0, missing)

    def _crypt(self, header: bytes, payload: bytes) -> bytes:
        self._cipher.reset_nonce(header)
        return self._cipher.update(payload)


class UdpPort:
    """The port for the audio of all devices; tells conversations apart by their SSRC.

    A socket of its own: asyncio's transport reads one datagram in each round of the loop, and
    takes 256 KB from the system for it.
    """

    def __init__(self, counters: Counters, limits: Limits) -> None:
        self.counters = counters
        self._limits = limits
        self._socket: socket.socket | None = None
        self._talks: dict[int, UdpAudio] = {}

    def __len__(self) -> int:
        return len(self._talks)

    @property
    def port(self) -> int:
        """The port that is listened on; 0: none."""
        return 0 if self._socket is None else int(self._socket.getsockname()[1])

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises ConfigError if the port is taken."""
        loop = asyncio.get_running_loop()
        try:
            (family, *_, address), *_ = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
            own = socket.socket(family, socket.SOCK_DGRAM)
            own.setblocking(False)
            own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
            try:
                own.bind(address)
            except BaseException:
                own.close()
                raise
        except OSError as error:
            raise port_error(host, port, "mqtt.udp_port", error) from None
        self._socket = own
        loop.add_reader(own, self._read, own)
        _log.info("listening for audio of MQTT devices", extra={"host": host, "port": self.port})

    async def stop(self) -> None:
        """Free the port. Idempotent."""
        own, self._socket = self._socket, None
        if own is not None:
            asyncio.get_running_loop().remove_reader(own)
            own.close()

    def open(self, frame_ms: int, take: Take) -> UdpAudio:
        """Begin a conversation, with a key of its own."""
        while (ssrc := secrets.randbits(32)) in self._talks or not ssrc:
            pass
        talk = self._talks[ssrc] = UdpAudio(self, ssrc, self._limits, frame_ms, take)
        return talk

    def forget(self, ssrc: int) -> None:
        """A conversation is over. Idempotent."""
        self._talks.pop(ssrc, None)

    def send(self, datagram: bytes, address: Address) -> None:
        """Send; what the network does not take is lost, as anywhere on its way."""
        if self._socket is None:
            return
        try:
            self._socket.sendto(datagram, address)
        except OSError:
            self.counters.add("udp.unsent")

    def _read(self, own: socket.socket) -> None:
        """Take what has come. Anybody may send here: wrong datagrams are counted."""
        for _ in range(READS_IN_A_ROW):
            try:
                data, address = own.recvfrom(MAX_DATAGRAM)
            except BlockingIOError:
                return
            except OSError:  # a device's machine refused a packet (ICMP): it has left, as MQTT says
                self.counters.add("udp.refused")
                continue
            self._received(data, address)

    def _received(self, data: bytes, address: Address) -> None:
        if len(data) < HEADER.size or data[0] != AUDIO:
            self.counters.add("udp.dropped.malformed")
            return
        talk = self._talks.get(int.from_bytes(data[4:8]))
        if talk is None:
            self.counters.add("udp.dropped.unknown")
        else:
            talk.take(data, address)
