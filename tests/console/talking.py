"""What tests of the page Talk use: a server of their own, a browser with a microphone, the page."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import wave
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from playwright.sync_api import Browser, Page, Playwright, WebSocket, expect

from firmware_test_client.config import Voice
from firmware_test_client.espeak import synthesise
from tests.support import patient
from tests.support.servers import free_port

RATE = 48_000
LEAD_S = 2.0
"""Before the words: the page connects meanwhile, as the fake microphone runs once it is opened."""

PEAK = 0.1
"""Of the words, 1.0 being full scale: the browser's gain control raises them, and louder ones would
be clipped at their beginning, where the recogniser then fails."""

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--autoplay-policy=no-user-gesture-required",
)
FAKE_MICROPHONE = "--use-fake-device-for-media-stream"
ALLOWED = "--use-fake-ui-for-media-stream"

RECORD_SOUND = """
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


@dataclass(slots=True)
class Played:
    """What the page has played. ``rms``: 0 to 1. ``gaps``: between frames that follow, seconds."""

    seconds: float
    rms: float
    gaps: list[float]


class TalkServer:
    """A server process with its folder."""

    def __init__(self, folder: Path, access: str = "open", more: str = "") -> None:
        self.folder = folder
        self.port, self.http_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.http_port}"
        server = f"host: 127.0.0.1, port: {self.port}, http_port: {self.http_port}"
        (folder / "vixio.yaml").write_text(
            f"server: {{{server}, access: {access}}}\n"
            f"data: {{folder: {folder / 'data'}}}\n"
            f"api: {{hosts: [vixio.lan]}}\n"
            f"memory: {{store: none}}\n{patient.YAML}{more}"
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it is ready."""
        command = [sys.executable, "-m", "vixio", "serve", "--config", "vixio.yaml"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        end = time.monotonic() + 60
        while not self._ready():
            if time.monotonic() > end or self._process.poll() is not None:
                self.stop()
                raise TimeoutError((self.folder / "log").read_text())
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.05)

    def _ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        """End it as an operator does."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def login(self) -> dict[str, Any]:
        """Log in with the password that the server made."""
        password = (self.folder / "data" / "api_password").read_text().strip()
        return self.post("/login", {"password": password})

    def post(self, path: str, body: object, token: str = "") -> dict[str, Any]:
        """Make a request to the API."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = httpx.post(f"{self.url}/api/v1{path}", json=body, headers=headers, timeout=30)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found


def write_speech(path: Path, words: str, lead_s: float = LEAD_S) -> Path:
    """Write what the fake microphone hears: noise, the words, noise. Empty words: digital zero."""
    noise = np.random.default_rng(3)

    def hiss(seconds: float) -> np.ndarray[Any, Any]:
        return noise.normal(0, 20, int(seconds * RATE))

    if words:
        with ThreadPoolExecutor(1) as pool:  # playwright's loop runs in this thread
            spoken = pool.submit(asyncio.run, synthesise(words, Voice())).result()
        speech = spoken.resampled(RATE).samples.astype(float)
        speech *= PEAK * 32_767 / np.abs(speech).max()
        samples = np.concatenate((hiss(lead_s), speech, hiss(20)))
    else:
        samples = np.zeros(30 * RATE)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.astype("<i2").tobytes())
    return path


@contextmanager
def chromium(playwright: Playwright, *flags: str, wav: Path | None = None) -> Iterator[Browser]:
    """Start a browser; with ``wav`` its microphone plays that, once."""
    heard = (f"--use-file-for-fake-audio-capture={wav}%noloop",) if wav else ()
    browser = playwright.chromium.launch(
        executable_path=CHROMIUM,
        args=[*FLAGS, *flags, *heard],
        ignore_default_args=["--mute-audio"],
    )
    try:
        yield browser
    finally:
        browser.close()


@dataclass  # no slots: playwright notes its handlers in the object whose methods they are
class TalkPage:
    """The page, with what went over its socket. ``wrong``: errors of the console."""

    page: Page
    sent: list[dict[str, Any]] = field(default_factory=list)
    received: list[dict[str, Any]] = field(default_factory=list)
    packets: list[bytes] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, browser: Browser, url: str, query: str = "", login: object = None) -> TalkPage:
        """Open the page, signed in with ``login``, which a login of the API returned."""
        context = browser.new_context(locale="en-US", viewport={"width": 1280, "height": 900})
        talk = cls(context.new_page())
        talk.page.add_init_script(RECORD_SOUND)
        if login is not None:
            kept = json.dumps(json.dumps(login))
            talk.page.add_init_script(f"localStorage.setItem('vixio.login', {kept})")
        talk.page.on("websocket", talk._watch)
        talk.page.on("pageerror", lambda error: talk.wrong.append(str(error)))
        talk.page.on("console", lambda line: line.type == "error" and talk.wrong.append(line.text))
        talk.page.goto(f"{url}/console/#/talk{query}")
        expect(talk.page.locator(".talk-main")).to_be_visible(timeout=20_000)
        return talk

    def _watch(self, socket: WebSocket) -> None:
        socket.on("framesent", lambda data: self._keep(data, self.sent))
        socket.on("framereceived", lambda data: self._keep(data, self.received))

    def _keep(self, data: str | bytes, messages: list[dict[str, Any]]) -> None:
        if isinstance(data, str):
            messages.append(json.loads(data))
        elif messages is self.sent:
            self.packets.append(data)

    def type(self, words: str) -> None:
        """Type words and send them."""
        self.page.get_by_label("Type instead of speaking").fill(words)
        self.page.get_by_role("button", name="Send").click()

    def expect_said(self, words: str) -> None:
        """Wait for an answer, as the last entry of the assistant."""
        last = self.page.locator('li[data-who="assistant"]').last
        expect(last).to_contain_text(words, timeout=30_000)

    def expect_heard(self, words: str) -> None:
        """Wait for words of the user, as their last entry."""
        expect(self.page.locator('li[data-who="you"]').last).to_contain_text(words, timeout=30_000)

    def expect_state(self, words: str) -> None:
        """Wait for a state, in words."""
        expect(self.page.locator(".talk-state")).to_have_text(words, timeout=30_000)

    def played(self) -> Played:
        """Return what was played so far."""
        frames = self.page.evaluate("window.played")
        seconds = sum(each["seconds"] for each in frames)
        square = sum(each["sum"] * each["seconds"] for each in frames) / seconds if seconds else 0
        gaps = [
            after["at"] - before["at"] - before["seconds"] for before, after in pairwise(frames)
        ]
        return Played(seconds, square**0.5, gaps)

    def calls(self) -> list[str]:
        """Return the names of the tools that the server has called."""
        payloads = [each.get("payload", {}) for each in self.received if each["type"] == "mcp"]
        return [each["params"]["name"] for each in payloads if each.get("method") == "tools/call"]
