"""``POST /v1/t2a_v2`` as MiniMax answers it."""

from __future__ import annotations

import asyncio
import json
from time import perf_counter
from typing import Any, Final

from aiohttp import web

from vixio_bench.vendors.base import (
    Trouble,
    VendorService,
    code_within,
    cut,
    cut_oddly,
    paced,
    tone,
)

KEY: Final = "mm-key-of-the-stand-in"
GROUP: Final = "1234567890"
VOICES: Final = ("female-shaonv", "male-qn-qingse", "cloned-of-the-stand-in")
MOODS: Final = ("happy", "sad", "angry", "fearful", "disgusted", "surprised", "calm")

BALANCE: Final = "balance"
"""1008: nothing is left."""
NO_LAST: Final = "no-last"
"""The stream ends without its last event."""


class MiniMaxService(VendorService):
    """One voice service."""

    repeats = True
    """Whether the last event repeats the whole sound, although it was asked not to."""
    odd = False
    """Whether sound is cut in the middle of a sample."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - of the base
        super().__init__(*given, **options)
        self.moods: list[str] = []
        """The emotions that were asked for."""

    @property
    def base_url(self) -> str:
        """As the settings have it."""
        return f"{self.http}/v1"

    def routes(self) -> list[web.AbstractRouteDef]:
        return [web.post("/v1/t2a_v2", self._speak)]

    async def _speak(self, request: web.Request) -> web.StreamResponse:
        trouble, asked = self.trouble(), await request.json()
        if wrong := self._wrong(request, asked, trouble):
            code, text = wrong
            return web.json_response({"base_resp": {"status_code": code, "status_msg": text}})
        self.moods.append(asked["voice_setting"].get("emotion", ""))
        self.account.uses += 1
        answer = web.StreamResponse()
        answer.content_type = "text/event-stream"
        await answer.prepare(request)
        try:
            if await self._stream(request, answer, asked, trouble):
                self.account.whole += 1
                await answer.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            self.account.cancelled += 1
            raise
        return answer

    def _wrong(
        self, request: web.Request, asked: dict[str, Any], trouble: str
    ) -> tuple[int, str] | None:
        code, words = code_within(trouble)
        if code:
            return int(code), words
        voice, audio = asked["voice_setting"], asked["audio_setting"]
        right = {
            (1004, "login fail: Please carry the API secret key"): (
                request.headers.get("Authorization") == f"Bearer {KEY}"
                and trouble != Trouble.REFUSED
            ),
            (1004, "token not match group"): request.query.get("GroupId", GROUP) == GROUP,
            (1008, "insufficient balance"): trouble != BALANCE,
            (1002, "rate limit exceeded(RPM)"): trouble != Trouble.BUSY,
            (2054, "voice id not exist"): voice["voice_id"] in VOICES,
            (2013, "invalid params"): (
                (audio["format"], audio["channel"], asked["stream"]) == ("pcm", 1, True)
                and voice.get("emotion", "calm") in MOODS
            ),
        }
        return next((wrong for wrong, is_right in right.items() if not is_right), None)

    async def _stream(
        self,
        request: web.Request,
        answer: web.StreamResponse,
        asked: dict[str, Any],
        trouble: str,
    ) -> bool:
        """Send the sound; return whether all of it was sent."""
        rate, times = asked["audio_setting"]["sample_rate"], self.timed()
        whole, pieces = b"", paced(tone(asked["text"], rate), rate, self.delays)
        async for sound in cut_oddly(pieces, self.odd):
            times.answers()
            whole += sound
            await _send(answer, _sound(sound, 1))
            match trouble:
                case Trouble.CUT:
                    cut(request)
                    return False
                case Trouble.STALL:
                    await asyncio.Event().wait()
                case Trouble.ERROR:
                    await _send(answer, {"base_resp": {"status_code": 1000, "status_msg": "no"}})
                    return False
                case Trouble.GARBAGE:
                    await _send(answer, {"data": {"audio": "zz", "status": 1}})
                    return False
        times.last = perf_counter()
        if trouble != NO_LAST:
            options = asked.get("stream_options", {})
            repeats = self.repeats or not options.get("exclude_aggregated_audio")
            await _send(answer, _sound(whole if repeats else b"", 2))
        return True


def _sound(pcm: bytes, status: int) -> dict[str, Any]:
    data = {"audio": pcm.hex(), "status": status, "ced": ""}
    return {"data": data, "trace_id": "0", "base_resp": {"status_code": 0, "status_msg": ""}}


async def _send(answer: web.StreamResponse, event: dict[str, Any]) -> None:
    await answer.write(f"data: {json.dumps(event)}\n\n".encode())
