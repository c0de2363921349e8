"""A simulated device with something to do, and what it noticed while doing it."""

from __future__ import annotations

import asyncio
import random
import re
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from firmware_test_client import DeviceConfig, Reply, SimulatedDevice
from firmware_test_client.errors import ConnectError, DeviceError
from firmware_test_client.pcm import Pcm
from vixio.core.messages import LOADING, PARTS, REASONS, message
from vixio.core.messages.fault import Fault
from vixio.core.tasks import cancel_and_wait
from vixio_bench.load.carriers import address
from vixio_bench.load.control import BenchError
from vixio_bench.load.mixes import Behaviour

ANSWER_LIMIT_S: Final = 10.0
"""A turn without an end so long after it was due is lost."""
LATE_LIMIT_S: Final = 2.0
"""An answer that begins so long after the last word (0.5 s of them make the turn end) is late; a
scripted provider that blocks is not counted."""
MONOLOGUE_MS: Final = 60_000
"""Length of one answer where the devices only speak."""
TURN_S: Final = 6.0
"""Speech, silence and answer: devices that all began within less of it would stay in step."""
ROOM_DBFS: Final = -45.0
"""RMS of the room's noise: loud enough that DTX never sets in, so every packet is a whole one."""
LOADING_NOTICE: Final = message(LOADING, "en")
FAILURES: Final = {message(key, "en") for key in ("failed", "timeout", "no_answer")} | {
    Fault("failed", reason, part).words("en") for reason in REASONS for part in PARTS
}
"""Spoken instead of an answer."""
_LOOK_S: Final = 0.1
_REFUSED_RETRY_S: Final = 5.0
"""Seconds of the server's Retry-After for a refused device."""
_RETRY_S: Final = 0.25


class Notes:
    """What the devices of one generator noticed since :meth:`clear`."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.counts: Counter[str] = Counter()
        self.hello_ms: list[float] = []
        self.response_ms: list[float] = []
        self.jitter_ms: list[float] = []
        self.trouble: list[str] = []
        self.back: list[tuple[int, float]] = []
        """Devices, by number, that were greeted on a new connection, and when (time.monotonic)."""

    def wrong(self, kind: str, detail: str) -> None:
        """Count a mistake and keep the first few in words."""
        self.counts[kind] += 1
        if len(self.trouble) < 20:
            self.trouble.append(f"{kind}: {detail}")


class LoadDevice:
    """One device. ``number`` is the one that its ``voice`` carries."""

    def __init__(
        self,
        number: int,
        voice: Pcm,
        urls: Sequence[str],
        behaviour: Behaviour,
        pause: tuple[float, float],
        notes: Notes,
        blocked: float = 0.0,
        asks: str = "",
    ) -> None:
        """``urls``: the first, and where it goes when nothing listens there, in this order.

        ``blocked``: seconds for which the scripted ASR may keep this device waiting.

        ``asks``: typed when it is greeted for the first time.
        """
        self.number = number
        self._voice = voice
        self._behaviour = behaviour
        self._pause = pause
        self._notes = notes
        self._late_limit = LATE_LIMIT_S + blocked
        self._random = random.Random(number)  # noqa: S311 - repeatable pauses, no secret
        self._urls = list(urls)
        self._ids = (f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}", str(uuid.uuid4()))
        self._config = DeviceConfig(
            **address(urls[0], *self._ids),
            device_id=self._ids[0],
            client_id=self._ids[1],
            listen_on_connect=behaviour != "idle",
            noise_dbfs=ROOM_DBFS,
            decode=False,
            share_speech=True,
            keep_frames=False,
        )
        self.device = SimulatedDevice(self._config)
        self._measured = 0
        self._packets = 0
        self.measuring = False
        self._asks = asks
        self.first_answer: asyncio.Future[tuple[float, int]] = asyncio.Future()
        """When the first audio of the answer to ``asks`` arrived (time.monotonic), and how many
        notices that the server is still loading came before it."""
        self.may_talk = asyncio.Event()
        """Until it is set the device only listens."""

    async def connect(self) -> None:
        """Connect; tries again until there is a server. Notes how long the last try took."""
        clock = asyncio.get_running_loop().time
        tried = 0
        while True:
            began, wait = clock(), _RETRY_S
            try:
                await self.device.start()
            except ConnectError as error:
                if error.status is not None:
                    self._notes.wrong("refused", str(error))
                    wait = _REFUSED_RETRY_S
                else:  # as a balancer would, without a pause until all have been tried
                    tried += 1
                    wait = _RETRY_S if tried % len(self._urls) == 0 else 0.0
                    self._urls.append(self._urls.pop(0))
                    self._config = replace(self._config, **address(self._urls[0], *self._ids))
            except DeviceError as error:
                self._notes.wrong("not_greeted", str(error))
            else:
                self._notes.hello_ms.append((clock() - began) * 1000)
                return
            self._renew()
            await asyncio.sleep(wait)

    async def live(self) -> None:
        """Play its part of the mix; reconnect whenever the server closes the connection."""
        if self._asks:
            try:
                self.first_answer.set_result(await self._ask(self._asks))
            except (BenchError, DeviceError) as error:
                self.first_answer.set_exception(error)
        while True:
            await self._live_connected()
            self._note_replies(final=True)
            await self.device.close()
            self._renew()
            await self.connect()
            self._notes.back.append((self.number, asyncio.get_running_loop().time()))

    @property
    def connected(self) -> bool:
        """Whether it is where the mix wants it: in a conversation, or connected and idle."""
        device = self.device
        return device.online if self._behaviour == "idle" else device.connected

    @property
    def packets(self) -> int:
        """Packets of its microphone that were sent."""
        return self._packets + self.device.counters.binary_out

    def _renew(self) -> None:
        """Switch on anew: a device remembers nothing of the connection before."""
        self._packets = self.packets
        self.device = SimulatedDevice(self._config)
        self._measured = 0

    async def _live_connected(self) -> None:
        """Return when the connection is over."""
        turns = self._random.randint(1, 4)
        await self._until(self.may_talk.is_set, float("inf"))
        if self._behaviour in {"talk", "churn"}:  # not all in step
            await self._rest(self._random.uniform(0.3, max(TURN_S, sum(self._pause))))
        while self.connected:
            if self._behaviour in {"idle", "listen"}:
                await self._rest(60.0)
            elif self._behaviour == "speak":
                await self._speak()
            else:
                await self._talk()
                turns -= 1
                await self._rest(self._random.uniform(*self._pause))
                if self._behaviour == "churn" and turns <= 0:
                    if self._random.random() < 0.5:
                        self.device.disconnect_hard("reset")
                    return
        self._notes.counts["dropped"] += self._behaviour != "churn"

    async def _ask(self, question: str) -> tuple[float, int]:
        """Type it, again after each notice that the server is still loading; see first_answer."""
        notices = 0
        while (reply := await self.device.type_text(question)).text == LOADING_NOTICE:
            notices += 1
        if reply.text in FAILURES or reply.first_audio is None:
            raise BenchError(f"the answer to {question!r} was {reply.text!r}")
        return reply.first_audio, notices

    async def _talk(self) -> None:
        """Say the number; check that it comes back."""
        device = self.device
        if not await self._until(lambda: device.listening, ANSWER_LIMIT_S):
            if not self.connected:
                return
            self._notes.wrong("not_listening", f"device {self.number}, {device.state}")
            return
        index, measuring = len(device.replies), self.measuring
        saying = asyncio.create_task(device.say(self._voice))
        try:  # a device whose connection is gone speaks to nobody
            await self._until(saying.done, float("inf"))
            ended = await self._until(lambda: self._ended(index), ANSWER_LIMIT_S + 5)
        finally:
            await cancel_and_wait(saying)
        if not self.connected:
            heard = ended and not device.replies[index].cut
            self._notes.counts["cut"] += measuring and not heard
            return
        if not measuring:
            return
        spoken = saying.result()
        self._notes.counts["turns"] += 1
        if not ended:
            self._notes.wrong("lost", f"device {self.number}: no answer")
            return
        reply = device.replies[index]
        self._check(reply)
        first = reply.first_audio
        if first is not None:
            response = float(first - spoken.voice_end)
            self._notes.response_ms.append(response * 1000)
            self._notes.counts["late_turns"] += response > self._late_limit

    async def _speak(self) -> None:
        """Have the server speak for a minute."""
        index = len(self.device.replies)
        text = f"device {self.number} for {MONOLOGUE_MS}"
        try:
            await self.device.send_json({"type": "listen", "state": "detect", "text": text})
        except DeviceError:
            return  # the connection is over, which live() sees
        if not await self._until(lambda: self._ended(index), MONOLOGUE_MS / 1000 + ANSWER_LIMIT_S):
            self._notes.wrong("lost", f"device {self.number}: monologue without end")

    def _ended(self, index: int) -> bool:
        replies = self.device.replies
        return index < len(replies) and replies[index].ended

    async def _rest(self, seconds: float) -> None:
        """Let time pass, as long as there is a connection."""
        await self._until(lambda: False, seconds)

    async def _until(self, true: Callable[[], bool], seconds: float) -> bool:
        """Look now and then whether ``true()``; the device's own way of waiting costs more."""
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        while not true():
            if clock() > until or not self.connected:
                return true()
            await asyncio.sleep(_LOOK_S)
        return True

    def _check(self, reply: Reply) -> None:
        """Return whether the answer names this device and no other."""
        named = {int(name) for name in re.findall(r"[Dd]evice (\d+)", f"{reply.stt} {reply.text}")}
        if named - {self.number}:
            self._notes.wrong("crossed", f"device {self.number} got {sorted(named)}")
        elif reply.stt != f"device {self.number}" or not named:
            self._notes.wrong("unheard", f"device {self.number}: {reply.stt!r}, {reply.text!r}")

    def note_replies(self) -> None:
        """Take down how the audio of the replies flowed, those under way included."""
        self._note_replies(final=False)

    def skip_replies(self) -> None:
        """What was heard so far is not to be measured; a reply under way counts from its start."""
        self._measured = sum(reply.ended for reply in self.device.replies)

    def _note_replies(self, *, final: bool) -> None:
        if not self.measuring:
            return
        counts = self._notes.counts
        for reply in self.device.replies[self._measured :]:
            if not reply.ended and final:
                continue
            counts["replies"] += 1
            counts["frames"] += reply.frames
            counts["late_frames"] += reply.late
            counts["underruns"] += reply.underruns
            counts["overflows"] += reply.overflows
            counts["too_early"] += reply.too_early
            self._notes.jitter_ms.append(reply.jitter_ms)
        self._measured = len(self.device.replies)
        for violation in self.device.violations:
            self._notes.wrong("violations", violation)
