"""What people bring along: weather, news, papers, tools of their own, a home, and music.

No account and no language model: the phrase book answers what Moonshine hears, and what it answers
is understood by Moonshine in turn, as the device played it. The services are stand-ins on this
machine; what was asked of them, what programs wrote down, and what of a file of music came out of
the loudspeaker is looked at in each turn.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiohttp import ClientSession

from examples.demos import home_sound, natural_checks
from examples.demos.home_around import (
    DEGREES,
    MANUAL,
    PROFILE,
    TITLE,
    Api,
    Around,
    settings,
    standing,
)
from examples.demos.natural import TURN_S
from examples.demos.natural_script import ENGLISH
from examples.demos.natural_words import contains
from vixio.cli.demo.conversation import Finding, Line, device_config, hold, running, tool_names
from vixio.cli.diagnostics.spoken import as_heard, resampled
from vixio.core.errors import ConfigError, ProviderUnavailable
from vixio.providers.asr import SpeechHints
from vixio.server import Server
from vixio.settings.provider import TTSSection

if TYPE_CHECKING:
    from firmware_test_client import Reply, SimulatedDevice
    from firmware_test_client.pcm import Pcm
    from vixio.providers.asr import ASRProvider
    from vixio.providers.tts import TTSProvider

BEFORE_S: Final = 20.0
"""Of music are heard before the user interrupts it, and ``BEHIND_S`` when it goes on."""
BEHIND_S: Final = 40.0
SILENT_S: Final = 5.0
"""Behind "stop"; a sound that waits would go on in three."""

DRAINED_S: Final = 0.5
"""A device that hears the wake word plays out what it has got; that is repeated, not lost."""

SILENCE: Final = Finding(False, "no music plays")

Spoken = tuple["Reply", Sequence[Finding]]


class Home:
    """Has the device say the lines, and finds out what became of them."""

    def __init__(
        self,
        around: Around,
        app: Server,
        device: SimulatedDevice,
        api: Api,
        http: ClientSession,
        voice: TTSProvider,
    ) -> None:
        """``voice``: the user's."""
        self._around = around
        self._app = app
        self._device = device
        self._api = api
        self._http = http
        self._voice = voice
        self._ears: ASRProvider = app.providers.recogniser()
        self.brewing = AsyncExitStack()
        """As long as the server at the access point is connected."""
        self._music: Reply | None = None
        self._heard_s = 0.0
        """Seconds of the file of music."""
        weather = "What is the weather in Berlin?"

        def warm(reply: Reply, _: SimulatedDevice) -> bool:
            return contains(reply.text, f"{DEGREES} degrees", "en")

        self._steps: list[tuple[Line, Callable[[Line], Awaitable[Spoken]]]] = [
            (
                Line(weather, warm, "the temperature of the forecast is said", "ready"),
                self._weather(1),
            ),
            (
                Line(weather, warm, "the same is said, and nobody is asked", "ready"),
                self._weather(0),
            ),
            (
                Line(
                    "What is the news?",
                    lambda reply, _: contains(reply.text, "Bridge opens after three years", "en"),
                    "the headlines of the feed are said",
                    "ready",
                ),
                self._news,
            ),
            (
                Line(
                    "Search my papers for resetting the boiler.",
                    lambda reply, _: (
                        contains(reply.text, "In boiler manual, page 3", "en")
                        and contains(reply.text, "press the red button", "en")
                    ),
                    "the answer of the PDF is said, with its name and page",
                    "documents",
                ),
                self._papers,
            ),
            (
                Line(
                    "Water the plants, please.",
                    lambda reply, _: reply.text == "Okay.",
                    "a pasted MCP server is called, and has written down that it did it",
                    "profile",
                ),
                self._pasted,
            ),
            (
                Line(
                    "Make the coffee.",
                    lambda reply, _: reply.text == "Okay.",
                    "a server that has connected to the access point is called",
                    "profile",
                ),
                self._coffee_comes,
            ),
            (
                Line(
                    "Make the coffee.",
                    lambda reply, _: contains(reply.text, "did not understand", "en"),
                    "it has gone, and its words are not understood any more",
                ),
                self._coffee_goes,
            ),
            (
                Line(
                    "Switch on the light in the kitchen.",
                    lambda reply, _: contains(reply.text, "light in the kitchen is on", "en"),
                    "Home Assistant has switched it on",
                    "house",
                ),
                self._light,
            ),
            (
                Line(
                    "Play the winter morning.",
                    lambda reply, _: TITLE in reply.text,
                    f"the nearest name there is, {TITLE}, is played",
                    "media",
                ),
                self._plays,
            ),
            (
                Line(
                    "What is twelve times seven?",
                    lambda reply, _: contains(reply.text, "84", "en"),
                    "the wake word interrupts the music for a question; then it goes on",
                    "ready",
                ),
                self._goes_on,
            ),
            (
                Line(
                    "What is the name of this song?",
                    lambda reply, _: contains(reply.text, "Nothing is playing", "en"),
                    "the word stop has ended the music",
                    "media",
                ),
                self._stops,
            ),
        ]

    @property
    def lines(self) -> list[Line]:
        """The conversation."""
        return [line for line, _ in self._steps]

    async def speak(self, device: SimulatedDevice, line: Line) -> Spoken:
        """Say a line, wait for the answer, and look at what it has done."""
        (step,) = [step for each, step in self._steps if each is line]
        reply, found = await step(line)
        heard = natural_checks.heard(line.say, reply.stt or "", "en")
        sound = natural_checks.length(reply, ENGLISH)
        back = natural_checks.understood(reply.text, await self._understood(reply), "en")
        return reply, [heard, sound, back, *found]

    async def prepare(self) -> None:
        """Give the device a profile, and wait until all is there that is there from the start."""
        password = self._around.folder / "data" / "api_password"
        await self._until(password.is_file, "the password of the API")
        await self._api.log_in(password.read_text(encoding="utf-8").strip())
        await self._api("PUT", f"/profiles/{PROFILE}", {"content": {}})
        path = f"/devices/{self._device.config.device_id}/profile"
        await self._api("PUT", path, {"profile": PROFILE})
        wanted = {"get_weather", "get_news", "search_papers", "play_media", "HassTurnOn"}
        await self._until(lambda: wanted <= set(tool_names(self._app)), "the tools")

    # ── what is looked at ────────────────────────────────────────────────────────────────────

    def _weather(self, asked: int) -> Callable[[Line], Awaitable[Spoken]]:
        async def step(line: Line) -> Spoken:
            before = self._around.ready.requests["forecast"]
            reply = await self._ask(line.say)
            count = self._around.ready.requests["forecast"] - before
            wait = reply.response_ms or 0.0
            times = "never" if not count else "once" if count == 1 else f"{count} times"
            text = f"the service was asked {times}, {wait:.0f} ms until the answer"
            return reply, [Finding(count == asked, text)]

        return step

    async def _news(self, line: Line) -> Spoken:
        reply = await self._ask(line.say)
        count = self._around.ready.requests["feed"]
        return reply, [Finding(count == 1, f"the feed was read {count} times")]

    async def _papers(self, line: Line) -> Spoken:
        reply = await self._ask(line.say)
        named = [each for each in self._device.screen if f"{MANUAL}, 3" in each]
        return reply, [Finding(bool(named), f"on the screen: {' · '.join(named) or 'nothing'}")]

    async def _pasted(self, line: Line) -> Spoken:
        body = {"text": self._around.paste(), "profile": PROFILE}
        (tried,) = (await self._api("POST", "/tools/try", body))["sources"]
        tools = ", ".join(each["name"] for each in tried["tools"])
        found = [Finding(tried["ok"], f"pasted: {tried['name']} has {tools or tried['problem']}")]
        await self._api("POST", "/tools", body)
        await self._until(lambda: "water_plants" in tool_names(self._app), "the pasted tool")
        reply = await self._ask(line.say)
        record = self._around.record
        written = record.read_text(encoding="utf-8") if record.exists() else ""
        found.append(Finding(written == "water_plants\n", f"it has written down: {written!r}"))
        return reply, found

    async def _coffee_comes(self, line: Line) -> Spoken:
        made = await self._api("POST", f"/profiles/{PROFILE}/access-point")
        coffee = self._around.coffee
        await self.brewing.enter_async_context(coffee.connected(self._http, made["url"]))
        await self._until(lambda: "make_coffee" in tool_names(self._app), "the server's tool")
        reply = await self._ask(line.say)
        return reply, [Finding(coffee.calls == ["make_coffee"], f"it was called: {coffee.calls}")]

    async def _coffee_goes(self, line: Line) -> Spoken:
        await self.brewing.aclose()
        await self._until(lambda: "make_coffee" not in tool_names(self._app), "the end of its tool")
        reply = await self._ask(line.say)
        count = len(self._around.coffee.calls)
        return reply, [Finding(count == 1, f"it was called {count} times in all")]

    async def _light(self, line: Line) -> Spoken:
        reply = await self._ask(line.say)
        wanted = [("HassTurnOn", {"area": "Kitchen", "domain": ["light"]})]
        calls, state = self._around.home.calls, self._around.home.thing("Ceiling Lamp").state
        good = calls == wanted and state == "on"
        return reply, [Finding(good, f"Home Assistant was told {calls}: the lamp is {state}")]

    async def _plays(self, line: Line) -> Spoken:
        reply = await self._ask(line.say)
        if TITLE not in reply.text:
            return reply, [SILENCE]
        music = await self._sounds(reply.index + 1, BEFORE_S)
        self._music = music
        shown = self._device.screen[-1:]
        found = await self._played(music)
        first = Finding(found.begins == 0, f"it began at sample {found.begins} of the file")
        title = Finding(shown == [TITLE], f"on the screen: {' '.join(shown)}")
        return reply, [title, first, _same(found)]

    async def _goes_on(self, line: Line) -> Spoken:
        if self._music is None:
            return await self._ask(line.say), [SILENCE]
        reply = await self._ask(line.say, wake=True)
        again = await self._sounds(reply.index + 1, BEHIND_S)
        before, found = await self._played(self._music), await self._played(again)
        self._heard_s, self._music = before.seconds, again
        repeated = (before.ends - found.begins) / home_sound.RATE
        good = -home_sound.PACKET / home_sound.RATE <= repeated <= DRAINED_S
        left = Finding(good, f"it went on where it was left, {repeated:.2f} s of it repeated")
        return reply, [_same(before), left, _same(found)]

    async def _stops(self, line: Line) -> Spoken:
        if self._music is None:
            return await self._ask(line.say), [SILENCE]
        music, remarks = self._music, self._app.counters.get("turn.remarks")
        await self._wake_and_say("Stop.")
        await self._until(lambda: self._app.counters.get("turn.remarks") > remarks, "the word")
        outside = self._device.counters.audio_outside_speaking
        await asyncio.sleep(SILENT_S)
        later = len(self._device.replies) - music.index - 1
        packets = self._device.counters.audio_outside_speaking - outside
        silent = f"in {SILENT_S:.0f} s behind it came {later} replies and {packets} packets"
        found = await self._played(music)
        seconds = self._heard_s + found.seconds
        all_of_it = Finding(seconds >= BEFORE_S + BEHIND_S, f"{seconds:.0f} s of music in all")
        return await self._ask(line.say), [
            Finding(music.ended and not later and not packets, silent),
            _same(found),
            all_of_it,
        ]

    # ── how ──────────────────────────────────────────────────────────────────────────────────

    async def _ask(self, text: str, *, wake: bool = False) -> Reply:
        speech = await self._speech(text)
        if wake:
            await self._device.wake()
        return await self._device.ask(speech, timeout=TURN_S)

    async def _wake_and_say(self, text: str) -> None:
        speech = await self._speech(text)
        await self._device.wake()
        await self._until(self._device.connected_and_listening, "a listening microphone")
        await self._device.say(speech)

    async def _speech(self, text: str) -> Pcm:
        from firmware_test_client.pcm import Pcm

        pcm = b"".join([chunk async for chunk in self._voice.synthesize(text)])
        return Pcm(pcm, round(self._voice.sample_rate * ENGLISH.pitch))

    async def _sounds(self, index: int, seconds: float) -> Reply:
        """Wait until so much of a reply has been heard."""
        replies = self._device.replies
        await self._until(
            lambda: len(replies) > index and replies[index].played_ms >= seconds * 1000, "music"
        )
        return replies[index]

    async def _played(self, music: Reply) -> home_sound.Played:
        return await asyncio.to_thread(home_sound.played, music, self._around.surf)

    async def _until(self, good: Callable[[], object], what: str) -> None:
        await self._device.wait_for(lambda: bool(good()), what=what, timeout=TURN_S)

    async def _understood(self, reply: Reply) -> str:
        """Return what the recogniser understands of what came out of the loudspeaker."""
        stream = self._ears.open(SpeechHints(language="en"))
        try:
            heard = await asyncio.to_thread(resampled, reply.heard.data, reply.heard.rate)
            await stream.feed(as_heard(heard))
            return (await stream.finish()).text
        finally:
            await stream.close()


def _same(found: home_sound.Played) -> Finding:
    text = f"{found.seconds:.1f} s of the file, {found.alike:.0%} alike or more, {found.gaps} gaps"
    return Finding(found.whole, text)


@asynccontextmanager
async def _user() -> AsyncIterator[TTSProvider]:
    voice = TTSSection.model_validate(ENGLISH.voice).create()
    await voice.start()
    try:
        yield voice
    finally:
        await voice.close()


async def _hold(folder: Path, wav: Path | None) -> int:
    from firmware_test_client import SimulatedDevice

    async with (
        standing(folder) as around,
        running(settings(around)) as app,
        _user() as voice,
        ClientSession() as http,
        SimulatedDevice(device_config(app)) as device,
    ):
        url = (device.config.ota_url or "").removesuffix("/xiaozhi/ota/")
        home = Home(around, app, device, Api(http, url), http, voice)
        try:
            await home.prepare()
            return await hold(app, device, home.lines, wav, home.speak)
        finally:
            await home.brewing.aclose()


async def converse(wav: Path | None) -> int:
    """Hold the conversation and print it; return the exit status."""
    from firmware_test_client import DeviceTimeout

    with tempfile.TemporaryDirectory() as folder:
        try:
            return 1 if await _hold(Path(folder), wav) else 0
        except (ConfigError, ProviderUnavailable) as error:
            sys.stderr.write(f"{error}\n")
            return 2
        except DeviceTimeout as error:
            # Its further lines list everything that the device has received.
            sys.stderr.write(f"FAILED: {str(error).splitlines()[0]}\n")
            return 1
