"""A conversation in Chinese with each ready configuration, over the protocols of its services."""

from __future__ import annotations

import asyncio
import importlib
import io
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from loguru import logger as loguru

from firmware_test_client import DeviceState, Reply, SimulatedDevice, Voice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import RunningServer, serving
from tests.e2e.stages import knows_tool
from tests.e2e.test_http import get
from tests.support.llm_server import Call, LLMServer, calls, text, whole
from tests.support.waiting import until
from tests.vendors.presets import KEYS, PRESETS, Services, settings
from vixio.providers.volcengine.settings import CONSOLE
from vixio.telemetry.logging import setup as logs
from vixio_bench.vendors.base import within

MANDARIN: Final = Voice(name="cmn")
ASKED, ALSO = "今天天气怎么样", "给我讲一个故事"
VOLUME, PHOTO = "self_audio_speaker_set_volume", "self_camera_take_photo"

STORY: Final = "从前有一座山。"
REST: Final = "他在讲故事。"

APOLOGY: Final = "抱歉"


@pytest.fixture(autouse=True, scope="module")
def imported() -> None:
    """Import them before: imports delay the loop, and an overloaded server refuses devices."""
    for name in ("agents", "openai.resources.chat", "edge_tts"):
        importlib.import_module(name)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Receives all that the server writes to its log."""
    stream = io.StringIO()
    logs.configure_logging("TRACE", stream=stream)
    yield stream
    logs.flush_logs()
    sys.stdout.write(stream.getvalue())  # shown where a test fails
    loguru.remove()
    loguru.add(sys.__stderr__ or io.StringIO())


@dataclass
class Conversation:
    """A device of a Chinese user, the server, and all that is behind it."""

    services: Services
    server: RunningServer
    device: SimulatedDevice
    model: LLMServer
    eyes: LLMServer

    async def rests(self) -> None:
        """Wait until nothing is open but what is kept."""
        await until(
            lambda: self.services.open() <= self.services.kept, what="the end of the connections"
        )

    async def spoken_by_another(self) -> int:
        """Return how many sentences the second voice of the list has spoken."""
        lists = (await get(f"{self.server.http_url}/healthz")).get("fallbacks", {})
        return int(lists["tts"][1]["served"]) if "tts" in lists else 0


@asynccontextmanager
async def conversation(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Conversation]:
    """Run a ready configuration, and let a device talk; at the end all is as it was."""
    known = WaveformASR(await recordings([ASKED, ALSO], [MANDARIN]))
    for variable, key in KEYS.items():
        monkeypatch.setenv(variable, key)

    def hear(pcm: bytes) -> str:
        return known.identify(pcm).label if len(pcm) > 16_000 else ""

    async with (
        LLMServer() as model,
        LLMServer() as eyes,
        PRESETS[name](hear) as services,
    ):
        services.addresses["agent"] = {"openai": {"base_url": model.base_url}}
        services.addresses["vision"] = {"openai": {"base_url": eyes.base_url}}
        config = settings(name, services.addresses, folder)
        async with serving(config) as server:
            device = SimulatedDevice(server.device(voice=MANDARIN, camera=True))
            async with device:
                await knows_tool(server, device, "self.camera.take_photo")
                yield Conversation(services, server, device, model, eyes)
                assert_nothing_wrong(device)
        await until(lambda: not services.open(), what="the end of all connections")
        assert services.violations == []


def assert_heard(reply: Reply, said: str) -> None:
    """The reply was shown and played, as sound that is as long as a text is."""
    assert reply.text.replace(" ", "") == said
    assert_played_well(reply)
    samples = reply.heard.samples.astype(np.float64)
    assert np.abs(samples).max() > 1_000
    # What comes before the device is ready is lost on it, and on a slow machine it is ready late.
    assert reply.played_ms + reply.too_early_ms > 40 * len(said)


async def test_a_conversation_with_each(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    log: io.StringIO,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Side by side: nearly all of the time is somebody speaking."""
    async with asyncio.TaskGroup() as group:
        for name in PRESETS:
            group.create_task(_converses(name, tmp_path, monkeypatch), name=name)
    logs.flush_logs(30)
    printed = log.getvalue() + "".join(capsys.readouterr())
    assert printed.count(" turn ended ") >= 7 * len(PRESETS)
    assert [name for name, key in KEYS.items() if key in printed] == []


async def _converses(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        async with conversation(name, folder, monkeypatch) as talk:
            await _asks(talk)
            await _has_things_done(talk)
            await _interrupts(talk)
            await _loses_the_voice(talk)
            await _loses_the_ears(talk)
            await _goes_away(talk)
    except BaseException as error:
        error.add_note(f"with config/{name}.yaml")
        raise


async def _asks(talk: Conversation) -> None:
    """What is said is heard, though a connection is lost in the middle of it, and answered."""
    talk.services.lose_ears(1)
    talk.model.script(text("今天", "是晴天。"))
    reply = await talk.device.ask(ASKED)
    assert reply.stt == ASKED
    assert_heard(reply, "今天是晴天。")
    assert talk.server.count("asr.failed") == 0


async def _has_things_done(talk: Conversation) -> None:
    """Tools of the device and of the server in one turn, then the camera."""
    device, model = talk.device, talk.model
    model.script(
        calls(Call("1", VOLUME, '{"volume": 30}'), Call("2", "get_time", "{}")),
        text("好的。"),
    )
    assert_heard(await device.type_text("音量调到三十，现在几点"), "好的。")
    assert device.volume == 30
    results = [each for each in model.requests[-1]["messages"] if each["role"] == "tool"]
    assert len(results) == 2
    model.script(calls(Call("3", PHOTO, '{"question": "桌上有什么？"}')), text("有一只猫。"))
    talk.eyes.script(whole("桌上有一只猫。"))
    assert_heard(await device.type_text("你看桌上有什么"), "有一只猫。")
    rules, asked = talk.eyes.requests[0]["messages"]
    assert "zh-CN" in rules["content"]
    assert asked["content"][0]["text"] == "桌上有什么？"
    assert "一只猫" in model.requests[-1]["messages"][-1]["content"]


async def _interrupts(talk: Conversation) -> None:
    """The user interrupts in the middle; the vendor learns of it, and the next turn works."""
    device, services = talk.device, talk.services
    services.hold_voice()
    talk.model.script(text(STORY, REST), text("好。"))
    cancelled = services.cancelled()
    telling = asyncio.create_task(device.type_text("讲一个故事"))
    # Not until they are heard: a slow machine's device may miss the few that come before the voice
    # stalls, and after ten seconds another voice would speak.
    await until(lambda: device.state is DeviceState.SPEAKING, what="the first words")
    await device.abort()
    assert (await telling).aborted
    await until(lambda: services.cancelled() > cancelled, what="the end at the vendor")
    await talk.rests()
    assert_heard(await device.type_text("算了"), "好。")


async def _loses_the_voice(talk: Conversation) -> None:
    """A voice fails in the middle of a sentence: another one goes on, or the user hears why."""
    spare = await talk.spoken_by_another()
    talk.services.lose_voice()
    talk.model.script(text(STORY, REST), text("好。"))
    reply = await talk.device.type_text("再讲一个")
    assert_played_well(reply)
    spoken = reply.text.replace(" ", "")
    if talk.services.spare_voice:
        assert spoken == STORY + REST
        assert await talk.spoken_by_another() == spare + 1
    else:
        assert APOLOGY in spoken
    assert_heard(await talk.device.type_text("好了"), "好。")


async def _loses_the_ears(talk: Conversation) -> None:
    """A recogniser fails in the middle: another one gets all of it, or the user hears why."""
    talk.services.lose_ears(2)
    talk.model.script(text("好。"))
    reply = await talk.device.ask(ALSO)
    assert_played_well(reply)
    if talk.services.spare_ears:
        assert (reply.stt, reply.text) == (ALSO, "好。")
    else:
        assert APOLOGY in reply.text
        assert_heard(await talk.device.type_text("喂"), "好。")


async def _goes_away(talk: Conversation) -> None:
    """The device goes in the middle of what is said: nobody listens any longer."""
    heard = talk.services.hears()
    await talk.device.wait_for(lambda: talk.device.listening, what="listening")
    saying = asyncio.create_task(talk.device.say(ASKED))
    await until(lambda: talk.services.hears() > heard, what="the first words")
    await talk.device.disconnect()
    await talk.rests()
    await saying


async def test_a_chain_takes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: io.StringIO
) -> None:
    """The first vendor refuses for want of balance, the second serves: one line says so."""
    async with conversation("quick-zh", tmp_path, monkeypatch) as talk:
        doubao, other = talk.services.vendors
        talk.model.script(text("好。"))
        assert_heard(await talk.device.type_text("你好"), "好。")  # its connection is kept
        doubao.fail(*[within(45_000_292, "quota exceeded for types: trial_lifetime")] * 2)
        talk.model.script(text("今天", "是晴天。"), text("好。"))
        reply = await talk.device.ask(ASKED)
        assert reply.stt == ASKED
        assert_heard(reply, "今天是晴天。")
        assert (doubao.account.whole, other.account.whole) == (1, 2)
        assert doubao.account.uses == 1 + 2  # each is refused once, and not asked for again
        assert_heard(await talk.device.type_text("谢谢"), "好。")
        assert (doubao.account.whole, other.account.whole) == (1, 3)
    logs.flush_logs(30)
    told = [line for line in log.getvalue().splitlines() if " WARNING " in line]
    assert [re.findall(r" kind=(\w+) provider=(\w+)", line) for line in told] == [
        [("asr", "volcengine")],
        [("tts", "volcengine")],
    ]
    assert all("quota" in line and CONSOLE in line for line in told)
