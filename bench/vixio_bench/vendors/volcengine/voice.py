"""One connection of the bidirectional voice."""

from __future__ import annotations

import asyncio
import json
import uuid
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from aiohttp import WSMsgType, web

from vixio_bench.vendors.base import Trouble, code_within, cut, cut_oddly, paced, tone
from vixio_bench.vendors.volcengine.frames import client_frame, error_frame, event_frame

if TYPE_CHECKING:
    from vixio_bench.vendors.volcengine.service import VolcengineService

FAILED: Final = "session-failed"
"""153 in the middle of a session."""
TEXT_FRAME: Final = "text-frame"
AFTER_CANCEL: Final = "audio-after-cancel"
"""Sound goes on behind CancelSession."""


def resource_of(speaker: str) -> str:
    """Return the resource that a voice belongs to."""
    if speaker.startswith(("S_", "ICL_")):
        return "seed-icl-2.0"
    return "seed-tts-2.0" if "_uranus_" in speaker else "seed-tts-1.0"


class Voice:
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
                asked = json.loads(payload)
                if (asked.get("event"), asked.get("namespace")) != (200, "BidirectionalTTS"):
                    service.violated("TaskRequest without its event or namespace")
                await self._texts.put(asked["req_params"]["text"])
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
        if resource_of(params["speaker"]) != resource:
            body = {"status_code": 55_000_000, "message": "resource ID is mismatched with speaker"}
            await self._send(153, session, json.dumps(body).encode())
            return True
        service.account.uses += 1
        trouble = service.trouble()
        code, words = code_within(trouble)
        if code:
            body = {"status_code": int(code), "message": words}
            await self._send(153, session, json.dumps(body).encode())
            return True
        self._session, self._finishing = session, False
        self.emotion = params["audio_params"].get("emotion", "")
        self._rate = params["audio_params"]["sample_rate"]
        self._texts = asyncio.Queue()
        await self._send(150, session, b"{}")
        self._speaking = asyncio.create_task(self._talk(session, trouble))
        return True

    async def _talk(self, session: str, trouble: str) -> None:
        service, times = self._service, None
        while (text := await self._texts.get()) is not None:
            times = service.timed()
            if service.sentence_events:
                await self._send_sentence(350, session, text)
            pieces = paced(tone(text, self._rate), self._rate, service.delays)
            async for sound in cut_oddly(pieces, service.odd):
                times.answers()
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
                await self._send_sentence(351, session, text)
        self._session = ""
        service.account.whole += 1
        if times is not None:
            times.last = perf_counter()
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

    async def _send_sentence(self, event: int, session: str, text: str) -> None:
        body = json.dumps({"res_params": {"text": text}}, ensure_ascii=False)
        length = len(body) if self._service.in_characters else None
        frame = event_frame(event, session, body.encode(), length=length)
        await self._socket.send_bytes(frame)

    async def _send(self, event: int, name: str, payload: bytes, *, sound: bool = False) -> None:
        await self._socket.send_bytes(event_frame(event, name, payload, sound=sound))
