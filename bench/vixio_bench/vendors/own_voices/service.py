"""Four servers of voices on one port."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

from aiohttp import web

from vixio_bench.vendors.base import Trouble, VendorService, cut, cut_oddly, paced, tone

KEY: Final = "fish-key-of-the-stand-in"
RECORDING: Final = "/voices/xiaoxiao.wav"
VOICES: Final = ("xiaoxiao", "中文女")
LANGUAGES: Final = ("zh", "en", "ja", "ko", "yue", "auto")

EMPTY: Final = "empty"
"""200, without a sound."""
JSON: Final = "json"
"""200, and an error as JSON."""


class OwnVoices(VendorService):
    """GPT-SoVITS, IndexTTS, CosyVoice and fish-speech."""

    files = 1
    """WAV files in an answer."""
    odd = True
    """Whether sound is cut in the middle of a sample."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - of the base
        super().__init__(*given, **options)
        self.asked: list[Mapping[str, Any]] = []
        """The requests."""

    def url(self, preset: str) -> str:
        """As the settings have it."""
        return self.http + PATHS[preset]

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.post(PATHS["gpt-sovits"], self._sovits),
            web.post(PATHS["index-tts"], self._index),
            web.post(PATHS["cosyvoice"], self._cosyvoice),
            web.post(PATHS["fish-speech"], self._fish),
        ]

    async def _sovits(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self.asked.append(asked)
        wrong = {
            "text_lang": asked.get("text_lang") not in LANGUAGES,
            "prompt_lang": asked.get("prompt_lang") not in LANGUAGES,
            "ref_audio_path": asked.get("ref_audio_path") != RECORDING,
            "media_type": asked.get("media_type") != "wav" or not asked.get("streaming_mode"),
        }
        for name, is_wrong in wrong.items():
            if is_wrong:
                body = {"message": f"{name} is required or not supported", "Exception": ""}
                return web.json_response(body, status=400)
        return await self._speak(request, asked["text"], 32_000, header=True)

    async def _index(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self.asked.append(asked)
        if asked.get("character") not in VOICES:
            body = {"status": "error", "error": f"KeyError: {asked.get('character')!r}"}
            return web.json_response(body, status=500)
        return await self._speak(request, asked["text"], 24_000, header=False)

    async def _cosyvoice(self, request: web.Request) -> web.StreamResponse:
        asked = dict(await request.post())
        self.asked.append(asked)
        if asked.get("spk_id") not in VOICES:
            cut(request)
            return web.Response()
        return await self._speak(request, str(asked["tts_text"]), 22_050, header=False)

    async def _fish(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return web.json_response({"detail": "Invalid token"}, status=401)
        asked = await request.json()
        self.asked.append(asked)
        if asked.get("format") != "wav":
            self.violated("another format")
        return await self._speak(request, asked["text"], 44_100, header=True)

    async def _speak(
        self, request: web.Request, text: str, rate: int, *, header: bool
    ) -> web.StreamResponse:
        trouble, times = self.trouble(), self.timed()
        if trouble == Trouble.BUSY:
            return web.Response(status=503, text="queue is full")
        if trouble == JSON:
            return web.json_response({"message": "tts failed", "Exception": "CUDA out of memory"})
        self.account.uses += 1
        answer = web.StreamResponse()
        answer.content_type = "audio/wav" if header else "application/octet-stream"
        await answer.prepare(request)
        if trouble == EMPTY:
            return answer
        sound = tone(text, rate)
        size = len(sound) // self.files // 2 * 2
        parts = [sound[number * size :][:size] for number in range(self.files - 1)]
        parts.append(sound[(self.files - 1) * size :])
        try:
            first = True
            for part in parts:
                if header:
                    await answer.write(_header(rate))
                async for pcm in cut_oddly(paced(part, rate, self.delays), self.odd):
                    times.answers()
                    await answer.write(pcm)
                    match "" if first else trouble:
                        case Trouble.CUT:
                            cut(request)
                            return answer
                        case Trouble.STALL:
                            await asyncio.Event().wait()
                    first = False
            self.account.whole += 1
            times.last = perf_counter()
            await answer.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            self.account.cancelled += 1
            raise
        return answer


PATHS: Final = {
    "gpt-sovits": "/tts",
    "index-tts": "/index/tts",
    "cosyvoice": "/inference_sft",
    "fish-speech": "/v1/tts",
}


def _header(rate: int) -> bytes:
    """Return the beginning of a WAV file whose length is not known."""
    fields = struct.pack("<HHIIHH", 1, 1, rate, 2 * rate, 2, 16)
    return b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0" + fields + b"data\xff\xff\xff\xff"
