"""The stream of a speech on command, in place of an engine's answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

from vixio.core.chunk import Chunk
from vixio.core.history import AssistantMessage, History
from vixio.core.session.engine import Engine
from vixio.core.session.speech import SpeechHandle
from vixio.core.streams import closing


async def spoken(
    speech: SpeechHandle, turn_id: int, engine: Engine, history: History
) -> AsyncIterator[Chunk]:
    """Yield what the engine makes of the words. Raises SpeechWithdrawn of a script."""
    if speech.script is not None:
        speech.text = await speech.script.compose()
    if speech.remembered:
        history.begin(turn_id)
        for item in (*speech.items, AssistantMessage(speech.text)):
            history.append(turn_id, item)
    async with closing(engine.speak(turn_id, speech.text, recurring=speech.recurring)) as chunks:
        async for chunk in chunks:
            yield chunk
