"""One connection of the voice of Xunfei."""

from __future__ import annotations

import asyncio
import base64
import json
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from aiohttp import WSMsgType, web

from vixio_bench.vendors.base import NO_DELAYS, Trouble, code_within, cut, paced, tone

if TYPE_CHECKING:
    from vixio_bench.vendors.xunfei.service import XunfeiService

NO_LAST: Final = "no-last"
"""The connection is closed behind the sound, without a last frame."""
LOST: Final = "lost"
"""A frame in the middle never comes."""


class Speech:
    """One sentence."""

    def __init__(
        self, service: XunfeiService, request: web.Request, socket: web.WebSocketResponse
    ) -> None:
        self._service = service
        self._request = request
        self._socket = socket

    async def run(self) -> None:
        service = self._service
        message = await self._socket.receive()
        if message.type is not WSMsgType.TEXT:
            return
        asked, trouble = json.loads(message.data), service.trouble()
        scripted, words = code_within(trouble)
        busy = "11202" if trouble == Trouble.BUSY else scripted
        if code := int(busy or self._wrong(asked)):
            await self._send({}, code, words)
            return
        service.account.uses += 1
        speaking = asyncio.create_task(self._speak(asked, trouble))
        going = asyncio.create_task(self._socket.receive())
        try:
            await asyncio.wait([speaking, going], return_when=asyncio.FIRST_COMPLETED)
            if speaking.done() and speaking.result():
                service.account.whole += 1
                await asyncio.wait([going])  # until the client goes
        finally:
            service.account.cancelled += not speaking.done()
            for task in (speaking, going):
                task.cancel()
            await asyncio.gather(speaking, going, return_exceptions=True)

    def _wrong(self, asked: dict[str, Any]) -> int:
        from vixio_bench.vendors.xunfei.service import APP_ID

        header, parameter = asked["header"], asked["parameter"]
        if header["app_id"] != APP_ID:
            return 10_313
        if parameter["tts"]["vcn"] not in self._service.licensed:
            return 11_200
        text = asked["payload"]["text"]
        if header["status"] != 2 or text["status"] != 2 or text["encoding"] != "utf8":
            return 10_163
        return 0 if parameter["tts"]["audio"]["encoding"] == "raw" else 10_163

    async def _speak(self, asked: dict[str, Any], trouble: str) -> bool:
        service = self._service
        text = base64.b64decode(asked["payload"]["text"]["text"]).decode()
        rate, times = asked["parameter"]["tts"]["audio"]["sample_rate"], service.timed()
        made = [each async for each in paced(tone(text, rate), rate, NO_DELAYS)]
        made = _oddly(made) if service.odd else made
        frames = [
            {
                "status": 0 if not number else 2 if number == len(made) - 1 else 1,
                "seq": number + service.first_number,
                "audio": base64.b64encode(sound).decode(),
            }
            for number, sound in enumerate(made)
        ]
        if len(frames) == 1:
            frames[0]["status"] = 2
        if service.swapped:
            for number in range(1, len(frames) - 1, 2):
                frames[number], frames[number + 1] = frames[number + 1], frames[number]
        await asyncio.sleep(service.delays.audio)
        for number, frame in enumerate(frames):
            times.answers()
            times.last = perf_counter()
            if not (trouble == LOST and number == 2):
                await self._send(frame, 0)
            if number == len(frames) - 2 and trouble == NO_LAST:
                await self._socket.close()
                return False
            match trouble:
                case Trouble.CUT:
                    cut(self._request)
                    return False
                case Trouble.STALL:
                    await asyncio.Event().wait()
                case Trouble.ERROR:
                    await self._send({}, 10_019)
                    return False
                case Trouble.GARBAGE:
                    await self._socket.send_str('{"header":{"code":0},"payload":{"audio":[1]}}')
                    return False
            await asyncio.sleep(0.1 * service.delays.pace)
        return True

    async def _send(self, audio: dict[str, Any], code: int, words: str = "") -> None:
        made: dict[str, Any] = {
            "header": {
                "code": code,
                "message": (words or "failed") if code else "success",
                "sid": "ast0",
                "status": audio.get("status", 2),
            }
        }
        if audio:
            form = {"encoding": "raw", "sample_rate": 24_000, "channels": 1, "bit_depth": 16}
            made["payload"] = {"audio": {**form, **audio}}
        await self._socket.send_str(json.dumps(made))


def _oddly(pieces: list[bytes]) -> list[bytes]:
    """Return the same sound, cut in the middle of samples."""
    whole, size = b"".join(pieces), len(pieces[0]) - 1 if pieces else 1
    return [whole[at : at + size] for at in range(0, len(whole), size)]
