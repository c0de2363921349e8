"""Attacks on the framing: what no WebSocket client and no HTTP client would send."""

from __future__ import annotations

import asyncio
import os
import random

from tests.chaos.outcome import Outcome
from tests.chaos.raw import BINARY, CLOSE, PING, PONG, TEXT, RawDevice, frame, open_tcp

MEGABYTE = 1024 * 1024


def _violations() -> dict[str, bytes]:
    """Return frames that RFC 6455 forbids, or that are larger than any server should take."""
    return {
        "reserved bit": frame(TEXT, b"{}", rsv=4),
        "all reserved bits": frame(BINARY, b"x", rsv=7),
        "unknown opcode": frame(0x5, b"x"),
        "unknown control opcode": frame(0xF, b"x"),
        "unmasked": b"\x81\x02{}",
        "continuation of nothing": frame(0x0, b"x"),
        "two beginnings": frame(TEXT, b"{", fin=False) + frame(TEXT, b"}"),
        "fragmented ping": frame(PING, b"x", fin=False),
        "long ping": frame(PING, bytes(200)),
        "long close": frame(CLOSE, b"\x03\xe8" + bytes(200)),
        "close of one byte": frame(CLOSE, b"\x03"),
        "close with no code": frame(CLOSE, b"\x00\x00"),
        "close with no UTF-8": frame(CLOSE, b"\x03\xe8\xff\xfe"),
        "length of 2^62": frame(BINARY, b"x", length=2**62),
        "length of 2^63": frame(BINARY, b"x", length=2**63),
        "length of 10 MB": frame(TEXT, b"{", length=10 * MEGABYTE),
        "unasked pongs": frame(PONG, b"x") * 50,
        "half a header": b"\x82",
        "half a frame": frame(BINARY, bytes(50), length=100),
        "one byte too much": frame(BINARY, bytes(65_537)),
        "10 MB of text": frame(TEXT, b"x" * (10 * MEGABYTE)),
        "no UTF-8 in two pieces": frame(TEXT, b"\xc3", fin=False) + frame(0x0, b"\x28"),
        "10 MB in pieces": frame(TEXT, b"[" * 60_000, fin=False)
        + frame(0x0, b"[" * 60_000, fin=False) * 170,
        "60,000 pieces": frame(TEXT, b"[", fin=False) + frame(0x0, b"[", fin=False) * 60_000,
        "70,000 empty pieces": frame(TEXT, b"", fin=False) + frame(0x0, b"", fin=False) * 70_000,
    }


OPEN = ("unasked pongs", "half a header", "half a frame")
"""What is allowed, or not over yet."""
EITHER = ("no UTF-8 in two pieces",)
"""RFC 6455 has it closed; a server that does not read such a text may leave it."""
OPEN_S = 1.5
CLOSED_S = 60.0
"""Seconds until all others are closed, on a busy machine too."""


async def violations(port: int, *, rounds: int) -> Outcome:
    """Each violation in a conversation that had begun well."""
    outcome = Outcome()

    async def one(number: int, name: str, data: bytes) -> None:
        source = f"127.66.1.{number % 250 + 1}"
        async with await RawDevice.admitted(port, source) as device:
            outcome.done += 1
            await device.json({"type": "listen", "state": "start", "mode": "auto"})
            await device.send(data)
            open_end = name in OPEN or name in EITHER
            try:
                async with asyncio.timeout(OPEN_S if open_end else CLOSED_S):
                    await device.closed.wait()
                outcome.saw(f"closed {device.close_code}")
                outcome.expect(name not in OPEN, f"{name}: closed with {device.close_code}")
            except TimeoutError:
                outcome.saw("left open")
                outcome.expect(open_end, f"{name}: the connection was left open")

    for _ in range(rounds):
        await outcome.together(
            one(i, name, data) for i, (name, data) in enumerate(_violations().items())
        )
    return outcome


async def not_http(port: int, *, count: int, seed: int, hold_s: float) -> Outcome:
    """Garbage and fragments where a handshake should be; some hold the line one byte at a time."""
    outcome = Outcome()
    source = random.Random(seed)
    beginnings = (
        b"",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # the hello of TLS
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET /xiaozhi/v1/ HTTP/1.1\r\n" + b"X: y\r\n" * 2_000,
        b"GET /xiaozhi/v1/ HTTP/1.1\r\nX: " + b"y" * 100_000,
        b"GET " + b"/" * 100_000,
        b"POST /xiaozhi/v1/ HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"GET /xiaozhi/v1/ HTTP/1.1\r\nUpgrade: websocket\r\nDevice-Id: \x00\xff\r\n\r\n",
        b"\r\n" * 1_000,
        b"SSH-2.0-OpenSSH_9.6\r\n",
    )

    async def one(number: int) -> None:
        reader, writer = await open_tcp(port, f"127.66.2.{number % 250 + 1}")
        try:
            outcome.done += 1
            data = beginnings[number % len(beginnings)] or source.randbytes(300)
            writer.write(data)
            if number % 3 == 0:  # a slow one: the rest of the handshake comes byte by byte
                end = asyncio.get_running_loop().time() + hold_s
                while asyncio.get_running_loop().time() < end:
                    writer.write(os.urandom(1))
                    await asyncio.sleep(0.1)
            try:
                async with asyncio.timeout(hold_s):
                    outcome.saw("answered" if await reader.read(64) else "closed")
            except TimeoutError:
                outcome.saw("held")
        finally:
            writer.transport.abort()

    await outcome.together(one(number) for number in range(count))
    return outcome
