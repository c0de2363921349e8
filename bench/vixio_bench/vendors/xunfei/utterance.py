"""One connection of a recogniser of Xunfei, in either form of its messages."""

from __future__ import annotations

import asyncio
import base64
import json
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
    prefixes,
    stall,
)

if TYPE_CHECKING:
    from vixio_bench.vendors.xunfei.service import XunfeiService

LONGEST_S: Final = 60
"""Of the vendor's seconds: an utterance."""
INPUT_S: Final = 10
"""Of the vendor's seconds, for the next frame."""
MAX_FRAME: Final = 13_000
"""Characters of audio in one frame, in base64."""

NO_LAST: Final = "no-last"
"""The connection is closed with the words, without a last result."""
DOUBLED: Final = "doubled"
"""Each result comes twice."""


class Utterance(ABC):
    """One utterance."""

    def __init__(
        self, service: XunfeiService, request: web.Request, socket: web.WebSocketResponse
    ) -> None:
        self._service = service
        self._request = request
        self._socket = socket
        self._pcm = bytearray()
        self._frames = 0
        self._number = 0
        self._trouble = ""
        self._partials: asyncio.Task[None] | None = None
        self._times: Times | None = None

    @abstractmethod
    def first(self, message: dict[str, Any]) -> int:
        """Return a code for what is wrong with the first frame, 0 for nothing."""

    @abstractmethod
    def frame(self, message: dict[str, Any]) -> tuple[int, bytes]:
        """Return status and audio of a frame."""

    @abstractmethod
    def answer(self, result: dict[str, Any] | None, status: int, code: int, text: str) -> str:
        """Return an answer."""

    async def run(self) -> None:
        try:
            async with asyncio.timeout(LONGEST_S * self._service.seconds):
                while (message := await self._next()) is not None:
                    if not await self._took(message):
                        return
                if self._frames:
                    self._service.account.cancelled += 1
        except TimeoutError:
            await self._fail(10_114, "session timeout")
        finally:
            if self._partials is not None:
                self._partials.cancel()
                await asyncio.gather(self._partials, return_exceptions=True)

    async def _next(self) -> dict[str, Any] | None:
        try:
            async with asyncio.timeout(INPUT_S * self._service.seconds):
                message = await self._socket.receive()
        except TimeoutError:
            await self._fail(10_200, "read data timeout")
            return None
        if message.type is not WSMsgType.TEXT:
            return None
        found: dict[str, Any] = json.loads(message.data)
        return found

    async def _took(self, message: dict[str, Any]) -> bool:
        """Take a frame; return whether more may come."""
        service, (status, pcm) = self._service, self.frame(message)
        if (status == 0) != (self._frames == 0):
            service.violated("a first frame that is not the first one")
        if not self._frames:
            self._trouble = service.trouble()
            asked, words = code_within(self._trouble)
            busy = "11203" if self._trouble == Trouble.BUSY else asked
            if code := int(busy or self.first(message)):
                await self._fail(code, words or "refused")
                return False
            service.account.uses += 1
            self._partials = asyncio.create_task(self._report())
        if len(pcm) * 4 / 3 > MAX_FRAME:
            service.violated("a frame that is too long")
        self._frames += 1
        times = self._times = self._times or service.timed()
        self._pcm += pcm
        if len(self._pcm) > 12_000 and self._trouble and not await self._break():
            return False
        if status == 2:
            await self._end(times)
            return False
        return True

    async def _break(self) -> bool:
        match self._trouble:
            case Trouble.CUT:
                cut(self._request)
                return False
            case Trouble.GARBAGE:
                await self._socket.send_str('{"code":')
            case Trouble.ERROR:
                await self._fail(10_019, "engine error")
                return False
        return True

    async def _report(self) -> None:
        """Send partial words; each takes the place of the one before."""
        service, count = self._service, 0
        while True:
            await asyncio.sleep(service.delays.partial or 0.01)
            words = service.hear(bytes(self._pcm))
            if words:
                count += 1
                steps = prefixes(words, 4)
                if self._times is not None:
                    self._times.answers()
                await self._send(steps[min(count, len(steps)) - 1], 1)

    async def _end(self, times: Times) -> None:
        service, times.ended = self._service, perf_counter()
        if self._partials is not None:
            self._partials.cancel()
            await asyncio.gather(self._partials, return_exceptions=True)
        if self._trouble == Trouble.STALL:
            await stall(self._socket)
            return
        await asyncio.sleep(service.delays.words)
        words = service.hear(bytes(self._pcm))
        half = len(words) // 2
        times.last = perf_counter()
        await self._send(words[:half], 1)
        await self._send(words[half:], 1 if self._trouble == NO_LAST else 2, replaces=False)
        if self._trouble != NO_LAST:
            service.account.whole += 1

    async def _send(self, words: str, status: int, *, replaces: bool = True) -> None:
        before, self._number = self._number, self._number + 1
        result: dict[str, Any] = {
            "sn": self._number,
            "ls": status == 2,
            "pgs": "rpl" if replaces and before else "apd",
            "ws": [{"bg": 0, "cw": [{"sc": 0, "w": each}, {"sc": 0, "w": "?"}]} for each in words],
        }
        if result["pgs"] == "rpl":
            result["rg"] = [1, before]
        for _ in range(2 if self._trouble == DOUBLED else 1):
            await self._socket.send_str(self.answer(result, status, 0, "success"))

    async def _fail(self, code: int, text: str) -> None:
        await self._socket.send_str(self.answer(None, 2, code, text))


class ModelUtterance(Utterance):
    """The messages of the big models."""

    def first(self, message: dict[str, Any]) -> int:
        from vixio_bench.vendors.xunfei.service import APP_ID

        iat = message["parameter"]["iat"]
        if message["header"]["app_id"] != APP_ID:
            return 10_313
        if iat["domain"] not in self._service.licensed:
            return 11_200
        if (iat["language"], iat["result"]["format"]) != ("zh_cn", "json"):
            return 10_163
        self._service.hotwords = iat.get("dhw", "")
        return 0

    def frame(self, message: dict[str, Any]) -> tuple[int, bytes]:
        audio, status = message["payload"]["audio"], message["header"]["status"]
        form = (audio["encoding"], audio["sample_rate"], audio["channels"], audio["bit_depth"])
        if form != ("raw", HEARD_RATE, 1, 16) or audio["status"] != status:
            self._service.violated("audio of another form")
        if audio["seq"] != self._frames + 1:
            self._service.violated("a frame out of order")
        return status, base64.b64decode(audio["audio"], validate=True)

    def answer(self, result: dict[str, Any] | None, status: int, code: int, text: str) -> str:
        made: dict[str, Any] = {
            "header": {"code": code, "message": text, "sid": "iat0", "status": status}
        }
        if result is not None:
            packed = base64.b64encode(json.dumps(result, ensure_ascii=False).encode()).decode()
            made["payload"] = {"result": {"format": "json", "status": status, "text": packed}}
        return json.dumps(made)


class OldUtterance(Utterance):
    """The messages of the older service."""

    def first(self, message: dict[str, Any]) -> int:
        from vixio_bench.vendors.xunfei.service import APP_ID

        if message["common"]["app_id"] != APP_ID:
            return 10_313
        business = message["business"]
        if business["domain"] not in self._service.licensed:
            return 11_200
        return 0 if business["vad_eos"] <= 10_000 else 10_106

    def frame(self, message: dict[str, Any]) -> tuple[int, bytes]:
        data = message["data"]
        if data["format"] != f"audio/L16;rate={HEARD_RATE}" or data["encoding"] != "raw":
            self._service.violated("audio of another form")
        return data["status"], base64.b64decode(data["audio"], validate=True)

    def answer(self, result: dict[str, Any] | None, status: int, code: int, text: str) -> str:
        made: dict[str, Any] = {"code": code, "message": text, "sid": "iat0"}
        if result is not None:
            made["data"] = {"result": result, "status": status}
        return json.dumps(made, ensure_ascii=False)
