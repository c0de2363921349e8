"""The audio of MQTT devices, by real datagrams on loopback; the device's side is written from the
firmware's description (main/protocols/mqtt_protocol.cc), with a cipher of its own."""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tests.support.waiting import until
from vixio.core.metrics import Counters
from vixio.transports.admission.limits import Limits
from vixio.transports.xiaozhi.mqtt.udp import (
    FARTHEST,
    MAX_DATAGRAM,
    PROOFS,
    READS_IN_A_ROW,
    UdpAudio,
    UdpPort,
)

OPUS_60 = bytes([3 << 3]) + bytes(range(40))
"""A packet whose first byte says: one SILK frame of 60 ms (RFC 6716 §3.1)."""

Heard = list[tuple[bytes, int, int]]


class Port:
    """A port with one conversation."""

    def __init__(self, port: UdpPort, limits: Limits) -> None:
        self.port = port
        self.heard: Heard = []
        self.audio = self.open()

    def open(self) -> UdpAudio:
        return self.port.open(60, lambda *what: self.heard.append(what))

    def count(self, name: str) -> int:
        return self.port.counters.get(f"udp.{name}")


class Device:
    """What the firmware sends and takes; ``key`` and ``nonce`` as of the hello."""

    def __init__(self, to: int, key: bytes, nonce: bytes) -> None:
        self.key, self.nonce = key, nonce
        self.sequence = 0
        self.socket = self._socket()
        self._to = ("127.0.0.1", to)

    def move(self) -> None:
        """A NAT gives it another port."""
        self.socket.close()
        self.socket = self._socket()

    def packet(
        self, payload: bytes = OPUS_60, stamp: int = 0, sequence: int | None = None
    ) -> bytes:
        if sequence is None:
            self.sequence += 1
            sequence = self.sequence
        header = bytearray(self.nonce)
        struct.pack_into(">H", header, 2, len(payload))
        struct.pack_into(">II", header, 8, stamp, sequence)
        return bytes(header) + crypt(self.key, bytes(header), payload)

    def send(self, datagram: bytes | None = None) -> None:
        self.socket.sendto(datagram if datagram is not None else self.packet(), self._to)

    async def receive(self) -> bytes:
        loop = asyncio.get_running_loop()
        return await asyncio.wait_for(loop.sock_recv(self.socket, 2_000), 10)

    def _socket(self) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setblocking(False)
        made.bind(("127.0.0.1", 0))
        return made


def crypt(key: bytes, counter: bytes, data: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor().update(data)


@asynccontextmanager
async def opened(limits: Limits | None = None) -> AsyncIterator[Port]:
    limits = limits or Limits()
    port = UdpPort(Counters(), limits)
    await port.start("127.0.0.1", 0)
    try:
        yield Port(port, limits)
    finally:
        await port.stop()


@contextmanager
def device_of(here: Port, audio: UdpAudio | None = None) -> Iterator[Device]:
    audio = audio or here.audio
    device = Device(here.port.port, audio.key, audio.nonce)
    try:
        yield device
    finally:
        device.socket.close()


async def heard(here: Port, number: int) -> Heard:
    await until(lambda: len(here.heard) == number)
    return here.heard


async def test_both_directions_are_as_the_firmware_has_them() -> None:
    async with opened() as here:
        with device_of(here) as device:
            assert device.nonce[0] == 1
            assert device.nonce[1:4] == bytes(3)
            device.send()
            assert await heard(here, 1) == [(OPUS_60, 0, 0)]
            here.audio.send(b"speech", 0)
            got = await device.receive()
            assert got[0] == 1
            assert struct.unpack(">H", got[2:4]) == (len(got) - 16,)
            assert struct.unpack(">I", got[12:16]) == (1,)
            assert crypt(device.key, got[:16], got[16:]) == b"speech"


async def test_nothing_is_sent_before_it_is_known_to_where() -> None:
    async with opened() as here:
        with device_of(here) as device:
            assert not await here.audio.found(0.01)
            here.audio.send(b"lost", 0)
            assert here.count("unsent") == 1
            found = asyncio.create_task(here.audio.found(10))
            device.send(device.packet(b""))  # of one that was asked to speak
            assert await found
            here.audio.send(b"speech", 0)
            assert (await device.receive())[16:] != b""
            assert here.heard == []


async def test_no_keystream_is_used_twice() -> None:
    """Of all that one conversation sends: replies of equal packets, one of them begun again."""
    async with opened() as here:
        with device_of(here) as device:
            device.send()
            await heard(here, 1)
            long = bytes(600)  # 38 blocks: far into the counters of the packets behind it
            sent: list[bytes] = []
            for stamps in (range(0, 1_800, 60), range(0, 900, 60), range(60, 900, 60)):
                for stamp in stamps:
                    here.audio.send(long, stamp)
                    sent.append(await device.receive())
            ups = [device.packet(long, sequence=number) for number in range(1, 60)]
            assert reused(device.key, sent) == 0
            assert shared(sent, ups) == 0
            stamps_sent = [int.from_bytes(each[8:12]) for each in sent]
            assert sorted(set(stamps_sent)) == stamps_sent
            assert min(stamps_sent) > 0  # 0 would say: nothing was played


def blocks(datagram: bytes) -> Iterator[int]:
    """Return the counters whose keystream encrypts a packet."""
    first = int.from_bytes(datagram[:16])
    return (first + each for each in range((len(datagram) - 16 + 15) // 16))


def reused(key: bytes, datagrams: list[bytes]) -> int:
    counts = Counter(itertools.chain.from_iterable(map(blocks, datagrams)))
    return sum(number - 1 for number in counts.values())


def shared(down: list[bytes], up: list[bytes]) -> int:
    both = [set(itertools.chain.from_iterable(map(blocks, each))) for each in (down, up)]
    return len(both[0] & both[1])


async def test_the_timestamps_that_come_back_are_those_of_the_reply() -> None:
    async with opened() as here:
        with device_of(here) as device:
            device.send()
            await heard(here, 1)
            here.audio.send(b"one", 0)
            first = await device.receive()
            for stamp in (0, 60, 120):  # another reply
                here.audio.send(b"two", stamp)
            stamps = [int.from_bytes((await device.receive())[8:12]) for _ in range(3)]
            device.send(device.packet(stamp=int.from_bytes(first[8:12])))
            device.send(device.packet(stamp=stamps[2]))
            assert [stamp for _, stamp, _ in (await heard(here, 3))[1:]] == [0, 120]


async def test_what_is_lost_is_told_and_what_is_late_is_dropped() -> None:
    async with opened() as here:
        with device_of(here) as device:
            packets = [device.packet(OPUS_60 + bytes([number])) for number in range(6)]
            for number in (0, 3, 1, 3, 4, 2, 5):  # reordered, with a duplicate
                device.send(packets[number])
            came = await heard(here, 4)
            assert [(packet[-1], missing) for packet, _, missing in came] == [
                (0, 0),
                (3, 2),
                (4, 0),
                (5, 0),
            ]
            assert here.count("lost") == 2
            await until(lambda: here.count("dropped.late") == 3)


async def test_a_device_behind_a_nat_moves_and_nobody_else_takes_it_along() -> None:
    async with opened() as here:
        with device_of(here) as device, device_of(here) as thief:
            device.send()
            await heard(here, 1)
            thief.key = bytes(16)  # it has seen the SSRC and the numbers, not the key
            for number in range(2, 60):
                thief.send(thief.packet(OPUS_60, sequence=number))
            await until(lambda: here.count("dropped.unproved") + here.count("dropped.far") > 40)
            here.audio.send(b"mine", 0)
            await device.receive()
            assert here.count("moved") == 0

            device.move()
            device.sequence = 100
            for _ in range(PROOFS):
                device.send()
            assert len(await heard(here, 1 + PROOFS)) == 1 + PROOFS
            assert here.count("moved") == 1
            here.audio.send(b"mine", 60)
            await device.receive()


async def test_a_new_address_proves_itself_by_packets_in_a_row() -> None:
    async with opened() as here:
        with device_of(here) as device, device_of(here) as other:
            device.send()
            await heard(here, 1)
            other.sequence = 1
            for _ in range(3):
                for _ in range(PROOFS - 1):
                    other.send()
                other.send(other.packet(bytes([1 << 3]) + bytes(40)))  # of 20 ms: noise, by chance
            await until(lambda: here.count("dropped.unproved") == 3)
            assert here.count("moved") == 0
            for _ in range(PROOFS):
                other.send()
            await until(lambda: here.count("moved") == 1)


async def test_one_far_number_does_not_deafen() -> None:
    async with opened() as here:
        with device_of(here) as device:
            device.send()
            device.send(device.packet(sequence=2 + FARTHEST))
            device.send()
            assert len(await heard(here, 2)) == 2
            assert here.count("dropped.far") == 1


@pytest.mark.parametrize(
    ("datagram", "why"),
    [
        (b"", "malformed"),
        (bytes(15), "malformed"),
        (b"\x02" + bytes(30), "malformed"),
        (b"\x01" + bytes(30), "unknown"),
    ],
)
async def test_noise_is_counted(datagram: bytes, why: str) -> None:
    async with opened() as here:
        with device_of(here) as device:
            device.send(datagram)
            if datagram:
                await until(lambda: here.count(f"dropped.{why}") == 1)
            device.send(device.packet()[:-1])  # the length does not fit
            await until(lambda: here.count("dropped.malformed") >= 1)
            device.send()
            assert len(await heard(here, 1)) == 1


async def test_conversations_do_not_hear_each_other() -> None:
    async with opened() as here:
        other: Heard = []
        second = here.port.open(60, lambda *what: other.append(what))
        with device_of(here) as one, device_of(here, second) as two:
            one.send()
            two.send()
            await heard(here, 1)
            await until(lambda: len(other) == 1)
            assert len(here.port) == 2
            here.audio.close()
            one.send()
            await until(lambda: here.count("dropped.unknown") == 1)
            two.send()
            await until(lambda: len(other) == 2)
            assert len(here.heard) == 1


async def test_a_flood_is_bounded() -> None:
    limits = Limits(audio_burst=2.0)
    async with opened(limits) as here:
        with device_of(here) as device:
            for _ in range(200):
                device.send()
            await until(lambda: here.count("dropped.too_much") > 0)
            assert len(here.heard) < 100


async def test_what_has_come_is_read_in_one_round_of_the_loop_but_not_without_end() -> None:
    seen: set[int] = set()
    total = READS_IN_A_ROW + 10
    async with opened(Limits(audio_burst=0)) as here:
        with device_of(here) as device:
            for _ in range(total):
                device.send()
            async with asyncio.timeout(10):
                while len(here.heard) < total:
                    seen.add(len(here.heard))
                    await asyncio.sleep(0)
    assert seen - {0} == {READS_IN_A_ROW}


async def test_a_datagram_that_is_too_long_is_malformed() -> None:
    async with opened() as here:
        with device_of(here) as device:
            device.send(device.packet(OPUS_60 + bytes(MAX_DATAGRAM)))
            device.send()
            assert [packet for packet, *_ in await heard(here, 1)] == [OPUS_60]
            assert here.count("dropped.malformed") == 1
