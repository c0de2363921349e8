"""Main of a generator's process: a share of the devices, and how well it kept up itself."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Final

from firmware_test_client import DeviceConfig, Pcm, Voice
from firmware_test_client.pcm import from_samples
from firmware_test_client.speech import StreamFormat, Utterance, encoded_speech, prepare
from vixio.audio.codec import OpusDecoder
from vixio.core.tasks import cancel_and_wait
from vixio_bench.load import marker
from vixio_bench.load.control import BenchError, Handler, Json, Line, attend
from vixio_bench.load.device import ROOM_DBFS, LoadDevice, Notes
from vixio_bench.load.mixes import BLOCKED
from vixio_bench.load.usage import LoopLag, Spread, look, pin

WORDS: Final = "what is the weather like today"
RAMP_GRACE_S: Final = 10.0
"""So long after the last device should have come, those that are not in are counted as out."""
_RATE: Final = 16_000
_SPARE: Final = marker.MAX_MARKERS // 2


@dataclass(frozen=True, slots=True)
class GeneratorPlan:
    """What the process is to be."""

    line: Line
    cores: tuple[int, ...] = ()

    def to_json(self) -> str:
        """Return the plan as the argument of the process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> GeneratorPlan:
        """Read :meth:`to_json`'s text."""
        body = json.loads(text)
        return cls(Line(**body["line"]), tuple(body["cores"]))


class Generator:
    """The devices of one process."""

    def __init__(self) -> None:
        self._notes = Notes()
        self._devices: list[LoadDevice] = []
        self._living: list[asyncio.Task[None]] = []
        self._lag = LoopLag()

    def handlers(self) -> dict[str, Handler]:
        """Return what can be asked."""
        return {
            "prepare": self._prepare,
            "ramp": self._ramp,
            "answers": self._answers,
            "talk": self._talk,
            "begin": self._begin,
            "figures": self._figures,
            "now": self._now,
            "leave": self._leave,
        }

    async def _prepare(self, asked: Json) -> Json:
        """Make ``count`` devices, every ``step``-th from ``first``; nothing connects yet."""
        utterance = await prepare(WORDS, Voice(), _RATE)
        speaks = asked["behaviour"] in {"talk", "churn"}
        for index in range(asked["first"], asked["total"], asked["step"]):
            number, voice = index, utterance.pcm
            if speaks:
                number, voice = await _marked(utterance.pcm, index)
            self._devices.append(
                LoadDevice(
                    number,
                    voice,
                    _from(asked["urls"], index),
                    asked["behaviour"],
                    (asked["pause"][0], asked["pause"][1]),
                    self._notes,
                    asked["blocks"] if number == BLOCKED else 0.0,
                    asked["asks"],
                )
            )
        self._lag.start()
        return {"numbers": [device.number for device in self._devices]}

    async def _ramp(self, asked: Json) -> Json:
        """Connect all within ``seconds``; each begins to live as soon as it is greeted."""
        delay = asked["seconds"] / max(1, len(self._devices))

        async def come(device: LoadDevice, wait: float) -> None:
            await asyncio.sleep(wait)
            await device.connect()
            self._living.append(asyncio.create_task(device.live()))

        self._notes.hello_ms.clear()
        coming = [
            asyncio.create_task(come(device, number * delay))
            for number, device in enumerate(self._devices)
        ]
        self._living += coming
        # A refused device keeps trying, but the measurement does not wait for it.
        await asyncio.wait(coming, timeout=asked["seconds"] + RAMP_GRACE_S)
        return {"hello_ms": self._notes.hello_ms, "counts": dict(self._notes.counts)}

    async def _answers(self, _: Json) -> Json:
        """Wait for the first answer of each device that asks as soon as it is greeted."""
        answers = [await device.first_answer for device in self._devices]
        return {"at": [at for at, _ in answers], "notices": sum(count for _, count in answers)}

    async def _talk(self, _: Json) -> Json:
        """All may speak."""
        for device in self._devices:
            device.may_talk.set()
        return {}

    async def _begin(self, _: Json) -> Json:
        """What follows is measured."""
        self._notes.clear()
        self._lag.reset()
        for device in self._devices:
            device.skip_replies()
            device.measuring = True
        return await self._now({})

    async def _now(self, _: Json) -> Json:
        for task in self._living:
            if task.done() and not task.cancelled():
                task.result()  # a defect of the bench itself must not pass for a quiet device
        return {
            **asdict(look()),
            "connected": sum(device.connected for device in self._devices),
            "turns": self._notes.counts["turns"],
            "packets": sum(device.packets for device in self._devices),
            "lag_p99": Spread.of(self._lag.lags[-250:]).p99,
        }

    async def _figures(self, _: Json) -> Json:
        for device in self._devices:
            device.note_replies()
        notes = self._notes
        return {
            "now": await self._now({}),
            "loop_lag_ms": asdict(Spread.of(self._lag.lags)),
            "counts": dict(notes.counts),
            "hello_ms": notes.hello_ms,
            "response_ms": notes.response_ms,
            "jitter_ms": notes.jitter_ms,
            "trouble": notes.trouble,
            "back": notes.back,
        }

    async def _leave(self, _: Json) -> Json:
        """Disconnect all."""
        await cancel_and_wait(*self._living)
        with suppress(TimeoutError):
            async with asyncio.timeout(20):
                await asyncio.gather(*(device.device.close() for device in self._devices))
        self._devices.clear()
        self._living.clear()
        await self._lag.stop()
        return {}


def _from(urls: list[str], index: int) -> list[str]:
    """Return the addresses in the order in which device ``index`` tries them.

    Devices are spread over the nodes, and those of one node over the others.
    """
    first = index % len(urls)
    others = urls[first + 1 :] + urls[:first]
    turned = index // len(urls) % len(others) if others else 0
    return [urls[first], *others[turned:], *others[:turned]]


async def _marked(voice: Pcm, index: int) -> tuple[int, Pcm]:
    """Return a number for device ``index`` that survives Opus in this voice, and the sound.

    The sound is then encoded, as the device sends it.
    """
    for number in (index % _SPARE, index % _SPARE + _SPARE):
        marked = from_samples(marker.mark(voice.samples, number), _RATE)
        utterance = await prepare(marked, Voice(), _RATE)
        if await asyncio.to_thread(_survives, utterance, number):
            return number, marked
    raise BenchError(f"no marker for device {index} can be heard")


def _survives(utterance: Utterance, number: int) -> bool:
    format_ = StreamFormat.of(DeviceConfig(ws_url="ws://none", noise_dbfs=ROOM_DBFS))
    packets = encoded_speech(utterance, format_)
    reader = marker.MarkerReader()
    with OpusDecoder() as decoder:
        for packet in packets:
            reader.feed(decoder.decode(packet))
    return reader.number == number


async def generate(plan: GeneratorPlan) -> None:
    """Carry out the commands of the bench until it closes the connection."""
    await attend(plan.line, Generator().handlers(), {})


def main(argv: list[str]) -> None:
    """Run the process; the one argument is a :class:`GeneratorPlan` as JSON."""
    plan = GeneratorPlan.from_json(argv[0])
    pin(plan.cores)
    try:
        asyncio.run(generate(plan))
    except KeyboardInterrupt:
        pass  # as in the server's process


if __name__ == "__main__":
    main(sys.argv[1:])
