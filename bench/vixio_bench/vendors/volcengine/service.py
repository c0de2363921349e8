"""Both services of Volcengine on one port."""

from __future__ import annotations

import asyncio
import base64
import json
import uuid
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
from vixio_bench.vendors.volcengine.utterance import Utterance
from vixio_bench.vendors.volcengine.voice import Voice, resource_of

ASR_PATH: Final = "/api/v3/sauc"
TTS_PATH: Final = "/api/v3/tts/bidirection"
HTTP_PATH: Final = "/api/v3/tts/unidirectional"

KEY: Final = "vk-of-the-stand-in"
APPID, TOKEN = "1234567890", "token-of-the-stand-in"
ASR_RESOURCES: Final = ("volc.bigasr.sauc.duration", "volc.seedasr.sauc.duration")


class VolcengineService(VendorService):
    """Both services on one port."""

    packed = False
    """Whether a recogniser's answers are gzip."""
    sequences = True
    """Whether they have a sequence, which stays positive in the last one."""
    voices = ("_moon_bigtts", "_uranus_bigtts", "S_", "ICL_")
    most = 2
    """Connections of the voice at the same time."""
    sentence_events = True
    """Whether sessions say where their sentences begin and end; voices of 2.0 do not always."""
    in_characters = False
    """Whether the payload of these events is as long as its characters say, not its bytes."""
    odd = False
    """Whether sound is cut in the middle of a sample."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - of the base
        super().__init__(*given, **options)
        self.hotwords: list[str] = []
        """The words that a recogniser got."""
        self._voices_open = 0

    @property
    def asr_url(self) -> str:
        """As the settings have it."""
        return f"{self.ws}{ASR_PATH}"

    @property
    def tts_url(self) -> str:
        """As the settings have it."""
        return f"{self.ws}{TTS_PATH}"

    @property
    def http_url(self) -> str:
        """As the settings have it."""
        return f"{self.http}{HTTP_PATH}"

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get(ASR_PATH + "/{endpoint}", self._listen),
            web.get(TTS_PATH, self._speak),
            web.post(HTTP_PATH, self._speak_once),
        ]

    # ── who asks ─────────────────────────────────────────────────────────────────────────────

    def _refusal(self, request: web.Request, resources: tuple[str, ...]) -> web.Response | None:
        headers, log = request.headers, {"X-Tt-Logid": uuid.uuid4().hex}
        if asked := self.refusal_asked():
            return _refused(asked[0], int(asked[1]), asked[2], log)
        if self.trouble(Trouble.REFUSED):
            return _refused(401, 45_000_010, "load grant: requested grant not found", log)
        if "Host" in headers and headers["Host"] != f"127.0.0.1:{self.port}":
            return _refused(400, 45_000_001, "wrong host", log)
        new = headers.get("X-Api-Key")
        app = headers.get("X-Api-App-Key") or headers.get("X-Api-App-Id")
        if new != KEY and (app, headers.get("X-Api-Access-Key")) != (APPID, TOKEN):
            return _refused(401, 45_000_010, "load grant: requested grant not found", log)
        if headers.get("X-Api-Resource-Id", "") not in resources:
            named = headers.get("X-Api-Resource-Id")
            return _refused(
                403, 45_000_030, f"[resource_id={named}] requested resource not granted", log
            )
        try:
            uuid.UUID(headers.get("X-Api-Connect-Id", ""))
        except ValueError:
            self.violated("no X-Api-Connect-Id")
        return None

    # ── the recogniser ───────────────────────────────────────────────────────────────────────

    async def _listen(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request, ASR_RESOURCES):
            return refusal
        endpoint = request.match_info["endpoint"]
        if endpoint not in ("bigmodel_async", "bigmodel", "bigmodel_nostream"):
            return _refused(404, 45_000_001, "no such endpoint", {})
        async with self.socket(request) as socket:
            await Utterance(self, request, socket, endpoint).run()
        return socket

    # ── the voice ────────────────────────────────────────────────────────────────────────────

    async def _speak(self, request: web.Request) -> web.StreamResponse:
        resources = ("seed-tts-1.0", "seed-tts-2.0", "seed-icl-1.0", "seed-icl-2.0")
        if refusal := self._refusal(request, resources):
            return refusal
        if self._voices_open >= self.most or self.trouble(Trouble.BUSY):
            return _refused(429, 45_000_292, "quota exceeded for types: concurrency", {})
        self._voices_open += 1
        try:
            async with self.socket(request) as socket:
                await Voice(self, request, socket).run()
        finally:
            self._voices_open -= 1
        return socket

    async def _speak_once(self, request: web.Request) -> web.StreamResponse:
        resources = ("seed-tts-1.0", "seed-tts-2.0", "seed-icl-1.0", "seed-icl-2.0")
        if refusal := self._refusal(request, resources):
            return refusal
        times = self.timed()
        if "X-Api-App-Key" in request.headers:
            self.violated("X-Api-App-Key instead of X-Api-App-Id")
        asked = (await request.json())["req_params"]
        self.account.uses += 1
        answer = web.StreamResponse(headers={"X-Tt-Logid": uuid.uuid4().hex})
        answer.content_type = "application/json"
        await answer.prepare(request)
        rate = asked["audio_params"]["sample_rate"]
        trouble = self.trouble()
        code, words = code_within(trouble)
        try:
            if code:
                await answer.write(json.dumps({"code": int(code), "message": words}).encode())
                return answer
            if (
                asked["speaker"]
                and resource_of(asked["speaker"]) != request.headers["X-Api-Resource-Id"]
            ):
                await answer.write(b'{"code":55000000,"message":"resource ID is mismatched"}')
                return answer
            first = True
            async for sound in cut_oddly(
                paced(tone(asked["text"], rate), rate, self.delays), self.odd
            ):
                times.answers()
                match "" if first else trouble:
                    case Trouble.CUT:
                        cut(request)
                        return answer
                    case Trouble.STALL:
                        await asyncio.Event().wait()
                    case Trouble.ERROR:
                        await answer.write(b'{"code":55000001,"message":"synthesis failed"}')
                        return answer
                    case Trouble.GARBAGE:
                        await answer.write(b'{"code":0,"data":"?!"}')
                first = False
                body = {"code": 0, "message": "", "data": base64.b64encode(sound).decode()}
                await answer.write(json.dumps(body).encode())  # no line's end between two
            times.last = perf_counter()
            await answer.write(b'{"code":20000000,"message":"ok","data":null}\n')
            self.account.whole += 1
            await answer.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            self.account.cancelled += 1
            raise
        return answer


def _refused(status: int, code: int, message: str, headers: dict[str, str]) -> web.Response:
    body = {"header": {"reqid": "", "code": code, "message": message}}
    return web.json_response(body, status=status, headers=headers)
