"""Tools that are pasted: tried, saved for a profile, called in its conversations alone."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.api_client import Answer, ApiServer, Client, api_server
from tests.e2e.checks import assert_played_well
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.processes import LIGHT_YAML, light_environment
from tests.e2e.test_assistant_settings import site
from tests.support.llm_server import Call, LLMServer, calls, text
from tests.support.waiting import until
from tests.unit.tools.mcp.servers import BOUND, SCRIPT, served
from vixio.composition.pasted_tools import ENV_FILE
from vixio.core.tools.source import Scope as ToolScope
from vixio.testing import ScriptedTTS
from vixio.web.api.scopes import Scope

KEY = "sk-0123456789abcdef0123"
QUESTION = "what is on my shopping list"
SHOPPING = Path(__file__).parents[2] / "examples" / "mcp_tools.py"
TOOL = "read_shopping_list"


def program(path: Path = SHOPPING, *args: str) -> str:
    """Return a paste of a program, as a desktop program has it."""
    server = {"command": sys.executable, "args": [str(path), *args], "env": {"API_KEY": KEY}}
    return json.dumps({"mcpServers": {"shop": server}}, indent=2)


def offered(model: LLMServer) -> set[str]:
    """Return the names of the tools of the last request."""
    return {tool["function"]["name"] for tool in model.requests[-1]["tools"]}


def mistakes(answer: Answer) -> list[tuple[int, int, str]]:
    assert answer.status == 422, answer.body
    return [(each["line"], each["column"], each["message"]) for each in answer.body["mistakes"]]


def sections(model: LLMServer, **api: Any) -> dict[str, Any]:  # noqa: ANN401 - of the settings
    section = {"name": "openai", "api_key": "k", "base_url": model.base_url, "model": "small"}
    return {"agent": section, "api": api}


async def in_profile(call: Client, device: SimulatedDevice, profile: str) -> None:
    await call("PUT", f"/profiles/{profile}", {"content": {"language": "en"}})
    mac = device.config.device_id
    assert (await call("PUT", f"/devices/{mac}/profile", {"profile": profile})).status == 200


async def connected(api: ApiServer, profile: str = "", name: str = "") -> None:
    """Wait until an added source has its tools."""
    scope = ToolScope(profile=profile)

    def there() -> bool:
        reports = api.server.app.tools.reports(scope)
        return any(each.tools for each in reports if each.name.endswith(name))

    await until(there, what="the tools of what was added", seconds=BOUND)


async def test_it_is_called_in_the_conversations_of_its_profile_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = {
        "asr": WaveformASR(await recordings([QUESTION])),
        "tts": ScriptedTTS(seconds_per_char=0.01),
    }
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(LLMServer())
        config = sections(model, programs=True)
        api = await stack.enter_async_context(api_server(tmp_path, made=made, **config))
        kid = await stack.enter_async_context(SimulatedDevice(api.server.device()))
        other_mac = "02:00:00:00:00:7b"
        other = await stack.enter_async_context(
            SimulatedDevice(api.server.device(device_id=other_mac))
        )
        call = await api.client(Scope.ADMIN)
        await in_profile(call, kid, "kids")
        await in_profile(call, other, "others")
        model.script(text("Not yet."))
        assert (await kid.ask(QUESTION)).text == "Not yet."
        assert TOOL not in offered(model)

        body = {"text": program(), "profile": "kids"}
        (tried,) = (await call("POST", "/tools/try", body)).body["sources"]
        assert (tried["name"], tried["ok"], tried["line"]) == ("shop", True, 3)
        assert {each["name"] for each in tried["tools"]} == {TOOL, "add_to_shopping_list"}
        assert (tried["called"], tried["answer"]) == (TOOL, "nothing")
        assert (await call("GET", "/tools")).body["sources"] == [], "it is not saved"

        saved = await call("POST", "/tools", body)
        assert saved.status == 200, saved.body
        await connected(api, "kids", "shop")
        model.script(calls(Call("c1", TOOL, "{}")), text("There is nothing on it."))
        reply = await kid.ask(QUESTION)
        assert reply.text == "There is nothing on it."
        assert_played_well(reply)
        assert TOOL in offered(model)
        assert model.requests[-1]["messages"][-1]["content"] == "nothing"
        model.script(text("I cannot."))
        await other.ask(QUESTION)
        assert TOOL not in offered(model)

        # Keys are shown nowhere, and stored apart.
        listed = (await call("GET", "/tools")).body
        assert KEY not in json.dumps([listed, tried, saved.body])
        assert listed["sources"][0]["target"] == f"{Path(sys.executable).name} mcp_tools.py"
        env = tmp_path / "data" / ENV_FILE
        assert env.read_text().endswith(f"TOOLS_KIDS__SHOP__API_KEY={KEY}\n")
        assert env.stat().st_mode & 0o777 == 0o600
        assert (await call("GET", "/profiles")).body["profiles"][0]["content"] == {"language": "en"}

        # It goes in mid-conversation.
        assert (await call("DELETE", "/tools/shop?profile=kids")).status == 204
        assert KEY not in env.read_text()
        model.script(text("Gone."))
        await kid.ask(QUESTION)
        assert TOOL not in offered(model)
        assert (await call("DELETE", "/tools/shop?profile=kids")).status == 404
    assert KEY not in caplog.text


async def test_it_is_there_after_a_restart_and_goes_with_its_profile(tmp_path: Path) -> None:
    async with LLMServer() as model, served("streamable_http") as remote:
        config = sections(model, programs=True)
        async with api_server(tmp_path, **config) as api:
            call = await api.client(Scope.ADMIN)
            await call("PUT", "/profiles/kids", {"content": {}})
            body = {"text": remote.url, "headers": {"Authorization": f"Bearer {KEY}"}}
            (tried,) = (await call("POST", "/tools/try", body)).body["sources"]
            assert tried["ok"], tried
            assert tried["type"] == "mcp"
            for profile in ("", "kids"):
                assert (await call("POST", "/tools", {**body, "profile": profile})).status == 200
        async with api_server(tmp_path, **config) as api:
            call = await api.client(Scope.ADMIN)
            await connected(api, "", tried["name"])
            async with SimulatedDevice(api.server.device(mode="manual")) as device:
                model.script(text("Yes."))
                await device.type_text("are you there")
            assert "echo" in offered(model), "it is for all devices"
            again = await call("POST", "/tools", {**body, "text": remote.url})
            assert [each["profile"] for each in again.body["sources"]] == ["", "kids"]
            assert (await call("DELETE", "/profiles/kids")).status == 204
            assert (await call("GET", "/tools")).body["sources"][0]["profile"] == ""
            assert len((await call("GET", "/tools")).body["sources"]) == 1
            assert (await call("GET", "/profiles")).body == {"profiles": [], "removed": ["kids"]}


async def test_without_the_setting_no_program_and_no_private_address(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(LLMServer())
        remote = await stack.enter_async_context(served("streamable_http"))
        async with api_server(tmp_path, **sections(model)) as api:
            call = await api.client(Scope.ADMIN)
            assert (await call("GET", "/tools")).body == {"sources": [], "programs": False}
            for path in ("/tools/try", "/tools"):
                found = mistakes(await call("POST", path, {"text": program()}))
                assert [each[:2] for each in found] == [(3, 13)]
                assert "`vixio tools add`, or set api.programs: true" in found[0][2]
            address = f'{{"mcpServers": {{"a": {{"url": "{remote.url}", "allow_private": true}}}}}}'
            (tried,) = (await call("POST", "/tools/try", {"text": address})).body["sources"]
            assert not tried["ok"]
            assert "not on the public internet" in tried["problem"]
            assert "api.programs" in tried["problem"]
            # Saved all the same, it is refused at the connection too.
            assert (await call("POST", "/tools", {"text": address})).status == 200
            source = next(each for each in api.server.app.tools.sources if each.name == "a")
            async with asyncio.timeout(BOUND):
                await source.ready()
            assert not source.tools()
            assert "public internet" in source.faults[0].reason
            for text_ in (
                '{"a": {"url": "https://h/mcp", "headers": {"X": "${HOME}"}}}',
                "https://h/${HOME}/mcp",
                '{"a": {"type": "openapi", "document": "/etc/passwd", "operations": ["a"]}}',
            ):
                assert mistakes(await call("POST", "/tools", {"text": text_}))


async def test_the_process_of_a_trial_ends_with_it(tmp_path: Path) -> None:
    async with LLMServer() as model, api_server(tmp_path, **sections(model, programs=True)) as api:
        call = await api.client(Scope.ADMIN)
        body = {"text": program(SCRIPT, "stdio"), "tool": "process_id"}
        (tried,) = (await call("POST", "/tools/try", body)).body["sources"]
        pid = int(tried["answer"])
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        body = {"text": program(SCRIPT, "stdio"), "tool": "echo", "arguments": '{"text": "hi"}'}
        (tried,) = (await call("POST", "/tools/try", body)).body["sources"]
        assert tried["answer"] == "hi"
        del body["tool"]
        (tried,) = (await call("POST", "/tools/try", body)).body["sources"]
        assert (tried["called"], tried["answer"]) == ("", "")

        broken = {"text": program(SCRIPT, "broken")}
        (tried,) = (await call("POST", "/tools/try", broken)).body["sources"]
        assert not tried["ok"]
        assert KEY not in tried["problem"]
        missing = '{"mcpServers": {\n  "a": {"command": "no-such-program"}}}'
        found = mistakes(await call("POST", "/tools", {"text": missing}))
        assert found == [
            (
                2,
                8,
                "the program no-such-program is not installed, or not on the PATH of this server",
            )
        ]


async def test_the_command_adds_them_to_a_server_that_runs(tmp_path: Path) -> None:
    """In all its processes, and while its devices talk."""
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(LLMServer())
        section = {"name": "openai", "api_key": "k", "base_url": model.base_url, "model": "small"}
        yaml = f"{LIGHT_YAML}agent: {json.dumps(section)}\n"
        server = await stack.enter_async_context(site(tmp_path, yaml, workers=2))
        devices = [
            await stack.enter_async_context(
                SimulatedDevice(
                    DeviceConfig(
                        ota_url=server.ota, mode="manual", device_id=f"02:00:00:00:01:0{number}"
                    )
                )
            )
            for number in range(4)
        ]

        async def vixio(*args: str, stdin: str = "") -> tuple[int, str]:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "vixio", "tools", *args, "--config", str(server.config)),
                cwd=tmp_path,
                env=light_environment(),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            out, _ = await asyncio.wait_for(process.communicate(stdin.encode()), BOUND)
            return process.returncode or 0, out.decode()

        async def offered_to(device: SimulatedDevice) -> bool:
            model.script(text("Well."))
            await device.type_text("what is on my list")
            return TOOL in offered(model)

        assert [await offered_to(each) for each in devices] == [False] * 4
        status, said = await vixio("add", "-", stdin=program().replace('"args"', '"arg"'))
        assert status == 2
        assert 'vixio: 5:7: there is no "arg": did you mean "args"?' in said
        assert said.endswith("^\n")
        file = tmp_path / "servers.json"
        file.write_text(program())
        status, said = await vixio("add", str(file))
        assert status == 0, said
        assert f"called {TOOL}: nothing" in said
        assert KEY not in said
        async with asyncio.timeout(BOUND):
            while not all([await offered_to(each) for each in devices]):
                pass
        status, said = await vixio("list")
        assert "shop" in said
        assert (await vixio("remove", "shop"))[0] == 0
        async with asyncio.timeout(BOUND):
            while any([await offered_to(each) for each in devices]):
                pass
        status, said = await vixio("add", "https://127.0.0.1:9/mcp")
        assert status == 2
        assert "nothing answers at 127.0.0.1:9" in said
