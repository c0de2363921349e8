"""A server that is still loading: devices connect, and a turn that comes too early fails."""

from __future__ import annotations

import asyncio
import logging

import pytest

from firmware_test_client import Reply, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import serving, settings
from tests.e2e.test_http import get
from tests.support.waiting import until
from vixio.composition.run import StopRequest
from vixio.core.errors import ConfigError, ProviderUnavailable
from vixio.core.messages import message
from vixio.core.messages.fault import Fault
from vixio.providers.fallback.asr import FallbackASRProvider
from vixio.server import Providers, Server, serve
from vixio.testing import ScriptedAgentBackend, ScriptedTTS, ScriptedVAD

SOUND = "good morning"
LOADING = message("loading", "en")


class SlowASR(WaveformASR):
    """Loaded when `loads` is set; fails then if there is an `error`."""

    name = "slow"
    error: Exception | None = None

    def __init__(self, known: object) -> None:
        super().__init__(known)  # type: ignore[arg-type]  # passed on as it comes
        self.loads = asyncio.Event()
        self.closed = False

    async def start(self) -> None:
        """Take as long as the test likes."""
        await self.loads.wait()
        if self.error is not None:
            raise self.error

    async def close(self) -> None:
        """Note it."""
        self.closed = True


class SlowTTS(ScriptedTTS):
    """The same for a voice."""

    def __init__(self) -> None:
        super().__init__(seconds_per_char=0.02)
        self.loads = asyncio.Event()

    async def start(self) -> None:
        """Take as long as the test likes."""
        await self.loads.wait()


class SlowVAD(ScriptedVAD):
    """The same for a detector."""

    def __init__(self) -> None:
        super().__init__()
        self.loads = asyncio.Event()

    async def start(self) -> None:
        """Take as long as the test likes."""
        await self.loads.wait()


def quick() -> ScriptedTTS:
    return ScriptedTTS(seconds_per_char=0.02)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits, which are for people."""
    monkeypatch.setattr("vixio.composition.providers.HOLD_S", 0.1)
    monkeypatch.setattr("vixio.providers.pool.warming.WAIT_S", 0.1)


def errors(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.ERROR]


def assert_answered(reply: Reply) -> None:
    assert reply.text == f"You said {SOUND}."
    assert_played_well(reply)


async def test_a_question_right_behind_the_hello_is_answered() -> None:
    async with (
        serving(settings(), loaded=False) as server,
        SimulatedDevice(server.device(listen_on_connect=False)) as device,
    ):
        reply = await device.type_text("what time is it")
        assert reply.text.startswith("It is ")
        assert_played_well(reply)
        assert not device.alerts
        assert len(device.replies) == 1
        assert_nothing_wrong(device)


async def test_a_start_that_fails_leaves_nothing() -> None:
    """Providers begin to load before the ports are open."""
    taken = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    async with taken:
        port = taken.sockets[0].getsockname()[1]
        asr = SlowASR({})
        server = Server(
            settings(server={"host": "127.0.0.1", "port": 0, "http_port": port}),
            Providers(ScriptedVAD(), asr, ScriptedAgentBackend(), quick()),
        )
        with pytest.raises(ConfigError, match="is in use"):
            await server.start()
        assert asr.closed
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", server.transport.port)


@pytest.mark.usefixtures("impatient")
async def test_a_slow_recogniser() -> None:
    asr = SlowASR(await recordings([SOUND]))
    config = settings(assistant={"language": "zh-CN"})
    agent = ScriptedAgentBackend()
    async with (
        serving(config, vad=ScriptedVAD(), asr=asr, agent=agent, tts=quick(), loaded=False) as at,
        SimulatedDevice(at.device()) as device,
    ):
        early = await device.ask(SOUND)
        assert early.text.replace(" ", "") == message("loading", "zh")
        assert_played_well(early)
        assert early.stt is None
        assert not device.alerts  # it was heard: nothing needs to be shown
        typed = await device.type_text("hello")  # needs no recogniser
        assert typed.text == "You said hello."
        assert (await get(f"{at.http_url}/healthz"))["status"] == "loading"
        asr.loads.set()
        await at.app.loaded()
        assert_answered(await device.ask(SOUND))
        assert (await get(f"{at.http_url}/healthz"))["status"] == "ok"
        assert asr.open_streams == 0
        assert_nothing_wrong(device)


async def test_what_is_said_shortly_before_it_is_ready_is_answered() -> None:
    asr, vad = SlowASR(await recordings([SOUND])), SlowVAD()
    agent = ScriptedAgentBackend()
    async with (
        serving(settings(), vad=vad, asr=asr, agent=agent, tts=quick(), loaded=False) as server,
        SimulatedDevice(server.device()) as device,
    ):
        asking = asyncio.create_task(device.ask(SOUND))
        await device.wait_for(lambda: device.listening, what="listening")
        vad.loads.set()
        asr.loads.set()
        assert_answered(await asking)
        assert_nothing_wrong(device)


@pytest.mark.usefixtures("impatient")
async def test_the_words_of_a_turn_in_which_it_becomes_ready() -> None:
    asr = SlowASR(await recordings([SOUND]))
    agent, vad = ScriptedAgentBackend(), ScriptedVAD()
    async with (
        serving(settings(), vad=vad, asr=asr, agent=agent, tts=quick(), loaded=False) as server,
        SimulatedDevice(server.device()) as device,
    ):
        asking = asyncio.create_task(device.ask(SOUND))
        await until(
            lambda: (session := server.session(device.config.device_id)) and session.user_speaking,
            what="the user to speak",
        )
        asr.loads.set()
        assert_answered(await asking)


@pytest.mark.usefixtures("impatient")
async def test_without_a_voice_it_is_shown() -> None:
    tts, agent = SlowTTS(), ScriptedAgentBackend()
    async with (
        serving(settings(), asr=WaveformASR({}), agent=agent, tts=tts, loaded=False) as server,
        SimulatedDevice(server.device()) as device,
    ):
        await device.send_json({"type": "listen", "state": "detect", "text": "anything"})
        await device.wait_for(lambda: device.alerts, what="an alert")
        (alert,) = device.alerts
        assert alert["message"] == LOADING
        assert alert["status"] == "Starting"
        assert alert["emotion"] == "sleepy"
        tts.loads.set()
        await server.app.loaded()
        assert (await device.type_text("well")).text == "You said well."
        assert_nothing_wrong(device)


@pytest.mark.usefixtures("impatient")
async def test_without_a_detector_it_is_said_once() -> None:
    vad, asr = SlowVAD(), WaveformASR(await recordings([SOUND]))
    agent, tts = ScriptedAgentBackend(), ScriptedTTS()  # who is told slowly is heard afterwards
    async with (
        serving(settings(), vad=vad, asr=asr, agent=agent, tts=tts, loaded=False) as server,
        SimulatedDevice(server.device()) as device,
    ):
        assert (await device.wait_for_reply()).text == LOADING
        await device.wait_for(lambda: device.listening, what="listening")
        vad.loads.set()
        await server.app.loaded()
        assert_answered(await device.ask(SOUND))
        assert server.count("vad.failed") == 1
        assert_nothing_wrong(device)


@pytest.mark.usefixtures("impatient")
async def test_one_of_a_list_that_is_ready_will_do() -> None:
    known = await recordings([SOUND])
    slow, recogniser = SlowASR(known), WaveformASR(known)
    agent, asr = ScriptedAgentBackend(), FallbackASRProvider([slow, recogniser])
    async with (
        serving(
            settings(), vad=ScriptedVAD(), asr=asr, agent=agent, tts=quick(), loaded=False
        ) as server,
        SimulatedDevice(server.device()) as device,
    ):
        assert_answered(await device.ask(SOUND))
        assert (len(slow.heard), len(recogniser.heard)) == (0, 1)
        slow.loads.set()
        await server.app.loaded()
        assert [state["state"] for state in asr.stats()] == ["ready", "ready"]


@pytest.mark.usefixtures("impatient")
async def test_one_that_never_loads(caplog: pytest.LogCaptureFixture) -> None:
    asr = SlowASR(await recordings([SOUND]))
    asr.error = ProviderUnavailable("slow", "no model: fetch it with `make model`")
    asr.loads.set()
    agent = ScriptedAgentBackend()
    async with (
        serving(
            settings(), vad=ScriptedVAD(), asr=asr, agent=agent, tts=quick(), loaded=False
        ) as server,
        SimulatedDevice(server.device()) as device,
    ):
        with pytest.raises(ProviderUnavailable):
            await server.app.loaded()
        reply = await device.ask(SOUND)
        assert reply.text == Fault("failed", "not_ready", "asr").words("en")
        assert_played_well(reply)
        assert [alert["message"] for alert in device.alerts] == ["Not set up"]
        assert (await device.type_text("hello")).text == "You said hello."
        health = await get(f"{server.http_url}/healthz")
        assert (health["status"], health["unusable"]) == ("degraded", ["asr"])
        assert_nothing_wrong(device)
    (record,) = errors(caplog)
    assert record.getMessage() == "provider cannot be used"
    said = vars(record)
    assert (said["kind"], said["reason"]) == ("asr", "slow: no model: fetch it with `make model`")


async def test_the_server_goes_on_without_it(caplog: pytest.LogCaptureFixture) -> None:
    config = settings(tts={"voice": "no-such-voice"})
    stop = StopRequest()
    running = asyncio.create_task(serve(config, "a test", stop))
    await until(lambda: errors(caplog), what="the line in the log", seconds=60)
    assert not running.done()
    stop.now()
    async with asyncio.timeout(60):
        await running
    assert "espeak: no voice no-such-voice" in vars(errors(caplog)[0])["reason"]
