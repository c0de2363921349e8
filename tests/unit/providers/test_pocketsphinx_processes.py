"""PocketSphinx beyond the contract: its grammar, and the processes that it works in."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from vixio.cli.diagnostics.providers import COMMON_TOOLS
from vixio.core.chunk import Completeness
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.core.tools.types import ToolDefinition, ToolOptions
from vixio.providers.asr import Recognition, SpeechHints
from vixio.providers.pocketsphinx.messages import Kind
from vixio.providers.pocketsphinx.provider import (
    PocketSphinxASRProvider,
    PocketSphinxSettings,
    PocketSphinxStream,
)
from vixio.testing.voices import Speaker, Voices

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

LAMP = (
    ToolDefinition("self.lamp.turn_on", "Turn on the lamp", alias="self_lamp_turn_on"),
    ToolDefinition("self.lamp.turn_off", "Turn off the lamp", alias="self_lamp_turn_off"),
)
FAN = (ToolDefinition("self.fan.turn_on", "Turn on the fan", alias="self_fan_turn_on"),)
SPEAKER = Speaker("en-us", rate=160, pitch=50)
DECODERS = PocketSphinxSettings().decoders
BOUND = 60.0
"""Seconds for one answer or a new process, on a busy machine."""


@pytest.fixture(scope="module")
def turn_on() -> list[bytes]:
    # With 0.1 s of silence before it and 0.2 s after it: to decode more of it shows nothing.
    return Voices(repeatable=True).say("turn on the lamp", SPEAKER, seed=1)[3:-5]


@asynccontextmanager
async def started(**settings: Any) -> AsyncIterator[PocketSphinxASRProvider]:  # noqa: ANN401 - as the settings have them
    made = PocketSphinxASRProvider(PocketSphinxSettings(timeout=BOUND, **settings))
    await made.start()
    try:
        yield made
    finally:
        await made.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def provider() -> AsyncIterator[PocketSphinxASRProvider]:
    """One for all tests that leave its process alive."""
    async with started(workers=1, max_seconds=4) as made:
        yield made


async def _say(
    provider: PocketSphinxASRProvider, frames: list[bytes], tools: tuple[ToolDefinition, ...] = LAMP
) -> Recognition:
    stream = provider.open(SpeechHints(tools, "en"))
    try:
        for frame in frames:
            await stream.feed(frame)
        async with asyncio.timeout(BOUND):
            return await stream.finish()
    finally:
        await stream.close()


async def _next_worker(provider: PocketSphinxASRProvider, old: int) -> int:
    """Wait, bounded, for the worker that replaces ``old``."""
    # The pool has no event for a new worker: polled, bounded.
    async with asyncio.timeout(BOUND):
        while not (  # noqa: ASYNC110 - see above
            pids := [worker.pid for worker in provider.workers if worker.pid != old]
        ):
            await asyncio.sleep(0.01)
    return pids[0]


def _gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


async def test_words_are_recognised(
    provider: PocketSphinxASRProvider, turn_on: list[bytes]
) -> None:
    heard = await _say(provider, turn_on)
    assert heard.text == "turn on the lamp"
    assert not heard.rejected
    assert heard.confidence is not None
    assert 0.5 <= heard.confidence <= 1
    assert heard.language == "en"


async def test_a_command_is_told_from_its_beginning_and_from_other_speech(
    provider: PocketSphinxASRProvider, turn_on: list[bytes]
) -> None:
    voices = Voices(repeatable=True)
    tools = (*LAMP, *COMMON_TOOLS)
    for text, meant in {
        "set the volume to": Completeness.INCOMPLETE,
        "please switch": Completeness.INCOMPLETE,
        "set the volume to thirty percent": Completeness.COMPLETE,
        "turn the lamp off please": Completeness.COMPLETE,
        "turn the volume up": None,  # "to" may follow, and a number
        "the weather was so lovely that we walked along the river": None,
        "tell me a story about a dragon": None,
    }.items():
        heard = await _say(provider, voices.say(text, SPEAKER, seed=1), tools)
        assert heard.completeness is meant, text
        known = meant is Completeness.COMPLETE or text == "turn the volume up"
        assert heard.text == (text if known else ""), text


async def test_the_grammar_follows_the_tools(
    provider: PocketSphinxASRProvider, turn_on: list[bytes]
) -> None:
    assert (await _say(provider, turn_on, LAMP)).text == "turn on the lamp"
    swapped = await _say(provider, turn_on, FAN)
    assert swapped.text != "turn on the lamp"
    assert (await _say(provider, turn_on, LAMP)).text == "turn on the lamp"


async def test_the_grammar_follows_the_tools_in_mid_utterance(
    provider: PocketSphinxASRProvider, turn_on: list[bytes]
) -> None:
    def opened(tools: tuple[ToolDefinition, ...]) -> PocketSphinxStream:
        return provider.open(SpeechHints(tools, "en"))

    # Behind so many frames the tools are others.
    from_the_start, changed = opened(LAMP), {at: opened(FAN) for at in (0, 1, 10, 10_000)}
    for number, frame in enumerate(turn_on):
        await from_the_start.feed(frame)
        for at, stream in changed.items():
            if number == at:
                stream.update_hints(SpeechHints(LAMP, "en"))
            await stream.feed(frame)
    changed[10_000].update_hints(SpeechHints(LAMP, "en"))
    assert (await from_the_start.finish()).text == "turn on the lamp"
    for at, stream in changed.items():
        assert (await stream.finish()).text == "turn on the lamp", at
        assert stream.score == from_the_start.score, "as if the grammar had been known all along"
        stream.update_hints(SpeechHints(FAN, "en"))
    for stream in (from_the_start, *changed.values()):
        await stream.close()


async def test_it_may_follow_again_and_again(
    provider: PocketSphinxASRProvider, turn_on: list[bytes]
) -> None:
    stream = provider.open(SpeechHints(FAN, "en"))
    for number, frame in enumerate(turn_on):
        await stream.feed(frame)
        stream.update_hints(SpeechHints((FAN, LAMP, ())[number % 3], "en"))
    stream.update_hints(SpeechHints(LAMP, "en"))
    assert (await stream.finish()).text == "turn on the lamp"
    await stream.close()
    assert (await _say(provider, turn_on)).text == "turn on the lamp"


async def test_a_grammar_that_cannot_be_made_costs_one_utterance(
    provider: PocketSphinxASRProvider, turn_on: list[bytes]
) -> None:
    stream = provider.open(SpeechHints(LAMP, "en"))
    for frame in turn_on:
        await stream.feed(frame)
    provider.workers[0].send(Kind.HINTS, stream._number, b"no JSON")
    with pytest.raises(ProviderError):
        await stream.finish()
    await stream.close()
    assert provider.workers[0].load == 0
    assert (await _say(provider, turn_on)).text == "turn on the lamp"


async def test_ten_minutes_are_bounded_and_rejected(
    provider: PocketSphinxASRProvider, turn_on: list[bytes]
) -> None:
    minute = b"".join(turn_on) * 40
    heard = await _say(provider, [minute] * 10)
    assert heard.text == ""
    assert heard.rejected
    assert (await _say(provider, turn_on)).text == "turn on the lamp"


async def test_many_at_once_do_not_mix(
    provider: PocketSphinxASRProvider, turn_on: list[bytes]
) -> None:
    turn_off = Voices(repeatable=True).say("turn off the lamp", SPEAKER, seed=2)
    heard = await asyncio.gather(
        *(_say(provider, turn_on if number % 2 else turn_off) for number in range(2 * DECODERS))
    )
    assert [item.text for item in heard] == ["turn off the lamp", "turn on the lamp"] * DECODERS


@pytest.mark.parametrize("stage", ["unused", "opened", "half", "finishing"])
async def test_cancelled_at_any_stage_it_leaves_nothing(
    provider: PocketSphinxASRProvider, turn_on: list[bytes], stage: str
) -> None:
    stream = provider.open(SpeechHints(LAMP))
    finishing: asyncio.Task[Recognition] | None = None
    if stage != "unused":
        for frame in turn_on[: {"opened": 1, "half": len(turn_on) // 2}.get(stage)]:
            await stream.feed(frame)
    if stage == "finishing":
        finishing = asyncio.create_task(stream.finish())
        await asyncio.sleep(0)
        finishing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await finishing
    await stream.close()
    await stream.close()
    assert provider.workers[0].load == 0
    with pytest.raises(ProviderError):
        await stream.feed(turn_on[0])
    assert (await _say(provider, turn_on)).text == "turn on the lamp"


async def test_a_killed_worker_fails_its_utterance_and_is_replaced(turn_on: list[bytes]) -> None:
    async with started(workers=1) as provider:
        stream = provider.open(SpeechHints(LAMP))
        for frame in turn_on[:10]:
            await stream.feed(frame)
        pid = provider.workers[0].pid
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(ProviderError) as caught:
            async with asyncio.timeout(BOUND):
                await stream.finish()
        assert caught.value.retryable
        await stream.close()
        assert await _next_worker(provider, pid) != pid
        assert (await _say(provider, turn_on)).text == "turn on the lamp"
        assert _gone(pid)


async def test_a_hung_worker_is_killed_in_time(turn_on: list[bytes]) -> None:
    provider = PocketSphinxASRProvider(PocketSphinxSettings(workers=1, timeout=0.5))
    await provider.start()
    try:
        stream = provider.open(SpeechHints(LAMP))
        await stream.feed(turn_on[0])
        pid = provider.workers[0].pid
        os.kill(pid, signal.SIGSTOP)
        for frame in turn_on[1:]:
            await stream.feed(frame)
        with pytest.raises(ProviderTimeout):
            await asyncio.wait_for(stream.finish(), BOUND)
        await stream.close()
        await _next_worker(provider, pid)
        # A healthy worker may take longer than that on a busy machine.
        provider._settings = provider.settings.model_copy(update={"timeout": BOUND})
        assert (await _say(provider, turn_on)).text == "turn on the lamp"
        assert _gone(pid)
    finally:
        await provider.close()


async def test_closing_fails_what_is_open_and_ends_every_process(turn_on: list[bytes]) -> None:
    provider = PocketSphinxASRProvider(PocketSphinxSettings(workers=2, timeout=BOUND))
    await provider.start()
    await provider.start()
    pids = [worker.pid for worker in provider.workers]
    assert len(pids) == 2
    stream: PocketSphinxStream = provider.open(SpeechHints(LAMP))
    await stream.feed(turn_on[0])
    await provider.close()
    await provider.close()
    with pytest.raises(ProviderError):
        await stream.finish()
    await stream.close()
    assert all(map(_gone, pids))
    with pytest.raises(ProviderError):
        await provider.open(SpeechHints(LAMP)).feed(turn_on[0])
    with pytest.raises(ProviderError):
        await provider.start()


async def test_preparing_is_immediate_and_needs_no_start(turn_on: list[bytes]) -> None:
    provider = PocketSphinxASRProvider(PocketSphinxSettings(workers=1, timeout=BOUND))
    provider.prepare(SpeechHints(LAMP))
    await provider.start()
    try:
        provider.prepare(SpeechHints(FAN))
        assert (await _say(provider, turn_on)).text == "turn on the lamp"
    finally:
        await provider.close()


@pytest.mark.parametrize("answer", ["yes please", "go ahead", "never mind"])
async def test_an_answer_is_known_where_a_tool_asks_for_one(
    provider: PocketSphinxASRProvider, answer: str
) -> None:
    asking = (replace(LAMP[0], options=ToolOptions(confirm=True)),)
    said = Voices(repeatable=True).say(answer, SPEAKER, seed=1)
    assert (await _say(provider, said, asking)).text == answer
    assert (await _say(provider, said, LAMP)).text != answer


@pytest.mark.parametrize(("caution", "heard"), [(0.0, "goodbye"), (100.0, "")])
async def test_what_hangs_up_must_be_said_clearly(
    turn_on: list[bytes], caution: float, heard: str
) -> None:
    goodbye = Voices(repeatable=True).say("goodbye", SPEAKER, seed=1)
    ending = (*LAMP, ToolDefinition("end_conversation", "End the conversation."))
    async with started(workers=1, caution=caution) as made:
        said = await _say(made, goodbye, ending)
        assert (said.text, said.rejected) == (heard, not heard)
        assert (await _say(made, turn_on, ending)).text == "turn on the lamp"
        # Without the tool the same word only has a greeting for an answer.
        assert (await _say(made, goodbye, LAMP)).text == "goodbye"
