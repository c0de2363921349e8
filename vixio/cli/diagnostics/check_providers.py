"""Tries the providers of a configuration: starts each, uses it once, asks its service if it may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Protocol, TypeVar

from vixio.core.audio import BYTES_PER_SAMPLE, pcm_seconds
from vixio.core.errors import ConfigError, ProviderError
from vixio.core.messages import reason
from vixio.providers.asr import SpeechHints
from vixio.providers.health import trial
from vixio.settings import Settings

_WINDOWS = 5
"""Given to the detector, of which the fastest is shown: other parts are tried meanwhile."""


class Startable(Protocol):
    """What the kinds of providers have in common."""

    async def start(self) -> None: ...
    async def close(self) -> None: ...


ProviderT = TypeVar("ProviderT", bound=Startable)


@asynccontextmanager
async def _started(provider: ProviderT) -> AsyncIterator[ProviderT]:
    """Start ``provider``, and close it at the end. Raises ProviderError, also of its service."""
    try:
        await provider.start()
        if isinstance(outcome := await trial(provider), ProviderError):
            raise outcome
        yield provider
    finally:
        await provider.close()


async def try_vad(settings: Settings) -> str:
    """Return how long the detector takes; it gets silence."""
    async with _started(settings.vad.create()) as vad:
        stream = vad.open()
        try:
            took: list[float] = []
            answers: Sequence[float] = ()
            for _ in range(_WINDOWS):
                began = perf_counter()
                answers = await stream.process(bytes(vad.window_samples * BYTES_PER_SAMPLE))
                took.append((perf_counter() - began) * 1000)
        finally:
            stream.close()
    if len(answers) != 1 or not 0 <= answers[0] <= 1:
        raise ConfigError(f"vad.{vad.name}: gave {list(answers)} for one window of silence")
    return f"{vad.name}: one window in {min(took):.1f} ms"


async def try_smart_turn(settings: Settings) -> str:
    """Return how long the second opinion on the end of a turn takes; it gets silence."""
    from vixio.providers.smart_turn import SmartTurnModel

    model = await asyncio.to_thread(SmartTurnModel)
    took: list[float] = []
    for _ in range(_WINDOWS):
        began = perf_counter()
        await asyncio.to_thread(model.probability, b"")
        took.append((perf_counter() - began) * 1000)
    return f"Smart Turn 3.2: one pause in {min(took):.0f} ms"


async def try_asr(settings: Settings) -> str:
    """Return that the recogniser takes audio; it gets a tenth of a second."""
    async with _started(settings.asr.create()) as asr:
        hints = SpeechHints(language=settings.assistant.language)
        asr.prepare(hints)
        stream = asr.open(hints)
        try:
            await stream.feed(bytes(3_200))
        finally:
            await stream.close()
    return f"{asr.name}: takes audio"


async def try_agent(settings: Settings) -> str:
    """Return the agent's models, which are not asked anything."""
    async with _started(settings.agent.create()) as backend:
        agent = backend.create()
        try:
            await agent.initialize(system_prompt=settings.assistant.instructions)
        finally:
            await agent.close()
        states = backend.stats()
    if refused := [each for each in states if each.get("state", "ready") != "ready"]:
        shown = (
            f"{each['model']} ({reason(each.get('reason', ''), 'en').lower()})" for each in refused
        )
        raise ConfigError(f"{backend.name}: not every model can serve: {', '.join(shown)}")
    if models := ", ".join(each["model"] for each in states):
        return f"{backend.name}: starts, models {models} (not asked)"
    model = getattr(settings.agent.options, "model", "")
    return f"{backend.name}: starts" + (f", model {model} (not asked)" if model else "")


async def try_tts(settings: Settings) -> str:
    """Return how the voice speaks a word."""
    language = settings.assistant.language
    word = "你好" if language.lower().startswith("zh") else "hello"
    async with _started(settings.tts.create()) as tts:
        spoken = 0.0
        async for pcm in tts.synthesize(word, language=language):
            spoken += pcm_seconds(pcm, tts.sample_rate)
    if not spoken:
        raise ConfigError(f"tts.{tts.name}: no audio for {word!r}; does its voice fit {language}?")
    return f"{tts.name}: {spoken * 1000:.0f} ms of audio for {word!r}, {tts.sample_rate} Hz"


async def try_vision(settings: Settings) -> str:
    """Return the model that sees, which is not asked anything."""
    if settings.vision is None:
        return "none: photos of cameras are refused (vision)"
    async with _started(settings.vision.create()) as vision:
        model = getattr(settings.vision.options, "model", "")
        return f"{vision.name}: starts" + (f", model {model} (not asked)" if model else "")
