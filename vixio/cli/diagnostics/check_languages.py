"""Looks whether the assistant's language is heard, understood and spoken, and has messages."""

from __future__ import annotations

import asyncio

from vixio.composition.languages import (
    LanguageGap,
    Section,
    hearing,
    known_languages,
    messages,
    names,
    speaking,
    understanding,
    understood_without_models,
)
from vixio.core.errors import ConfigError, VixioError
from vixio.settings import Settings


class Remark(VixioError):
    """What a user should know of a part that works."""


async def try_hearing(settings: Settings) -> str:
    """Return which recogniser hears the language."""
    gap = await asyncio.to_thread(hearing, settings)
    return await asyncio.to_thread(_judged, gap, settings.asr, settings)


async def try_understanding(settings: Settings) -> str:
    """Return which agent understands the language. Raises Remark for one that cannot stand in."""
    gap = await asyncio.to_thread(understanding, settings)
    said = await asyncio.to_thread(_judged, gap, settings.agent, settings)
    if (gap := await asyncio.to_thread(understood_without_models, settings)) is not None:
        raise Remark(gap.fact)
    return said


async def try_speaking(settings: Settings) -> str:
    """Return which voice speaks the language."""
    gap = await asyncio.to_thread(speaking, settings)
    return await asyncio.to_thread(_judged, gap, settings.tts, settings)


async def try_messages(settings: Settings) -> str:
    """Return whose words the assistant uses when it speaks by itself. Raises Remark."""
    gap = await asyncio.to_thread(messages, settings)
    if gap is not None:
        raise Remark(str(gap))
    return f"{settings.assistant.language}: there is a catalogue"


def _judged(gap: LanguageGap | None, section: Section, settings: Settings) -> str:
    if gap is not None:
        raise ConfigError(str(gap))
    language, tags = settings.assistant.language, known_languages(section)
    if tags is None:
        return f"{language}, as far as {names(section)} knows it"
    return f"{language}: {names(section)}"
