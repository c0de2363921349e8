"""A server, a spoken conversation and the benchmark ask for no name and no other machine.

docs/security.md, "Nothing leaves the machine unasked". The controls show that the trace sees what a
child process does, and that onnxruntime's telemetry would be seen.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.support.media_files import sound, write_wav
from tests.support.private_home import PrivateHome
from tests.support.servers import free_ports
from tests.support.trace import Traced, needs_strace, traced
from tests.support.waiting import until
from vixio.core.telemetry import ONNXRUNTIME
from vixio_bench.vendors.ready.service import ReadyService

pytestmark = [needs_strace, pytest.mark.timeout(400)]

VIXIO = Path(sys.executable).with_name("vixio")
SECONDS = 300.0
LIBRARY = (sys.executable, Path(__file__).parents[1] / "support" / "loads_silero.py")

ASKING = """
import socket, subprocess, sys
CHILD = '''
import contextlib, socket
with contextlib.suppress(OSError):
    socket.getaddrinfo("vendor.example", 443)
with contextlib.suppress(OSError):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("198.51.100.1", 9))
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
with contextlib.suppress(OSError):
    probe.connect(("192.0.2.1", 9))
    probe.send(b"x")
other = socket.socket()
other.setblocking(False)
with contextlib.suppress(OSError):
    other.connect(("192.0.2.2", 80))
'''
subprocess.run([sys.executable, "-c", CHILD], check=True)
"""

ROUTE = """
import contextlib, socket
with contextlib.suppress(OSError):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 9))
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
"""


def assert_quiet(run: Traced, contacts: list[str], home: PrivateHome, output: Path) -> None:
    """The program has ended well, asked for nothing and left nothing behind."""
    assert run.process.returncode == 0, output.read_text(encoding="utf-8")
    assert contacts == []
    assert home.unexpected() == []


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ((VIXIO, "demo"), "7 of 7 turns as expected"),
        ((sys.executable, "-m", "examples.demos", "api"), "10 of 10 steps as expected"),
    ],
    ids=["demo", "api"],
)
def test_a_spoken_conversation(
    command: tuple[str | Path, ...], verdict: str, tmp_path: Path
) -> None:
    """A server, and a device that speaks to it for half a minute."""
    home = PrivateHome(tmp_path)
    output = tmp_path / "output"
    with traced(command, cwd=home.work, environment=home.environment, output=output) as run:
        contacts = run.wait(SECONDS)
    said = output.read_text(encoding="utf-8")
    assert run.process.returncode == 0, said
    assert verdict in said
    assert contacts == []
    assert home.unexpected() == []


async def test_a_server_of_two_processes(tmp_path: Path) -> None:
    home = PrivateHome(tmp_path)
    output = tmp_path / "output"
    port, http_port = free_ports(2)
    ports = ("--port", str(port), "--http-port", str(http_port), "--workers", "2")
    command = (VIXIO, "serve", *ports)  # on all interfaces, as it is by default
    with traced(command, cwd=home.work, environment=home.environment, output=output) as run:
        await until(lambda: b"silero" in output.read_bytes(), what="the server", seconds=SECONDS)
        ota = f"http://127.0.0.1:{http_port}/xiaozhi/ota/"
        async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:
            assert (await device.type_text("hello")).text
        run.process.send_signal(signal.SIGTERM)
        contacts = run.wait(SECONDS)
    assert_quiet(run, contacts, home, output)


def test_a_home_is_asked_where_the_settings_name_it(tmp_path: Path) -> None:
    home = PrivateHome(tmp_path)
    output = tmp_path / "output"
    port, http_port = free_ports(2)
    settings = home.work / "vixio.yaml"
    settings.write_text(
        f"server: {{port: {port}, http_port: {http_port}}}\n"
        "mcp_servers: {home: {url: 'http://192.0.2.7:8123/api/mcp'}}\n",
        encoding="utf-8",
    )
    command = (VIXIO, "serve", "--config", str(settings))
    with traced(command, cwd=home.work, environment=home.environment, output=output) as run:
        contacts = run.wait_for(bool, SECONDS)
        run.process.send_signal(signal.SIGTERM)
        run.process.wait(SECONDS)
    assert set(contacts) == {"192.0.2.7 port 8123"}


@pytest.mark.parametrize("embeddings", ["null", "{base_url: 'http://192.0.2.7:8123/v1', model: m}"])
def test_documents_leave_for_the_embeddings_that_the_settings_name(
    embeddings: str, tmp_path: Path
) -> None:
    """Without such a service a document of a folder is read, and nothing is asked for."""
    home = PrivateHome(tmp_path)
    output = tmp_path / "output"
    port, http_port = free_ports(2)
    folder = home.work / "papers"
    folder.mkdir()
    folder.joinpath("tea.txt").write_text("Tea is in the upper drawer.", "utf-8")
    home.work.joinpath("vixio.yaml").write_text(
        f"server: {{port: {port}, http_port: {http_port}}}\n"
        f"papers: {{folders: [{{path: {folder}}}], embeddings: {embeddings}}}\n",
        encoding="utf-8",
    )

    def ready() -> bool:
        listed = subprocess.run(
            (VIXIO, "papers", "list", "--json"),
            cwd=home.work,
            env=home.environment,
            capture_output=True,
            check=False,
            timeout=SECONDS,
        ).stdout
        return b'"ready"' in listed

    with traced(
        (VIXIO, "serve"), cwd=home.work, environment=home.environment, output=output
    ) as run:
        until = time.monotonic() + SECONDS
        while not ready():
            assert time.monotonic() < until
        contacts = [] if embeddings == "null" else run.wait_for(bool, SECONDS)
        run.process.send_signal(signal.SIGTERM)
        run.process.wait(SECONDS)
        contacts = [*contacts, *run.contacts]
    assert set(contacts) == (set() if embeddings == "null" else {"192.0.2.7 port 8123"})


async def test_music_stays_here_and_a_station_is_asked_when_it_is_wanted(tmp_path: Path) -> None:
    home = PrivateHome(tmp_path)
    output = tmp_path / "output"
    write_wav(tmp_path / "music" / "The Long Song.wav", sound(20.0, 24_000), 24_000)
    port, http_port = free_ports(2)
    settings = home.work / "vixio.yaml"
    media = {
        "folders": [str(tmp_path / "music")],
        "stations": {"Radio Nina": "http://192.0.2.7:8000/live"},
    }
    settings.write_text(
        f"server: {{port: {port}, http_port: {http_port}}}\n"
        f"agent: {{name: phrasebook}}\ntools: {{media: {json.dumps(media)}}}\n",
        encoding="utf-8",
    )
    command = (VIXIO, "serve", "--config", str(settings))
    with traced(command, cwd=home.work, environment=home.environment, output=output) as run:
        await until(lambda: b"silero" in output.read_bytes(), what="the server", seconds=SECONDS)
        ota = f"http://127.0.0.1:{http_port}/xiaozhi/ota/"
        async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:
            assert "The Long Song" in (await device.type_text("play the long song")).text
            await until(
                lambda: len(device.replies) > 1 and device.replies[1].played_ms > 1_000,
                what="music",
                seconds=SECONDS,
            )
            assert run.contacts == []
            assert "Radio Nina" in (await device.type_text("play radio nina")).text
            await asyncio.to_thread(run.wait_for, bool, SECONDS)
        run.process.send_signal(signal.SIGTERM)
        contacts = await asyncio.to_thread(run.wait, SECONDS)
    assert_quiet(run, [each for each in contacts if "192.0.2.7" not in each], home, output)
    assert set(contacts) == {"192.0.2.7 port 8000"}


def test_the_benchmark(tmp_path: Path) -> None:
    home = PrivateHome(tmp_path)
    output = tmp_path / "output"
    command = (VIXIO, "bench", "load", "--devices", "1", "--hold", "1", "--ramp", "0.1")
    with traced(command, cwd=home.work, environment=home.environment, output=output) as run:
        contacts = run.wait(SECONDS)
    assert_quiet(run, contacts, home, output)


def test_the_benchmark_of_conversations(tmp_path: Path) -> None:
    home = PrivateHome(tmp_path)
    output = tmp_path / "output"
    command = (VIXIO, "bench", "conversation", "--limit", "1", "--devices", "6")
    with traced(command, cwd=home.work, environment=home.environment, output=output) as run:
        contacts = run.wait(SECONDS)
    assert run.process.returncode in (0, 1), "a traced machine may miss a mark"
    assert "| known | 1 |" in output.read_text(encoding="utf-8")
    assert contacts == []
    assert home.unexpected() == []


def test_the_benchmark_of_vendors(tmp_path: Path) -> None:
    home = PrivateHome(tmp_path)
    output = tmp_path / "output"
    command = (VIXIO, "bench", "vendors", "--only", "overhead", "--repeat", "1")
    with traced(command, cwd=home.work, environment=home.environment, output=output) as run:
        contacts = run.wait(SECONDS)
    assert run.process.returncode in (0, 1), "a traced machine may miss a mark"
    assert "| knowledge | ragflow |" in output.read_text(encoding="utf-8")
    assert contacts == []
    assert home.unexpected() == []


def test_a_program_that_uses_vixio(tmp_path: Path) -> None:
    home = PrivateHome(tmp_path)
    output = tmp_path / "output"
    with traced(LIBRARY, cwd=home.work, environment=home.environment, output=output) as run:
        contacts = run.wait(SECONDS)
    assert "loaded" in output.read_text(encoding="utf-8")
    assert contacts == []
    assert home.unexpected() == []


READY = """
agent: {name: phrasebook}
tools:
  ready: [calculator, dates, %s]
"""
SERVICES = "geocoding-api.open-meteo.com", "feeds.bbci.co.uk"


@pytest.mark.parametrize(
    ("asked", "asks"),
    [
        ("what is twelve times seven", ()),
        ("how many days until christmas", ()),
        ("what is the weather in berlin", SERVICES[:1]),
        ("what is the news", SERVICES[1:]),
    ],
)
def test_a_ready_tool_asks_its_own_service_when_it_is_called(
    asked: str, asks: tuple[str, ...], tmp_path: Path
) -> None:
    home = PrivateHome(tmp_path)
    home.work.joinpath("vixio.yaml").write_text(READY % "weather, news", "utf-8")
    output = tmp_path / "output"
    command = (VIXIO, "ask", asked)
    with traced(command, cwd=home.work, environment=home.environment, output=output) as run:
        contacts = run.wait(SECONDS)
    said = output.read_text(encoding="utf-8")
    assert "Traceback" not in said
    for name in SERVICES:
        assert any(name in each for each in contacts) == (name in asks), (contacts, said)
    assert asks or contacts == []


async def test_ready_tools_at_addresses_of_ones_own_ask_nobody_else(tmp_path: Path) -> None:
    home = PrivateHome(tmp_path)
    output = tmp_path / "output"
    async with ReadyService() as service:
        listed = ({name: options} for name, options in service.settings().items())
        text = READY % ", ".join(map(json.dumps, listed))
        home.work.joinpath("vixio.yaml").write_text(text, "utf-8")
        command = (VIXIO, "ask", "what is the weather in berlin")
        with traced(command, cwd=home.work, environment=home.environment, output=output) as run:
            contacts = await asyncio.to_thread(run.wait, SECONDS)
        said = output.read_text(encoding="utf-8")
        assert "Berlin: rain, 12 degrees." in said
        assert contacts == []
        assert service.requests == {"geocode": 1, "forecast": 1}


def test_control_what_a_child_process_asks_for_is_seen(tmp_path: Path) -> None:
    home = PrivateHome(tmp_path)
    command = (sys.executable, "-c", ASKING)
    output = tmp_path / "output"
    with traced(command, cwd=home.work, environment=home.environment, output=output) as run:
        contacts = run.wait(SECONDS)
    assert run.process.returncode == 0, output.read_text(encoding="utf-8")
    # The name is asked of a name server, or of a program of this machine that asks for others.
    assert any(each.startswith(("the name ", "names, of ")) for each in contacts)
    assert {"198.51.100.1 port 9", "192.0.2.1 port 9", "192.0.2.2 port 80"} <= set(contacts)


def test_control_what_stays_here_is_none(tmp_path: Path) -> None:
    home = PrivateHome(tmp_path)
    command = (sys.executable, "-c", ROUTE)
    output = tmp_path / "output"
    with traced(command, cwd=home.work, environment=home.environment, output=output) as run:
        contacts = run.wait(SECONDS)
    assert run.process.returncode == 0, output.read_text(encoding="utf-8")
    assert contacts == []


def test_control_the_telemetry_of_onnxruntime_is_seen(tmp_path: Path) -> None:
    """With it, as an operator may decide. It takes ten seconds until it asks for the name."""
    home = PrivateHome(tmp_path)
    output = tmp_path / "output"
    environment = {**home.environment, ONNXRUNTIME: "0"}
    command = (*LIBRARY, "wait")
    with traced(command, cwd=home.work, environment=environment, output=output) as run:
        contacts = run.wait_for(bool, SECONDS)
    assert contacts, output.read_text(encoding="utf-8")
    assert home.unexpected()
