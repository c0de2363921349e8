"""``vixio check``: each part is really tried, and a failure says what to do."""

from __future__ import annotations

import asyncio
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from pydantic import BaseModel, ConfigDict

from tests.e2e.harness import serving
from tests.support.speech_server import SpeechServer, refusal
from tests.unit.cli.diagnostics.parts import LOOPBACK, failed, run
from vixio import __version__
from vixio.cli.commands import main
from vixio.cli.diagnostics import check, check_server
from vixio.cli.diagnostics.check import PROBES, Part
from vixio.cli.diagnostics.check_languages import Remark
from vixio.cli.diagnostics.check_server import try_echo, try_tools
from vixio.composition import core_speed
from vixio.composition.core_speed import PARTS as PARTS_OF_ROUND
from vixio.composition.core_speed import REFERENCE_S
from vixio.composition.registry import opened_database
from vixio.core.errors import ConfigError, ProviderError, ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.data.devices.contacts import Contact, DeviceContacts
from vixio.providers import registry
from vixio.providers.registry import ProviderFactory, ProviderKind
from vixio.settings import Settings
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ScriptedVAD

PARTS = ["settings", *(each for each in PROBES if each != "smart-turn")]


class NoOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass
class Kit:
    """The four providers of the settings under test, and which of them were closed."""

    providers: dict[ProviderKind, Any] = field(
        default_factory=lambda: {
            ProviderKind.VAD: ScriptedVAD(),
            ProviderKind.ASR: ScriptedASR(),
            ProviderKind.AGENT: ScriptedAgentBackend(),
            ProviderKind.TTS: ScriptedTTS(),
        }
    )
    started: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    def resolve(self, kind: ProviderKind, name: str) -> ProviderFactory[Any, Any]:
        return ProviderFactory(NoOptions, lambda _: self.providers[kind])


@pytest.fixture
def kit(monkeypatch: pytest.MonkeyPatch) -> Kit:
    kit = Kit()
    monkeypatch.setattr(registry, "resolve", kit.resolve)
    # A look at the core would take more than all else; without the kit it is taken.
    monkeypatch.setattr(core_speed, "_timed", lambda parts: parts * REFERENCE_S / PARTS_OF_ROUND)
    for kind, provider in kit.providers.items():

        async def start(kind: ProviderKind = kind) -> None:
            kit.started.append(kind)

        async def close(kind: ProviderKind = kind) -> None:
            kit.closed.append(kind)

        monkeypatch.setattr(provider, "start", start)
        monkeypatch.setattr(provider, "close", close)
    return kit


async def test_each_tool_source_is_shown(kit: Kit, tmp_path: Path) -> None:
    sources = """
tools:
  builtin: false
  sources:
    - {type: builtin, name: clock, tools: [get_time, get_date]}
"""
    parts = await run(tmp_path, sources)
    assert parts["tools"].ok
    assert parts["tools"].detail == "0 local, 2 clock (builtin); a device adds its own"
    broken = f"{sources}    - {{type: local, name: own, modules: [no_such_module]}}\n"
    parts = await run(tmp_path, broken)
    assert not parts["tools"].ok
    assert parts["tools"].detail == (
        "no_such_module: No module named 'no_such_module': is it installed, or its folder on "
        "PYTHONPATH?; "
        "found: 0 local, 2 clock (builtin), 0 own (local)"
    )


async def test_tools_beyond_those_that_the_model_is_offered_are_counted() -> None:
    model = {"name": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1", "max_tools": 1}
    tools = {"builtin": ["get_time", "get_date"]}
    found = "2 builtin, 0 local; the model is offered 1 of these 2 (agent.max_tools)"
    fallback = {"name": "fallback", "models": [{**model, "max_tools": 0}, model]}
    for agent in (model, fallback):
        assert await try_tools(Settings.model_validate({"agent": agent, "tools": tools})) == found


async def test_devices_that_leave_echo_cancellation_to_the_server_are_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = Settings.model_validate({"data": {"folder": str(tmp_path)}})
    monkeypatch.setattr(check_server, "is_installed", lambda: False)
    assert (await try_echo(settings)).endswith(
        f"not heard while they speak ({how_to_install('aec')})"
    )
    contact = Contact(1, features=("aec", "mcp"), may_be_new=True)
    async with opened_database(settings) as database:
        await DeviceContacts(database).seen({"02:00:00:00:00:01": contact})
    with pytest.raises(Remark, match=r"; 1 of those known do$"):
        await try_echo(settings)
    monkeypatch.setattr(check_server, "is_installed", lambda: True)
    assert "AEC3" in await try_echo(settings)


async def test_a_complete_configuration(kit: Kit, tmp_path: Path) -> None:
    parts = await run(tmp_path)
    assert list(parts) == PARTS
    assert failed(parts) == {}
    assert kit.started == ["vad", "asr", "agent", "tts"]
    assert sorted(kit.closed) == sorted(kit.started)
    assert parts["settings"].detail == "my settings"
    assert parts["libopus"].detail == "encodes 24000 Hz in frames of 60 ms"
    assert parts["tts"].detail == "scripted: 250 ms of audio for 'hello', 24000 Hz"
    assert kit.providers[ProviderKind.VAD].open_streams == 0
    assert kit.providers[ProviderKind.ASR].open_streams == 0
    assert parts["address"].detail.startswith("127.0.0.1: only this machine can connect")


async def test_wrong_settings_are_the_only_line(kit: Kit, tmp_path: Path) -> None:
    parts = await run(tmp_path, "zzz: 1")
    assert list(parts) == ["settings"]
    assert "there is no such key" in failed(parts)["settings"]
    assert kit.started == []


@pytest.mark.parametrize("kind", ["vad", "asr", "agent", "tts"])
@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (ProviderUnavailable("x", "no model;\nput one there"), "x: no model; put one there"),
        (ConfigError("tts.voice: no such voice"), "tts.voice: no such voice"),
        (OSError("disk"), "OSError: disk"),
        (TimeoutError("server asleep"), "timed out: server asleep"),
    ],
)
async def test_a_part_that_does_not_start(
    kit: Kit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    error: Exception,
    detail: str,
) -> None:
    async def start() -> None:
        raise error

    monkeypatch.setattr(kit.providers[ProviderKind(kind)], "start", start)
    parts = await run(tmp_path)
    assert failed(parts) == {kind: detail}
    assert list(parts) == PARTS
    assert sorted(kit.closed) == ["agent", "asr", "tts", "vad"]


async def test_a_part_that_hangs(kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def start() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(check, "PART_TIMEOUT_S", 0.01)
    monkeypatch.setattr(kit.providers[ProviderKind.ASR], "start", start)
    part = await check._tried("asr", PROBES["asr"], Settings())
    assert part == Part("asr", False, "timed out after 0.01 s")
    assert kit.closed == ["asr"]


async def test_a_voice_that_says_nothing(kit: Kit, tmp_path: Path) -> None:
    kit.providers[ProviderKind.TTS].seconds_per_char = 0.0
    parts = await run(tmp_path, "assistant: {language: zh-CN}")
    assert failed(parts) == {"tts": "tts.scripted: no audio for '你好'; does its voice fit zh-CN?"}


async def test_a_detector_that_loads_and_then_fails(kit: Kit, tmp_path: Path) -> None:
    kit.providers[ProviderKind.VAD].error = ProviderError("vad.scripted", "its file is damaged")
    assert failed(await run(tmp_path)) == {"vad": "vad.scripted: its file is damaged"}
    assert kit.providers[ProviderKind.VAD].open_streams == 0


async def test_a_port_that_is_taken(kit: Kit, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        parts = await run(tmp_path, f"server: {{host: 127.0.0.1, port: 0, http_port: {port}}}")
    detail = failed(parts)["ports"]
    assert detail.startswith(f"port {port} of 127.0.0.1 is in use")
    assert detail.endswith(
        "choose another port (--http-port N, or server.http_port in the settings)"
    )


async def test_an_address_of_another_machine(kit: Kit, tmp_path: Path) -> None:
    parts = await run(tmp_path, "server: {host: 192.0.2.7, port: 0, http_port: 0}")
    assert failed(parts)["ports"].startswith("192.0.2.7 is no address of this machine")


async def test_the_number_of_processes(kit: Kit, tmp_path: Path) -> None:
    parts = await run(tmp_path)
    assert parts["workers"].detail == "1 process"
    parts = await run(tmp_path, "server: {host: 127.0.0.1, port: 0, http_port: 0, workers: 3}")
    assert parts["workers"].detail == "3 processes"
    parts = await run(tmp_path, "server: {host: 127.0.0.1, port: 0, http_port: 0, workers: auto}")
    assert re.fullmatch(r"\d+ process(es)?, chosen from \S.*", parts["workers"].detail)


async def test_authentication_is_told(kit: Kit, tmp_path: Path) -> None:
    auth = "auth: {enabled: true, token_lifetime_days: 2, secret: 0123456789abcdef}"
    parts = await run(tmp_path, f"server: {{host: 127.0.0.1, port: 0, http_port: 0, {auth}}}")
    assert parts["access"].detail == "open: tokens of 2 days, signed with server.auth.secret"
    server = "server: {host: 127.0.0.1, port: 0, http_port: 0, access: activation}"
    parts = await run(tmp_path, f"{server}\ndata: {{folder: {tmp_path}}}")
    assert parts["access"].detail == (
        f"activation: tokens of 30 days, signed with the secret in {tmp_path}"
    )
    assert parts["registry"].detail == "0 devices known"
    parts = await run(tmp_path, f"{server}\ndata: {{folder: /proc/nowhere}}")
    assert "/proc/nowhere" in failed(parts)["registry"]
    assert "set data.folder" in failed(parts)["access"]


@pytest.mark.slow
async def test_agents_over_a2a(kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    off = await run(tmp_path)
    assert off["a2a"].detail == "off: no agent may use this server (a2a)"
    server = "server: {host: 127.0.0.1, port: 0, http_port: 0}\n"
    section = "a2a: {tokens: {alice: 0123456789abcdef}, public_url: 'https://voice.example'}\n"
    on = await run(tmp_path, server + section)
    assert on["a2a"].detail == "on for 1 caller, without devices, at https://voice.example"
    monkeypatch.setattr("vixio.web.a2a.mount.NEEDS", ("a_module_that_is_not_installed",))
    missing = await run(tmp_path, server + section)
    needs = f"a2a needs: {how_to_install('a2a')}"
    assert failed(missing)["a2a"] == needs


async def test_the_address_for_devices(kit: Kit, tmp_path: Path) -> None:
    head = "server: {host: 127.0.0.1, port: 0, http_port: 0, public_host: "
    parts = await run(tmp_path, head + "192.0.2.9}")
    assert parts["address"].detail == "http://192.0.2.9:PORT/xiaozhi/ota/ for the device"
    parts = await run(tmp_path, head + "localhost}")
    assert parts["address"].detail.startswith("localhost: only this machine can connect")
    parts = await run(tmp_path, head + "'no_such-host.invalid'}")
    assert failed(parts)["address"].startswith("server.public_host 'no_such-host.invalid' has no")


async def test_a_machine_without_libopus(
    kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise ConfigError("libopus is missing; install it: …")

    monkeypatch.setattr("vixio.audio.codec.load_codec", missing)
    assert failed(await run(tmp_path)) == {"libopus": "libopus is missing; install it: …"}


def test_the_command(kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vixio.yaml"
    path.write_text(LOOPBACK)
    monkeypatch.setattr("vixio.telemetry.logging.setup.configure_logging", lambda *_: None)
    done = CliRunner().invoke(main, ["check", "--config", str(path)])
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert [line.split()[0] for line in lines] == PARTS
    assert {line[11:19] for line in lines} == {"ok      "}
    assert "\x1b" not in done.output

    kit.providers[ProviderKind.TTS].seconds_per_char = 0.0
    done = CliRunner().invoke(main, ["check", "--config", str(path)])
    assert done.exit_code == 2
    (line,) = [line for line in done.output.splitlines() if "FAILED" in line]
    assert line.startswith("tts        FAILED  tts.scripted: no audio for 'hello'")

    done = CliRunner().invoke(main, ["check", "--config", str(path)], color=True)
    assert "\x1b[31mFAILED\x1b[0m" in done.output


async def test_a_service_that_refuses_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "PROBES", {name: PROBES[name] for name in ("asr", "tts")})
    async with SpeechServer() as service:
        service.models = refusal(401, "Incorrect API key provided: sk-12345678")
        section = f"{{name: openai, api_key: k, base_url: '{service.base_url}'}}"
        parts = await run(tmp_path, f"asr: {section}\ntts: {section}")
        assert not service.requests, "nothing that costs money is asked"
        host = urlsplit(service.base_url).netloc
    assert failed(parts) == {
        "asr": f"openai: the speech recognition service at {host} refuses the api_key (401): "
        "see asr.api_key",
        "tts": f"openai: the voice service at {host} refuses the api_key (401): see tts.api_key",
    }


async def test_models_of_a_list_of_which_one_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "PROBES", {"agent": PROBES["agent"]})
    async with SpeechServer() as refusing, SpeechServer() as other:
        refusing.models = refusal(401)
        models = ", ".join(
            f"{{name: openai, model: {name}, base_url: '{each.base_url}'}}"
            for name, each in (("first", refusing), ("second", other))
        )
        parts = await run(tmp_path, f"agent: {{name: fallback, models: [{models}]}}")
    (detail,) = failed(parts).values()
    assert detail == "fallback: not every model can serve: openai/first (no valid key)"


@pytest.mark.slow
async def test_the_ports_of_its_own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "PROBES", {"ports": PROBES["ports"]})
    async with serving() as server:
        assert server.app.http is not None
        ports = {"port": server.app.transport.port, "http_port": server.app.http.port}
        parts = await run(tmp_path, f"server: {{host: 127.0.0.1, {_yaml(ports)}}}")
        assert failed(parts) == {}
        assert parts["ports"].detail == (
            f"the server is running here: Vixio {__version__} on {ports['port']} and "
            f"{ports['http_port']}, ok"
        )
        with socket.create_server(("127.0.0.1", 0)) as stranger:
            ports["port"] = stranger.getsockname()[1]
            parts = await run(tmp_path, f"server: {{host: 127.0.0.1, {_yaml(ports)}}}")
        detail = failed(parts)["ports"]
        assert detail.startswith(f"port {ports['port']} of 127.0.0.1 is in use")
        assert detail.endswith("or choose another port (--port N, or server.port in the settings)")


def _yaml(values: dict[str, int]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in values.items())


@pytest.mark.slow
async def test_the_built_in_default_is_complete(tmp_path: Path) -> None:
    parts = await run(tmp_path)
    assert failed(parts) == {}
    assert parts["asr"].detail.startswith("pocketsphinx: ")


@pytest.mark.slow
async def test_the_providers_of_devices_are_tried_each_distinct_one_once(tmp_path: Path) -> None:
    parts = await run(
        tmp_path,
        """
devices:
  "aa:*": {name: Kitchen}
  "bb:*": {tts: {voice: de}}
  "cc:*": {tts: {voice: de}, asr: {name: pocketsphinx}}
  "dd:*": {language: zh}
  "ee:*": {tts: {voice: no-such-voice}}
""",
    )
    shown = {name: part.ok for name, part in parts.items() if name.startswith("devices")}
    assert shown == {
        "devices.bb:*.tts": True,
        "devices.dd:*.tts": True,
        "devices.dd:*.hearing": False,
        "devices.dd:*.answers": True,
        "devices.dd:*.messages": True,
        "devices.bb:*.speaking": True,
        "devices.dd:*.speaking": True,
        "devices.ee:*.speaking": True,
        "devices.ee:*.tts": False,
    }
    assert "hears en, not zh" in parts["devices.dd:*.hearing"].detail
    assert parts["vad"].ok
