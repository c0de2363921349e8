"""Speaking replies of several texts."""

from __future__ import annotations

from vixio.providers.tts import TTSProvider
from vixio.testing.contract.tts import say

TEXTS = ("好的，我来讲一个故事。", "从前有一座山。", "山里有一座庙。")


async def reply(tts: TTSProvider, *texts: str) -> list[bytes]:
    """Speak a reply; return the sound of each text."""
    turn = tts.turn()
    try:
        for text in texts:
            turn.expect(text)
        turn.complete()
        return [await say(turn, text) for text in texts]
    finally:
        await turn.leave()


async def say_some(tts: TTSProvider, text: str) -> bytes:
    """Return the first sound of a text, and leave."""
    async for pcm in tts.synthesize(text):
        return pcm
    return b""
