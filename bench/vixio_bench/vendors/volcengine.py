"""A stand-in for Volcengine's speech services, version 3; its page is volcengine.md."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import struct
import uuid
from collections.abc import AsyncIterator
from time import perf_counter
from typing import Any, Final

from aiohttp import WSMsgType, web

from vixio_bench.vendors.base import (
    HEARD_RATE,
    Delays,
    Trouble,
    VendorService,
    cut,
    paced,
    prefixes,
    stall,
    tone,
)

ASR_PATH: Final = "/api/v3/sauc"
TTS_PATH: Final = "/api/v3/tts/bidirection"
HTTP_PATH: Final = "/api/v3/tts/unidirectional"

KEY: Final = "vk-of-the-stand-in"
APPID, TOKEN = "1234567890", "token-of-the-stand-in"
ASR_RESOURCES: Final = ("volc.bigasr.sauc.duration", "volc.seedasr.sauc.duration")

SILENT: Final = "silent"
"""45000002: the utterance has no sound."""
PAUSED: Final = "paused"
"""45000081: no packet came for too long."""
NO_LAST: Final = "no-last"
"""The connection is closed with the words, without a last frame."""
FAILED: Final = "session-failed"
"""153 in the middle of a session."""
TEXT_FRAME: Final = "text-frame"
AFTER_CANCEL: Final = "audio-after-cancel"
"""Sound goes on behind CancelSession."""

_WITHIN: Final = (Trouble.CUT, Trouble.ERROR, Trouble.GARBAGE, PAUSED)
"""What goes wrong in the middle of an utterance."""


def full_server(
    payload: bytes, *, flags: int = 0, sequence: int = 0, packed: bool = False
) -> bytes:
    """Return a recogniser's answer: ``flags`` & 1: with a sequence, & 2: the last."""
    body = gzip.compress(payload) if packed else payload
    number = struct.pack(">i", sequence) if flags & 1 else b""
    return bytes((0x11, 0x90 | flags, 0x11 if packed else 0x10, 0)) + number + _sized(body)


def error_frame(code: int, text: str) -> bytes:
    """Return a frame of type 15."""
    body = json.dumps({"error": text}).encode()
    return b"\x11\xf0\x10\x00" + struct.pack(">I", code) + _sized(body)


def event_frame(event: int, name: str, payload: bytes, *, sound: bool = False) -> bytes:
    """Return an event of the bidirectional voice; ``name``: of the session or the connection."""
    head = b"\x11\xb4\x00\x00" if sound else b"\x11\x94\x10\x00"
    return head + struct.pack(">i", event) + _sized(name.encode()) + _sized(payload)


def client_frame(data: bytes) -> tuple[int, int, int, str, bytes]:
    """Return kind, flags, event, session and payload of what a client sends."""
    kind, flags, packing = data[1] >> 4, data[1] & 15, data[2] & 15
    at, event, session = 4, 0, ""
    if flags & 4:
        (event,) = struct.unpack_from(">i", data, at)
        at += 4
        if event >= 100:
            name, at = _take(data, at)
            session = name.decode()
    payload, at = _take(data, at)
    if at != len(data):
        raise ValueError("more than a frame")
    return kind, flags, event, session, gzip.decompress(payload) if packing else payload


def _sized(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _take(data: bytes, at: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from(">I", data, at)
    if at + 4 + length > len(data):
        raise ValueError("cut short")
    return data[at + 4 : at + 4 + length], at + 4 + length


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
    odd = False
    """Whether sound is cut in the middle of a sample."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - of the base
        super().__init__(*given, **options)
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
            await _Utterance(self, request, socket, endpoint).run()
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
                await _Voice(self, request, socket).run()
        finally:
            self._voices_open -= 1
        return socket

    async def _speak_once(self, request: web.Request) -> web.StreamResponse:
        resources = ("seed-tts-1.0", "seed-tts-2.0", "seed-icl-1.0", "seed-icl-2.0")
        if refusal := self._refusal(request, resources):
            return refusal
        began = perf_counter()
        if "X-Api-App-Key" in request.headers:
            self.violated("X-Api-App-Key instead of X-Api-App-Id")
        asked = (await request.json())["req_params"]
        self.account.uses += 1
        answer = web.StreamResponse(headers={"X-Tt-Logid": uuid.uuid4().hex})
        answer.content_type = "application/json"
        await answer.prepare(request)
        rate = asked["audio_params"]["sample_rate"]
        trouble = self.trouble()
        try:
            if (
                asked["speaker"]
                and _resource_of(asked["speaker"]) != request.headers["X-Api-Resource-Id"]
            ):
                await answer.write(b'{"code":55000000,"message":"resource ID is mismatched"}')
                return answer
            first = True
            async for sound in _cut_oddly(
                paced(tone(asked["text"], rate), rate, self.delays), self.odd
            ):
                if first:
                    self.answered_ms.append((perf_counter() - began) * 1000)
                elif trouble == Trouble.CUT:
                    cut(request)
                    return answer
                elif trouble == Trouble.STALL:
                    await asyncio.Event().wait()
                elif trouble == Trouble.ERROR:
                    await answer.write(b'{"code":55000001,"message":"synthesis failed"}')
                    return answer
                elif trouble == Trouble.GARBAGE:
                    await answer.write(b'{"code":0,"data":"?!"}')
                first = False
                body = {"code": 0, "message": "", "data": base64.b64encode(sound).decode()}
                await answer.write(json.dumps(body).encode())  # no line's end between two
            await answer.write(b'{"code":20000000,"message":"ok","data":null}\n')
            self.account.whole += 1
            await answer.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            self.account.cancelled += 1
            raise
        return answer


def _resource_of(speaker: str) -> str:
    if speaker.startswith(("S_", "ICL_")):
        return "seed-icl-2.0"
    return "seed-tts-2.0" if "_uranus_" in speaker else "seed-tts-1.0"


def _refused(status: int, code: int, message: str, headers: dict[str, str]) -> web.Response:
    body = {"header": {"reqid": "", "code": code, "message": message}}
    return web.json_response(body, status=status, headers=headers)


async def _cut_oddly(pieces: AsyncIterator[bytes], odd: bool) -> AsyncIterator[bytes]:
    rest = b""
    async for piece in pieces:
        whole = rest + piece
        end = len(whole) - 1 if odd and len(whole) > 2 else len(whole)
        yield whole[:end]
        rest = whole[end:]
    if rest:
        yield rest


class _Utterance:
    """One connection of the recogniser."""

    def __init__(
        self,
        service: VolcengineService,
        request: web.Request,
        socket: web.WebSocketResponse,
        endpoint: str,
    ) -> None:
        self._service = service
        self._request = request
        self._socket = socket
        self._endpoint = endpoint
        self._pcm = bytearray()
        self._sequence = 0
        self._partials: asyncio.Task[None] | None = None

    async def run(self) -> None:
        try:
            first = await self._packet()
            if first is None:
                return
            if first[0] != 1 or not self._begin(json.loads(first[4])):
                await self._fail(45_000_001, "invalid request")
                return
            self._service.account.uses += 1
            trouble = self._service.trouble()
            while (packet := await self._packet()) is not None:
                if not await self._heard(packet, trouble):
                    return
            self._service.account.cancelled += 1
        finally:
            if self._partials is not None:
                self._partials.cancel()
                await asyncio.gather(self._partials, return_exceptions=True)

    async def _packet(self) -> tuple[int, int, int, str, bytes] | None:
        """Return what comes next; None: the client has gone, or waits for too long."""
        try:
            async with asyncio.timeout(8 * self._service.seconds):
                message = await self._socket.receive()
        except TimeoutError:
            await self._fail(45_000_081, "[Timeout waiting next packet]")
            return None
        return client_frame(message.data) if message.type is WSMsgType.BINARY else None

    async def _heard(self, packet: tuple[int, int, int, str, bytes], trouble: str) -> bool:
        """Take audio; return whether more may come."""
        service, (kind, flags, _, _, payload) = self._service, packet
        self._pcm += payload
        if kind != 2:
            service.violated(f"a frame of type {kind} within audio")
            return False
        if len(payload) > 2 * HEARD_RATE:
            service.violated("a packet of more than a second")
        if len(self._pcm) > 12_000 and trouble in _WITHIN:
            return await self._break(trouble)
        if flags & 2:
            await self._end(trouble)
            return False
        if self._partials is None and self._endpoint != "bigmodel_nostream":
            self._partials = asyncio.create_task(self._report())
        return True

    async def _break(self, trouble: str) -> bool:
        match trouble:
            case Trouble.CUT:
                cut(self._request)
            case Trouble.GARBAGE:
                await self._socket.send_bytes(b'\x11\x90\x10\x00\x00\x00\x00\x09{"resu')
                return True
            case "paused":
                await self._fail(45_000_081, "[Timeout waiting next packet]")
            case _:
                await self._fail(55_000_031, "server busy")
        return False

    def _begin(self, asked: dict[str, Any]) -> bool:
        audio, request = asked.get("audio", {}), asked.get("request", {})
        form = (audio.get("format"), audio.get("rate"), audio.get("bits"), audio.get("channel"))
        if form != ("pcm", 16_000, 16, 1) or request.get("model_name") != "bigmodel":
            return False
        if request.get("end_window_size", 800) < 200:
            return False
        if context := request.get("corpus", {}).get("context"):
            words = json.loads(context)["hotwords"]  # JSON within JSON
            self.hotwords = [each["word"] for each in words]
        if "language" in audio and self._endpoint != "bigmodel_nostream":
            self._service.violated("a language where none is read")
        return True

    async def _report(self) -> None:
        """Send partial words, some of which are revised."""
        service, count = self._service, 0
        while True:
            await asyncio.sleep(service.delays.partial or 0.01)
            count += 1
            words = service.hear(bytes(self._pcm))
            if words:
                steps = prefixes(words, 4)
                shown = steps[min(count, len(steps)) - 1]
                if count == 2:
                    shown = shown[:-1] + "?"  # revised by the next one
                await self._send(shown, last=False)

    async def _end(self, trouble: str) -> None:
        service, began = self._service, perf_counter()
        if self._partials is not None:
            self._partials.cancel()
        if trouble == Trouble.STALL:
            await stall(self._socket)
            return
        if trouble == SILENT or not any(self._pcm):
            await self._fail(45_000_002, "empty audio")
            return
        await asyncio.sleep(service.delays.words)
        words = service.hear(bytes(self._pcm))
        await self._send(words, last=trouble != NO_LAST)
        service.answered_ms.append((perf_counter() - began) * 1000)
        service.account.whole += 1

    async def _send(self, words: str, *, last: bool) -> None:
        service = self._service
        self._sequence += 1
        utterances = [{"text": words, "definite": last, "start_time": 0, "end_time": 1}]
        duration = len(self._pcm) * 500 // HEARD_RATE
        body = {
            "audio_info": {"duration": duration},
            "result": {"text": words, "utterances": utterances},
        }
        flags = (1 if service.sequences else 0) | (2 if last else 0)
        payload = json.dumps(body, ensure_ascii=False).encode()
        await self._socket.send_bytes(
            full_server(payload, flags=flags, sequence=self._sequence, packed=service.packed)
        )

    async def _fail(self, code: int, text: str) -> None:
        await self._socket.send_bytes(error_frame(code, text))


class _Voice:
    """One connection of the bidirectional voice: a session after the other."""

    def __init__(
        self, service: VolcengineService, request: web.Request, socket: web.WebSocketResponse
    ) -> None:
        self._service = service
        self._request = request
        self._socket = socket
        self._connection = uuid.uuid4().hex[:12]
        self._used: set[str] = set()
        self._session = ""
        self._rate = 24_000
        self._texts: asyncio.Queue[str | None] = asyncio.Queue()
        self._speaking: asyncio.Task[None] | None = None
        self._finishing = False

    async def run(self) -> None:
        try:
            async for message in self._socket:
                if message.type is not WSMsgType.BINARY:
                    self._service.violated("a frame of text")
                    return
                if not await self._took(*client_frame(message.data)[2:]):
                    await self._socket.close(code=1000)
                    return
        finally:
            if self._speaking is not None:
                if not self._speaking.done():
                    self._service.account.cancelled += 1
                self._speaking.cancel()
                await asyncio.gather(self._speaking, return_exceptions=True)

    async def _took(self, event: int, session: str, payload: bytes) -> bool:
        """Take an event; return whether the connection goes on."""
        service = self._service
        match event:
            case 1:
                await self._send(50, self._connection, b"{}")
            case 2:
                await self._send(52, self._connection, b"{}")
                return False
            case 100:
                return await self._start(session, json.loads(payload))
            case 200 if session == self._session and session and not self._finishing:
                text = json.loads(payload)["req_params"]["text"]
                await self._texts.put(text)
            case 102 if session == self._session and session:
                self._finishing = True
                await self._texts.put(None)
            case 101 if session == self._session and session:
                if self._finishing:
                    service.violated("CancelSession behind FinishSession")
                await self._cancel()
            case 101 | 102:
                return False  # an unknown session
            case _:
                service.violated(f"event {event} where none may be")
                return False
        return True

    async def _start(self, session: str, asked: dict[str, Any]) -> bool:
        service = self._service
        if self._session:
            service.violated("a second session at the same time")
            return False
        if session in self._used or not session:
            service.violated("a session's id twice")
            return False
        if asked.get("event") != 100 or asked.get("namespace") != "BidirectionalTTS":
            service.violated("StartSession without its event or namespace")
        params = asked["req_params"]
        if "text" in params:
            service.violated("text within StartSession")
        self._used.add(session)
        resource = self._request.headers["X-Api-Resource-Id"]
        if _resource_of(params["speaker"]) != resource:
            body = {"status_code": 55_000_000, "message": "resource ID is mismatched with speaker"}
            await self._send(153, session, json.dumps(body).encode())
            return True
        service.account.uses += 1
        self._session, self._finishing = session, False
        self.emotion = params["audio_params"].get("emotion", "")
        self._rate = params["audio_params"]["sample_rate"]
        self._texts = asyncio.Queue()
        await self._send(150, session, b"{}")
        self._speaking = asyncio.create_task(self._talk(session, service.trouble()))
        return True

    async def _talk(self, session: str, trouble: str) -> None:
        service = self._service
        while (text := await self._texts.get()) is not None:
            began = perf_counter()
            if service.sentence_events:
                body = json.dumps({"res_params": {"text": text}}, ensure_ascii=False).encode()
                await self._send(350, session, body)
            sent = 0
            pieces = paced(tone(text, self._rate), self._rate, service.delays)
            async for sound in _cut_oddly(pieces, service.odd):
                if not sent:
                    service.answered_ms.append((perf_counter() - began) * 1000)
                sent += len(sound)
                await self._send(352, session, sound, sound=True)
                match trouble:
                    case Trouble.CUT:
                        cut(self._request)
                        return
                    case Trouble.STALL:
                        await asyncio.Event().wait()
                    case Trouble.ERROR:
                        await self._socket.send_bytes(error_frame(55_000_001, "internal"))
                        return
                    case Trouble.GARBAGE:
                        await self._socket.send_bytes(b"\x11\x94\x10")
                        return
                    case "text-frame":
                        await self._socket.send_str("{}")
                        return
                    case "session-failed":
                        failed = {"status_code": 55_000_001, "message": "failed"}
                        self._session = ""
                        await self._send(153, session, json.dumps(failed).encode())
                        return
            if service.sentence_events:
                body = json.dumps({"res_params": {"text": text}}, ensure_ascii=False).encode()
                await self._send(351, session, body)
        self._session = ""
        service.account.whole += 1
        await self._send(152, session, b'{"status_code":20000000,"message":"ok"}')

    async def _cancel(self) -> None:
        service, session = self._service, self._session
        service.account.cancelled += 1
        if self._speaking is not None:
            self._speaking.cancel()
            await asyncio.gather(self._speaking, return_exceptions=True)
            self._speaking = None
        if service.trouble(AFTER_CANCEL):
            await self._send(352, session, bytes(4_800), sound=True)
        self._session = ""
        await self._send(151, session, b"{}")

    async def _send(self, event: int, name: str, payload: bytes, *, sound: bool = False) -> None:
        await self._socket.send_bytes(event_frame(event, name, payload, sound=sound))


__all__ = ["APPID", "KEY", "TOKEN", "Delays", "VolcengineService"]
