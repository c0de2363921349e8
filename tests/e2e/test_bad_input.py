"""Bad input reaches a whole server: what it gets, and that the conversation goes on."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

import pytest

from firmware_test_client import HelloError, Misbehaviour, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.waiting import until
from vixio.testing import ScriptedAgentBackend, ScriptedTTS

FIRST, SECOND = "good morning", "what is the time"

LIMIT = 65_536
"""Bytes of the largest message that is taken."""

HELLO_S, SOON_S = 60.0, 0.5
"""Seconds for a hello: no machine is so slow; and for a device that never says it."""

REFUSED: dict[str, tuple[Misbehaviour, str]] = {
    "a listen first": (Misbehaviour(hello="wrong_text"), "missing"),
    "audio first": (Misbehaviour(hello="wrong_binary"), "missing"),
    "no audio parameters": (Misbehaviour(hello_body={"audio_params": []}), "audio_params"),
    "unknown audio format": (
        Misbehaviour(hello_body={"audio_params": {"format": "mp3", "sample_rate": 16_000}}),
        "audio_format",
    ),
}
"""What is wrong, and the word under which it is counted."""


async def refused(server: RunningServer, misbehaviour: Misbehaviour) -> None:
    """A device whose hello will not do."""
    device = SimulatedDevice(server.device(misbehaviour=misbehaviour, listen_on_connect=False))
    try:
        await device.boot()
        with suppress(HelloError):  # raised by those that wait for the server's hello
            await device.connect()
        close = await device.wait_for_close()
        assert close.code == 1008
        assert close.reason
        assert server.session(device.config.device_id) is None
    finally:
        await device.close()


async def test_a_wrong_hello_is_refused_with_a_reason_and_counted() -> None:
    config = settings(timeouts={"hello": HELLO_S})
    async with serving(config, asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server:
        async with SimulatedDevice(server.device()) as bystander, asyncio.TaskGroup() as group:
            for misbehaviour, _ in REFUSED.values():
                group.create_task(refused(server, misbehaviour))
            group.create_task(bystander.type_text("good morning"))
        assert bystander.replies[0].text == "You said good morning."
        assert refusals(server) == Counter(reason for _, reason in REFUSED.values())


async def test_a_device_that_says_no_hello_is_refused_in_time() -> None:
    config = settings(timeouts={"hello": SOON_S})
    async with serving(config, asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server:
        await refused(server, Misbehaviour(hello="none"))
        assert refusals(server) == Counter(["timeout"])


def refusals(server: RunningServer) -> Counter[str]:
    prefix = "xiaozhi.refused.hello."
    return Counter(
        {
            name.removeprefix(prefix): number
            for name, number in server.app.counters.snapshot().items()
            if name.startswith(prefix)
        }
    )


GARBAGE_TEXT = (
    "",
    "no json",
    "[1, 2]",
    "null",
    '"listen"',
    "{}",
    '{"type": 7}',
    '{"type": "unheard_of"}',
    '{"type": "listen"}',
    '{"type": "listen", "state": 1, "mode": []}',
    '{"type": "listen", "state": "start", "mode": "telepathy"}',
    '{"type": "listen", "state": "detect", "text": {"a": 1}}',
    '{"type": "listen", "state": "detect", "text": "   "}',
    '{"type": "mcp"}',
    '{"type": "mcp", "payload": "tools"}',
    '{"type": "mcp", "payload": {"id": {}, "result": 3}}',
    '{"type": "hello"}',
    '{"type": "iot", "states": 5}',
    "[" * 5_000,
    '{"type": "listen", "state": "detect", "text": "\\ud800"',
)


async def misbehave(device: SimulatedDevice) -> None:
    """Send everything that means nothing."""
    for text in GARBAGE_TEXT:
        await device.send_text(text)
    for data in (b"", b"\x00", bytes(3), bytes(15), b"\xff" * 200, bytes(range(256)) * 8):
        await device.send_binary(data)
    device.misdeeds.garbage_opus(20)
    device.misdeeds.wrong_size_frames(4)
    device.misdeeds.hello_again()
    await device.flush()


async def test_garbage_is_counted_and_the_conversation_goes_on() -> None:
    recogniser = WaveformASR(await recordings((FIRST, SECOND)))
    agent = ScriptedAgentBackend(lambda text: (f"You said {text}. And so on and so forth.",))
    async with serving(
        asr=recogniser, agent=agent, tts=ScriptedTTS(seconds_per_char=0.02)
    ) as server:
        async with asyncio.TaskGroup() as group:
            for version in (1, 2, 3):
                group.create_task(garbled(server, version))
        counters = server.app.counters.snapshot()
        ignored = {name: n for name, n in counters.items() if ".ignored." in name}
        assert ignored["xiaozhi.ignored.not_json"] >= 3 * 2 * 4
        assert sum(ignored.values()) >= 3 * 2 * len(GARBAGE_TEXT)
        assert server.count("session.defect") == 0


async def garbled(server: RunningServer, version: int) -> None:
    """Garbage before the first turn, while the assistant speaks, and while the user does."""
    async with SimulatedDevice(server.device(version=version)) as device:
        await misbehave(device)
        asking = asyncio.create_task(device.ask(FIRST))
        await device.wait_for_frame("tts")
        await misbehave(device)
        first = await asking
        assert first.stt == FIRST
        assert_played_well(first)

        asking = asyncio.create_task(device.ask(SECOND))
        session = server.session(device.config.device_id)
        assert session is not None
        await until(lambda: session.user_speaking, what="the beginning of an utterance")
        await device.send_text("no json")
        device.misdeeds.garbage_opus(3)
        second = await asking
        # The garbage stands in the middle of the speech: the decoder took it and went on.
        assert second.stt == SECOND
        assert_played_well(second)
        assert_nothing_wrong(device)


@pytest.mark.parametrize("kind", ["text", "binary"])
async def test_too_large_a_message_closes_the_connection(kind: str) -> None:
    agent = ScriptedAgentBackend(lambda text: ("A long answer, " * 20,))
    async with serving(asr=WaveformASR({}), agent=agent, tts=ScriptedTTS()) as server:
        device = SimulatedDevice(server.device())
        try:
            await device.start()
            typing = asyncio.create_task(device.type_text("talk"))
            await device.wait_for_frame("audio")
            if kind == "text":
                await device.send_text('{"type":"ping","x":"' + "x" * LIMIT + '"}')
            else:
                await device.send_binary(bytes(LIMIT + 1))
            close = await device.wait_for_close()
            assert close.code == 1009
            await asyncio.wait([typing])
            assert typing.exception() is not None
            await until(
                lambda: not server.app.host.sessions and not agent.agents[0].running,
                what="the session's end",
            )
            await device.connect()  # the device is welcome again
            assert device.connected
        finally:
            await device.close()


async def test_the_largest_message_that_is_taken() -> None:
    async with (
        serving(asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        head, tail = '{"type":"unheard_of","x":"', '"}'
        await device.send_text(head + "x" * (LIMIT - len(head) - len(tail)) + tail)
        await device.send_binary(bytes(LIMIT))
        reply = await device.type_text("good morning")
        assert reply.text == "You said good morning."
        assert server.count("xiaozhi.ignored.unknown_type") == 1


async def test_unexpected_audio_is_ignored() -> None:
    """Before the first ``listen``, after ``stop``, and while the assistant speaks in auto mode."""
    recogniser = WaveformASR(await recordings((FIRST, SECOND)))
    agent = ScriptedAgentBackend(lambda text: ("One moment please, this takes a while.",))
    async with serving(
        asr=recogniser, agent=agent, tts=ScriptedTTS(seconds_per_char=0.03)
    ) as server:
        async with SimulatedDevice(server.device(mode="manual")) as device:
            device.misdeeds.stray_audio(20)
            await device.flush()
            await until(lambda: server.count("session.audio_ignored") == 20, what="20 packets")

            await device.press()
            await device.say(FIRST)
            await device.release()
            device.misdeeds.stray_audio(15)
            reply = await device.wait_for_reply(after=0)
            assert reply.stt == FIRST
            assert server.count("session.audio_ignored") == 35
            assert [utterance.label for utterance in recogniser.heard] == [FIRST]

        async with SimulatedDevice(server.device(mode="auto")) as device:
            asking = asyncio.create_task(device.ask(SECOND))
            await device.wait_for_frame("audio")
            before = server.count("session.audio_ignored")
            device.misdeeds.stray_audio(25)
            reply = await asking
            assert server.count("session.audio_ignored") >= before + 25
            assert_played_well(reply)
            assert len(device.replies) == 1
            assert recogniser.open_streams == 0
