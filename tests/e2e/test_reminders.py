"""What the assistant says first: asked for by typed and spoken commands, heard by devices."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from firmware_test_client import Reply, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import RunningServer, serving, settings
from vixio.data.reminders.records import Delivery, Kind, Order, State
from vixio.settings import Settings
from vixio.testing import ScriptedASR, ScriptedTTS, ScriptedVAD

KITCHEN, HALL, LOFT = (f"02:00:00:00:00:0{number}" for number in (1, 2, 3))
NAMES = {KITCHEN: {"name": "Kitchen"}, HALL: {"name": "Hall"}, LOFT: {"place": "loft"}}


def house(folder: Path | None = None, **sections: dict[str, object]) -> Settings:
    """Return the settings of a house with three named devices."""
    data: dict[str, object] = {} if folder is None else {"folder": str(folder), "database": ""}
    return settings(devices=NAMES, data=data, **sections)


def typed() -> dict[str, Any]:
    """Return providers for what is typed: they hear nothing, and speak silence."""
    voice = ScriptedTTS(seconds_per_char=0.01)
    return {"vad": ScriptedVAD(), "asr": ScriptedASR([""]), "tts": voice}


def device(server: RunningServer, device_id: str) -> SimulatedDevice:
    """Return a device, not connected yet."""
    return SimulatedDevice(server.device(device_id=device_id))


async def deliveries(server: RunningServer) -> list[Delivery]:
    """Return all of them."""
    return await server.app.reminders.service.with_repository(
        lambda repository: repository.deliveries(over=True)
    )


async def order(server: RunningServer, device_id: str, *, ago_s: float = 0, **more: Any) -> None:  # noqa: ANN401
    """Have something said to a device that was due some time ago."""
    service = server.app.reminders.service
    values = {"kind": Kind.REMINDER, "due_at": service.clock() - round(ago_s * 1000), **more}
    await service.with_repository(
        lambda repository: repository.add(Order(device_id=device_id, **values))
    )


async def heard(device: SimulatedDevice, words: str) -> Reply:
    """Wait until the device has heard something that contains ``words``, and return it."""

    def found() -> list[Reply]:
        return [reply for reply in device.replies if reply.ended and words in reply.text]

    await device.wait_for(lambda: bool(found()), what=words)
    return found()[-1]


async def settled(server: RunningServer, number: int) -> list[Delivery]:
    """Wait until so many deliveries are over, and return them."""
    async with asyncio.timeout(60):
        while True:
            found = [each for each in await deliveries(server) if each.ended_at is not None]
            if len(found) >= number:
                return found
            await asyncio.sleep(0.02)


async def test_a_timer_is_set_listed_cancelled_and_heard() -> None:
    async with (
        serving(house(), **typed()) as server,
        device(server, KITCHEN) as kitchen,
    ):
        assert "10 minutes" in (await kitchen.type_text("set a timer for ten minutes")).text
        assert "1 hour" in (await kitchen.type_text("set a timer for an hour")).text
        listed = (await kitchen.type_text("what timers are running")).text
        assert "2 are set" in listed
        assert "minutes" in listed
        assert "Which one?" in (await kitchen.type_text("cancel the timer")).text
        assert "cancelled" in (await kitchen.type_text("cancel the second one")).text
        await kitchen.type_text("set a pasta timer for 1 second")
        reply = await heard(kitchen, "The timer pasta is up.")
        assert_played_well(reply)
        assert_nothing_wrong(kitchen)
        over = {each.text or each.length_ms: each.state for each in await settled(server, 2)}
        assert over == {"pasta": State.DELIVERED, 3_600_000: State.CANCELLED}


async def test_a_timer_set_by_voice(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With everything as it comes: the offline recogniser, the phrase book, the offline voice."""
    caplog.set_level(logging.DEBUG, "vixio")  # shown if it is not understood: with which score
    async with serving(house(tmp_path)) as server, device(server, KITCHEN) as kitchen:
        reply = await kitchen.ask("set a timer for ten minutes")
        scores = [vars(each) for each in caplog.records if "score" in vars(each)]
        assert "10 minutes" in reply.text, (scores, server.app.counters.snapshot())
        assert_played_well(reply)
        (timer,) = await deliveries(server)
        assert (timer.kind, timer.length_ms) == (Kind.TIMER, 600_000)
        assert timer.created_by == f"device:{KITCHEN}"


async def test_a_reminder_outlives_the_server_and_an_absence(tmp_path: Path) -> None:
    async with serving(house(tmp_path), **typed()) as server:
        async with device(server, KITCHEN) as kitchen:
            told = await kitchen.type_text("remind me in 20 minutes to call the bank")
            assert "20 minutes" in told.text
        await order(server, KITCHEN, ago_s=300, text="feed the cat.")
        await order(server, KITCHEN, ago_s=7200 / 4, kind=Kind.ALARM, expires_ms=1_000)
    async with serving(house(tmp_path), **typed()) as server:
        async with device(server, KITCHEN) as kitchen:
            # Nobody is interrupted: first the user has a turn.
            assert "Vixio" in (await kitchen.type_text("who are you")).text
            reply = await heard(kitchen, "feed the cat")
            assert reply.text == "5 minutes ago: Reminder: feed the cat."
            assert_nothing_wrong(kitchen)
            await settled(server, 2)
        async with device(server, KITCHEN) as kitchen:
            assert "Vixio" in (await kitchen.type_text("who are you")).text
            await order(server, KITCHEN, text="the end")
            await heard(kitchen, "the end")
            assert not any("cat" in reply.text for reply in kitchen.replies)
        states = {each.text: each.state for each in await deliveries(server)}
        assert states == {
            "feed the cat.": State.DELIVERED,
            "": State.EXPIRED,
            "call the bank": State.PENDING,
            "the end": State.DELIVERED,
        }


async def test_a_message_from_room_to_room_and_an_announcement_to_all() -> None:
    async with (
        serving(house(), **typed()) as server,
        device(server, KITCHEN) as kitchen,
        device(server, HALL) as hall,
    ):
        told = await kitchen.type_text("tell the hall that the soup is getting cold")
        assert told.text == "Okay, I pass it on."
        reply = await heard(hall, "Message from Kitchen")
        assert reply.text == "Message from Kitchen: the soup is getting cold."
        assert "do not know" in (await kitchen.type_text("tell the moon that it is late")).text
        async with device(server, LOFT) as loft:
            await hall.type_text("announce that we leave now")
            for each in (kitchen, loft):
                assert "we leave now" in (await heard(each, "Announcement")).text
        await order(
            server, HALL, text="the end"
        )  # it comes behind an announcement, if there is one
        await heard(hall, "the end")
        assert not any("Announcement" in reply.text for reply in hall.replies)
        told = await kitchen.type_text("tell the loft that it is late")
        assert "when that device is used next" in told.text
        async with device(server, LOFT) as loft:
            await heard(loft, "it is late")  # in its first pause, without a word of the user
        found = await settled(server, 5)
        assert {each.state for each in found} == {State.DELIVERED}
        assert len({each.series for each in found if each.kind is Kind.ANNOUNCEMENT}) == 1


async def test_several_at_once_are_one_speech() -> None:
    async with (
        serving(house(), **typed()) as server,
    ):
        for text, ago_s in (("one", 3), ("two", 2), ("three", 1)):
            await order(server, HALL, text=text, ago_s=ago_s)
        async with device(server, HALL) as hall:
            await hall.type_text("who are you")
            reply = await heard(hall, "three")
            assert reply.text == "Reminder: one. Reminder: two. Reminder: three."
            assert_played_well(reply)
