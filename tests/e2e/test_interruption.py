"""Interrupting, from each cause at each stage: nothing but ``tts stop`` follows, and the next turn
starts clean."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import product

import pytest

from firmware_test_client import Frame, McpFaults, Misbehaviour, Reply, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well, received, what
from tests.e2e.stages import (
    ANSWER,
    HEARD_FRAMES,
    LONG_STORY,
    NEXT,
    SENTENCE,
    STAGES,
    WORDS,
    Bench,
    bench,
    drill,
    knows_tool,
)
from tests.support.waiting import until
from vixio.core.history import (
    INTERRUPTED,
    AssistantMessage,
    HistoryItem,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.core.session import reply_slot

SOON = 15.0
"""Seconds from the arrival of the cause, in which the rest of what was under way may still come.

An uninterrupted reply lasts 29 s longer. How soon it is to the millisecond is tested
on a clock of its own, in tests/session/.
"""

FRAME_S = 0.06
"""Of the server's speech."""

NEVER = 60.0
"""Seconds of a stage that only an interruption ends."""

DRILLING = 8.0
"""Seconds of the device's tool; its answer comes after the call was cancelled."""


@dataclass(frozen=True)
class Cause:
    """What the user or the device does. ``stops``: even a turn that is not spoken yet gets a
    ``tts stop``."""

    act: Callable[[SimulatedDevice], Awaitable[object]]
    stops: bool = False
    mode: str = "auto"


CAUSES: dict[str, Cause] = {
    "abort": Cause(lambda device: device.abort(), stops=True),
    "wake word": Cause(lambda device: device.wake(), stops=True),
    "wake word told": Cause(
        lambda device: device.send_json({"type": "listen", "state": "detect", "text": "Hey Vixio"})
    ),
    "button": Cause(lambda device: device.press(), mode="manual"),
    "typed": Cause(
        lambda device: device.send_json({"type": "listen", "state": "detect", "text": NEXT})
    ),
}


async def interrupted(held: Bench, stage: str, name: str, all_idle: asyncio.Barrier) -> None:
    """Bring a device to ``stage``, interrupt it, and have the next turn."""
    cause = CAUSES[name]
    faults = Misbehaviour(mcp=McpFaults(concurrent=True))  # the tool does not hold up the device
    config = held.server.device(mode=cause.mode, misbehaviour=faults)
    device = SimulatedDevice(config)
    device.add_tool(drill(DRILLING), notify=False)
    try:
        await device.start()
        await knows_tool(held.server, device, "self.bench.drill")
        await held.bring_to(device, stage)
        heard = heard_seconds(device)
        since, count = len(device.frames), len(device.replies)
        await cause.act(device)
        if name == "typed":
            reply = await device.wait_for_reply(after=count)
        else:
            await until(lambda: not busy(held, device), what="the end of the reply")
            reply = await next_turn(device)
        assert_clean_cut(device, since, must_stop=cause.stops or stage == "speaking")
        assert reply.text == ANSWER
        assert reply.stt == NEXT
        assert_played_well(reply)
        assert_nothing_wrong(device)
        history = held.server.app.host.histories.get(config.device_id).items()
        assert_remembered(history, stage, heard, arrived_before_stop(device))
        await all_idle.wait()
    finally:
        await device.close()


def busy(held: Bench, device: SimulatedDevice) -> bool:
    session = held.server.session(device.config.device_id)
    return session is not None and session.state in {"thinking", "speaking"}


async def next_turn(device: SimulatedDevice) -> Reply:
    """Say something else, as the device's mode wants it."""
    count = len(device.replies)
    if device.mode == "manual" and device.listening:  # the button is still pressed
        await device.say(NEXT)
        await device.release()
        return await device.wait_for_reply(after=count)
    return await device.ask(NEXT)


def heard_seconds(device: SimulatedDevice) -> float:
    return sum(heard.duration for heard in device.heard)


def arrived_before_stop(device: SimulatedDevice) -> float:
    """Return the seconds of the first reply that arrived, played or not: one that aborts plays none
    of what is still on its way."""
    names = [what(frame) for frame in received(device)]
    # Without a stop: until the words of the next turn.
    last_words = len(names) - 1 - names[::-1].index("stt")
    frames = names[: min(names.index("tts stop"), last_words)].count("audio")
    return frames * FRAME_S


def assert_clean_cut(device: SimulatedDevice, since: int, *, must_stop: bool) -> None:
    """From the cause on: at most a moment of what was under way, the stop, then the next turn."""
    cause = next(frame for frame in device.frames[since:] if is_cause(frame))
    frames = [
        frame
        for frame in received(device, since)
        # On a busy machine the next turn may take so long to begin that the connection is kept up.
        if frame.time >= cause.time and what(frame) != "tts keepalive"
    ]
    names = [what(frame) for frame in frames]
    assert "stt" in names, "\n".join(map(str, device.frames[max(0, since - 12) :]))
    until_next = frames[: names.index("stt")]
    for frame in until_next:
        if what(frame) != "tts stop":
            assert frame.time - cause.time <= SOON, f"{frame} came late"
    stops = [frame for frame in until_next if what(frame) == "tts stop"]
    # None behind the start to listen that a press or a wake word sends with its abort.
    own = cause.type == "abort" and any(
        frame.direction == "out" and what(frame) == "listen start"
        for frame in device.frames[since:]
        if frame.time - cause.time <= SOON
    )
    assert len(stops) == must_stop or (own and not stops)
    if stops:
        assert stops[0].time - cause.time <= SOON
        assert until_next[-1] is stops[0], "nothing follows it"
    following = names[names.index("stt") :]
    assert following[:4] == ["stt", "tts start", "tts sentence_start", "audio"], "\n".join(
        map(str, frames)
    )
    assert following.count("tts stop") == following.count("tts start") == 1


def is_cause(frame: Frame) -> bool:
    return frame.direction == "out" and frame.type in {"abort", "listen"}


def assert_remembered(
    history: Sequence[HistoryItem], stage: str, played: float, arrived: float
) -> None:
    """Only what was heard, and every tool call closed.

    Seconds of the interrupted reply: ``played`` by the device when the cause left it, and
    ``arrived`` there at all. On a busy machine the cause takes a while to arrive, and the user
    hears on.
    """
    first = UserMessage(WORDS[stage])
    rest = [UserMessage(NEXT), AssistantMessage(ANSWER)]
    assert list(history[-2:]) == rest
    before = list(history[:-2])
    if stage == "asr":
        assert before == []
    elif stage in {"model", "tts"}:
        assert before == [first]
    elif stage == "tool":
        said, call, result = before
        assert said == first
        assert isinstance(call, ToolCallItem)
        assert result == ToolResultItem(call.call_id, INTERRUPTED)
    else:
        said, told = before
        assert said == first
        assert isinstance(told, AssistantMessage)
        assert LONG_STORY.startswith(told.text)
        letter = 0.05  # ScriptedTTS: 50 ms each
        assert len(told.text) >= played / letter - 4
        # What a sentence is cut to is the share of it that was heard, of the part that there is: on
        # a busy machine the voice may not have spoken the rest yet. That share is tested on a clock
        # of its own, in tests/session/. A sentence of which nothing arrived was not heard.
        begun = math.ceil(arrived / (letter * len(SENTENCE)))
        assert len(told.text) <= begun * len(SENTENCE)


async def test_each_cause_at_each_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    # Twenty devices on a busy machine: what one sends behind a `tts stop` may be read late.
    monkeypatch.setattr(reply_slot, "STOP_WINDOW_S", 60.0)
    async with bench(slow=NEVER, story=LONG_STORY) as held:
        pairs = list(product(STAGES, CAUSES))
        barrier = asyncio.Barrier(len(pairs) + 1)
        async with asyncio.TaskGroup() as group:
            for stage, name in pairs:
                work = interrupted(held, stage, name, barrier)
                group.create_task(work, name=f"{name} at {stage}")
            await until(
                lambda: held.server.count("xiaozhi.mcp.late_answer") == len(CAUSES),
                what="the tool's answers",
                seconds=90,
            )
            async with asyncio.timeout(90):
                await barrier.wait()
            assert not any(held.working().values()), "the old turns are still worked on"
        assert held.server.count("session.defect") == 0


async def test_a_repeated_listen_start_interrupts_what_is_spoken_only() -> None:
    """In auto mode the firmware repeats it by itself: while thinking it means nothing."""
    async with (
        bench(slow=NEVER, story=LONG_STORY, think_ms=0) as held,  # the words come behind the end
        SimulatedDevice(held.server.device()) as device,
    ):
        held.recogniser.outcomes[WORDS["speaking"]] = (0.6, WORDS["speaking"])
        turn = asyncio.create_task(device.ask(WORDS["speaking"]))
        session = held.server.session(device.config.device_id)
        assert session is not None
        await until(
            lambda: session.timelines and "turn_end" in session.timelines[-1].marks,
            what="the end of the turn",
        )
        device.misdeeds.listen_start_again()
        await until(lambda: len(device.heard) >= HEARD_FRAMES, what="speech")
        assert [frame for frame in received(device) if what(frame) == "tts stop"] == []
        since = len(device.frames)
        device.misdeeds.listen_start_again()
        await turn
        frames = received(device, since)
        cause = next(frame for frame in device.frames[since:] if is_cause(frame))
        assert what(frames[-1]) == "tts stop"
        assert frames[-1].time - cause.time <= SOON
        reply = await device.ask(NEXT)
        assert reply.text == ANSWER
        assert_played_well(reply)


async def test_voice_interrupts_in_realtime_mode() -> None:
    async with (
        bench(slow=NEVER, story=LONG_STORY) as held,
        SimulatedDevice(held.server.device(mode="realtime")) as device,
    ):
        await held.bring_to(device, "speaking")
        since = len(device.frames)
        spoken = await device.say(NEXT)
        reply = await device.wait_for_reply(after=2)
        frames = received(device, since)
        names = [what(frame) for frame in frames]
        stop = names.index("tts stop")
        assert spoken.voice_start < frames[stop].time <= spoken.voice_start + SOON
        silent = ["tts stop", "tts start"]  # until the words are known
        answer = ["stt", "tts stop", "tts start", "tts sentence_start"]
        assert names[stop:][:6] == [*silent, *answer]
        assert device.stt_texts[-1] == NEXT
        assert reply.text == ANSWER
        assert_played_well(reply)
        history = held.server.app.host.histories.get(device.config.device_id).items()
        assert len(history) == 4
        assert isinstance(history[1], AssistantMessage)
        assert 0.05 * (len(history[1].text) - 1) < frames[stop].time - device.replies[0].tts_start


async def test_who_goes_on_before_the_answer_in_realtime_mode_is_answered_once() -> None:
    async with (
        bench(slow=NEVER, story=LONG_STORY) as held,
        SimulatedDevice(held.server.device(mode="realtime")) as device,
    ):
        await held.bring_to(device, "model")
        await device.say(NEXT)
        reply = await device.wait_for_reply(after=0)
        assert reply.text == ANSWER
        whole = f"{WORDS['model']} {NEXT}"
        history = held.server.app.host.histories.get(device.config.device_id).items()
        assert list(history) == [UserMessage(whole), AssistantMessage(ANSWER)]
        assert held.working() == dict.fromkeys(held.working(), 0)
