"""doubao-speech: a client of Volcengine's recogniser and voice."""

from __future__ import annotations

import asyncio
from typing import Any

from doubao_speech import _ws_client as wire

from tests.vendors_sdk.programs.serving import pieces, serve, sound, told

PACE_S = 0.02
MOST_SILENCE = 200


def use(url: str) -> None:
    """Point the client at a service: its addresses are attributes of a module."""
    wire.ASR_URL = wire.TTS_URL = url


def recognise(
    url: str, app_id: str, token: str, resource: str, pcm: str, silence: bool = True
) -> dict[str, Any]:
    """Recognise speech; with ``silence`` behind it until there are words."""
    use(url)

    async def run() -> list[dict[str, Any]]:
        some = asyncio.Event()
        results: list[dict[str, Any]] = []

        async def microphone() -> Any:  # noqa: ANN401 - a generator of bytes
            for piece in pieces(sound(pcm), 6_400):
                yield piece
                await asyncio.sleep(PACE_S)
            for _ in range(MOST_SILENCE if silence else 0):
                if some.is_set():
                    return
                yield bytes(6_400)
                await asyncio.sleep(PACE_S)

        async for result in wire.asr_stream(
            microphone(),
            audio_format="pcm",
            app_id=app_id,
            access_token=token,
            resource_id=resource,
        ):
            results.append({name: result[name] for name in ("text", "is_final")})
            if result["text"]:
                some.set()
        return results

    return {"results": asyncio.run(run())}


def speak(
    url: str,
    app_id: str,
    token: str,
    resource: str,
    speaker: str,
    text: str,
    midway: bool = False,
) -> dict[str, Any]:
    """Speak a text; ``midway``: leave at the first sound."""
    use(url)

    async def run() -> list[bytes]:
        parts: list[bytes] = []
        stream = wire.tts_stream(
            text,
            speaker=speaker,
            audio_format="pcm",
            app_id=app_id,
            access_token=token,
            resource_id=resource,
        )
        async for part in stream:
            parts.append(part)
            if midway:
                break
        await stream.aclose()
        return parts

    return told(asyncio.run(run()))


if __name__ == "__main__":
    serve(recognise, speak)
