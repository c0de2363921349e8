"""The bus: bounded, dropping, counted, never waiting."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import FrozenInstanceError, fields

import pytest

from vixio.core.session import events
from vixio.core.session.events import Event, EventBus, SpeechStarted

KINDS = [
    kind
    for _, kind in inspect.getmembers(events, inspect.isclass)
    if issubclass(kind, Event) and kind is not Event
]


def speech(number: int) -> SpeechStarted:
    return SpeechStarted("aa:bb", "s", float(number), number)


async def test_each_subscriber_has_everything_in_order() -> None:
    bus = EventBus()
    first, second = bus.subscribe(), bus.subscribe()
    for number in range(5):
        bus.publish(speech(number))
    bus.close()
    expected = [speech(number) for number in range(5)]
    assert [event async for event in first] == expected
    assert [event async for event in second] == expected


async def test_a_full_queue_drops_the_oldest_and_counts() -> None:
    bus = EventBus()
    dead, alive = bus.subscribe(3), bus.subscribe(10)
    for number in range(10):
        bus.publish(speech(number))
    assert (dead.dropped, alive.dropped) == (7, 0)
    assert dead.take() == [speech(7), speech(8), speech(9)]
    assert len(alive) == 10
    assert len(dead) == 0


@pytest.mark.parametrize("size", [0, -1])
def test_a_queue_without_room_is_refused(size: int) -> None:
    bus = EventBus()
    with pytest.raises(ValueError, match="at least 1 event"):
        bus.subscribe(size)
    bus.publish(speech(1))


async def test_a_reader_waits_for_the_next_event() -> None:
    bus = EventBus()
    with bus.subscribe() as subscription:
        waiting = asyncio.create_task(anext(subscription))
        await asyncio.sleep(0)
        assert not waiting.done()
        bus.publish(speech(1))
        assert await waiting == speech(1)
    bus.publish(speech(2))
    assert [event async for event in subscription] == []


async def test_closing_ends_a_waiting_reader() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    waiting = asyncio.create_task(anext(subscription, None))
    await asyncio.sleep(0)
    subscription.close()
    subscription.close()
    assert await waiting is None


async def test_a_cancelled_reader_loses_nothing() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    waiting = asyncio.create_task(anext(subscription))
    await asyncio.sleep(0)
    bus.publish(speech(1))
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await anext(subscription) == speech(1)


def test_a_sink_is_called_at_once() -> None:
    bus = EventBus()
    seen: list[Event] = []
    bus.attach(seen.append)
    bus.publish(speech(1))
    assert seen == [speech(1)]


@pytest.mark.parametrize("kind", KINDS)
def test_events_are_frozen_and_say_whose_they_are(kind: type[Event]) -> None:
    assert [each.name for each in fields(kind)][:3] == ["device_id", "session_id", "at"]
    assert not hasattr(kind, "__dict__") or "__slots__" in vars(kind)
    with pytest.raises(FrozenInstanceError):
        speech(1).at = 2.0  # type: ignore[misc]


def test_there_are_the_events_that_the_documents_name() -> None:
    assert {kind.__name__ for kind in KINDS} == {
        "SessionOpened",
        "DeviceToolsListed",
        "SessionClosed",
        "ConversationOpened",
        "ConversationEnded",
        "StateChanged",
        "PartialTranscript",
        "FinalTranscript",
        "TurnStarted",
        "TurnEnded",
        "ToolStarted",
        "ToolEnded",
        "SpeechStarted",
        "SpeechSentence",
        "SpeechPlayed",
        "SpeechInterrupted",
        "Failure",
    }
