"""Attacks on the parser: spoiled recordings, deep and huge JSON, text that is no text, no Opus."""

from __future__ import annotations

import asyncio
import json
import random
import struct
from typing import Literal

from tests.chaos.mutate import Mutator, record
from tests.chaos.outcome import Outcome
from tests.chaos.raw import BINARY, HELLO, RawDevice, frame, fresh_address

VERSIONS: tuple[Literal[1, 2, 3], ...] = (1, 2, 3)
SPEAKERS_FROM = 12
"""Numbers of the recorded devices; the healthy ones and the victims have others."""


async def fuzz(port: int, *, frames: int, seed: int, per_second: float) -> Outcome:
    """Replay spoiled recordings, ``frames`` in all, from sixteen devices at a time.

    Who is cut off for too much nonsense comes again as another device from another address.
    """
    outcome = Outcome()
    url = f"ws://127.0.0.1:{port}/xiaozhi/v1/"
    recordings = await asyncio.gather(
        *(record(url, version, SPEAKERS_FROM + version) for version in VERSIONS)
    )
    width = 16
    pause = width / per_second

    async def one(index: int) -> None:
        version = VERSIONS[index % 3]
        mutator = Mutator(recordings[index % 3], seed + index)
        left = frames // width
        tries = 20 + left // 50  # bounded, for a server that accepts no connection
        while left > 0 and tries > 0:
            tries -= 1
            async with (
                outcome.enduring(),
                await RawDevice.admitted(
                    port, fresh_address(), version=version, hello=mutator.hello
                ) as device,
            ):
                while left > 0:
                    for opcode, payload in mutator.conversation()[:left]:
                        await device.send(frame(opcode, payload))
                        left -= 1
                        outcome.done += 1
                        await asyncio.sleep(pause)
        outcome.expect(left <= 0, f"{left} spoiled frames were never sent")

    await outcome.together(one(index) for index in range(width))
    return outcome


def _shapes() -> dict[str, bytes]:
    """Return texts that a parser could choke on."""
    big = "9" * 60_000
    return {
        "lists 32,000 deep": b"[" * 32_000 + b"]" * 32_000,
        "objects 10,000 deep": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        "a payload 9,000 deep": b'{"type":"mcp","payload":'
        + b'{"a":' * 9_000
        + b"1"
        + b"}" * 9_001,
        "an integer of 60,000 digits": f'{{"type":"listen","state":{big}}}'.encode(),
        "an id of 60,000 digits": f'{{"type":"mcp","payload":{{"id":{big},"result":1}}}}'.encode(),
        "1e999999": b'{"type":"mcp","payload":{"id":1e999999,"result":1e-999999}}',
        "NaN and Infinity": b'{"type":"mcp","payload":{"id":NaN,"result":-Infinity}}',
        "an id of -0.0": b'{"type":"mcp","payload":{"id":-0.0,"result":{}}}',
        "4,000 keys": json.dumps({f"k{n}": n for n in range(4_000)}).encode(),
        "one key 5,000 times": b"{" + b'"type":"listen",' * 4_000 + b'"state":"start"}',
        "lone surrogates": b'{"type":"listen","state":"detect","text":"\\ud800 \\udfff"}',
        "controls": b'{"type":"listen","state":"detect","text":"\\u0000\\u202e\\u0007"}',
        "60 KB of words": b'{"type":"listen","state":"detect","text":"' + b"why " * 15_000 + b'"}',
        "60 KB of a reason": b'{"type":"abort","reason":"' + b"\xc3\xa9" * 30_000 + b'"}',
        "a byte order mark": b'\xef\xbb\xbf{"type":"ping"}',
        "UTF-16": '{"type":"ping"}'.encode("utf-16"),
        "invalid UTF-8": b'{"type":"listen","state":"detect","text":"\xff\xfe\xc0\x80"}',
        "an overlong slash": b'{"type":"listen","state":"detect","text":"\xc0\xaf"}',
        "a cut character": b'{"type":"listen","state":"detect","text":"\xf0\x9f\x98',
        "nothing": b"",
        "a backslash bomb": b'"' + b"\\" * 60_000 + b'"',
    }


async def shapes(port: int, *, rounds: int) -> Outcome:
    """Each shape as text and as version 2's JSON frame; the device goes on talking after it."""
    outcome = Outcome()

    async def one(number: int, name: str, data: bytes) -> None:
        source = f"127.66.4.{number % 250 + 1}"
        async with await RawDevice.admitted(port, source, version=2) as device:
            header = struct.pack(">HHIII", 2, 1, 0, 0, len(data))
            for _ in range(rounds):
                await device.text(data)
                await device.binary(header + data)
                outcome.done += 2
            alive = await device.alive()
            outcome.saw("went on" if alive else f"closed {device.close_code}")
            # A text must be UTF-8 (RFC 6455 §8.1); a server may close for it, and for nothing else.
            outcome.expect(alive or device.close_code == 1007, f"{name}: the connection was lost")

    await outcome.together(
        (one(number, name, data) for number, (name, data) in enumerate(_shapes().items())),
        lost=True,
    )
    return outcome


async def garbage_opus(port: int, *, count: int, seed: int) -> Outcome:
    """Packets that are no Opus, frames of the wrong version and size, while listening."""
    outcome = Outcome()
    source = random.Random(seed)
    packets = [
        b"\xff\xff" + source.randbytes(50),
        source.randbytes(1),
        source.randbytes(3),
        source.randbytes(1_275),
        source.randbytes(60_000),
        struct.pack(">HHIII", 2, 0, 0, 0, 0xFFFF_FFFF) + b"x",
        struct.pack(">HHIII", 2, 0, 0, 0, 3) + b"\xff\xff\xff",
        struct.pack(">BBH", 0, 0, 0xFFFF),
        b"\x00" * 15,
        b"",
    ]

    async def one(index: int) -> None:
        version = VERSIONS[index % 3]
        hello = {**HELLO, "version": version}
        left = count // 6
        tries = 20 + left // 20
        while left > 0 and tries > 0:
            tries -= 1
            async with (
                outcome.enduring(),
                await RawDevice.admitted(
                    port, fresh_address(), version=version, hello=hello
                ) as device,
            ):
                await device.json({"type": "listen", "state": "start", "mode": "realtime"})
                while left > 0:
                    await device.send(frame(BINARY, source.choice(packets)))
                    left -= 1
                    outcome.done += 1
                    await asyncio.sleep(0.005)
                outcome.saw("went on" if await device.alive() else "closed")
        outcome.expect(left <= 0, f"{left} packets were never sent")

    await outcome.together(one(index) for index in range(6))
    return outcome
