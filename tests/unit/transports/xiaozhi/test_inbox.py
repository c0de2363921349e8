"""The inbox: order, bounds, its end, and that a cancelled reader takes nothing."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.transports.xiaozhi.inbox import HIGH_WATER, LOW_WATER, Inbox


class Network:
    """Counts how often it was paused and resumed."""

    def __init__(self) -> None:
        self.acts: list[str] = []
        self.inbox = Inbox(lambda: self.acts.append("pause"), lambda: self.acts.append("resume"))


async def test_messages_come_out_in_their_order() -> None:
    inbox = Network().inbox
    inbox.put("a")
    inbox.put(b"b")
    assert len(inbox) == 2
    assert [await inbox.get(), await inbox.get()] == ["a", b"b"]
    assert not inbox


async def test_a_message_wakes_the_reader() -> None:
    inbox = Network().inbox
    reader = asyncio.create_task(inbox.get())
    await asyncio.sleep(0)
    inbox.put("a")
    inbox.put("b")
    assert await reader == "a"
    assert await inbox.get() == "b"


async def test_a_reader_in_no_hurry_sleeps_until_there_is_enough() -> None:
    inbox = Network().inbox
    inbox.enough = 3
    reader = asyncio.create_task(inbox.get())
    await asyncio.sleep(0)
    for packet in (b"1", b"2"):
        inbox.put(packet)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not reader.done()
    inbox.put(b"3")
    assert [await reader, await inbox.get(), await inbox.get()] == [b"1", b"2", b"3"]


async def test_a_text_wakes_a_reader_in_no_hurry_behind_what_waits() -> None:
    inbox = Network().inbox
    inbox.enough = 3
    reader = asyncio.create_task(inbox.get())
    await asyncio.sleep(0)
    inbox.put(b"1")
    inbox.put("stop")
    assert [await reader, await inbox.get()] == [b"1", "stop"]


async def test_reading_the_network_pauses_above_the_mark_and_goes_on_below_the_other() -> None:
    network = Network()
    for number in range(HIGH_WATER + 10):
        network.inbox.put(str(number))
    assert network.acts == ["pause"]
    while len(network.inbox) > LOW_WATER + 1:
        await network.inbox.get()
    assert network.acts == ["pause"]
    await network.inbox.get()
    assert network.acts == ["pause", "resume"]
    for number in range(HIGH_WATER):
        network.inbox.put(str(number))
    assert network.acts == ["pause", "resume", "pause"]


async def test_a_closed_inbox_is_empty_takes_nothing_and_reads_the_network_again() -> None:
    network = Network()
    for _ in range(HIGH_WATER + 1):
        network.inbox.put("a")
    network.inbox.close()
    network.inbox.close()
    assert network.acts == ["pause", "resume"]
    network.inbox.put("late")
    assert not network.inbox
    with pytest.raises(EOFError):
        await network.inbox.get()


async def test_closing_ends_the_readers_wait() -> None:
    inbox = Network().inbox
    reader = asyncio.create_task(inbox.get())
    await asyncio.sleep(0)
    inbox.put("a")
    inbox.close()
    with pytest.raises(EOFError):
        await reader


@given(st.lists(st.sampled_from(["put", "read", "cancel", "turn"]), max_size=60))
def test_a_cancelled_reader_takes_nothing(steps: list[str]) -> None:
    async def run() -> None:
        inbox = Network().inbox
        put, got = 0, []
        reader: asyncio.Task[str | bytes] | None = None

        def settle() -> None:
            nonlocal reader
            if reader is not None and reader.done():
                if not reader.cancelled():
                    got.append(reader.result())
                reader = None

        for step in steps:
            if step == "put":
                inbox.put(str(put))
                put += 1
            elif step == "read" and reader is None:
                reader = asyncio.create_task(inbox.get())
            elif step == "cancel" and reader is not None:
                reader.cancel()
            elif step == "turn":
                await asyncio.sleep(0)
            settle()
        if reader is not None:
            reader.cancel()
            await asyncio.wait([reader])
            settle()
        while inbox:
            got.append(await inbox.get())
        assert got == [str(number) for number in range(put)]

    asyncio.run(run())
