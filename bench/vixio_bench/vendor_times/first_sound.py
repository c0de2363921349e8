"""How soon an answer is heard: conversations of simulated devices with the running server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.server import Providers
from vixio.testing.voices import Speaker, Voices
from vixio_bench.conversation.play import Played, play
from vixio_bench.conversation.situations import Situation
from vixio_bench.load.usage import Spread
from vixio_bench.paused_speech import paused
from vixio_bench.vendor_times.providers import Places
from vixio_bench.vendor_times.stand_ins import SAID, stand_ins
from vixio_bench.vendors.base import USUAL

SPEAKERS: Final = (Speaker("cmn+m1", 165, 50), Speaker("cmn+f3", 175, 58))


@dataclass(frozen=True, slots=True)
class Way:
    """``ears``, ``voice``: kind, name and way of providers. ``streaming``: the ears get the
    utterance while it is spoken; else all of it at its end. ``think_ms``: of ``listening``."""

    vendor: str
    name: str
    ears: tuple[str, str]
    voice: tuple[str, str]
    streaming: bool
    think_ms: int = 200


_EARS: Final = {
    "volcengine": ("volcengine", "bigmodel_async"),
    "dashscope": ("dashscope", "fun-asr-realtime"),
    "xunfei": ("xunfei", "slm"),
}
_VOICES: Final = {
    "volcengine": ("volcengine", "bidirectional"),
    "dashscope": ("dashscope", "cosyvoice-v3-flash"),
    "xunfei": ("volcengine", "bidirectional"),
}
STREAMING: Final = "streaming"
PARTIAL: Final = "asr.early_partial"
"""Counts the answers that are begun with partial words."""
_REQUESTED: Final = ("volcengine", "http")

WAYS: Final = tuple(
    way
    for vendor, ears in _EARS.items()
    for way in (
        Way(vendor, STREAMING, ears, _VOICES[vendor], True),
        Way(vendor, "at the end", ears, _REQUESTED, False),
        Way(vendor, "at the end, not ahead", ears, _REQUESTED, False, 0),
    )
)


@dataclass(frozen=True, slots=True)
class FirstSound:
    """What was measured of one way. ``asked``: when the model was asked, by the clock."""

    way: Way
    played: Played
    asked: Sequence[float]
    violations: Sequence[str]

    @property
    def responses(self) -> list[float]:
        """Milliseconds from the user's last voice to the first sound, of those answered."""
        found = (each.response_ms for each in self.played.outcomes)
        return [each for each in found if each is not None]

    @property
    def turns(self) -> list[float]:
        """Milliseconds from the user's last voice to the end of the turn."""
        return [each.turn_ms for each in self.played.outcomes if each.turn_ms is not None]

    @property
    def asked_ms(self) -> list[float]:
        """Milliseconds from the user's last voice to the request to the model that counts."""
        ends = [*(each.voice_end for each in self.played.outcomes), float("inf")]
        found = []
        for end, following in pairwise(ends):
            if asked := [each for each in self.asked if end <= each < following]:
                found.append((asked[-1] - end) * 1000)
        return found

    def count(self, name: str) -> int:
        """Return a counter of the server."""
        return self.played.counters.get(name, 0)

    @property
    def right(self) -> int:
        """How many were answered as they should be."""
        return sum(each.right for each in self.played.outcomes)

    def row(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        way = self.way
        return {
            "vendor": way.vendor,
            "way": way.name,
            "ears": " ".join(way.ears),
            "voice": " ".join(way.voice),
            "response_ms": self.responses,
            "turn_ms": self.turns,
            "asked_ms": self.asked_ms,
            "right": self.right,
            "counters": dict(self.played.counters),
        }


_AHEAD: Final = ("turn.ahead", PARTIAL, "turn.ahead_taken", "turn.ahead_dropped")


def table(found: Sequence[FirstSound]) -> str:
    """Return the figures for people."""
    lines = [
        "| ears | they hear | voice | last voice to sound: p50, p95 | to the end of the turn | to the model | ahead: begun, with partial words, taken, dropped | right |",  # noqa: E501
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in found:
        response = Spread.of(each.responses)
        counts = (str(each.count(name)) for name in _AHEAD)
        cells = [
            " ".join(each.way.ears),
            each.way.name,
            " ".join(each.way.voice),
            f"{response.p50:.0f}, {response.p95:.0f} ms",
            f"{Spread.of(each.turns).p50:.0f} ms",
            f"{Spread.of(each.asked_ms).p50:.0f} ms",
            ", ".join(counts),
            f"{each.right} of {len(each.played.outcomes)}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def marks(found: Sequence[FirstSound]) -> list[tuple[str, bool]]:
    """Return each mark, and whether it is met."""
    number = sum(len(each.played.outcomes) for each in found)
    right = sum(each.right for each in found)
    met = [(f"all are answered: {right} of {number}", 0 < number == right)]
    for vendor in dict.fromkeys(each.way.vendor for each in found):
        of = {each.way.name: each for each in found if each.way.vendor == vendor}
        streaming, others = of.pop(STREAMING), of
        own, partial = Spread.of(streaming.responses).p50, streaming.count(PARTIAL)
        met.append((f"{vendor}: answers begun with partial words: {partial}", partial > 0))
        for name, other in others.items():
            theirs = Spread.of(other.responses).p50
            times = f"x{own / theirs:.2f}" if theirs else "–"
            met.append((f"{vendor}: sooner than {name}: {times}", bool(0 < own < theirs)))
    wrong = "; ".join(dict.fromkeys(each for one in found for each in one.violations))
    met.append((f"nothing that a client must not do: {wrong or 'nothing'}", not wrong))
    return met


async def measure_first_sound(number: int, tell: Callable[[], None]) -> list[FirstSound]:
    """Have a device say ``number`` things in each way; those of a vendor at the same time.

    So a busy moment meets all that are compared. ``tell`` is called after each. Raises BenchError,
    VixioError and DeviceError.
    """
    said = await asyncio.to_thread(_situations, number)
    found: list[FirstSound] = []
    for vendor in dict.fromkeys(way.vendor for way in WAYS):
        ways = [way for way in WAYS if way.vendor == vendor]
        found += await asyncio.gather(*(_measure(way, said, tell) for way in ways))
    return found


async def _measure(way: Way, said: Sequence[Situation], tell: Callable[[], None]) -> FirstSound:
    async with stand_ins(USUAL) as services:
        places = Places(services.ports)
        ears, voice = places.named("asr", *way.ears), places.named("tts", *way.voice)
        sections = {
            "asr": ears.section,
            "agent": places.model,
            "tts": voice.section,
            "assistant": {"language": "zh-CN"},
        }
        providers = None if way.streaming else Providers(asr=AtTheEnd(ears.create()))
        listening = {"think_ms": way.think_ms}
        played = await play(listening, said, 1, tell, providers, sections)
        asked = [each.begun for each in await services.take("fastgpt")]
        return FirstSound(way, played, asked, await services.violations())


def _situations(number: int) -> list[Situation]:
    voices = Voices(repeatable=True)
    sounds = [paused(voices, [SAID], [], who).sound for who in SPEAKERS]
    return [Situation("known", SAID, sounds[each % len(sounds)], SAID) for each in range(number)]


class AtTheEnd(ASRProvider):
    """Another recogniser, which gets an utterance when it is over, all at once."""

    def __init__(self, ears: ASRProvider) -> None:
        self.name = ears.name
        self._ears = ears

    async def start(self) -> None:
        """Start the other one."""
        await self._ears.start()

    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin to collect an utterance."""
        return _Collected(self._ears.open(hints))

    async def close(self) -> None:
        """Close the other one."""
        await self._ears.close()


class _Collected(ASRStream):
    gathers = True

    def __init__(self, stream: ASRStream) -> None:
        self._stream = stream
        self._pcm = bytearray()

    async def feed(self, pcm: bytes) -> None:
        self._pcm += pcm

    async def finish(self) -> Recognition:
        await self._stream.feed(bytes(self._pcm))
        self._pcm.clear()
        return await self._stream.finish()

    async def close(self) -> None:
        await self._stream.close()
