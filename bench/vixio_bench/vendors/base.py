"""What the stand-ins share: listening, delays, what is heard and spoken, faults, and accounts."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from time import perf_counter
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from aiohttp import web

HEARD_RATE: Final = 16_000
"""Hz of the PCM that recognisers take."""

CHAR_S: Final = 0.06
"""How long a letter is spoken; a Chinese character three times as long."""

STEP_S: Final = 0.1
"""Sound that a voice sends in one piece."""

MAX_FRAME: Final = 2**20


@dataclass(frozen=True, slots=True)
class Delays:
    """Seconds. ``partial``: between two; ``words``: from the end of an utterance to its transcript;
    ``token``: until the first; ``audio``: until the first; ``pace``: for a second of sound, 0 at
    once."""

    partial: float = 0.0
    words: float = 0.0
    token: float = 0.0
    audio: float = 0.0
    pace: float = 0.0


NO_DELAYS: Final = Delays()
USUAL: Final = Delays(partial=0.1, words=0.1, token=0.3, audio=0.2, pace=0.25)
"""Those that a bench takes for a vendor's."""


class Trouble(StrEnum):
    """What goes wrong with the next use, as any vendor has it; its own are further ones."""

    REFUSED = "refused"
    """The key is wrong."""
    ERROR = "error"
    """An error within the stream."""
    STALL = "stall"
    """Nothing more is sent; the connection stays open."""
    CUT = "cut"
    """The connection ends in the middle."""
    GARBAGE = "garbage"
    """A frame that the protocol does not have."""
    BUSY = "busy"
    """Too many at once."""


@dataclass(slots=True)
class Account:
    """What a stand-in has seen."""

    connections: int = 0
    """That were accepted, in all."""
    open: int = 0
    most: int = 0
    """Open at the same time."""
    uses: int = 0
    """Utterances, speeches, answers that were begun."""
    whole: int = 0
    """Of them, to their end."""
    cancelled: int = 0
    """Of them, by the client."""
    violations: list[str] = field(default_factory=list)
    """What a client must not do, in words."""


@dataclass(slots=True)
class Times:
    """When a use came by, in seconds of a clock that all processes of a machine share; 0: never."""

    begun: float
    """Its input had come: of an utterance the first audio, else all of it."""
    first: float = 0.0
    """The first of the answer is sent: partial words, a token, sound."""
    ended: float = 0.0
    """The last audio of an utterance had come."""
    last: float = 0.0
    """The last of the answer is sent."""

    def answers(self) -> None:
        """Note that a part of the answer is sent, if it is the first."""
        self.first = self.first or perf_counter()


class VendorService(ABC):
    """``async with Service() as service``: listens on a free port of this machine.

    ``delays``: how long it takes; ``seconds``: how long one of the vendor's seconds lasts, for its
    limits; ``hear``: returns the words of 16 kHz PCM.
    """

    def __init__(
        self,
        delays: Delays = NO_DELAYS,
        *,
        seconds: float = 1.0,
        hear: Callable[[bytes], str] | None = None,
    ) -> None:
        self.delays = delays
        self.seconds = seconds
        self.known: dict[bytes, str] = {}
        """Words by the utterance (16 kHz PCM)."""
        self.otherwise = ""
        """The words of any other sound."""
        self.account = Account()
        self.times: deque[Times] = deque(maxlen=10_000)
        """When each use came by."""
        self.port = 0
        self._hear = hear or self._look_up
        self._troubles: deque[str] = deque()
        self._runner: web.AppRunner | None = None

    @abstractmethod
    def routes(self) -> list[web.AbstractRouteDef]:
        """Return what is served."""

    @property
    def http(self) -> str:
        """The address for requests, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws(self) -> str:
        """The address for WebSockets, without a path."""
        return f"ws://127.0.0.1:{self.port}"

    def hear(self, pcm: bytes) -> str:
        """Return the words of an utterance."""
        return self._hear(pcm)

    def fail(self, *troubles: str) -> None:
        """Do so with the next uses, in order."""
        self._troubles.extend(troubles)

    def trouble(self, *kinds: str) -> str:
        """Take the next trouble, if it is one of ``kinds``; "" for none. Without kinds: any."""
        if self._troubles and (not kinds or self._troubles[0] in kinds):
            return self._troubles.popleft()
        return ""

    def refusal_asked(self) -> tuple[int, str, str] | None:
        """Take the next trouble if it is one of :func:`upgrade`."""
        if self._troubles and self._troubles[0].startswith("upgrade "):
            _, status, code, words = self._troubles.popleft().split(" ", 3)
            return int(status), code, words
        return None

    def timed(self) -> Times:
        """Note that a use begins."""
        times = Times(perf_counter())
        self.times.append(times)
        return times

    def violated(self, what: str) -> None:
        """Note what a client must not do."""
        self.account.violations.append(what)

    async def start(self) -> None:
        """Listen."""
        app = web.Application(client_max_size=64 * 2**20)
        app.add_routes(self.routes())
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=1.0, handler_cancellation=True
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close the connections and listen no more. The port is kept for another start."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    @asynccontextmanager
    async def socket(
        self,
        request: web.Request,
        **options: Any,  # noqa: ANN401 - aiohttp's own
    ) -> AsyncIterator[web.WebSocketResponse]:
        """Accept a WebSocket, and count it."""
        socket = web.WebSocketResponse(max_msg_size=MAX_FRAME, compress=False, **options)
        await socket.prepare(request)
        account = self.account
        account.connections += 1
        account.open += 1
        account.most = max(account.most, account.open)
        try:
            yield socket
        finally:
            account.open -= 1
            await socket.close()

    def _look_up(self, pcm: bytes) -> str:
        if pcm in self.known:
            return self.known[pcm]
        # A detector of speech may have cut at either end, and the last piece may be filled up.
        for known, words in self.known.items():
            middle = known[len(known) // 4 : len(known) // 2]
            if middle and middle in pcm:
                return words
        return self.otherwise


def upgrade(status: int, code: object, words: str) -> str:
    """Return the trouble of a request that is refused with a status, and a code in its body."""
    return f"upgrade {status} {code} {words}"


def within(code: object, words: str) -> str:
    """Return the trouble of a use that ends at once with a code of the vendor's."""
    return f"within {code} {words}"


def code_within(trouble: str) -> tuple[str, str]:
    """Return code and words of a trouble of :func:`within`; of another one, twice nothing."""
    if not trouble.startswith("within "):
        return "", ""
    _, code, words = trouble.split(" ", 2)
    return code, words


def cut(request: web.Request) -> None:
    """End the connection of a request without a word."""
    if request.transport is not None:
        request.transport.abort()


async def stall(socket: web.WebSocketResponse) -> None:
    """Do nothing more, until the client goes."""
    async for _ in socket:
        pass


def tone(text: str, rate: int) -> bytes:
    """Return a text as sound: 16-bit PCM, a tone as long as it is; nothing for no words."""
    letters = sum(3 if ord(each) > 0x2E80 else 1 for each in text if each.isalnum())
    if not letters:
        return b""
    pitch = 180 + sum(map(ord, text)) % 120
    samples = int(letters * CHAR_S * rate)
    time = np.arange(samples) / rate
    return (9_000 * np.sin(2 * np.pi * pitch * time)).astype("<i2").tobytes()


async def paced(sound: bytes, rate: int, delays: Delays) -> AsyncIterator[bytes]:
    """Yield sound in pieces as a voice makes it: the first after a while, then at its pace."""
    size = 2 * int(rate * STEP_S)
    if sound:
        await asyncio.sleep(delays.audio)
    for start in range(0, len(sound), size):
        yield sound[start : start + size]
        if delays.pace:
            await asyncio.sleep(STEP_S * delays.pace)


async def cut_oddly(pieces: AsyncIterator[bytes], odd: bool) -> AsyncIterator[bytes]:
    """Yield the same; ``odd``: each piece ends in the middle of a sample."""
    rest = b""
    async for piece in pieces:
        whole = rest + piece
        end = len(whole) - 1 if odd and len(whole) > 2 else len(whole)
        yield whole[:end]
        rest = whole[end:]
    if rest:
        yield rest


def prefixes(words: str, count: int) -> list[str]:
    """Return what a recogniser makes of words while they are spoken, in so many steps."""
    step = max(1, math.ceil(len(words) / max(1, count)))
    return [words[:end] for end in range(step, len(words) + step, step)]


def deltas(words: str) -> list[str]:
    """Return words in the pieces in which a model writes them."""
    return [words[at : at + 4] for at in range(0, len(words), 4)]
