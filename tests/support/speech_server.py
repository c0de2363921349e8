"""A stand-in for an OpenAI-compatible audio API: the real endpoints over real HTTP.

``POST /audio/transcriptions`` takes multipart with a WAV and knows the utterances that it was told
of; ``POST /audio/speech`` speaks any text as a tone. What goes wrong is scripted: each request
takes the next :class:`Fault`, if there is one.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import wave
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tests.support.http_parts import Request, chunk_of, head_of, read_request
from tests.support.sounds import MP3_24K_MONO, chirp, ogg_opus, wav

RATE: Final = 24_000
CHAR_MS: Final = 35
"""How long each character is spoken."""

MEDIA = {"pcm": "audio/pcm", "wav": "audio/wav", "mp3": "audio/mpeg", "opus": "audio/ogg"}

When = Literal["head", "body", "middle"]
"""Before the response, behind its head, or behind a part of its body."""


@dataclass
class Fault:
    """``status``: another answer. ``stall``, ``cut``: nothing more is sent there; the connection is
    kept or ended. ``body``: what is sent instead, under ``media``."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    media: str = "application/json"
    stall: When | None = None
    cut: When | None = None
    go: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by the test: a stall is over."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)


def refusal(status: int, message: str = "no", code: str = "", **headers: str) -> Fault:
    """Return an error as OpenAI words it."""
    error = {"message": message, "type": "error", "param": None, "code": code or None}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(status, named, json.dumps({"error": error}).encode())


class SpeechServer:
    """``async with SpeechServer() as server``: ``server.base_url`` is what a provider is told."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.models = refusal(404)
        """The answer to ``GET /models``, which is not among the requests."""
        self.only_under_v1 = False
        """Whether ``models`` is the answer under that path alone."""
        self.looked = 0
        """How many times it was asked for."""
        self.connections = 0
        self.working = 0
        """Requests that are being answered."""
        self.hung_up = asyncio.Event()
        """A client went away before its answer was whole."""
        self.known: dict[bytes, str] = {}
        """Utterances (16 kHz PCM) by their words."""
        self.always = ""
        """The words of all other utterances."""
        self.sends = ""
        """The format in which it speaks whatever was asked for."""
        self.endless = False
        """Speech goes on for ever."""
        self.rate = RATE
        self.media = ""
        self._faults: deque[Fault] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._port = 0  # the same one when it is started again

    def fail(self, *faults: Fault) -> None:
        """Do so with the next requests, in order."""
        self._faults.extend(faults)

    async def reach(self, fault: Fault, attempt: Callable[[], Awaitable[None]]) -> None:
        """Attempt a request until one has reached this fault, and forget what was not reached.

        A busy machine may let one be given up before that, and the fault goes with it.
        """
        while not fault.reached.is_set():
            if not any(each is fault for each in self._faults):
                self._faults.append(fault)
            await attempt()
        self._faults.clear()

    @property
    def base_url(self) -> str:
        assert self._port, "it has not been started yet"
        return f"http://127.0.0.1:{self._port}/v1"

    async def idle(self) -> None:
        """Wait until no request is being answered."""
        while self.working:
            self._idle.clear()
            await self._idle.wait()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._one_request(reader, writer):
                pass
        except ConnectionError:
            self.hung_up.set()
        except asyncio.IncompleteReadError:
            pass  # the client is gone
        except asyncio.CancelledError:
            pass  # the test is over; asyncio's server would log a cancelled handler
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _one_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        request = await read_request(reader)
        if request.path.endswith("/models"):
            self.looked += 1
            missing = self.only_under_v1 and not request.path.startswith("/v1/")
            return await self._answer(request, refusal(404) if missing else self.models, writer)
        self.requests.append(request)
        fault = self._faults.popleft() if self._faults else Fault()
        gone = asyncio.ensure_future(reader.read(1))  # nothing is sent while an answer is awaited
        self.working += 1
        answering = asyncio.ensure_future(self._answer(request, fault, writer))
        try:
            await asyncio.wait((answering, gone), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                self.hung_up.set()
                return False
            return answering.result()
        finally:
            answering.cancel()
            gone.cancel()
            await asyncio.gather(answering, gone, return_exceptions=True)
            self.working -= 1
            self._idle.set()

    async def _answer(self, request: Request, fault: Fault, writer: asyncio.StreamWriter) -> bool:
        """Answer; false: and end the connection."""
        if not await self._goes_on("head", fault):
            return False
        status, media, pieces = self._reply(request, fault)
        writer.write(head_of(status, {"content-type": media, **fault.headers}))
        await writer.drain()
        if not await self._goes_on("body", fault):
            return False
        for number, piece in enumerate(pieces):
            writer.write(chunk_of(piece))
            await writer.drain()
            if number == 0 and not await self._goes_on("middle", fault):
                return False
        writer.write(chunk_of(b""))
        await writer.drain()
        return True

    async def _goes_on(self, when: When, fault: Fault) -> bool:
        if fault.stall == when:
            fault.reached.set()
            await fault.go.wait()
        return fault.cut != when

    def _reply(self, request: Request, fault: Fault) -> tuple[int, str, Iterator[bytes]]:
        if fault.body is not None:
            return fault.status, fault.media, iter([fault.body] if fault.body else [])
        if request.path.endswith("/audio/transcriptions"):
            return self._transcribe(request)
        return self._speak(json.loads(request.body))

    def _transcribe(self, request: Request) -> tuple[int, str, Iterator[bytes]]:
        _, _, content = request.files["file"]
        with wave.open(io.BytesIO(content)) as sound:
            assert (sound.getframerate(), sound.getnchannels()) == (16_000, 1)
            assert sound.getsampwidth() == 2
            pcm = sound.readframes(sound.getnframes())
        text = self.known.get(pcm, self.always)
        if request.fields.get("stream") == ["true"]:
            return 200, "text/event-stream", _events(text)
        answer = json.dumps({"text": text}, ensure_ascii=False).encode()
        middle = len(answer) // 2
        return 200, "application/json", iter([answer[:middle], answer[middle:]])

    def _speak(self, asked: dict[str, Any]) -> tuple[int, str, Iterator[bytes]]:
        if self.endless:
            return 200, MEDIA["pcm"], itertools.repeat(bytes(96_000))
        kind = self.sends or asked.get("response_format", "mp3")
        seconds = len(asked["input"]) * CHAR_MS / 1000
        data = encoded(kind, tone(self.rate, seconds), self.rate)
        return 200, self.media or MEDIA[kind], _pieces(data, 4_801)


def tone(rate: int, seconds: float) -> NDArray[np.int16]:
    return np.resize(chirp(rate, 1.0), round(rate * seconds))


def encoded(kind: str, samples: NDArray[np.int16], rate: int) -> bytes:
    """Return the sound as a server of that format streams it; MP3 as long, but not as exact."""
    match kind:
        case "pcm":
            return samples.tobytes()
        case "wav":
            return wav(samples.tobytes(), rate, data_size=0xFFFFFFFF)
        case "opus":
            return ogg_opus(samples, rate)
        case _:
            return MP3_24K_MONO * max(1, round(len(samples) / rate / 1.25))


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def _events(text: str) -> Iterator[bytes]:
    """A delta a word, then the whole (OpenAI's transcription events), cut inside of events."""
    words = text.split(" ")
    deltas = [word if number == 0 else f" {word}" for number, word in enumerate(words)]
    events = [{"type": "transcript.text.delta", "delta": delta} for delta in deltas]
    events.append({"type": "transcript.text.done", "text": text})
    for event in events:
        data = f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        yield data[: len(data) // 2]
        yield data[len(data) // 2 :]
