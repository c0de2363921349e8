"""Too much of everything, each from one address."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from tests.chaos.outcome import Outcome
from tests.chaos.raw import BINARY, PING, TEXT, RawDevice, frame, fresh_id, open_tcp
from tests.chaos.spell import Spell

_POST = b"POST /xiaozhi/ota/ HTTP/1.1\r\nHost: x\r\n"

LEAST = 20
"""Frames that each flood has at least: one burst, on a busy machine."""

SILENCE = b"\xf8\xff\xfe"
"""Opus: 20 ms of silence."""


def _text(**body: Any) -> bytes:  # noqa: ANN401  JSON
    return frame(TEXT, json.dumps(body).encode())


def _mcp(**payload: Any) -> bytes:  # noqa: ANN401  JSON
    return _text(type="mcp", payload={"jsonrpc": "2.0", **payload})


FLOODS: dict[str, Callable[[int], bytes]] = {
    "audio": lambda n: frame(BINARY, SILENCE),
    "pings": lambda n: frame(PING, b"x"),
    "json pings": lambda n: _text(type="ping"),
    "large json": lambda n: _text(type="iot", states=["x" * 1_000] * 50),
    "listen": lambda n: _text(
        type="listen",
        state="start" if n % 2 else "stop",
        mode=("auto", "manual", "realtime")[n % 3],
    ),
    "aborts": lambda n: _text(type="abort"),
    "typed words": lambda n: _text(type="listen", state="detect", text=f"number {n % 4000}"),
    "mcp answers": lambda n: _mcp(id=n % 4_000, result={"content": []}),
    "mcp requests": lambda n: _mcp(id=n, method="tools/call", params={"name": "get_time"}),
    "list_changed": lambda n: _mcp(method="notifications/tools/list_changed"),
}


async def flood(port: int, *, kind: str, seconds: float, devices: int) -> Outcome:
    """Send as fast as the socket takes it."""
    outcome = Outcome()
    make = FLOODS[kind]
    address = f"127.66.20.{list(FLOODS).index(kind) + 1}"

    def no_tools(_: dict[str, Any]) -> dict[str, Any]:
        return {"result": {"tools": [], "protocolVersion": "2024-11-05"}}

    async def one() -> None:
        spell = Spell(outcome, seconds)
        number = 0
        while spell.lasts():
            # It comes again as soon as it is thrown out.
            async with (
                outcome.enduring(),
                await RawDevice.connect(port, address, mcp=no_tools) as device,
            ):
                await device.json({"type": "listen", "state": "start", "mode": "auto"})
                while spell.lasts():
                    await device.send(b"".join(make(number + at) for at in range(20)))
                    number += 20
                    outcome.done += 20
                    await asyncio.sleep(0)
                outcome.saw("went on")
            await asyncio.sleep(0.05)

    await outcome.together(one() for _ in range(devices))
    outcome.expect(outcome.done >= LEAST, f"{outcome.done} frames are no flood")
    return outcome


async def connects(port: int, *, seconds: float) -> Outcome:
    """Connect and leave, from one address: bare TCP, whole hellos, and one id over and over."""
    outcome = Outcome()
    # Before the bare ones, which take all places of the address on a machine that is held up.
    async with await RawDevice.admitted(port, "127.66.21.1", device_id=fresh_id("storm")):
        outcome.saw("greeted")
    spell = Spell(outcome, seconds)

    async def bare() -> None:
        while spell.lasts():
            async with outcome.enduring():
                _, writer = await open_tcp(port, "127.66.21.1")
                writer.transport.abort()
                outcome.done += 1
            await asyncio.sleep(0.002)

    async def whole(device_id: str) -> None:
        while spell.lasts():
            async with (
                outcome.enduring(),
                await RawDevice.connect(
                    port, "127.66.21.1", device_id=device_id or fresh_id("storm")
                ),
            ):
                outcome.saw("greeted")
            outcome.done += 1
            await asyncio.sleep(0.002)

    await outcome.together([bare(), bare(), whole(""), whole(""), whole("again"), whole("again")])
    return outcome


async def http(port: int, *, seconds: float) -> Outcome:
    """Ask the HTTP side for everything, with bodies that never end."""
    outcome = Outcome()
    spell = Spell(outcome, seconds)
    requests = (
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        _POST + b"Content-Length: 3\r\nConnection: close\r\n\r\n{}}",
        _POST + b"Content-Length: 99999999\r\n\r\n" + b"[" * 99_999,
        _POST + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n" + b"x" * 99_999,
        b"GET /xiaozhi/ota/ HTTP/1.1\r\nX: " + b"y" * 99_999,
        b"\x00" * 500,
    )

    async def one(index: int) -> None:
        number = index
        while spell.lasts():
            async with outcome.enduring():
                reader, writer = await open_tcp(port, "127.66.22.1")
                try:
                    writer.write(requests[number % len(requests)])
                    number += 1
                    outcome.done += 1
                    async with asyncio.timeout(1):
                        head = await reader.readline()
                    outcome.saw(head.decode("latin-1").strip()[:30] or "closed")
                finally:
                    writer.transport.abort()
            await asyncio.sleep(0.005)

    await outcome.together(one(index) for index in range(4))
    answered = sum(count for word, count in outcome.seen.items() if word.startswith("HTTP/1.1 "))
    outcome.expect(answered, "no request was answered")
    wrong = [word for word in outcome.seen if word.startswith("HTTP/1.1 5") and "503" not in word]
    outcome.expect(not wrong, f"a bad request is the server's mistake: {wrong}")
    return outcome
