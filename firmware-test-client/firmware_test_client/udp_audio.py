"""The audio datagrams of MQTT + UDP: header, sequence numbers, AES-128-CTR; no sockets.

Follows SendAudio, the OnMessage callback of OpenAudioChannel and ParseServerHello in
main/protocols/mqtt_protocol.cc. All integers are big-endian.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Any, Final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from firmware_test_client.framing import AudioPacket, FramingError

HEADER: Final = struct.Struct(">BBHIII")  # type, flags, payload length, ssrc, timestamp, sequence
TYPE_AUDIO: Final = 1
_HEX_16: Final = re.compile(r"[0-9A-Fa-f]{32}")


@dataclass(frozen=True, slots=True)
class UdpOffer:
    """The `udp` section of a server's hello."""

    server: str  # host name or IPv4 address
    port: int
    key: bytes  # 16 bytes
    nonce: bytes  # 16 bytes


def read_offer(section: object) -> UdpOffer | None:
    """Read the section; None if the firmware takes it for no hello (ParseServerHello)."""
    if not isinstance(section, dict):
        return None
    fields: dict[str, Any] = section
    server, port, key, nonce = (fields.get(name) for name in ("server", "port", "key", "nonce"))
    if not isinstance(server, str) or isinstance(port, bool) or not isinstance(port, int | float):
        return None
    if not 0 < int(port) <= 0xFFFF or not (isinstance(key, str) and isinstance(nonce, str)):
        return None
    if not (_HEX_16.fullmatch(key) and _HEX_16.fullmatch(nonce)):
        return None
    return UdpOffer(server, int(port), bytes.fromhex(key), bytes.fromhex(nonce))


class UdpAudio:
    """Packs and reads datagrams; both sequence numbers begin at 1 with each server hello."""

    def __init__(self, offer: UdpOffer) -> None:
        self._key = algorithms.AES(offer.key)
        _, self._flags, _, self._ssrc, _, _ = HEADER.unpack(offer.nonce)
        self._type = offer.nonce[0]
        self._sent = 0
        self._heard = 0
        self.missing = 0  # packets between the newest one and the one before it

    def pack(self, packet: AudioPacket) -> bytes:
        """The next datagram: the nonce with length, timestamp and sequence, then the payload."""
        self._sent += 1
        header = HEADER.pack(
            self._type,
            self._flags,
            len(packet.payload),
            self._ssrc,
            packet.timestamp & 0xFFFF_FFFF,
            self._sent & 0xFFFF_FFFF,
        )
        return header + self._crypt(header, packet.payload)

    def unpack(self, datagram: bytes) -> AudioPacket | None:
        """Read a datagram; None if its sequence is not above the last one's. No order is restored.

        Raises:
            FramingError: too short, of another type, or of another length than stated.
        """
        if len(datagram) < HEADER.size:
            raise FramingError(f"audio datagram of {len(datagram)} bytes has no whole header")
        type_, _, size, _, timestamp, sequence = HEADER.unpack_from(datagram)
        if type_ != TYPE_AUDIO:
            raise FramingError(f"audio datagram of type {type_}, but only 1 is played")
        if len(datagram) != HEADER.size + size:
            whole = len(datagram) - HEADER.size
            raise FramingError(f"audio datagram states {size} bytes and has {whole}")
        if sequence <= self._heard:
            return None
        self.missing = sequence - self._heard - 1
        self._heard = sequence
        header, payload = datagram[: HEADER.size], datagram[HEADER.size :]
        return AudioPacket(self._crypt(header, payload), timestamp)

    def _crypt(self, header: bytes, payload: bytes) -> bytes:
        return Cipher(self._key, modes.CTR(header)).encryptor().update(payload)
