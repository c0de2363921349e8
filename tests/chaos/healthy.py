"""Healthy devices in conversation. Every turn is checked: own words in, own answer out, in time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from firmware_test_client import DeviceConfig, Reply, SimulatedDevice
from firmware_test_client.errors import DeviceError
from tests.chaos import tones
from tests.chaos.patience import admitted
from tests.chaos.voice import Speaker
from tests.support.held_up import HeldUp

PREFIX = "02:00:00:00:00:"
"""How the ids of healthy devices begin."""

TURN_TIMEOUT = 60.0
"""Seconds after which a turn counts as lost; one takes about four. Slowness is judged apart."""

ENDPOINTING_S = 0.5
"""Of silence, at least, go by before the server takes a turn for ended."""

LAG_STEP_S = 0.02

OWN_LAG_S = 0.1
"""Beyond this lateness of its own loop the harness cannot tell whether the server was late."""

HELD_UP_S = 0.05
"""Of waiting in 100 ms, harness and server together; beyond it, a late frame is not the server's
fault."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One checked turn. Times are readings of the loop's clock (s)."""

    device: int
    began: float
    ended: float
    latency_ms: float = 0.0
    """From the end of the user's speech to the first audio of the answer."""
    frames: int = 0
    late: int = 0
    """Frames that came late, were missed, or did not fit."""
    wrong: str = ""
    """What was not as it must be; empty for a good turn."""
    crossed: bool = False
    held_ms: float = 0.0
    """Of the latency: what the machine kept server and harness from running."""
    excused: bool = False
    """Whether lateness is not judged: the harness was late, or the machine too busy."""


@dataclass(slots=True)
class Felt:
    """What the healthy devices felt in a stretch of time."""

    turns: int = 0
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    frames: int = 0
    late: int = 0
    lost: int = 0
    crossed: int = 0
    excused: int = 0
    """Turns whose lateness says nothing about the server."""
    own_p95_ms: float = 0.0
    """Of the turns that are not excused, less what the machine held up."""
    own_frames: int = 0
    own_late: int = 0
    """Of the same turns."""
    held_ms: float = 0.0
    """What the machine held up of an answer, at worst."""
    wrong: list[str] = field(default_factory=list)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` of ``values`` lie; 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class Healthy:
    """Devices that talk until :meth:`stop`."""

    def __init__(self, ws_url: str, count: int, held_up: HeldUp) -> None:
        self._ws_url = ws_url
        self._count = count
        self._held_up = held_up
        self._turns: list[Turn] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._going = asyncio.Event()
        self._going.set()
        self._busy: set[int] = set()
        self._begun: set[int] = set()
        self._changed = asyncio.Condition()
        self._lags: deque[tuple[float, float]] = deque(maxlen=3_000)  # a minute

    async def start(self) -> None:
        """Connect them all, and let them begin one after another."""
        for index in range(self._count):
            speaker = await Speaker.create(index)
            self._tasks.append(asyncio.create_task(self._talk(index, speaker)))
        self._tasks.append(asyncio.create_task(self._watch_lag()))
        self._tasks.append(asyncio.create_task(self._held_up.run()))

    async def stop(self) -> None:
        """Let them finish what they say, and go."""
        await self.pause()
        for task in self._tasks:
            task.cancel()
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def pause(self) -> None:
        """Return when none of them is in a turn; none begins one before :meth:`resume`.

        Each has had one turn at least.
        """
        async with asyncio.timeout(2 * TURN_TIMEOUT):
            async with self._changed:
                await self._changed.wait_for(lambda: len(self._begun) == self._count)
        self._going.clear()
        async with asyncio.timeout(2 * TURN_TIMEOUT):
            async with self._changed:
                await self._changed.wait_for(lambda: not self._busy)

    def resume(self) -> None:
        """Let them talk on."""
        self._going.set()

    async def wait_for_turns(self, since: float, count: int) -> None:
        """Wait until ``count`` turns that began after ``since`` have ended."""
        async with self._changed:
            await self._changed.wait_for(
                lambda: sum(turn.began >= since for turn in self._turns) >= count
            )

    def felt(self, since: float, until: float) -> Felt:
        """Sum up the turns that overlap a stretch of the loop's time."""
        turns = [turn for turn in self._turns if turn.ended > since and turn.began < until]
        answered = [turn.latency_ms for turn in turns if not turn.wrong]
        judged = [turn for turn in turns if not turn.excused]
        own = [max(0.0, turn.latency_ms - turn.held_ms) for turn in judged if not turn.wrong]
        return Felt(
            turns=len(turns),
            p50_ms=round(percentile(answered, 0.5), 1),
            p95_ms=round(percentile(answered, 0.95), 1),
            frames=sum(turn.frames for turn in turns),
            late=sum(turn.late for turn in turns),
            lost=sum(bool(turn.wrong) for turn in turns),
            crossed=sum(turn.crossed for turn in turns),
            excused=len(turns) - len(judged),
            own_p95_ms=round(percentile(own, 0.95), 1),
            own_frames=sum(turn.frames for turn in judged),
            own_late=sum(turn.late for turn in judged),
            held_ms=round(max((turn.held_ms for turn in turns), default=0.0), 1),
            wrong=sorted({turn.wrong for turn in turns if turn.wrong}),
        )

    async def _talk(self, index: int, speaker: Speaker) -> None:
        config = DeviceConfig(
            ws_url=self._ws_url, device_id=f"{PREFIX}{index:02x}", mode="auto", keep_frames=False
        )
        device = SimulatedDevice(config)
        await asyncio.sleep(0.25 * index)  # so that not all speak at the same moment
        try:
            await device.boot()
            while True:
                await self._going.wait()
                self._busy.add(index)
                if index not in self._begun:
                    self._begun.add(index)
                    async with self._changed:
                        self._changed.notify_all()
                try:
                    self._turns.append(await self._turn(index, device, speaker))
                finally:
                    self._busy.discard(index)
                    async with self._changed:
                        self._changed.notify_all()
                # The sound of past answers would fill the memory with the minutes.
                device.heard.clear()
                for reply in device.replies:
                    reply.heard_chunks.clear()
        finally:
            await device.close()

    async def _turn(self, index: int, device: SimulatedDevice, speaker: Speaker) -> Turn:
        loop = asyncio.get_running_loop()
        number, sound = await speaker.next()
        began = loop.time()
        try:
            if not device.connected:
                await admitted(device.connect)
            reply = await device.ask(sound, timeout=TURN_TIMEOUT)
        except (DeviceError, TimeoutError) as error:
            wrong = f"{type(error).__name__}: {error}"[:160]
            if device.connected:
                await device.disconnect()
            return Turn(index, began, loop.time(), wrong=wrong)
        problem, crossed = _check(reply, number)
        flow = reply.late + reply.underruns + reply.overflows + reply.decode_errors
        ended = loop.time()
        # While the server waits for the end of the turn, who holds it up takes nothing from it.
        spoken = (reply.speech_end or began) + ENDPOINTING_S
        heard = reply.first_audio or ended
        excused = self._lag_s(began, ended) > OWN_LAG_S or (
            flow > 0 and self._held_up.at_worst(reply.tts_start, ended) > HELD_UP_S
        )
        return Turn(
            index,
            began,
            ended,
            reply.response_ms or 0.0,
            reply.frames,
            flow,
            problem,
            crossed,
            held_ms=1000 * self._held_up.in_all(spoken, heard),
            excused=excused,
        )

    def _lag_s(self, since: float, until: float) -> float:
        return max((lag for at, lag in self._lags if since <= at <= until), default=0.0)

    async def _watch_lag(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LAG_STEP_S
            await asyncio.sleep(LAG_STEP_S)
            self._lags.append((due, loop.time() - due))


def _check(reply: Reply, number: int) -> tuple[str, bool]:
    """Return what is wrong with the answer to ``number``, and whether it is another's."""
    if reply.stt != f"number {number}":
        return f"heard {reply.stt!r} for {number}"[:160], bool(reply.stt)
    if reply.text != f"Answer {number}.":
        return f"answered {reply.text!r} to {number}"[:160], "Answer" in reply.text
    heard = tones.read(reply.heard.samples, reply.heard.rate)
    if heard != number % 4096:
        return f"the sound says {heard}, not {number}", heard is not None
    return "", False
