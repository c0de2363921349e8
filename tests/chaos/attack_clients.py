"""Devices that do not read, do not send, or are half gone."""

from __future__ import annotations

import asyncio

from tests.chaos.outcome import Outcome
from tests.chaos.raw import HELLO, RawDevice, fresh_id, open_tcp
from tests.chaos.spell import Spell

LONG = "number 1111"

HELLO_S = 60.0
"""Within this a device that says no hello is closed, on a busy machine too."""


async def never_read(port: int, *, count: int, seconds: float) -> Outcome:
    """Ask for long answers and read none of them: the server's writes fill up."""
    outcome = Outcome()
    asked: set[int] = set()

    async def one(index: int) -> None:
        device = await RawDevice.admitted(port, f"127.66.10.{index + 1}", reads=False)
        try:
            spell = Spell(outcome, seconds)
            while spell.lasts():
                # A question every moment, each with a subtitle and its sound; pongs never fit.
                for _ in range(40):
                    await device.json({"type": "ping", "x": "y" * 500})
                await device.json({"type": "listen", "state": "detect", "text": LONG})
                outcome.done += 41
                await asyncio.sleep(0.05)
            outcome.saw("kept")
        finally:
            asked.add(index)
            device.abort()

    await outcome.together(one(index) for index in range(count))
    outcome.expect(len(asked) == count, f"only {len(asked)} of {count} were admitted")
    outcome.expect(outcome.done >= 41 * count, "too little was asked to fill a buffer")
    return outcome


async def slow_read(port: int, *, count: int, seconds: float) -> Outcome:
    """Read one byte at a time."""
    outcome = Outcome()
    read: set[int] = set()

    async def one(index: int) -> None:
        device = await RawDevice.admitted(port, f"127.66.11.{index + 1}", reads=False)
        try:
            spell = Spell(outcome, seconds)
            await device.json({"type": "listen", "state": "detect", "text": LONG})
            while spell.lasts():
                await device.read_bytes(1)
                outcome.done += 1
                read.add(index)
                await asyncio.sleep(0.02)
            outcome.saw("kept")
        finally:
            device.abort()

    await outcome.together(one(index) for index in range(count))
    outcome.expect(len(read) == count, f"only {len(read)} of {count} had something to read")
    return outcome


async def never_send(port: int, *, count: int, seconds: float) -> Outcome:
    """Upgrade and say no hello; others do not even speak HTTP."""
    outcome = Outcome()

    async def one(index: int) -> None:
        source = f"127.66.12.{index + 1}"
        outcome.done += 1
        if index % 2:
            _, writer = await open_tcp(port, source)
            await asyncio.sleep(seconds)
            writer.transport.abort()
            return
        async with await RawDevice.admitted(port, source, hello=None) as device:
            try:
                async with asyncio.timeout(max(seconds, HELLO_S)):
                    await device.closed.wait()
                outcome.saw(f"closed {device.close_code}")
            except TimeoutError:
                outcome.saw("held")
                outcome.problems.append(f"a device without a hello was kept for {HELLO_S:.0f} s")

    await outcome.together(one(index) for index in range(count))
    return outcome


async def half_open(port: int, *, count: int, seconds: float) -> Outcome:
    """Say hello, begin to talk, and fall silent for good, with neither pong nor FIN."""
    outcome = Outcome()

    async def one(index: int) -> None:
        device = await RawDevice.admitted(port, f"127.66.13.{index + 1}", reads=False)
        try:
            await device.json({"type": "listen", "state": "start", "mode": "auto"})
            for _ in range(20):
                await device.binary(b"\xf8\xff\xfe")  # Opus: 20 ms of silence
            outcome.done += 1
            await asyncio.sleep(seconds)
        finally:
            device.abort()

    await outcome.together(one(index) for index in range(count))
    outcome.expect(outcome.done == count, f"only {outcome.done} of {count} began to talk")
    return outcome


async def vanishing(port: int, *, count: int) -> Outcome:
    """Reset the connection at every stage of a turn, again and again, some with the same id."""
    outcome = Outcome()

    async def one(index: int) -> None:
        waits = (0.0, 0.001, 0.01, 0.1, 0.4)
        for turn in range(count // 10):
            async with (
                outcome.enduring(),
                await RawDevice.admitted(
                    port,
                    f"127.66.14.{index + 1}",
                    device_id="shared" if index % 2 else fresh_id("vanishing"),
                    hello=HELLO if turn % 5 else None,
                ) as device,
            ):
                outcome.done += 1
                await device.json(HELLO)
                await device.json({"type": "listen", "state": "detect", "text": LONG})
                await asyncio.sleep(waits[turn % len(waits)])

    await outcome.together(one(index) for index in range(10))
    outcome.expect(outcome.done >= count // 2, f"only {outcome.done} of {count} got as far")
    return outcome
