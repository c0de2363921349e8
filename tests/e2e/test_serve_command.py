"""``vixio serve`` as a user starts it: the real command, the built-in defaults, given ports."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import httpx2
import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.checks import assert_played_well
from tests.e2e.person import at_terminal
from tests.e2e.processes import (
    LIGHT,
    STOP_TIMEOUT,
    light_environment,
    running,
)
from tests.support.servers import free_ports
from tests.support.waiting import until

VIXIO = Path(sys.executable).with_name("vixio")


async def test_it_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(serve_until(signal.SIGTERM, tmp_path))
        group.create_task(serve_until(signal.SIGINT, tmp_path))


async def serve_until(number: signal.Signals, tmp_path: Path) -> None:
    """One server: a typed turn, then the signal."""
    port, http_port = free_ports(2)
    command = (VIXIO, "serve", "--host", "127.0.0.1", "--port", str(port))
    # The one server of these tests that begins with Python, and is taken apart at its end.
    async with running((*command, "--http-port", str(http_port)), tmp_path, cold=True) as server:
        ota = f"http://127.0.0.1:{http_port}/xiaozhi/ota/"
        assert ota in await server.line("OTA URL")
        assert f"ws://127.0.0.1:{port}/xiaozhi/v1/" in await server.line("WebSocket")
        using = await server.line("silero")
        for name in ("pocketsphinx", "phrasebook", "espeak"):
            assert name in using
        async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:
            reply = await device.type_text("hello")
            assert reply.text
            assert reply.heard.rms > 500
            assert_played_well(reply)
            assert device.violations == []

            await server.stop(number)
            assert server.process.returncode == 0
            close = await device.wait_for_close()
            assert close.code == 1001
    everything = "".join(server.out + server.err)
    assert "Traceback" not in everything
    assert "ERROR" not in everything
    assert "link=" not in everything, "a secret is for a terminal alone"


async def test_at_a_terminal_it_shows_a_link_that_signs_in(tmp_path: Path) -> None:
    port, http_port = free_ports(2)
    options = ("--host", "127.0.0.1", "--port", str(port), "--http-port", str(http_port))
    environment = {**os.environ, "HOME": str(tmp_path), "TERM": "xterm"}
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
        environment.pop(name, None)
    async with (
        at_terminal(
            VIXIO, "serve", *options, directory=tmp_path, environment=environment
        ) as person,
        httpx2.AsyncClient(timeout=30) as client,
    ):
        site = f"http://127.0.0.1:{http_port}"
        shown = await person.line(f"{site}/console/#/login?link=")
        place = f"{site}/api/v1/login/link"
        link = {"link": shown.partition("link=")[2]}
        answer = await client.post(place, json=link)
        assert answer.status_code == 200, answer.text
        head = {"Authorization": f"Bearer {answer.json()['token']}"}
        me = await client.get(f"{site}/api/v1/me", headers=head)
        assert me.json()["kind"] == "session"
        assert (await client.post(place, json=link)).status_code == 401
        await person.expect("all providers are ready")
        await person.interrupt()
        assert await person.left() == 0


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_language_that_it_cannot_hear_is_one_warning(tmp_path: Path, workers: int) -> None:
    config = tmp_path / "vixio.yaml"
    section = f"server: {{host: 127.0.0.1, port: 0, http_port: 0, workers: {workers}}}"
    config.write_text(
        f"{section}\nassistant: {{language: zh-CN}}\napi: {{enabled: false}}\n", encoding="utf-8"
    )
    command = (*LIGHT, "serve", "--config", config)
    async with running(command, tmp_path, light_environment()) as server:
        assert "language zh-CN" in await server.line("· language")
        warnings = [line for line in server.err if "does not fit the language" in line]
        await server.stop(signal.SIGTERM)
    (warning,) = warnings
    assert "WARNING" in warning
    assert "pocketsphinx hears en, not zh-CN" in warning
    assert "vixio models get sense-voice" in warning


async def test_a_language_that_it_is_changed_to_is_a_warning_too(tmp_path: Path) -> None:
    config = tmp_path / "vixio.yaml"
    section = "server: {host: 127.0.0.1, port: 0, http_port: 0}\napi: {enabled: false}"
    config.write_text(f"{section}\n", encoding="utf-8")
    async with running((VIXIO, "serve", "--config", config), tmp_path) as server:
        assert "language en" in await server.line("· language")
        config.write_text(f"{section}\nassistant: {{language: nl}}\n", encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        await until(lambda: server.count("settings reloaded") == 1, what="the other settings")
        await server.stop(signal.SIGTERM)
    assert server.count("does not fit the language") == 3  # not heard, no book, no messages


async def test_a_port_that_is_taken_is_one_line_and_status_2(tmp_path: Path) -> None:
    taken = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    try:
        port = taken.sockets[0].getsockname()[1]
        command = (VIXIO, "serve", "--host", "127.0.0.1", "--http-port", "0", "--port", str(port))
        async with running(command, tmp_path) as server, asyncio.timeout(90):
            assert await server.process.wait() == 2
        told = [line for line in server.err if line.startswith("vixio:")]
        assert len(told) == 1
        assert str(port) in told[0]
        assert "Traceback" not in "".join(server.out + server.err)
    finally:
        taken.close()
        await taken.wait_closed()


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_hangup_has_it_read_its_settings_again(tmp_path: Path, workers: int) -> None:
    """A connected device follows; a file with a mistake changes nothing and is one line.

    Two processes are started as a user's are, not forked.
    """
    port, http_port = free_ports(2)
    config = tmp_path / "vixio.yaml"
    more = "asr: {name: nothing}\napi: {enabled: false}\n"

    def write(reply: str) -> None:
        server = f"{{host: 127.0.0.1, port: {port}, http_port: {http_port}, workers: {workers}}}"
        text = f"server: {server}\nmemory: {{store: none}}\n{more}{reply}\n"
        config.write_text(text, encoding="utf-8")

    write("assistant: {wake_reply: Hello}")
    command = (VIXIO, "serve", "--config", config)
    async with running(command, tmp_path, light_environment()) as server:
        await server.line("silero")
        ota = f"http://127.0.0.1:{http_port}/xiaozhi/ota/"
        async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:

            async def greeting() -> str:
                await device.send_json({"type": "listen", "state": "detect", "text": "Jarvis"})
                return (await device.wait_for_reply()).text

            async def reload(line: str) -> None:
                before = server.count(line)
                server.process.send_signal(signal.SIGHUP)
                await until(
                    lambda: server.count(line) == before + workers, what=line, seconds=STOP_TIMEOUT
                )

            assert await greeting() == "Hello"
            write("assistant: {wake_reply: [")
            await reload("settings not reloaded")
            assert await greeting() == "Hello"
            write(f"devices: {{{device.config.device_id}: {{wake_reply: Yes}}}}")
            await reload("settings reloaded")
            async with asyncio.timeout(60):
                while await greeting() != "Yes":
                    assert server.process.returncode is None
            assert device.violations == []
            await server.stop(signal.SIGTERM)
    errors = [line for line in server.err if "ERROR" in line]
    assert len(errors) == workers
    assert all(f"{config}:6" in line for line in errors)
    assert "Traceback" not in "".join(server.err)
