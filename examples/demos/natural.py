"""Free speech and a natural voice: the sets of config/natural.yaml and config/natural-zh.yaml.

The server runs with that very file. A stand-in answers in the place of the language model, so no
account is needed. Each turn is checked on its whole way: what the recogniser made of the words,
what the model got, what the device carried out, and what the loudspeaker played, which the
recogniser has to understand in turn.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from examples.demos import natural_checks as checks
from examples.demos.natural_model import StandInModel, serving
from examples.demos.natural_script import LAMP, SCRIPTS, Exchange, Script
from examples.demos.natural_words import contains
from vixio.cli.demo.conversation import (
    PATIENCE,
    Finding,
    Line,
    device_config,
    hold,
    running,
    tool_names,
)
from vixio.cli.diagnostics.spoken import as_heard, resampled
from vixio.core.errors import ConfigError, ProviderUnavailable
from vixio.core.extras import checkout
from vixio.providers.asr import ASRProvider, SpeechHints
from vixio.providers.tts import TTSProvider
from vixio.settings import (
    AssistantSettings,
    DataSection,
    MemorySection,
    ServerSettings,
    Settings,
    TimeoutSettings,
    load_settings,
)
from vixio.settings.provider import TTSSection
from vixio_bench.load.services.openai import MODEL

if TYPE_CHECKING:
    from firmware_test_client import Reply, SimulatedDevice
    from firmware_test_client.pcm import Pcm

INTERRUPT_MS = 3000
"""Of an answer are heard before the user interrupts it."""
SILENT_S = 1.0
"""Behind an answer that was broken off; nothing of it may follow."""
TURN_S = 120.0
"""Seconds that a turn takes at most, on a busy machine."""


def settings(script: Script, model_url: str, folder: Path) -> Settings:
    """Return the settings of the file, with the stand-in as the model. Raises ConfigError."""
    root = checkout()
    if root is None:
        raise ConfigError(f"this demo needs a checkout of Vixio, which has config/{script.config}")
    environment = {"OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "none", "OPENAI_MODEL": MODEL}
    loaded = load_settings(root / "config" / script.config, environment)
    quiet = dict(loaded.assistant) | {"filler_after": 0}  # words do not depend on the machine
    return loaded.model_copy(
        update={
            "server": ServerSettings(host="127.0.0.1", port=0, http_port=0),
            "memory": MemorySection(path=str(folder / "memory.db")),
            "data": DataSection(folder=str(folder)),
            "assistant": AssistantSettings.model_validate(quiet),
            "timeouts": TimeoutSettings.model_validate(dict(loaded.timeouts) | PATIENCE),
        }
    )


class Conversation:
    """Has the device say the lines, and finds out what became of them."""

    def __init__(
        self,
        script: Script,
        model: StandInModel,
        ears: ASRProvider,
        voice: TTSProvider,
        facts: Callable[[], Awaitable[Sequence[str]]],
        asked_back: Callable[[], int],
    ) -> None:
        """``ears``: understand the answers. ``voice``: the user's. ``facts``: in the memory.

        ``asked_back``: how often the server has asked which of two things was said.
        """
        self._script = script
        self._model = model
        self._ears = ears
        self._voice = voice
        self._exchanges = {each.say: each for each in script.exchanges}
        self._facts = facts
        self._asked_back = asked_back
        self._broken_off = ""
        """The answer that the user has interrupted."""
        self._back = ""
        """What was understood of it."""

    def lines(self) -> list[Line]:
        """Return the script as the lines of a conversation."""
        return [_line(each, self._script) for each in self._script.exchanges]

    async def speak(self, device: SimulatedDevice, line: Line) -> tuple[Reply, Sequence[Finding]]:
        """Say a line, wait for the answer, and look at the whole way between them."""
        exchange = self._exchanges[line.say]
        if exchange.connect:
            await device.reconnect()
        before, later, found = len(self._model.asked), 0, list[Finding]()
        doubts = self._asked_back()
        speech = await self._say(line.say)
        if exchange.interrupted:
            reply, later = await _interrupt(device, speech)
        else:
            reply = await device.ask(speech, timeout=TURN_S)
            if self._asked_back() > doubts:  # a number that the two recognisers heard differently
                found.append(Finding(True, f"it was asked back: {reply.text}"))
                reply = await device.ask(await self._say(line.say), timeout=TURN_S)
        heard, language = reply.stt or "", self._script.language
        asked = self._model.asked[before:]
        found += [checks.heard(line.say, heard, language), checks.asked(asked, heard)]
        if self._broken_off:
            found.append(checks.shortened(asked, self._broken_off, self._back, language))
        back = await self._understood(reply)
        if exchange.interrupted:
            found.append(checks.cut(reply, exchange.answer, later, language))
        else:
            found.append(checks.length(reply, self._script))
            found.append(checks.understood(reply.text, back, language))
        if exchange.tool == "remember_fact":
            found.append(checks.stored(await self._facts(), heard, exchange.key, language))
        elif exchange.tool == "recall_facts":
            found.append(checks.recalled(reply, await self._facts(), language))
        self._broken_off = exchange.answer if exchange.interrupted else ""
        self._back = back
        return reply, found

    async def _say(self, text: str) -> Pcm:
        """Return a text as the user says it."""
        from firmware_test_client.pcm import Pcm

        pcm = b"".join([chunk async for chunk in self._voice.synthesize(text)])
        return Pcm(pcm, round(self._voice.sample_rate * self._script.pitch))

    async def _understood(self, reply: Reply) -> str:
        """Return what the recogniser understands of what came out of the loudspeaker."""
        stream = self._ears.open(SpeechHints(language=self._script.language))
        try:
            await stream.feed(await asyncio.to_thread(_at_a_device, reply.heard))
            return (await stream.finish()).text
        finally:
            await stream.close()


def _line(exchange: Exchange, script: Script) -> Line:
    def as_it_must(reply: Reply, device: SimulatedDevice) -> bool:
        told = not exchange.answered or contains(reply.text, exchange.answered, script.language)
        return told and exchange.done(device)

    source = "device" if exchange.tool.startswith("self.") else "builtin" if exchange.tool else ""
    return Line(exchange.say, as_it_must, exchange.expected, source)


async def _interrupt(device: SimulatedDevice, speech: Pcm) -> tuple[Reply, int]:
    """Say something, and the wake word into the answer.

    Returns what there was of it, and how many packets and answers came in the second behind it.
    """
    await device.wait_for(
        device.connected_and_listening, what="a listening microphone", timeout=TURN_S
    )
    count = len(device.replies)
    await device.say(speech)
    await device.wait_for(
        lambda: len(device.replies) > count and device.replies[count].played_ms >= INTERRUPT_MS,
        what="the beginning of the answer",
        timeout=TURN_S,
    )
    await device.wake()
    reply = await device.wait_for_reply(after=count, timeout=TURN_S)
    before = device.counters.audio_outside_speaking
    await asyncio.sleep(SILENT_S)
    further = len(device.replies) - count - 1
    return reply, device.counters.audio_outside_speaking - before + further


def _at_a_device(heard: Pcm) -> bytes:
    return as_heard(resampled(heard.data, heard.rate))


@asynccontextmanager
async def _user(script: Script) -> AsyncIterator[TTSProvider]:
    """Provide the user's voice until the block ends."""
    voice = TTSSection.model_validate(script.voice).create()
    await voice.start()
    try:
        yield voice
    finally:
        await voice.close()


async def _hold(script: Script, folder: Path, wav: Path | None) -> int:
    from firmware_test_client import SimulatedDevice, Tool

    model = StandInModel(script)
    async with (
        serving(model) as url,
        running(settings(script, url, folder)) as app,
        _user(script) as voice,
        SimulatedDevice(device_config(app)) as device,
    ):
        device.add_tool(Tool(LAMP, "Turn on the lamp", (), lambda: True))
        await device.wait_for(
            lambda: LAMP in tool_names(app), what="the server to know the lamp", timeout=TURN_S
        )
        memory = app.memory
        assert memory is not None  # noqa: S101 - the settings have one

        async def facts() -> Sequence[str]:
            return await memory.facts.facts(memory.key(device.config.device_id))

        conversation = Conversation(
            script,
            model,
            app.providers.recogniser(),
            voice,
            facts,
            lambda: app.counters.get("turn.asked_which"),
        )
        return await hold(app, device, conversation.lines(), wav, conversation.speak)


async def converse(language: str, wav: Path | None) -> int:
    """Hold the conversation and print it; return the exit status."""
    from firmware_test_client import DeviceTimeout

    with tempfile.TemporaryDirectory() as folder:
        try:
            return 1 if await _hold(SCRIPTS[language], Path(folder), wav) else 0
        except (ConfigError, ProviderUnavailable) as error:
            sys.stderr.write(f"{error}\n")
            return 2
        except DeviceTimeout as error:
            # Its further lines list everything that the device has received.
            sys.stderr.write(f"FAILED: {str(error).splitlines()[0]}\n")
            return 1
