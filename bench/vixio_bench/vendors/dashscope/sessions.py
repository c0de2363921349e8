"""The protocol ``realtime``: a session a connection."""

from __future__ import annotations

import asyncio
import base64
import json
import uuid
from abc import ABC, abstractmethod
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from aiohttp import WSMsgType, web

from vixio_bench.vendors.base import (
    HEARD_RATE,
    Times,
    Trouble,
    code_within,
    cut,
    cut_oddly,
    paced,
    prefixes,
    stall,
    tone,
)
from vixio_bench.vendors.dashscope.tasks import IDLE_S, NO_LAST, SENTENCE

if TYPE_CHECKING:
    from vixio_bench.vendors.dashscope.service import DashScopeService

TRANSCRIPTION: Final = "conversation.item.input_audio_transcription"


class Session(ABC):
    """One session, from ``session.created`` to ``session.finished``."""

    models: tuple[str, ...]

    def __init__(
        self,
        service: DashScopeService,
        request: web.Request,
        socket: web.WebSocketResponse,
        model: str,
    ) -> None:
        self._service = service
        self._request = request
        self._socket = socket
        self._model = model
        self._set: dict[str, Any] = {}
        self._trouble = ""
        self._work: asyncio.Task[None] | None = None
        self._over = False

    async def run(self) -> None:
        service = self._service
        if self._model not in self.models:
            await self._fail("ModelNotFound", f"Model not exist: {self._model}")
            return
        self._trouble = service.trouble()
        if self._trouble == Trouble.BUSY:
            await self._fail("rate_limit_exceeded", "Throttling")
            return
        code, words = code_within(self._trouble)
        if code:
            await self._fail(code, words)
            return
        await asyncio.sleep(service.start_s)
        await self._send("session.created", session={"id": f"sess_{uuid.uuid4().hex}"})
        try:
            while (message := await self._next()) is not None:
                if not str(message.get("event_id", "")).startswith("event_"):
                    service.violated("an event without an id")
                if not await self._took(message):
                    return
            if self._set and not self._over:
                service.account.cancelled += 1
        finally:
            if self._work is not None:
                self._work.cancel()
                await asyncio.gather(self._work, return_exceptions=True)

    async def _next(self) -> dict[str, Any] | None:
        """Return what comes next; None: the client has gone, or waits for too long."""
        try:
            async with asyncio.timeout(IDLE_S * self._service.seconds):
                message = await self._socket.receive()
        except TimeoutError:
            return None
        if message.type is WSMsgType.BINARY:
            self._service.violated("a binary frame")
        if message.type is not WSMsgType.TEXT:
            return None
        found: dict[str, Any] = json.loads(message.data)
        return found

    async def _took(self, told: dict[str, Any]) -> bool:
        """Take an event; return whether the connection goes on."""
        if told["type"] == "session.update":
            if wrong := self._wrong(told["session"]):
                await self._fail("invalid_value", wrong)
                return False
            self._set = told["session"]
            self._service.account.uses += 1
            await self._send("session.updated", session=self._set)
            self._work = asyncio.create_task(self._working())
            return True
        if not self._set:
            self._service.violated(f"{told['type']} before session.update")
            return False
        if told["type"] == "session.finish":
            return await self._finish()
        return await self._input(told)

    @abstractmethod
    def _wrong(self, session: dict[str, Any]) -> str:
        """Return what is wrong with the settings of the session, "" for nothing."""

    @abstractmethod
    async def _input(self, told: dict[str, Any]) -> bool:
        """Take input; return whether the connection goes on."""

    @abstractmethod
    async def _working(self) -> None:
        """Do what is done beside the input."""

    @abstractmethod
    async def _finish(self) -> bool:
        """Take the end of the input; return whether the connection goes on."""

    async def _break(self) -> bool:
        """Do what goes wrong in the middle; return whether the session goes on."""
        match self._trouble:
            case Trouble.CUT:
                cut(self._request)
            case Trouble.GARBAGE:
                await self._socket.send_str('{"type":')
            case Trouble.ERROR:
                await self._fail("internal_error", "Internal server error!")
            case _:
                return True
        return False

    async def _finished(self) -> None:
        self._over = True
        self._service.account.whole += 1
        await self._send("session.finished")

    async def _fail(self, code: str, text: str) -> None:
        error = {"type": "invalid_request_error", "code": code, "message": text, "param": None}
        await self._send("error", error=error)

    async def _send(self, kind: str, **content: object) -> None:
        message = {"event_id": f"event_{uuid.uuid4().hex}", "type": kind, **content}
        await self._socket.send_str(json.dumps(message, ensure_ascii=False))


class Ears(Session):
    """A recogniser, which finds sentences by their silence."""

    models = ("qwen3-asr-flash-realtime",)

    def __init__(self, *given: Any) -> None:  # noqa: ANN401 - of the base
        super().__init__(*given)
        self._pcm = bytearray()
        self._times: Times | None = None

    def _wrong(self, session: dict[str, Any]) -> str:
        if session.get("input_audio_format") != "pcm" or session.get("sample_rate") != HEARD_RATE:
            return "input_audio_format"
        if session.get("modalities") != ["text"]:
            return "modalities"
        corpus = session.get("input_audio_transcription", {}).get("corpus", {})
        self._service.hotwords = corpus.get("text", "")
        return ""

    async def _input(self, told: dict[str, Any]) -> bool:
        if told["type"] == "input_audio_buffer.commit":
            if self._set.get("turn_detection"):
                self._service.violated("commit where the server finds the end")
            return True
        if told["type"] != "input_audio_buffer.append":
            self._service.violated(f"{told['type']} in a recogniser")
            return False
        self._times = self._times or self._service.timed()
        self._pcm += base64.b64decode(told["audio"], validate=True)
        return len(self._pcm) < 12_000 or await self._break()

    async def _working(self) -> None:
        service, count = self._service, 0
        while True:
            await asyncio.sleep(service.delays.partial or 0.01)
            sentences = SENTENCE.findall(service.hear(bytes(self._pcm)))
            if sentences:
                count += 1
                steps = prefixes(sentences[0], 4)
                shown = steps[min(count, len(steps)) - 1]
                middle = len(shown) // 2
                if self._times is not None:
                    self._times.answers()
                await self._told("text", 1, text=shown[:middle], stash=shown[middle:])

    async def _finish(self) -> bool:
        service, times = self._service, self._times or self._service.timed()
        times.ended = perf_counter()
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        if self._trouble == Trouble.STALL:
            await stall(self._socket)
            return False
        await asyncio.sleep(service.delays.words)
        for number, words in enumerate(SENTENCE.findall(service.hear(bytes(self._pcm))), 1):
            await self._told("completed", number, transcript=words)
        if self._trouble != NO_LAST:
            times.last = perf_counter()
            await self._finished()
        return False

    async def _told(self, kind: str, number: int, **content: object) -> None:
        who = {"item_id": f"item_{number}", "content_index": 0, "language": "zh"}
        await self._send(f"{TRANSCRIPTION}.{kind}", **who, emotion="happy", **content)


class Mouth(Session):
    """A voice, which speaks a sentence as soon as it is whole (``server_commit``)."""

    models = ("qwen3-tts-flash-realtime", "qwen-tts-realtime")

    def __init__(self, *given: Any) -> None:  # noqa: ANN401 - of the base
        super().__init__(*given)
        self._texts: asyncio.Queue[str | None] = asyncio.Queue()
        self._times: Times | None = None

    def _wrong(self, session: dict[str, Any]) -> str:
        self._service.instructions.append(session.get("instructions", ""))
        if session.get("mode") not in ("server_commit", "commit"):
            return "mode"
        if session.get("response_format") != "pcm":
            return "response_format"
        return "" if session.get("voice", "")[:1].isupper() else f"Voice {session.get('voice')!r}"

    async def _input(self, told: dict[str, Any]) -> bool:
        if told["type"] == "input_text_buffer.append":
            await self._texts.put(told["text"])
        elif told["type"] != "input_text_buffer.commit":
            self._service.violated(f"{told['type']} in a voice")
        return True

    async def _working(self) -> None:
        rest = ""
        while True:
            text = await self._texts.get()
            sentences = SENTENCE.findall(rest + (text or ""))
            rest = ""
            if text is not None and sentences and sentences[-1][-1] not in "。！？.!?":
                rest = sentences.pop()
            for sentence in sentences:
                if not await self._speak(sentence):
                    await self._socket.close()
                    return
            if text is None:
                if self._times is not None:
                    self._times.last = perf_counter()
                await self._finished()
                await self._socket.close()
                return

    async def _speak(self, sentence: str) -> bool:
        """Send the sound of a sentence; return whether the session goes on."""
        service, rate = self._service, self._set["sample_rate"]
        times = self._times = service.timed()
        response = {"response_id": f"resp_{uuid.uuid4().hex}", "item_id": "item_1"}
        await self._send("response.created", response={"id": response["response_id"]})
        pieces = paced(tone(sentence, rate), rate, service.delays)
        async for sound in cut_oddly(pieces, service.odd):
            times.answers()
            delta = base64.b64encode(sound).decode()
            await self._send("response.audio.delta", delta=delta, **response)
            if self._trouble == Trouble.STALL:
                await asyncio.Event().wait()
            if not await self._break():
                return False
        await self._send("response.audio.done", **response)
        await self._send("response.done", response={"id": response["response_id"]})
        return True

    async def _finish(self) -> bool:
        await self._texts.put(None)
        return True
