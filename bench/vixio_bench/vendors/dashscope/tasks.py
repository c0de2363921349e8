"""One connection of the protocol ``inference``: a task after the other."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
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

if TYPE_CHECKING:
    from vixio_bench.vendors.dashscope.service import DashScopeService

IDLE_S: Final = 60
"""Of the vendor's seconds, without a task."""
INPUT_S: Final = 23
"""Of the vendor's seconds, for the next input of a task."""
MAX_TEXT: Final = 20_000

NO_LAST: Final = "no-last"
"""The connection is closed with the words, without ``task-finished``."""
LATE: Final = "late"
"""A result of the task before comes within this one."""
DOUBLED: Final = "doubled"
"""Each message comes twice."""

FLUSH: Final = "\0"
"""Instead of a text: what is no whole sentence yet is spoken as well."""
SENTENCE: Final = re.compile(r"[^。！？.!?]+[。！？.!?]*")


class TaskConnection:
    """One connection."""

    def __init__(
        self, service: DashScopeService, request: web.Request, socket: web.WebSocketResponse
    ) -> None:
        self._service = service
        self._request = request
        self._socket = socket
        self._used: list[str] = []
        self._task = ""
        self._kind = ""
        self._started = self._finishing = False
        self._asked: dict[str, Any] = {}
        self._trouble = ""
        self._pcm = bytearray()
        self._texts: asyncio.Queue[str | None] = asyncio.Queue()
        self._work: asyncio.Task[None] | None = None
        self._times: Times | None = None

    async def run(self) -> None:
        try:
            while (message := await self._next()) is not None:
                going = (
                    await self._audio(message)
                    if isinstance(message, bytes)
                    else await self._action(json.loads(message))
                )
                if not going:
                    return
            if self._task:
                self._service.account.cancelled += 1
        finally:
            if self._work is not None:
                self._work.cancel()
                await asyncio.gather(self._work, return_exceptions=True)

    async def _next(self) -> str | bytes | None:
        """Return what comes next; None: the client has gone, or waits for too long."""
        within = INPUT_S if self._task and not self._finishing else IDLE_S
        try:
            async with asyncio.timeout(within * self._service.seconds):
                message = await self._socket.receive()
        except TimeoutError:
            if self._task:
                await self._fail("CLIENT_ERROR", "request timeout after 23 seconds.")
            return None
        if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
            return None
        found: str | bytes = message.data
        return found

    # ── what the client sends ────────────────────────────────────────────────────────────────

    async def _action(self, message: dict[str, Any]) -> bool:
        """Take an action; return whether the connection goes on."""
        header, payload, service = message["header"], message["payload"], self._service
        action, task = header["action"], header["task_id"]
        if header.get("streaming") != "duplex":
            service.violated("an action that is not duplex")
        if action == "run-task":
            return await self._run_task(task, payload)
        given = payload.get("input")
        cancels = isinstance(given, dict) and given.get("directive") == "cancel"
        if task != self._task or not self._started or (self._finishing and not cancels):
            service.violated(f"{action} where none may be")
            await self._fail("InvalidParameter", "task can not be null", task)
            return False
        if action == "continue-task":
            text = FLUSH if payload["input"].get("flush") else payload["input"].get("text", "")
            if len(text) > MAX_TEXT:
                service.violated("a text that is too long")
            await self._texts.put(text)
        elif action == "finish-task":
            if cancels and service.cancels:
                return await self._cancel()
            if not isinstance(given, dict):
                service.violated("finish-task without its input")
            self._finishing = True
            await self._texts.put(None)
            if self._kind == "asr":
                return await self._end()
        return True

    async def _cancel(self) -> bool:
        """Drop what is not spoken yet; return whether the connection goes on."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        self._service.account.cancelled += 1
        task, self._task = self._task, ""
        await self._tell("task-finished", {"output": {}, "usage": None}, task)
        return True

    async def _run_task(self, task: str, payload: dict[str, Any]) -> bool:
        service = self._service
        if self._task:
            service.violated("a second task at the same time")
            return False
        try:
            uuid.UUID(task)
        except ValueError:
            service.violated("a task's id that is no UUID")
        if task in self._used:
            service.violated("a task's id twice")
        self._used.append(task)
        self._task, self._asked = task, payload
        self._started = self._finishing = False
        self._trouble = service.trouble()
        if self._trouble == Trouble.BUSY:
            await self._fail("Throttling.RateQuota", "Requests rate limit exceeded.")
            return False
        code, words = code_within(self._trouble)
        wrong = (code, words) if code else self._wrong(payload)
        if wrong is not None:
            await self._fail(*wrong)
            return False
        service.account.uses += 1
        self._pcm.clear()
        self._times = None
        self._texts = asyncio.Queue()
        if service.start_s:
            starting = asyncio.create_task(asyncio.sleep(service.start_s))
            early = asyncio.create_task(self._socket.receive())
            await asyncio.wait([starting, early], return_when=asyncio.FIRST_COMPLETED)
            if early.done() and early.result().type in (WSMsgType.TEXT, WSMsgType.BINARY):
                service.violated("input before task-started")
            if not early.done():
                early.cancel()
                await asyncio.gather(early, return_exceptions=True)
            elif early.result().type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                starting.cancel()
                service.account.cancelled += 1
                self._task = ""
                return False
        await self._tell("task-started", {})
        self._started = True
        if self._trouble == LATE and len(self._used) > 1:
            await self._tell("result-generated", _sentence(9, "late", True), self._used[-2])
        self._work = asyncio.create_task(self._talk() if self._kind == "tts" else self._report())
        return True

    def _wrong(self, payload: dict[str, Any]) -> tuple[str, str] | None:
        from vixio_bench.vendors.dashscope.service import MODELS

        service, asked = self._service, payload.get("parameters", {})
        model, self._kind = payload.get("model", ""), payload.get("task", "")
        if payload.get("task_group") != "audio" or "input" not in payload:
            service.violated("run-task without its task_group or input")
        if MODELS.get(model) != self._kind:
            return "ModelNotFound", f"Model not exist: {model}"
        if self._kind == "asr":
            if payload.get("function") != "recognition":
                return "InvalidParameter", "function"
            if asked.get("format") != "pcm" or asked.get("sample_rate") != HEARD_RATE:
                return "InvalidParameter", "format"
            silence = asked.get("max_sentence_silence", 800)
            return None if 200 <= silence <= 6_000 else ("InvalidParameter", "max_sentence_silence")
        if payload.get("function") != "SpeechSynthesizer":
            return "InvalidParameter", "function"
        if asked.get("text_type") != "PlainText" or asked.get("format") != "pcm":
            return "InvalidParameter", "format"
        service.instructions.append(asked.get("instruction", ""))
        if asked.get("voice", "").endswith("_v2") != ("v2" in model):
            return "InvalidParameter", "[tts:]Engine return error code: 418"
        return None

    async def _audio(self, pcm: bytes) -> bool:
        """Take audio; return whether the connection goes on."""
        if self._kind != "asr" or not self._started or self._finishing:
            self._service.violated("audio where none may be")
            return False
        self._times = self._times or self._service.timed()
        self._pcm += pcm
        if len(pcm) > 2 * HEARD_RATE:
            self._service.violated("more than a second of audio in a frame")
        if len(self._pcm) < 12_000:
            return True
        return not self._trouble or await self._break(self._trouble)

    async def _break(self, trouble: str) -> bool:
        """Do what goes wrong; return whether the connection goes on."""
        match trouble:
            case Trouble.CUT:
                cut(self._request)
                return False
            case Trouble.GARBAGE:
                await self._socket.send_str('{"header":{"task_id"')
            case Trouble.ERROR:
                await self._fail("InternalError", "Internal server error!")
                return False
        return True

    # ── what the server sends ────────────────────────────────────────────────────────────────

    async def _report(self) -> None:
        """Send partial results, some of which are revised, and some without words."""
        service, count = self._service, 0
        while True:
            await asyncio.sleep(service.delays.partial or 0.01)
            count += 1
            if service.heartbeats and count % 3 == 0:
                beat = {"sentence_id": 0, "begin_time": 0, "end_time": None, "text": ""}
                await self._tell("result-generated", {"output": {"sentence": beat | _BEAT}})
            sentences = SENTENCE.findall(service.hear(bytes(self._pcm)))
            if sentences:
                steps = prefixes(sentences[0], 4)
                shown = steps[min(count, len(steps)) - 1]
                if count == 2:
                    shown = shown[:-1] + "?"  # revised by the next one
                if self._times is not None:
                    self._times.answers()
                await self._tell("result-generated", self._result(1, shown, False))

    async def _end(self) -> bool:
        """Send the words; return whether the connection goes on."""
        service, work = self._service, self._work
        times = self._times or service.timed()
        times.ended = perf_counter()
        if work is not None:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        if self._trouble == Trouble.STALL:
            await stall(self._socket)
            return False
        await asyncio.sleep(service.delays.words)
        for number, words in enumerate(SENTENCE.findall(service.hear(bytes(self._pcm))), 1):
            await self._tell("result-generated", self._result(number, words, True))
        if self._trouble == NO_LAST:
            return False
        times.last = perf_counter()
        await self._finished()
        return True

    def _result(self, number: int, words: str, whole: bool) -> dict[str, Any]:
        made = _sentence(number, words, whole)
        if not self._service.sentence_ids:
            del made["output"]["sentence"]["sentence_id"]
        return made

    async def _talk(self) -> None:
        service, asked = self._service, self._asked["parameters"]
        rate, rest, index = asked["sample_rate"], "", 0
        while True:
            text = await self._texts.get()
            more = text if text not in (None, FLUSH) else ""
            sentences = SENTENCE.findall(rest + (more or ""))
            rest = ""
            waits = text not in (None, FLUSH) and service.wait_for_more
            if waits and sentences and sentences[-1][-1] not in "。！？.!?":
                rest = sentences.pop()
            for sentence in sentences:
                if not await self._speak(sentence, rate, index):
                    return
                index += 1
            if text is None:
                if self._times is not None:
                    self._times.last = perf_counter()
                await self._finished()
                return

    async def _speak(self, sentence: str, rate: int, index: int) -> bool:
        """Send the sound of a sentence; return whether the task goes on."""
        service = self._service
        times = self._times = service.timed()
        if service.sentence_events:
            await self._tell("result-generated", _spoken("sentence-begin", index, sentence))
        pieces = paced(tone(sentence, rate), rate, service.delays)
        async for sound in cut_oddly(pieces, service.odd):
            times.answers()
            if service.sentence_events:
                await self._tell("result-generated", _spoken("sentence-synthesis", index, ""))
            await self._socket.send_bytes(sound)
            match self._trouble:
                case Trouble.STALL:
                    await asyncio.Event().wait()
                case Trouble.CUT:
                    cut(self._request)
                    return False
                case Trouble.ERROR:
                    await self._fail("InternalError", "Internal server error!")
                    await self._socket.close()
                    return False
                case Trouble.GARBAGE:
                    await self._socket.send_str("{")
                    return False
        if service.sentence_events:
            await self._tell("result-generated", _spoken("sentence-end", index, sentence))
        return True

    async def _finished(self) -> None:
        task, self._task = self._task, ""
        self._service.account.whole += 1
        await self._tell("task-finished", {"output": {}, "usage": None}, task)

    async def _fail(self, code: str, text: str, task: str = "") -> None:
        header = {
            "task_id": task or self._task,
            "event": "task-failed",
            "error_code": code,
            "error_message": text,
            "attributes": {},
        }
        self._task = ""
        await self._socket.send_str(json.dumps({"header": header, "payload": {}}))

    async def _tell(self, event: str, payload: dict[str, Any], task: str = "") -> None:
        header = {"task_id": task or self._task, "event": event, "attributes": {}}
        message = json.dumps({"header": header, "payload": payload}, ensure_ascii=False)
        for _ in range(2 if self._trouble == DOUBLED and event == "result-generated" else 1):
            await self._socket.send_str(message)


_BEAT: Final = {"heartbeat": True, "sentence_end": False, "words": []}


def _sentence(number: int, words: str, whole: bool) -> dict[str, Any]:
    sentence: dict[str, Any] = {
        "sentence_id": number,
        "begin_time": number * 100,
        "end_time": number * 100 + 90 if whole else None,
        "text": words,
        "heartbeat": False,
        "sentence_end": whole,
        "words": [],
    }
    return {"output": {"sentence": sentence}, "usage": {"duration": 1} if whole else None}


def _spoken(kind: str, index: int, sentence: str) -> dict[str, Any]:
    output: dict[str, Any] = {"type": kind, "sentence": {"index": index, "words": []}}
    if sentence:
        output["original_text"] = sentence
    return {"output": output, "usage": None}
