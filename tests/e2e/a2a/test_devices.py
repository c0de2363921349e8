"""Devices as agents: to talk to, to speak aloud on, and with tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from firmware_test_client import SimulatedDevice, Tool
from firmware_test_client.mcp.properties import Property
from tests.e2e.a2a.support import VERSIONS
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.stages import knows_tool
from tests.e2e.test_api_reached import night
from tests.e2e.test_mqtt import MQTT
from tests.support.a2a_client import (
    OTHER,
    TOKEN,
    TOKENS,
    JsonObject,
    Rpc,
    RpcError,
    answer_of,
    offered,
    state_of,
    words_of,
)
from tests.support.waiting import until
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ScriptedVAD
from vixio.transports.xiaozhi import standing

LONG = "One, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen. " * 3


@dataclass
class House:
    """A server with one device, and a client of the device as an agent."""

    server: RunningServer
    device: SimulatedDevice
    http: aiohttp.ClientSession
    lamp: list[int] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.server.http_url}/a2a/devices/{self.device.config.device_id}"

    def client(self, version: str = "1.0", token: str = TOKEN, url: str = "") -> Rpc:
        return Rpc(self.http, url or self.url, version, token)

    async def card(self, url: str = "", token: str = TOKEN) -> tuple[int, JsonObject]:
        headers = {"Authorization": f"Bearer {token}"}
        path = f"{url or self.url}/.well-known/agent-card.json"
        async with self.http.get(path, headers=headers) as answer:
            return answer.status, await answer.json()


@asynccontextmanager
async def house(*, speak_request: bool = True, **sections: Any) -> AsyncIterator[House]:  # noqa: ANN401 - as in a file
    """Run a server with a connected device that has a lamp.

    ``speak_request``: whether it can be made to speak while it is idle.
    """
    devices = {"skills": ["talk", "speak", "self.lamp.*"], **sections.pop("devices", {})}
    config = settings(a2a={"tokens": TOKENS, "devices": devices}, **sections)
    agent = ScriptedAgentBackend(lambda text: (f"You said: {text}.",))
    async with (
        serving(
            config, vad=ScriptedVAD(), asr=ScriptedASR(), agent=agent, tts=ScriptedTTS()
        ) as server,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http,
    ):
        assert server.app.a2a is not None
        await server.app.a2a.loaded()
        device = SimulatedDevice(server.device(speak_request=speak_request))
        made = House(server, device, http)

        def dim(level: int) -> str:
            made.lamp.append(level)
            return f"The lamp is at {level}."

        level = Property("level", "integer", minimum=0, maximum=100)
        device.add_tool(Tool("self.lamp.dim", "Dim the lamp.", (level,), dim), notify=False)
        async with device:
            await knows_tool(server, device, "self.lamp.dim")
            yield made


async def test_its_card() -> None:
    async with house() as home:
        status, card = await home.card()
        assert status == 200
        assert card["url"] == home.url
        skills = {each["id"]: each["description"] for each in card["skills"]}
        assert set(skills) == {"talk", "speak", "self.lamp.dim"}
        assert "Dim the lamp." in skills["self.lamp.dim"]
        assert '"maximum": 100' in skills["self.lamp.dim"]
        assert "extensions" not in card["capabilities"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_talking_to_its_assistant(version: str) -> None:
    async with house() as home:
        task = await home.client(version).send("turn on the lamp")
        assert state_of(task) == "COMPLETED"
        assert answer_of(task) == "You said: turn on the lamp."
        await home.device.wait_for(
            lambda: home.device.replies and home.device.replies[-1].ended, what="the reply"
        )
        assert home.device.replies[-1].text == "You said: turn on the lamp."
        assert home.device.heard


@pytest.mark.parametrize("version", VERSIONS)
async def test_speaking_aloud(version: str) -> None:
    async with house() as home:
        part = {"data": {"skill": "speak", "text": "Dinner is ready."}}
        task = await home.client(version).send(part)
        assert (state_of(task), answer_of(task)) == ("COMPLETED", "Dinner is ready.")
        await home.device.wait_for(
            lambda: home.device.replies and home.device.replies[-1].ended, what="the speech"
        )
        assert home.device.replies[-1].text == "Dinner is ready."


async def test_its_tools() -> None:
    async with house() as home:
        client = home.client()
        part = {"data": {"skill": "self.lamp.dim", "arguments": {"level": 30.0}}}
        task = await client.send(part)
        assert (state_of(task), answer_of(task)) == ("COMPLETED", "The lamp is at 30.")
        assert home.lamp == [30]
        for data, words in (
            ({"skill": "self.lamp.dim", "arguments": {"level": 300}}, "The tool failed"),
            ({"skill": "self.lamp.dim", "arguments": 5}, "must be an object"),
            ({"skill": "self.lamp.none"}, "no such tool"),
            ({"skill": "self.audio_speaker.set_volume"}, "does not offer"),
            ({"skill": "speak", "text": ""}, "nothing to say"),
            ({"skill": "speak", "text": "x" * 20_000}, "characters"),
        ):
            task = await client.send({"data": data})
            assert state_of(task) == "FAILED", data
            assert words in words_of(task), data
        assert home.lamp == [30]


async def test_an_idle_device_that_is_not_made_to_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "ROUSE_S", 0.3)
    hours, ends = night()
    quiet = {"time_zone": "UTC", "quiet_hours": hours}
    for assistant, state, words in (
        (quiet, "FAILED", f"Quiet hours until {ends}; nothing was said."),
        ({}, "COMPLETED", "Shown on its screen: it cannot be made to speak while it is idle."),
    ):
        async with house(speak_request=False, mqtt=MQTT, assistant=assistant) as home:
            await home.device.disconnect()
            session = home.server.session(home.device.config.device_id)
            assert session is not None
            await until(lambda its=session.connection: not its.awake, what="idle")  # type: ignore[misc]
            task = await home.client().send({"data": {"skill": "speak", "text": "Dinner."}})
            assert state_of(task) == state
            assert words in (words_of(task) if state == "FAILED" else answer_of(task))


async def test_what_is_not_allowed() -> None:
    async with house(devices={"deny": ["02:*"]}) as home:
        assert home.device.config.device_id.lower().startswith("02:")
        assert (await home.card())[0] == 404
        with pytest.raises(RpcError, match="not connected"):
            await home.client().send("Hello")
    async with house(devices={"skills": ["speak"], "deny_skills": ["self.*"]}) as home:
        _, card = await home.card()
        assert [each["id"] for each in card["skills"]] == ["speak"]
        task = await home.client().send("Hello")
        assert (state_of(task), words_of(task)) == (
            "FAILED",
            "This device does not offer that skill.",
        )
        with pytest.raises(RpcError, match="takes no tools"):
            await home.client().send("Hello", offered())


async def test_a_tool_that_needs_a_yes_is_not_offered() -> None:
    async with house(tools={"confirm": ["self.lamp.dim"]}) as home:
        _, card = await home.card()
        assert {each["id"] for each in card["skills"]} == {"talk", "speak"}
        task = await home.client().send(
            {"data": {"skill": "self.lamp.dim", "arguments": {"level": 1}}}
        )
        assert state_of(task) == "FAILED"
        assert home.lamp == []


async def test_an_absent_device_answers_so_at_once() -> None:
    async with house() as home:
        absent = f"{home.server.http_url}/a2a/devices/02:ff:ff:ff:ff:ff"
        assert (await home.card(absent))[0] == 404
        for part in ("Hello", {"data": {"skill": "self.lamp.dim", "arguments": {"level": 1}}}):
            task = await home.client(url=absent).send(part)
            assert (state_of(task), words_of(task)) == ("FAILED", "The device is not connected.")
        assert home.server.count("a2a.devices.absent") == 2


async def test_cancelling_what_is_spoken() -> None:
    async with house() as home:
        client = home.client()
        part = {"data": {"skill": "speak", "text": LONG}}
        stream = client.stream(part)
        event = await anext(stream)
        await until(lambda: home.device.heard, what="speech")
        assert state_of(await client.cancel(event["task"]["id"])) == "CANCELED"
        await home.device.wait_for(
            lambda: home.device.replies and home.device.replies[-1].ended, what="its end"
        )
        assert len(home.device.replies[-1].text) < len(LONG.strip())


async def test_its_tasks_are_its_own() -> None:
    """The same caller's, with another agent; and another caller's, with the same."""
    async with house() as home:
        task = await home.client().send("Hello")
        assistant = Rpc(home.http, f"{home.server.http_url}/a2a")
        with pytest.raises(RpcError):
            await assistant.get(task["id"])
        with pytest.raises(RpcError):
            await home.client(token=OTHER).get(task["id"])
        assert state_of(await home.client("0.3").get(task["id"])) == "COMPLETED"


async def test_any_spelling_of_its_id() -> None:
    async with house() as home:
        spelled = home.device.config.device_id.upper().replace(":", "-")
        url = f"{home.server.http_url}/a2a/devices/{spelled}"
        task = await home.client(url=url).send("Hello")
        assert state_of(task) == "COMPLETED"
        assert answer_of(await home.client().get(task["id"]))


async def test_a_device_that_leaves_in_mid_speech() -> None:
    async with house() as home:
        speaking = asyncio.create_task(
            home.client().send({"data": {"skill": "speak", "text": LONG}})
        )
        await until(lambda: home.device.heard, what="speech")
        await home.device.close()
        assert state_of(await speaking) in {"FAILED", "COMPLETED"}
