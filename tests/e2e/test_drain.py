"""The end of a server that devices talk to: real processes, ended by signals."""

from __future__ import annotations

import asyncio
import json
import signal
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from firmware_test_client import DeviceConfig, Pcm, Reply, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.processes import (
    LIGHT,
    STOP_TIMEOUT,
    Running,
    light_environment,
    running,
)
from tests.support import patient
from tests.support.llm_server import Answer, LLMServer, Stall, text
from tests.support.servers import free_ports
from tests.support.waiting import until
from vixio.stations.tts import SENTENCE_PAUSE_S

BEGINNING = "The quick brown fox jumps over the lazy dog."
END = "The cat looks on from the window sill and wonders when the rain will end."
LONG = f"{END} " * 50
"""Half a minute and more of the silent voice."""
BEGUN_MS = 500.0
BOUND = 60.0


@dataclass
class Served:
    process: Running
    port: int
    http_port: int

    @property
    def device(self) -> DeviceConfig:
        return DeviceConfig(ota_url=f"http://127.0.0.1:{self.http_port}/xiaozhi/ota/")

    async def get(self, port: int, path: str, **headers: str) -> tuple[int, str, str]:
        """Return the status, the header Retry-After and the body."""

        url = f"http://127.0.0.1:{port}{path}"

        def fetch() -> tuple[int, str, str]:
            request = urllib.request.Request(url, headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  loopback, http
                    return answer.status, "", answer.read().decode()
            except urllib.error.HTTPError as refused:
                with refused:
                    retry = str(refused.headers["Retry-After"] or "")
                    return refused.code, retry, refused.read().decode()

        async with asyncio.timeout(BOUND):
            while True:
                try:
                    return await asyncio.to_thread(fetch)
                except (ConnectionError, urllib.error.URLError):
                    # One of two processes has nothing left to do and closes its ports, with what
                    # the kernel has given it meanwhile; the other one answers.
                    await asyncio.sleep(0)

    async def failing_checks(self) -> set[str]:
        """Return the names of what the readiness page complains of."""
        status, _, body = await self.get(self.http_port, "/readyz")
        checks = {each["name"] for each in json.loads(body)["checks"] if not each["ok"]}
        assert (status == 503) is bool(checks)
        return checks

    async def connect(self) -> tuple[int, str]:
        """Return what a device is answered that wants to connect, and when to come back."""
        status, retry_after, _ = await self.get(
            self.port,
            "/xiaozhi/v1/",
            **{
                "Connection": "Upgrade",
                "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
                "Device-Id": "02:00:00:00:00:99",
            },
        )
        return status, retry_after

    async def ended(self) -> int | None:
        async with asyncio.timeout(STOP_TIMEOUT):
            return await self.process.process.wait()


@asynccontextmanager
async def serving(
    directory: Path,
    llm: LLMServer,
    *,
    workers: int = 1,
    drain: float = 60,
    voice: str = "silence",
) -> AsyncIterator[Served]:
    port, http_port = free_ports(2)
    path = directory / "vixio.yaml"
    limits = {**patient.sections(drain=drain), "memory": {"store": "none"}}
    limits |= {"asr": {"name": "nothing"}, "tts": {"name": voice}, "api": {"enabled": False}}
    limits["server"] = {
        "host": "127.0.0.1",
        "port": port,
        "http_port": http_port,
        "workers": workers,
    }
    limits["agent"] = {
        "name": "openai",
        "base_url": llm.base_url,
        "api_key": "test",
        "model": "m",
        "first_token_timeout": 60,
    }
    path.write_text(json.dumps(limits), encoding="utf-8")
    command = (*LIGHT, "serve", "--config", path)
    async with running(command, directory, light_environment()) as process:
        await process.line("silero")
        served = Served(process, port, http_port)
        await until(
            lambda: process.count("all providers are ready") == workers,
            what="providers",
            seconds=60,
        )
        assert await served.failing_checks() == set()
        yield served
    assert "Traceback" not in "".join(process.out + process.err)


async def speaking(device: SimulatedDevice) -> Reply:
    """Return the reply that the device plays, once some of it has been heard."""
    before = len(device.replies)
    await device.send_json({"type": "listen", "state": "detect", "text": "hello"})
    await device.wait_for(
        lambda: len(device.replies) > before and device.replies[-1].played_ms >= BEGUN_MS,
        what="the first words",
        timeout=BOUND,
    )
    return device.replies[-1]


def assert_sent_whole(reply: Reply, whole: Reply) -> None:
    """The server sent the reply to its end, as the one before, and said that it is over.

    A device on a busy machine may still play the last packets when the connection is closed.
    """
    assert reply.text == whole.text
    assert reply.tts_stop is not None
    assert (reply.overflows, reply.decode_errors) == (0, 0)
    # A sentence that comes late on a busy machine has no pause put in front of it, and the speech
    # is filled up to whole packets: with the last one, and in front of the pause that is missing.
    pause, filled = SENTENCE_PAUSE_S * 1000, 2 * 60
    assert whole.audio_ms - pause - filled <= reply.audio_ms <= whole.audio_ms + filled
    count = min(reply.heard.samples.size, whole.heard.samples.size)
    heard, before = (Pcm(each.heard.data[: 2 * count], each.heard_rate) for each in (reply, whole))
    assert heard.rms == pytest.approx(before.rms, rel=0.1)
    assert heard.rms > 500


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_sentence_is_heard_to_its_end(tmp_path: Path, workers: int) -> None:
    async with (
        LLMServer() as llm,
        serving(tmp_path, llm, workers=workers, voice="espeak") as served,
        SimulatedDevice(served.device) as device,
        SimulatedDevice(served.device) as idle,
    ):
        thinking = Stall()
        begun, rest = f"{BEGINNING} {END[:10]}", END[10:]
        llm.script(text(begun, rest), text(begun, thinking, rest))
        whole = await device.type_text("hello")
        reply = await speaking(device)
        served.process.process.send_signal(signal.SIGTERM)
        close = await idle.wait_for_close()
        assert (close.code, close.reason) == (1001, "the server is stopping")
        async with asyncio.timeout(BOUND):  # until the process that answers knows of it, too
            while "draining" not in await served.failing_checks():
                pass
            while await served.connect() != (503, "10"):
                pass
        assert reply.tts_stop is None
        thinking.go.set()

        close = await device.wait_for_close(timeout=BOUND)
        assert (close.code, close.reason) == (1001, "the server is stopping")
        assert whole.text == f"{BEGINNING} {END}"
        assert_sent_whole(reply, whole)
        assert_nothing_wrong(device)
        assert await served.ended() == 0
    lines = "".join(served.process.err)
    assert lines.count("  drained") == workers
    assert "some devices did not finish" not in lines


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_hanging_reply_costs_the_bound_and_no_more(tmp_path: Path, workers: int) -> None:
    async with (
        LLMServer() as llm,
        serving(tmp_path, llm, workers=workers, drain=1) as served,
        SimulatedDevice(served.device) as device,
    ):
        hanging = Stall()
        llm.script(Answer([hanging]))
        await device.send_json({"type": "listen", "state": "detect", "text": "hello"})
        async with asyncio.timeout(BOUND):
            await hanging.reached.wait()
        served.process.process.send_signal(signal.SIGTERM)
        close = await device.wait_for_close()
        assert close.code == 1001
        assert device.replies == []
        assert await served.ended() == 0
    assert served.process.count("some devices did not finish") == 1


@pytest.mark.parametrize("workers", [1, 2])
async def test_ctrl_c_does_not_wait(tmp_path: Path, workers: int) -> None:
    async with (
        LLMServer() as llm,
        serving(tmp_path, llm, workers=workers) as served,
        SimulatedDevice(served.device) as device,
    ):
        llm.script(text(LONG))
        reply = await speaking(device)
        served.process.process.send_signal(signal.SIGINT)
        close = await device.wait_for_close()
        assert close.code == 1001
        assert reply.cut
        assert await served.ended() == 0
    assert served.process.count("draining") == 0


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_second_signal_ends_it_at_once(tmp_path: Path, workers: int) -> None:
    async with (
        LLMServer() as llm,
        serving(tmp_path, llm, workers=workers) as served,
        SimulatedDevice(served.device) as device,
    ):
        health = json.loads((await served.get(served.http_port, "/healthz"))[2])
        pids = [each["pid"] for each in health.get("workers", [])]
        assert len(pids) == (workers if workers > 1 else 0)
        llm.script(text(LONG))
        reply = await speaking(device)
        served.process.process.send_signal(signal.SIGTERM)
        await until(lambda: served.process.count("draining") == workers, what="the drain")
        assert device.connected
        served.process.process.send_signal(signal.SIGTERM)
        assert await served.ended() == -signal.SIGTERM
        await device.wait_for_close()
        assert reply.cut
        await until(
            lambda: not [pid for pid in pids if Path(f"/proc/{pid}").exists()],
            what="the end of all processes",
        )
