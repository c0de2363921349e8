"""What tests of the page Talk use: words for its microphone, and the page with its messages."""

from __future__ import annotations

import json
import wave
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from firmware_test_client.config import Voice
from firmware_test_client.espeak import synthesise
from tests.console.visit import Visit
from tests.support.waiting import until

if TYPE_CHECKING:
    from playwright.async_api import WebSocket

VOLUME: Final = "set the volume to thirty percent"
"""What is said. On a busy machine the browser's fake microphone leaves out samples, and "what time
is it" becomes "what volume is it": no other command is like this one."""

RATE: Final = 48_000

LEAD_S: Final = 2.0
"""Before the words: the page connects meanwhile, as the fake microphone runs once it is opened."""

TAIL_S: Final = 12.0
"""Behind the words: for an answer, before they are repeated."""

PEAK: Final = 0.1
"""Of the words, 1.0 being full scale: the browser's gain control raises them, and louder ones would
be clipped at their beginning, where the recogniser then fails."""

PATIENCE_MS: Final = 30_000

RECORD_SOUND: Final = """
window.played = [];
const start = AudioBufferSourceNode.prototype.start;
AudioBufferSourceNode.prototype.start = function (at, ...rest) {
  const samples = this.buffer.getChannelData(0);
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  window.played.push({ at, seconds: this.buffer.duration, sum: sum / samples.length });
  return start.call(this, at, ...rest);
};
"""
"""Notes each frame that the page has the browser play: when, how long, its mean square."""


@dataclass(frozen=True, slots=True)
class Frames:
    """What the page has played. ``rms``: 0 to 1. ``gaps``: between frames that follow, seconds."""

    seconds: float
    rms: float
    gaps: list[float]


async def write_speech(path: Path, words: str, lead_s: float = LEAD_S, times: int = 1) -> Path:
    """Write what the fake microphone hears: noise, the words, noise. No words: digital zero."""
    noise = np.random.default_rng(3)

    def hiss(seconds: float) -> np.ndarray[Any, Any]:
        return noise.normal(0, 20, int(seconds * RATE))

    if words:
        spoken = await synthesise(words, Voice())
        speech = spoken.resampled(RATE).samples.astype(float)
        speech *= PEAK * 32_767 / np.abs(speech).max()
        samples = np.concatenate((hiss(lead_s), *(speech, hiss(TAIL_S)) * times))
    else:
        samples = np.zeros(30 * RATE)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.astype("<i2").tobytes())
    return path


@dataclass  # no slots: playwright notes its handlers in the object whose methods they are
class TalkPage:
    """The page, with what went over its socket."""

    visit: Visit
    sent: list[dict[str, Any]] = field(default_factory=list)
    received: list[dict[str, Any]] = field(default_factory=list)
    packets: list[bytes] = field(default_factory=list)

    @classmethod
    async def open(cls, visit: Visit, query: str = "", *, signed_in: bool = False) -> TalkPage:
        """Be at the page."""
        talk = cls(visit)
        await visit.page.add_init_script(RECORD_SOUND)
        talk.observe()
        if signed_in:
            await visit.enter(f"#/talk{query}")
        else:
            await visit.go(f"#/talk{query}")
            await visit.settled()
        return talk

    def observe(self) -> None:
        """Keep what the page sends and receives from now on."""
        self.visit.page.on("websocket", self._watch)

    def _watch(self, socket: WebSocket) -> None:
        socket.on("framesent", lambda data: self._keep(data, self.sent))
        socket.on("framereceived", lambda data: self._keep(data, self.received))

    def _keep(self, data: str | bytes, messages: list[dict[str, Any]]) -> None:
        if isinstance(data, str):
            messages.append(json.loads(data))
        elif messages is self.sent:
            self.packets.append(data)

    async def press(self, words: str) -> None:
        """Press the button with these words."""
        await self.visit.page.get_by_role("button", name=words).click()

    async def type(self, words: str) -> None:
        """Type words and send them."""
        await self.visit.page.get_by_label("Type instead of speaking").fill(words)
        await self.press("Send")

    async def choose(self, label: str) -> None:
        """Switch a control on."""
        await self.visit.page.get_by_label(label).check()

    async def until_said(self, words: str) -> None:
        """Wait until the last answer has these words."""
        await self._until_text('li[data-who="assistant"]', words)

    async def until_heard(self, words: str, seconds: float = 30) -> None:
        """Wait until the user's last words are these."""
        await self._until_text('li[data-who="you"]', words, seconds)

    async def until_state(self, words: str) -> None:
        """Wait for a state, in words."""
        await self._until_text(".talk-state", words)

    async def until_lamp(self, state: str) -> None:
        """Wait until the lamp is "on" or "off"."""
        await self._until_text(".talk-lamp", f"The lamp is {state}")

    async def _until_text(self, selector: str, words: str, seconds: float = 30) -> None:
        from playwright.async_api import expect

        found = self.visit.page.locator(selector).last
        await expect(found).to_contain_text(words, timeout=seconds * 1000)

    async def until_visible(self, selector: str) -> None:
        """Wait for an element."""
        await self.visit.page.locator(selector).wait_for(timeout=PATIENCE_MS)

    async def until_listed(self, act: Callable[[], Awaitable[object]]) -> None:
        """Do something that changes the tools, and wait until the server has asked for them."""
        before = self._lists()
        await act()
        await until(lambda: self._lists() > before, what="the server's question for the tools")

    def _lists(self) -> int:
        payloads = [each.get("payload", {}) for each in self.received]
        return sum(each.get("method") == "tools/list" for each in payloads)

    async def played(self) -> Frames:
        """Return what was played so far."""
        frames = await self.visit.page.evaluate("window.played")
        seconds = sum(each["seconds"] for each in frames)
        square = sum(each["sum"] * each["seconds"] for each in frames) / seconds if seconds else 0
        gaps = [
            after["at"] - before["at"] - before["seconds"] for before, after in pairwise(frames)
        ]
        return Frames(seconds, square**0.5, gaps)

    def calls(self) -> list[str]:
        """Return the names of the tools that the server has called."""
        payloads = [each.get("payload", {}) for each in self.received]
        return [each["params"]["name"] for each in payloads if each.get("method") == "tools/call"]
