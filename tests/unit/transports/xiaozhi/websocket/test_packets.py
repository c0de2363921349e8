"""Packets that are taken past the library's parser are what the parser would have made of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response

from vixio.transports.xiaozhi.websocket import link as module
from vixio.transports.xiaozhi.websocket.link import READ_BYTES, WebSocketLink
from vixio.transports.xiaozhi.websocket.packets import Alignment, whole_packet

REQUEST = (
    b"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
MASK = b"\x11\x22\x33\x44"


def frame(opcode: int, payload: bytes, *, final: bool = True, longer: bool = False) -> bytes:
    """Return a client's frame; ``longer``: its length is spelled in more bytes than needed."""
    size = len(payload)
    head = bytes([(0x80 if final else 0) | opcode])
    if size < 126 and not longer:
        head += bytes([0x80 | size])
    else:
        head += bytes([0x80 | 126]) + size.to_bytes(2, "big")
    return head + MASK + bytes(byte ^ MASK[index % 4] for index, byte in enumerate(payload))


class Wire(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return False

    def can_write_eof(self) -> bool:
        return False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass


class RecordingLink(WebSocketLink):
    """Keeps what arrives, and how often it came without the parser."""

    def __init__(self) -> None:
        super().__init__(65_536, bytearray(READ_BYTES), 60.0, 60.0)
        self.wire = Wire()
        self.arrived: list[tuple[int, bool, bytes]] = []
        self.past = 0
        self.over = False
        self.connection_made(self.wire)

    def read(self, data: bytes) -> None:
        """Take bytes as one read of the network."""
        self.get_buffer(-1)[: len(data)] = data
        self.buffer_updated(len(data))

    def connected(self) -> None:
        pass

    def requested(self, request: Request) -> Response:
        response = self.accept(request)
        del response.headers["Date"]  # two links that are compared may straddle a second
        return response

    def opened(self) -> None:
        pass

    def received(self, frame: Frame) -> None:
        self.arrived.append((frame.opcode, frame.fin, bytes(frame.data)))

    def received_packet(self, packet: bytes) -> None:
        self.past += 1
        self.arrived.append((Opcode.BINARY, True, packet))

    def handshake_failed(self) -> None:
        pass

    def ended(self) -> None:
        self.over = True

    def disconnected(self) -> None:
        pass


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[RecordingLink]]:
    made: list[RecordingLink] = []
    yield made
    for each in made:
        each.connection_lost(None)


def heard(links: list[RecordingLink], reads: list[bytes]) -> RecordingLink:
    """Have a link read the request and then each of ``reads``."""
    link = RecordingLink()
    links.append(link)
    for each in (REQUEST, *reads):
        link.read(each)
    return link


def by_the_parser(
    links: list[RecordingLink], reads: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> RecordingLink:
    with monkeypatch.context() as patch:
        patch.setattr(module, "whole_packet", lambda data, size: None)
        return heard(links, reads)


FRAMES = {
    "packet": [frame(2, b"\x58" + bytes(range(90)))],
    "long packet": [frame(2, bytes(range(250)))],
    "empty": [frame(2, b"")],
    "text": [frame(1, b'{"type": "listen"}')],
    "ping": [frame(9, b"")],
    "ping with words": [frame(9, b"are you there")],
    "pong": [frame(10, b"")],
    "pieces": [frame(2, b"one", final=False), frame(9, b""), frame(0, b"two")],
    "pieces of text": [frame(1, b"one", final=False), frame(0, b"two")],
}
LAST = {
    "nothing": b"",
    "close": frame(8, b"\x03\xe8") + frame(2, b"behind the close"),
    "not masked": b"\x82\x01x" + frame(2, b"behind the violation"),
    "a packet inside a message": frame(2, b"one", final=False) + frame(2, b"two"),
    "a reserved bit": b"\xc2" + frame(2, b"x")[1:],
    "half a packet": frame(2, b"x" * 60)[:30],
}


@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("seed", range(12))
async def test_whatever_the_reads_it_is_what_the_parser_makes(
    links: list[RecordingLink], monkeypatch: pytest.MonkeyPatch, seed: int, last: str
) -> None:
    generator = random.Random(seed)
    frames: list[bytes] = []
    for _ in range(60):
        frames += FRAMES[generator.choice([*FRAMES, *["packet"] * 6])]
    reads: list[bytes] = []
    rest = b""
    for each in frames:  # most frames alone, others cut or together
        rest += each
        what = generator.random()
        if what < 0.8:
            reads.append(rest)
            rest = b""
        elif what < 0.9:
            at = generator.randrange(1, len(rest))
            reads.append(rest[:at])
            rest = rest[at:]
    reads += [each for each in (rest, LAST[last]) if each]
    assert max(map(len, reads)) <= READ_BYTES
    link = heard(links, reads)
    expected = by_the_parser(links, reads, monkeypatch)
    assert link.arrived == expected.arrived
    assert link.wire.written == expected.wire.written
    assert link.over == expected.over == (last not in {"nothing", "half a packet"})
    assert link.past > 10
    assert expected.past == 0


async def test_a_length_spelled_long_leaves_everything_to_the_parser(
    links: list[RecordingLink],
) -> None:
    # Alone it is a packet like any other; behind another frame the parser takes it.
    packet = frame(2, b"x")
    link = heard(links, [frame(2, b"x", longer=True), packet])
    assert link.past == 2
    link.read(frame(9, b"") + frame(2, b"y", longer=True))
    link.read(packet)
    assert link.past == 2
    assert [payload for _, _, payload in link.arrived] == [b"x", b"x", b"", b"y", b"x"]


async def test_a_frame_that_came_with_the_request_leaves_everything_to_the_parser(
    links: list[RecordingLink],
) -> None:
    link = RecordingLink()
    links.append(link)
    link.read(REQUEST + frame(2, b"at once")[:5])
    link.read(frame(2, b"at once")[5:])
    link.read(frame(2, b"later"))
    assert [payload for _, _, payload in link.arrived] == [b"at once", b"later"]
    assert link.past == 0


def test_before_the_handshake_nothing_is_known() -> None:
    alignment = Alignment()
    alignment.given(500)
    assert not alignment.at_start
    alignment.opened(bytearray(b"the end\r\n\r\n and more"))
    assert not alignment.at_start
    alignment.opened(bytearray(b"the end\r\n\r\n"))
    assert alignment.at_start


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 128, 1_000, 2_000])
def test_a_packet_of_any_size(size: int) -> None:
    payload = bytes(index % 251 for index in range(size))
    data = bytearray(READ_BYTES)
    whole = frame(2, payload)
    data[: len(whole)] = whole
    assert whole_packet(data, len(whole)) == payload
    for wrong in (len(whole) - 1, len(whole) + 1):
        assert whole_packet(data, wrong) is None


def test_a_length_of_eight_bytes_is_the_parsers() -> None:
    """Read as a short length, 0xFF would be 127 bytes, which this frame has by chance."""
    data = bytearray(b"\x82\xff" + (119).to_bytes(8, "big") + MASK + bytes(119))
    assert len(data) == 2 + 4 + 127
    assert whole_packet(data, len(data)) is None
