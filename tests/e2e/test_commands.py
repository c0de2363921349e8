"""Commands into the session of a real device, and the events of what follows."""

from __future__ import annotations

import asyncio

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_played_well
from tests.e2e.harness import RunningServer
from tests.e2e.stages import ANSWER, HEARD_FRAMES, LATE, NEXT, STORY, WORDS, bench
from tests.support.waiting import until
from vixio.core.history import AssistantMessage
from vixio.core.session import events
from vixio.core.session.session import Session
from vixio.core.session.speech import Priority, SpeechOutcome, SpeechStatus

NEWS = "The washing machine is done."


def session(server: RunningServer, device: SimulatedDevice) -> Session:
    found = server.session(device.config.device_id)
    assert found is not None
    return found


async def bring_to(server: RunningServer, device: SimulatedDevice, state: str) -> None:
    """Have the device's conversation come to ``state``."""
    talking = session(server, device)
    if state == "idle":  # where push-to-talk rests
        await device.press()
        await device.say(NEXT)
        await device.release()
        await device.wait_for(lambda: device.replies and device.replies[-1].ended, what="answer")
    elif state == "listening":
        await device.wait_for(lambda: device.listening, what="listening")
    elif state == "thinking":
        await type_text(device, WORDS["model"])
    else:
        await type_text(device, WORDS["speaking"])
        await until(lambda: len(device.heard) >= HEARD_FRAMES, what="speech")
    await until(lambda: talking.state == state, what=state)


async def type_text(device: SimulatedDevice, text: str) -> None:
    """Type, without a wait for the answer."""
    await device.send_json({"type": "listen", "state": "detect", "text": text})


@pytest.mark.parametrize("priority", Priority)
async def test_a_speech_in_every_state(priority: Priority) -> None:
    """What is said on command is played to its end, in the order of its priority."""

    async def say_in(server: RunningServer, state: str) -> None:
        mode = "manual" if state == "idle" else "auto"
        async with SimulatedDevice(server.device(mode=mode)) as device:
            await bring_to(server, device, state)
            handle = session(server, device).say(NEWS, priority=priority)
            outcome = await handle.played()
            assert outcome == SpeechOutcome(SpeechStatus.PLAYED, NEWS)
            await device.wait_for(
                lambda: device.replies[-1].text == NEWS and device.replies[-1].ended,
                what="the speech",
            )
            assert_played_well(device.replies[-1])
            before = [reply.text for reply in device.replies[:-1]]
            if state == "speaking" and priority is not Priority.HIGH:
                assert before == [STORY.strip()]
            elif state == "speaking":
                assert before
                assert before != [STORY.strip()]
            elif state == "thinking":
                assert before == ([] if priority is Priority.HIGH else [LATE])
            else:
                assert before == ([ANSWER] if state == "idle" else [])
            history = server.app.host.histories.get(device.config.device_id)
            assert history.items()[-1] == AssistantMessage(NEWS)

    async with bench() as held, asyncio.TaskGroup() as group:
        for state in ("idle", "listening", "thinking", "speaking"):
            group.create_task(say_in(held.server, state), name=state)


async def test_a_speech_waits_for_the_users_words_and_their_answer() -> None:
    async with bench() as held, SimulatedDevice(held.server.device()) as device:
        asking = asyncio.create_task(device.ask(NEXT))
        talking = session(held.server, device)
        await until(lambda: talking.user_speaking, what="an utterance")
        handle = talking.say(NEWS, priority=Priority.HIGH)
        assert (await asking).text == ANSWER
        assert (await handle.played()).status is SpeechStatus.PLAYED
        assert [reply.text for reply in device.replies] == [ANSWER, NEWS]


async def test_a_question_on_command_and_its_answer() -> None:
    async with bench() as held, SimulatedDevice(held.server.device()) as device:
        handle = session(held.server, device).ask(NEXT)
        assert await handle.played() == SpeechOutcome(SpeechStatus.PLAYED, ANSWER)
        await device.wait_for(lambda: device.replies and device.replies[-1].ended, what="it")
        assert device.replies[-1].text == ANSWER


@pytest.mark.websocket
async def test_interrupting_and_closing_by_command() -> None:
    async with bench() as held, SimulatedDevice(held.server.device()) as device:
        await bring_to(held.server, device, "speaking")
        talking = session(held.server, device)
        talking.interrupt("maintenance")
        await device.wait_for(lambda: device.listening, what="listening")
        frames = len(device.heard)
        reply = await device.ask(NEXT)
        assert reply.text == ANSWER
        assert frames < len(device.heard)
        await talking.close("maintenance")
        await until(lambda: not len(held.server.app.host.sessions), what="the end")


@pytest.mark.websocket
async def test_slow_and_dead_subscribers_delay_nothing() -> None:
    async with bench() as held:
        bus = held.server.app.host.events
        dead, prompt = bus.subscribe(2), bus.subscribe()
        slow = bus.subscribe(2)
        taken: list[events.Event] = []

        async def read_slowly() -> None:
            async for event in slow:
                taken.append(event)
                await asyncio.sleep(0.5)

        reading = asyncio.create_task(read_slowly())
        try:
            async with SimulatedDevice(held.server.device()) as device:
                assert_played_well(await device.ask(NEXT))
                assert_played_well(await device.ask(NEXT))
        finally:
            reading.cancel()
        await until(lambda: not len(held.server.app.host.sessions), what="the end")
        seen = prompt.take()
        # The device lists its tools beside the conversation: that may be seen at any point of it.
        beside = (events.StateChanged, events.DeviceToolsListed)
        kinds = [type(event).__name__ for event in seen if not isinstance(event, beside)]
        began = ["FinalTranscript", "TurnStarted", "SpeechStarted"]
        turn = [*began, "SpeechSentence", "SpeechPlayed", "TurnEnded"]
        assert kinds == ["SessionOpened", *turn, *turn, "SessionClosed"]
        states = [event.after for event in seen if isinstance(event, events.StateChanged)]
        assert states == ["listening", *["thinking", "speaking", "listening"] * 2]
        assert prompt.dropped == 0
        assert dead.dropped == len(seen) - 2
        assert slow.dropped > 0
        ended = [event for event in seen if isinstance(event, events.TurnEnded)]
        assert all("first_frame" in event.timeline.marks for event in ended)


@pytest.mark.websocket
async def test_a_session_is_found_by_its_device() -> None:
    async with bench() as held, SimulatedDevice(held.server.device()) as device:
        sessions = held.server.app.host.sessions
        found = sessions.find(device.config.device_id)
        assert found is not None
        assert sessions.get(found.session_id) is found
        assert list(sessions) == [found]
        await device.reconnect()
        await until(lambda: sessions.find(device.config.device_id) not in {None, found}, what="it")
    assert len(sessions) == 0
