"""Stand-ins for providers that are still loading."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from vixio.core.chunk import TextDelta
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.messages import LOADING, failure_key, message
from vixio.core.metrics import Counters
from vixio.core.tools.types import ToolDefinition
from vixio.providers.agent import AgentBackend, AgentRequest
from vixio.providers.asr import ASRProvider, SpeechHints
from vixio.providers.pool.choice import MadeProvider, Startable
from vixio.providers.pool.loader import ProviderLoader
from vixio.providers.pool.warming import (
    HELD_BYTES,
    WarmingAgent,
    WarmingASR,
    WarmingTTS,
    WarmingVAD,
)
from vixio.providers.registry import ProviderKind
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ScriptedVAD

P = TypeVar("P", bound=Startable)

SECOND = bytes(32_000)
HINTS = SpeechHints()
MISSING = ProviderUnavailable("x", "install it")


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vixio.providers.pool.warming.WAIT_S", 0.01)


def loading(kind: ProviderKind, provider: P) -> ProviderLoader[P]:
    """Return a loader whose provider is made and not started yet."""
    loader = ProviderLoader(MadeProvider(kind, provider), Counters())
    loader.make()
    return loader


async def becomes_ready(*loaders: ProviderLoader[Any]) -> None:
    for loader in loaders:
        loader.begin()
        await loader.settled()


def slow_asr(asr: ScriptedASR) -> ProviderLoader[ASRProvider]:
    return loading(ProviderKind.ASR, asr)


def slow_tts(tts: ScriptedTTS) -> ProviderLoader[TTSProvider]:
    return loading(ProviderKind.TTS, tts)


def slow_vad(vad: ScriptedVAD) -> ProviderLoader[VADProvider]:
    return loading(ProviderKind.VAD, vad)


async def test_a_recogniser_gets_what_was_held() -> None:
    asr = ScriptedASR(["words"])
    loader = slow_asr(asr)
    stream = WarmingASR(loader).open(HINTS)
    await stream.feed(SECOND)
    assert asr.hints == []  # nothing is asked of it before
    await becomes_ready(loader)
    await stream.feed(SECOND)
    assert (await stream.finish()).text == stream.partial == "words"
    assert asr.utterances == [SECOND * 2]
    await stream.close()
    assert asr.open_streams == 0


async def test_a_recogniser_that_becomes_ready_while_a_turn_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vixio.providers.pool.warming.WAIT_S", 5.0)
    loader = slow_asr(ScriptedASR(["words"]))
    stream = WarmingASR(loader).open(HINTS)
    await stream.feed(SECOND)
    finishing = asyncio.create_task(stream.finish())
    await asyncio.sleep(0)
    await becomes_ready(loader)
    assert (await finishing).text == "words"
    await stream.close()


async def test_hints_that_change_while_it_loads() -> None:
    asr = ScriptedASR(["words"])
    loader = slow_asr(asr)
    stream = WarmingASR(loader).open(HINTS)
    await stream.feed(SECOND)
    later = replace(HINTS, language="de")
    stream.update_hints(later)
    await becomes_ready(loader)
    await stream.feed(SECOND)
    stream.update_hints(HINTS)
    assert (await stream.finish()).text == "words"
    await stream.close()
    assert (asr.hints, asr.hint_updates) == ([later], [HINTS])


async def test_a_recogniser_that_is_not_ready() -> None:
    asr = ScriptedASR()
    warming = WarmingASR(slow_asr(asr))
    warming.prepare(HINTS)
    stream = warming.open(HINTS)
    await stream.feed(SECOND)
    with pytest.raises(ProviderError) as caught:
        await stream.finish()
    assert caught.value.reason == LOADING
    assert asr.hints == []
    await stream.close()


async def test_a_long_utterance_is_not_held() -> None:
    asr = ScriptedASR(["words"])
    loader = slow_asr(asr)
    stream = WarmingASR(loader).open(HINTS)
    for _ in range(HELD_BYTES // len(SECOND) + 2):
        await stream.feed(SECOND)
    await becomes_ready(loader)
    await stream.feed(SECOND)
    with pytest.raises(ProviderError) as caught:  # half of it would be other words
        await stream.finish()
    assert caught.value.reason == LOADING
    assert asr.hints == []
    await stream.close()


async def test_a_stand_in_passes_on_to_a_ready_provider() -> None:
    asr, tts, vad = ScriptedASR(), ScriptedTTS(), ScriptedVAD()
    hearing, speaking, detecting = slow_asr(asr), slow_tts(tts), slow_vad(vad)
    warming = WarmingASR(hearing), WarmingTTS(speaking), WarmingVAD(detecting)
    await becomes_ready(hearing, speaking, detecting)
    warming[0].open(HINTS)
    assert asr.open_streams == 1
    assert warming[1].turn() is tts
    stream = warming[2].open()
    await stream.process(SECOND)
    assert vad.open_streams == 1


async def test_a_provider_that_cannot_be_used_says_why() -> None:
    hearing, speaking, detecting = (
        slow_asr(ScriptedASR()),
        slow_tts(ScriptedTTS()),
        slow_vad(ScriptedVAD()),
    )
    for loader in (hearing, speaking, detecting):
        loader.refuse(MISSING)
    with pytest.raises(ProviderUnavailable):
        await WarmingASR(hearing).open(HINTS).finish()
    with pytest.raises(ProviderUnavailable):
        [pcm async for pcm in WarmingTTS(speaking).turn().synthesize("x")]
    with pytest.raises(ProviderUnavailable):
        await WarmingVAD(detecting).open().process(SECOND)


async def test_a_voice_speaks_once_it_can() -> None:
    loader = slow_tts(ScriptedTTS(sample_rate=16_000))
    voice = WarmingTTS(loader).turn()
    with pytest.raises(ProviderError) as caught:
        [pcm async for pcm in voice.synthesize("hello")]
    assert caught.value.reason == LOADING
    await becomes_ready(loader)
    assert [pcm async for pcm in voice.synthesize("hello")]
    assert voice.sample_rate == 16_000


async def test_a_detector_fails_once_and_then_works() -> None:
    vad = ScriptedVAD()
    loader = slow_vad(vad)
    stream = WarmingVAD(loader).open()
    with pytest.raises(ProviderError) as caught:
        await stream.process(SECOND)
    assert caught.value.reason == LOADING
    assert list(await stream.process(SECOND)) == []
    stream.reset()
    assert list(await stream.process(SECOND)) == []
    await becomes_ready(loader)
    assert len(await stream.process(SECOND)) == 16_000 // vad.window_samples
    stream.reset()
    stream.close()
    assert vad.open_streams == 0
    with pytest.raises(ProviderError):
        await stream.process(SECOND)


async def test_an_agent_replies_once_its_backend_can_be_made() -> None:
    backend = ScriptedAgentBackend()
    loader: ProviderLoader[AgentBackend] = loading(ProviderKind.AGENT, backend)
    agent = WarmingAgent(loader)
    base, changing = (ToolDefinition(name, "", {}, "test") for name in ("base", "changing"))
    await agent.initialize([base], "be brief")
    await agent.update_tools([changing])
    with pytest.raises(ProviderError) as caught:
        [event async for event in agent.reply(AgentRequest(1, "hello"))]
    assert caught.value.reason == LOADING
    await becomes_ready(loader)
    events = [event async for event in agent.reply(AgentRequest(2, "hello"))]
    assert events == [TextDelta(2, "You said hello.")]
    (real,) = backend.agents
    assert [tool.name for tool in real.tools] == ["base", "changing"]
    await agent.update_tools([])
    assert [tool.name for tool in real.tools] == ["base"]
    await agent.close()
    assert real.closed


def test_it_has_words_of_its_own() -> None:
    assert message(failure_key(LOADING), "en") == message("loading", "en")
    assert failure_key("service") == "failed"
