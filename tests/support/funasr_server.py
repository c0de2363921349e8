"""A stand-in for FunASR's runtime servers: the frames of their protocol, the words of a test.

Each of the real servers frames its results in its own way; :class:`Flavour` names them. Audio is
cut into segments at pauses, as their VAD does; the test's ``transcribe`` has the words of each.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

RATE = 16_000
TENTH = RATE // 10
LOUD = 300.0
PAUSE = 0.8
"""Seconds of silence after which a segment is over (the VAD's ``max_end_silence_time``)."""


class Flavour(StrEnum):
    """Which of FunASR's servers it is."""

    CPP_2PASS = "websocket-server-2pass.cpp"
    CPP_OFFLINE = "websocket-server.cpp"
    PYTHON = "funasr_wss_server.py"
    PYTHON_OLD = "funasr_wss_server.py before is_end"


def tenths(pcm: bytes) -> list[bool]:
    """Return for each tenth of a second whether it is loud."""
    samples = np.frombuffer(pcm[: len(pcm) // 2 * 2], dtype="<i2").astype(np.float32)
    whole = len(samples) // TENTH * TENTH
    found: list[bool] = (_power(samples[:whole].reshape(-1, TENTH)) > LOUD**2).tolist()
    if whole < len(samples):
        found += (_power(samples[whole:].reshape(1, -1)) > LOUD**2).tolist()
    return found


def _power(pieces: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean square of each row."""
    return np.asarray(np.einsum("ij,ij->i", pieces, pieces) / pieces.shape[1], np.float32)


def loud(pcm: bytes) -> str:
    """The default recognition: how many tenths of a second were loud."""
    count = sum(tenths(pcm))
    return f"loud {count}" if count else ""


Fault = Callable[["Talk", str], Awaitable[None]]
"""Called with ``start``, ``audio`` and ``end``; does to the connection what it likes."""


@dataclass
class Utterance:
    """What a client asked for and sent."""

    start: dict[str, Any]
    connection: int
    pieces: list[int] = field(default_factory=list)
    pcm: bytearray = field(default_factory=bytearray)
    ended: bool = False


class HungUpError(Exception):
    """Raised by a fault that has ended its connection."""


class Talk:
    """One connection."""

    def __init__(self, server: FunASRServer, socket: ServerConnection, number: int) -> None:
        self.socket = socket
        self._server = server
        self._number = number
        self._utterance = Utterance({}, number)
        self._segment = bytearray()
        self._chunk = bytearray()
        self._hotwords: str | None = None

    async def run(self) -> None:
        async for frame in self.socket:
            if isinstance(frame, bytes):
                await self._audio(frame)
                continue
            message = json.loads(frame)
            if message["is_speaking"]:
                await self._start(message)
            else:
                await self._end(acknowledge=bool(message.get("is_end")))

    async def send(self, **result: Any) -> None:  # noqa: ANN401 - JSON
        await self.socket.send(json.dumps(result, ensure_ascii=False))

    async def _fault(self, stage: str) -> None:
        if self._server.fault is not None:
            await self._server.fault(self, stage)

    async def _start(self, message: dict[str, Any]) -> None:
        # The C++ servers load hotwords once a connection ("hotwords_embedding == nullptr").
        if self._hotwords is None or self._server.flavour.endswith("is_end"):
            self._hotwords = message["hotwords"]
        self._utterance = Utterance({**message, "hotwords": self._hotwords}, self._number)
        self._server.utterances.append(self._utterance)
        self._segment.clear()
        self._chunk.clear()
        await self._fault("start")

    async def _audio(self, pcm: bytes) -> None:
        self._utterance.pieces.append(len(pcm))
        self._utterance.pcm += pcm
        self._segment += pcm
        self._chunk += pcm
        await self._fault("audio")
        size = self._utterance.start["chunk_size"][1] * 60 * RATE // 1000 * 2
        if len(self._chunk) >= size:
            await self._first_pass()
        pause = tenths(bytes(self._segment[-round(PAUSE * RATE) * 2 :]))
        if len(self._segment) > 2 * RATE and not any(pause):
            await self._second_pass(last=False)

    async def _first_pass(self) -> None:
        text = self._server.transcribe(bytes(self._chunk))
        self._chunk.clear()
        if not text or self._mode == "offline":
            return
        old = self._server.flavour is Flavour.PYTHON_OLD
        cpp = self._server.flavour is Flavour.CPP_2PASS
        mode = "2pass-online" if cpp or self._mode == "2pass" else "online"
        await self._result(mode, f"{text} ", is_final=old)

    async def _second_pass(self, *, last: bool) -> None:
        cpp = self._server.flavour is Flavour.CPP_2PASS
        whole = self._server.flavour is Flavour.CPP_OFFLINE  # which has no VAD of its own here
        if not last and (self._mode == "online" or whole):
            return
        text = self._server.transcribe(bytes(self._segment))
        self._segment.clear()
        if not text and not last:
            return
        mode = "2pass-offline" if cpp or self._mode == "2pass" else "offline"
        if cpp and not text:
            mode = ""  # handle_result() names a mode only with words
        finals = {
            Flavour.CPP_2PASS: last,
            Flavour.CPP_OFFLINE: False,
            Flavour.PYTHON: True,
            Flavour.PYTHON_OLD: not last,
        }
        await self._result(mode, text, is_final=finals[self._server.flavour])

    async def _end(self, *, acknowledge: bool) -> None:
        self._utterance.ended = True
        await self._fault("end")
        flavour = self._server.flavour
        if self._mode != "online":
            await self._second_pass(last=True)
        elif flavour is Flavour.CPP_2PASS:
            rest = self._server.transcribe(bytes(self._chunk))
            await self._result("2pass-online" if rest else "", rest, is_final=True)
        elif flavour is Flavour.PYTHON:  # the old one drops what is no whole chunk
            await self._first_pass()
        if flavour is Flavour.PYTHON and acknowledge:
            await self.send(mode=self._mode, wav_name=self._name, is_final=True, is_end=True)

    async def _result(self, mode: str, text: str, *, is_final: bool) -> None:
        named = {"mode": mode} if mode else {}
        await self.send(**named, text=text, wav_name=self._name, is_final=is_final)

    @property
    def _mode(self) -> str:
        return str(self._utterance.start["mode"])

    @property
    def _name(self) -> str:
        return str(self._utterance.start["wav_name"])


class FunASRServer:
    """Listens on a free loopback port while its context is open.

    ``transcribe``: returns the words of PCM. ``fault``: what goes wrong; see :data:`Fault`.
    """

    def __init__(
        self,
        flavour: Flavour = Flavour.CPP_2PASS,
        *,
        transcribe: Callable[[bytes], str] = loud,
        tls: ssl.SSLContext | None = None,
        fault: Fault | None = None,
    ) -> None:
        self.flavour = flavour
        self.transcribe = transcribe
        self.fault = fault
        self.utterances: list[Utterance] = []
        self.connections = 0
        self.headers: list[dict[str, str]] = []
        self.gone = asyncio.Event()
        """Set whenever a connection has ended."""
        self.refuse = 0
        """HTTP status for handshakes, if not 0."""
        self._tls = tls
        self._server: Server | None = None
        self._talks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        assert self._server is not None
        port = next(iter(self._server.sockets)).getsockname()[1]
        return f"{'wss' if self._tls else 'ws'}://127.0.0.1:{port}"

    @property
    def open_connections(self) -> int:
        return len(self._server.connections) if self._server is not None else 0

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def listen(self, port: int = 0) -> None:
        self._server = await serve(
            self._serve,
            "127.0.0.1",
            port,
            ssl=self._tls,
            # As the Python server, which refuses clients that do not offer it.
            subprotocols=[Subprotocol("binary")],
            process_request=self._answer,
            ping_interval=None,
            close_timeout=1,
            max_queue=None,  # else a talk that has stopped reading would not see its end
        )

    async def stop(self) -> None:
        if self._server is not None:
            for task in self._talks:
                task.cancel()
            self._server.close()
            await self._server.wait_closed()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def _answer(self, socket: ServerConnection, request: Any) -> Any:  # noqa: ANN401 - websockets'
        self.headers.append(dict(request.headers))
        return socket.respond(self.refuse, "no\n") if self.refuse else None

    async def _serve(self, socket: ServerConnection) -> None:
        self.connections += 1
        task = asyncio.ensure_future(Talk(self, socket, self.connections).run())
        self._talks.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._talks.discard(task)
            self.gone.set()
        if not task.cancelled():
            error = task.exception()
            if error is not None and not isinstance(error, ConnectionClosed | HungUpError):
                raise error
