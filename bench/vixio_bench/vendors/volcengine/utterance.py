"""One connection of the recogniser."""

from __future__ import annotations

import asyncio
import json
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
    prefixes,
    stall,
)
from vixio_bench.vendors.volcengine.frames import client_frame, error_frame, full_server

if TYPE_CHECKING:
    from vixio_bench.vendors.volcengine.service import VolcengineService

SILENT: Final = "silent"
"""45000002: the utterance has no sound."""
PAUSED: Final = "paused"
"""45000081: no packet came for too long."""
NO_LAST: Final = "no-last"
"""The connection is closed with the words, without a last frame."""

_WITHIN: Final = (Trouble.CUT, Trouble.ERROR, Trouble.GARBAGE, PAUSED)
"""What goes wrong in the middle of an utterance."""


class Utterance:
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
        self._log_id = uuid.uuid4().hex
        self._pcm = bytearray()
        self._sequence = 0
        self._partials: asyncio.Task[None] | None = None
        self._times: Times | None = None

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
            code, words = code_within(trouble)
            if code:
                await self._fail(int(code), words)
                return
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
        self._times = self._times or service.timed()
        if kind != 2:
            service.violated(f"a frame of type {kind} within audio")
            return False
        if len(payload) > 2 * HEARD_RATE:
            service.violated("a packet of more than a second")
        if len(self._pcm) > 12_000 and trouble in _WITHIN:
            return await self._break(trouble)
        if flags & 2:
            await self._end(trouble, self._times)
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
            self._service.hotwords = [each["word"] for each in words]
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
                if self._times is not None:
                    self._times.answers()
                await self._send(shown, last=False)

    async def _end(self, trouble: str, times: Times) -> None:
        service, times.ended = self._service, perf_counter()
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
        times.last = perf_counter()
        await self._send(words, last=trouble != NO_LAST)
        service.account.whole += 1

    async def _send(self, words: str, *, last: bool) -> None:
        service = self._service
        self._sequence += 1
        utterances = [{"text": words, "definite": last, "start_time": 0, "end_time": 1}]
        duration = len(self._pcm) * 500 // HEARD_RATE
        body = {
            "audio_info": {"duration": duration},
            "result": {
                "additions": {"log_id": self._log_id},
                "text": words,
                "utterances": utterances,
            },
        }
        flags = (1 if service.sequences else 0) | (2 if last else 0)
        payload = json.dumps(body, ensure_ascii=False).encode()
        await self._socket.send_bytes(
            full_server(payload, flags=flags, sequence=self._sequence, packed=service.packed)
        )

    async def _fail(self, code: int, text: str) -> None:
        await self._socket.send_bytes(error_frame(code, text))
