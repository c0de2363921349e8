"""Voices that are heard before they are chosen: their list, and a sentence of one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from vixio.core.audio import wav
from vixio.core.errors import ConfigError, ProviderError, ProviderTimeout
from vixio.core.streams import closing
from vixio.providers import registry
from vixio.providers.pool.loader import ProviderLoader
from vixio.providers.pool.pool import ProviderPool
from vixio.providers.registry import ProviderKind
from vixio.providers.tts import TTSProvider
from vixio.settings import Settings
from vixio.settings.profile import stored_section
from vixio.settings.provider import TTSSection

SAMPLE_S: Final = 20.0
"""For a sample as a whole, the start of the voice included."""

LIST_S: Final = 20.0
"""For a list of voices; a service may be asked for it."""

MAX_BYTES: Final = 4 * 1024 * 1024
"""Of a sample's audio: 87 s at 24 kHz."""

MAX_VOICES: Final = 2_000

LINGER_S: Final = 15.0
"""For which a voice that only samples use stays loaded. Each may hold a model in memory, and a
person hears many in a row."""


class VoiceSamples:
    """Speaks with voices of the pool. ``settings`` returns those in force."""

    def __init__(self, settings: Callable[[], Settings], pool: ProviderPool) -> None:
        self._settings = settings
        self._pool = pool

    async def voices(self, provider: str, language: str) -> Sequence[Mapping[str, Any]]:
        """Return the voices of a provider, of all configured ones if it is empty.

        Without a list of voices there are none. Raises ConfigError, ProviderError.
        """
        sections = await asyncio.to_thread(_sections, self._settings(), provider)
        found: list[Mapping[str, Any]] = []
        for section in sections:
            found += await _voices_of(section, language)
        return found[:MAX_VOICES]

    async def sample(self, tts: Any, language: str, text: str) -> bytes:  # noqa: ANN401 - JSON
        """Return a WAV file in which a voice speaks.

        ``tts``: as in a profile; ``text`` empty: a greeting. Raises ConfigError, ProviderError.
        """
        settings = self._settings()
        language = language or settings.assistant.language
        section, words = await asyncio.to_thread(_read, settings, tts, language, text)
        lease = self._pool.lease(section)
        try:
            async with asyncio.timeout(SAMPLE_S):
                lease.loader.begin()
                voice = await lease.loader.within(SAMPLE_S)
                pcm = await _spoken(lease.loader, voice, words, language)
                rate = voice.sample_rate
        except TimeoutError:
            raise ProviderTimeout(lease.loader.name, "sample", SAMPLE_S) from None
        finally:
            lease.release(linger=LINGER_S)
        if not pcm:
            raise ConfigError(f"tts: no audio for this text; does the voice fit {language}?")
        return wav(pcm, rate)


async def _spoken(
    loader: ProviderLoader[TTSProvider], voice: TTSProvider, words: Sequence[str], language: str
) -> bytes:
    made = bytearray()
    turn = voice.turn()
    try:
        for sentence in words:
            with loader.watched():
                async with closing(turn.synthesize(sentence, language=language)) as pieces:
                    async for pcm in pieces:
                        made += pcm
                        if len(made) > MAX_BYTES:
                            most = f"{MAX_BYTES >> 20} MB"
                            text = f"the sample has more than {most}: take a shorter text"
                            raise ProviderError(voice.name, text, reason="request")
    finally:
        await turn.leave()
    return bytes(made)


def _read(
    settings: Settings,
    tts: Any,  # noqa: ANN401 - JSON
    language: str,
    text: str,
) -> tuple[TTSSection, Sequence[str]]:
    """Return the voice, and what it is to speak, a sentence at a time. Raises ConfigError."""
    from vixio.cli.diagnostics.say import sentences
    from vixio.cli.diagnostics.voices import greeting

    content = {"tts": tts, "language": language}
    section = stored_section(settings, content, os.environ).tts
    return section or settings.tts, sentences(text or greeting(language), language)


def _sections(settings: Settings, provider: str) -> Sequence[TTSSection]:
    """Return the sections whose voices are asked for. Raises ConfigError, ProviderUnavailable."""
    from vixio.cli.diagnostics.voices import sections

    if not provider:
        return sections(settings)
    if registry.resolve(ProviderKind.TTS, provider).voices is None:
        return ()
    return sections(settings, provider)


async def _voices_of(section: TTSSection, language: str) -> Sequence[Mapping[str, Any]]:
    from vixio.cli.diagnostics.voices import offered

    if registry.resolve(ProviderKind.TTS, section.name).voices is None:
        return ()
    try:
        async with asyncio.timeout(LIST_S):
            listed = await offered(section, language)
    except TimeoutError:
        raise ProviderTimeout(section.name, "list of voices", LIST_S) from None
    return [
        {
            "type": section.name,
            "name": each.choice.name,
            "language": each.choice.language,
            "about": each.choice.about,
            "options": _plain(each.choice.options),
        }
        for each in listed
    ]


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
