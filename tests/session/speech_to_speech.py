"""A small speech-to-speech engine, and a stand-in for the service behind it.

The service takes microphone audio, finds the end of speech itself, and answers in audio with the
words of it. It knows what the user said only a while after it has begun to answer, as real ones do.
"""

from __future__ import annotations

import array
import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.chunk import (
    Abort,
    AudioIn,
    AudioOut,
    Chunk,
    ListenStop,
    Sentence,
    TextInput,
    ToolCalled,
    ToolReturned,
    Transcript,
    TurnDropped,
    TurnStarted,
    UserTurn,
)
from vixio.core.history import AssistantMessage, ToolCallItem, ToolResultItem
from vixio.core.session.engine import Output
from vixio.core.station import StationContext

RATE = 24_000
END_S = 0.5
"""Silence that ends an utterance."""
LOUD = 500


@dataclass(frozen=True)
class Spoken:
    """A piece of an answer: words, and how long they sound."""

    text: str
    seconds: float


@dataclass(frozen=True)
class Call:
    """A tool call of the model."""

    alias: str
    arguments: dict[str, object]


@dataclass
class Exchange:
    """What the user says, known ``late`` seconds after the end of it, and the answer."""

    said: str
    answer: Sequence[Spoken | Call]
    late: float = 0.3


@dataclass
class SpeechService:
    """The service: one exchange of the script for each utterance or text."""

    script: list[Exchange]
    texts: list[str] = field(default_factory=list)
    """What was sent as text."""
    results: list[str] = field(default_factory=list)
    """What tools answered."""
    heard_ms: list[int | None] = field(default_factory=list)
    """Of each answer that was cut: how much of it was played."""
    answering: int = 0
    closed: bool = False
    _silence: float = 0.0
    _speaking: bool = False

    def hear(self, pcm: bytes) -> str:
        """Take audio; return ``started`` or ``stopped`` when speech does."""
        if max(array.array("h", pcm), default=0) > LOUD:
            self._silence = 0.0
            if not self._speaking:
                self._speaking = True
                return "started"
        elif self._speaking:
            self._silence += len(pcm) / 2 / LISTEN_RATE
            if self._silence >= END_S:
                return self.commit()
        return ""

    def commit(self) -> str:
        """End the utterance now."""
        was, self._speaking = self._speaking, False
        return "stopped" if was else ""

    def forget(self) -> bool:
        """Drop the utterance that is being heard; return whether there was one."""
        was, self._speaking = self._speaking, False
        return was

    def next(self) -> Exchange:
        return self.script.pop(0)


class SpeechToSpeechEngine:
    """An :class:`~vixio.core.session.engine.Engine`: no recogniser, no agent, no voice."""

    def __init__(self, service: SpeechService) -> None:
        self.service = service
        self._current = 0
        self._exchanges: dict[int, Exchange] = {}

    def bind(self, context: StationContext, output: Output) -> None:
        self._context = context
        self._output = output

    @property
    def deadline(self) -> float | None:
        return None

    async def feed(self, chunk: Chunk, now: float) -> None:
        match chunk:
            case AudioIn(pcm=pcm):
                await self._happened(self.service.hear(pcm))
            case ListenStop():
                await self._happened(self.service.commit())
            case TextInput(text=text):
                await self._output(UserTurn(self._context.history.next_turn_id(), text))
            case Abort() if self.service.forget():
                await self._output(TurnDropped(self._current))
            case _:
                pass

    async def expire(self, now: float) -> None:
        """There is no deadline."""

    async def reply(self, turn: UserTurn) -> AsyncIterator[Chunk]:
        history, turn_id = self._context.history, turn.turn_id
        exchange = self._exchanges.pop(turn_id, None)
        if exchange is None:
            self.service.texts.append(turn.text)
            exchange = self.service.next()
        history.begin(turn_id, turn.text or None)
        if not turn.text:
            self._context.spawn(self._transcribe(turn_id, exchange))
        self.service.answering += 1
        whole = False
        try:
            for number, piece in enumerate(exchange.answer):
                if isinstance(piece, Spoken):
                    history.append(turn_id, AssistantMessage(piece.text))
                    yield Sentence(turn_id, piece.text, piece.text)
                    yield AudioOut(turn_id, bytes(pcm_bytes(piece.seconds, RATE)), RATE)
                else:
                    async for event in self._call(turn_id, f"call-{number}", piece):
                        yield event
            whole = True
        finally:
            self.service.answering -= 1
            if not whole:
                self.service.heard_ms.append(self._context.timeline(turn_id).heard_ms)

    async def speak(
        self, turn_id: int, text: str, *, recurring: bool = False
    ) -> AsyncIterator[Chunk]:
        yield Sentence(turn_id, text, text)
        yield AudioOut(turn_id, bytes(pcm_bytes(0.05 * len(text), RATE)), RATE)

    async def close(self) -> None:
        self.service.closed = True

    async def _happened(self, event: str) -> None:
        if event == "started":
            self._current = self._context.history.next_turn_id()
            await self._output(TurnStarted(self._current))
        elif event == "stopped":
            self._exchanges[self._current] = self.service.next()
            await self._output(UserTurn(self._current, ""))

    async def _transcribe(self, turn_id: int, exchange: Exchange) -> None:
        await asyncio.sleep(exchange.late)
        self._context.history.said(turn_id, exchange.said)
        await self._output(Transcript(turn_id, exchange.said))

    async def _call(self, turn_id: int, call_id: str, call: Call) -> AsyncIterator[Chunk]:
        history, tools = self._context.history, self._context.session_tools
        tool = self._context.tools.find(call.alias)
        assert tools is not None
        assert tool is not None
        arguments = json.dumps(call.arguments)
        yield ToolCalled(turn_id, call_id, call.alias, arguments)
        history.append(turn_id, ToolCallItem(call_id, call.alias, arguments))
        turn_tools = tools.begin_turn(turn_id, self._context.language)
        result = (await turn_tools.run(tool, arguments, call_id)).for_model()
        history.append(turn_id, ToolResultItem(call_id, result))
        self.service.results.append(result)
        yield ToolReturned(turn_id, call_id, result, True, 0.0)
