"""A stopped pacer: what is put into it is dropped, and nobody waits for room in it."""

from __future__ import annotations

import asyncio

from vixio.core.metrics import Counters
from vixio.core.pacer import Pacer
from vixio.testing import ManualConnection
from vixio.testing.clock import run_virtual

PACKET_MS = 60


def test_nothing_is_begun_after_the_stop() -> None:
    """The words are put before the pacer's task has seen that it was stopped."""

    async def work() -> None:
        device = ManualConnection()
        pacer = Pacer(device, Counters(), PACKET_MS)
        running = asyncio.create_task(pacer.run())
        await asyncio.sleep(0)
        pacer.stop()
        await pacer.put_sentence("Too late.")
        await pacer.put_packets([b"late"])
        pacer.finish()
        await running
        assert device.sent == []

    run_virtual(work())


def test_a_writer_does_not_wait_for_room_after_the_stop() -> None:
    async def work() -> None:
        pacer = Pacer(ManualConnection(), Counters(), PACKET_MS)
        minute = [b"packet"] * 1_000
        before = asyncio.create_task(pacer.put_packets(minute))
        await asyncio.sleep(0)
        assert not before.done()
        pacer.stop()
        async with asyncio.timeout(60):
            await before
            await pacer.put_packets(minute)
        assert pacer.unsent_ms == 0

    run_virtual(work())
