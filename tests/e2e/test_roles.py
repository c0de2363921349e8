"""A device takes another role by voice: another voice greets, and the conversation goes on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from firmware_test_client import Reply, SimulatedDevice
from tests.e2e.api_client import api_server
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR, loudest_hertz
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.llm_server import Answer, Call, LLMServer, calls, text
from tests.support.tone_voice import ToneVoice, tones
from tests.support.waiting import until
from vixio.data.devices.repository import DeviceRepository
from vixio.settings import Settings
from vixio.web.api.scopes import Scope

ANN = "02:00:00:00:00:0a"

CHILD = {
    "instructions": "You are Nelly.",
    "roles": {"storyteller": "the storyteller, 讲故事的人", "pirate": "Captain Hook"},
}
STORYTELLER = {"instructions": "You tell stories.", "tts": {"name": "tone", "hertz": 880}}
PIRATE = {"instructions": "You are a pirate.", "wake_reply": "Ahoy!", "tools": {"deny": ["echo"]}}
ADULT = {"instructions": "Anything."}


@pytest.fixture
def voices(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ToneVoice]]:
    with tones(monkeypatch) as made:
        yield made


@pytest.fixture
async def model() -> AsyncIterator[LLMServer]:
    async with LLMServer() as server:
        yield server


def told_by(model: LLMServer, folder: Path | None = None) -> Settings:
    own: dict[str, Any] = {"data": {"database": "", "folder": str(folder)}} if folder else {}
    return settings(
        agent={"name": "openai", "api_key": "k", "base_url": model.base_url, "model": "m"},
        tts={"name": "tone", "hertz": 440},
        **own,
    )


async def _put(name: str, content: dict[str, Any], desk: DeviceRepository) -> None:
    await desk.profiles.put(name, content, "test")


async def profiles(server: RunningServer) -> None:
    """Write the profiles, and give the device its own."""
    change = server.app.registry.with_repository
    await change(lambda desk: desk.add(ANN, "test"))
    contents: dict[str, dict[str, Any]] = {
        "child": CHILD,
        "storyteller": STORYTELLER,
        "pirate": PIRATE,
        "adult": ADULT,
    }
    for name, content in contents.items():
        await change(partial(_put, name, content))
    await change(lambda desk: desk.assign(ANN, "child", "test"))


def asks_for(role: str) -> Answer:
    return calls(Call("c1", "take_role", json.dumps({"role": role})))


def assert_spoken_at(hertz: int, reply: Reply) -> None:
    assert_played_well(reply)
    assert abs(loudest_hertz(reply.heard.samples, reply.heard.rate) - hertz) < 10


def instructions(model: LLMServer) -> str:
    return str(model.requests[-1]["messages"][0]["content"])


def offered(model: LLMServer) -> dict[str, Any]:
    return {
        tool["function"]["name"]: tool["function"] for tool in model.requests[-1].get("tools", ())
    }


def role_of(server: RunningServer) -> str:
    session = server.session(ANN)
    assert session is not None
    return session.profile.role


async def test_another_voice_greets_goes_on_and_comes_back(
    voices: list[ToneVoice], model: LLMServer
) -> None:
    async with serving(told_by(model), asr=WaveformASR({})) as server:
        await profiles(server)
        async with SimulatedDevice(server.device(device_id=ANN)) as device:
            model.script(
                text("I am Nelly."), asks_for("story teller"), text("Goodbye."), text("Once upon.")
            )
            assert_spoken_at(440, await device.type_text("who are you"))
            assert instructions(model) == "You are Nelly."
            tool = offered(model)["take_role"]
            assert "storyteller" in tool["description"]
            assert "adult" not in json.dumps(tool)
            assert "leave_role" not in offered(model)

            goodbye = await device.type_text("switch to the storyteller")
            assert goodbye.text == "Goodbye."
            assert_spoken_at(440, goodbye)
            greeting = await device.wait_for_reply()
            assert greeting.text == "Hello, the storyteller here."
            assert_spoken_at(880, greeting)

            assert_spoken_at(880, await device.type_text("tell me a story"))
            assert instructions(model) == "You tell stories."
            said = [each["content"] for each in model.requests[-1]["messages"] if each["content"]]
            assert "who are you" in said, "the conversation goes on"
            assert "leave_role" in offered(model)

            model.script(calls(Call("c2", "leave_role", "{}")), text("Bye."), text("Nelly."))
            assert_spoken_at(880, await device.type_text("be yourself again"))
            back = await device.wait_for_reply()
            assert back.text == "I am back."
            assert_spoken_at(440, back)
            assert_spoken_at(440, await device.type_text("who are you"))
            assert instructions(model) == "You are Nelly."
            assert_nothing_wrong(device)


async def test_what_is_not_named_is_refused_in_words(
    voices: list[ToneVoice], model: LLMServer
) -> None:
    async with serving(told_by(model), asr=WaveformASR({})) as server:
        await profiles(server)
        async with SimulatedDevice(server.device(device_id=ANN)) as device:
            model.script(asks_for("adult"), text("I may not."))
            await device.type_text("switch to the adult")
            told = json.loads(model.requests[-1]["messages"][-1]["content"])
            assert told == {
                "taken": "",
                "may_be": ["the storyteller", "Captain Hook"],
                "spoken": "I may not be that. I can be: the storyteller; Captain Hook.",
            }
            model.script(asks_for("Captain Hook"), text("Bye."))
            await device.type_text("be captain hook")
            assert (await device.wait_for_reply()).text == "Ahoy!", "a greeting of its own"
            assert role_of(server) == "pirate"
            model.script(asks_for("adult"), text("I may not."))
            await device.type_text("switch to the adult")
            assert role_of(server) == "pirate"
            await server.app.registry.with_repository(
                lambda desk: desk.profiles.put("child", {"roles": ["storyteller"]}, "test")
            )
            await until(lambda: role_of(server) == "", what="the end of what is no longer allowed")


async def test_the_phrase_book_takes_roles_by_ear_and_by_text() -> None:
    config = settings()
    async with serving(config) as server:
        await profiles_without_tones(server)
        async with SimulatedDevice(server.device(device_id=ANN, mode="manual")) as device:
            reply = await device.press_to_talk("switch to the storyteller")
            assert reply.stt == "switch to the storyteller"
            assert reply.text == "Okay, here comes the storyteller."
            assert (await device.wait_for_reply()).text == "Hello, the storyteller here."
            assert role_of(server) == "storyteller"
            reply = await device.press_to_talk("be yourself again")
            assert reply.text == "Okay, see you."
            assert (await device.wait_for_reply()).text == "I am back."
            assert (await device.type_text("switch to the storry teller")).text.startswith("Okay")
            await device.wait_for_reply()
            assert (await device.type_text("变回你自己吧")).text
            await device.wait_for_reply()
            assert role_of(server) == ""
            reply = await device.type_text("切换成讲故事的人")
            assert reply.text == "Okay, here comes the storyteller."
            await device.wait_for_reply()
            reply = await device.type_text("switch to the landlord")
            assert reply.text == "I may not be that. I can be: the storyteller; Captain Hook."
            assert_nothing_wrong(device)


async def profiles_without_tones(server: RunningServer) -> None:
    await profiles(server)
    await server.app.registry.with_repository(
        lambda desk: desk.profiles.put("storyteller", {"instructions": "Tell stories."}, "test")
    )


async def test_without_roles_nothing_is_offered(voices: list[ToneVoice], model: LLMServer) -> None:
    async with (
        serving(told_by(model), asr=WaveformASR({})) as server,
        SimulatedDevice(server.device(device_id=ANN)) as device,
    ):
        model.script(text("Hello."))
        await device.type_text("hello")
        assert "get_time" in offered(model)
        assert not {"take_role", "leave_role"} & offered(model).keys()


async def test_a_role_stays_over_connections_and_a_restart(
    voices: list[ToneVoice], model: LLMServer, tmp_path: Path
) -> None:
    config = told_by(model, tmp_path)
    async with serving(config, asr=WaveformASR({})) as server:
        await profiles(server)
        async with SimulatedDevice(server.device(device_id=ANN)) as device:
            model.script(asks_for("storyteller"), text("Bye."))
            await device.type_text("switch to the storyteller")
            await device.wait_for_reply()
        async with SimulatedDevice(server.device(device_id=ANN)) as device:
            model.script(text("Once upon."))
            assert_spoken_at(880, await device.type_text("tell me a story"))
    async with serving(config, asr=WaveformASR({})) as server:
        await until(lambda: server.app.registry.known.loaded, what="the registry")
        async with SimulatedDevice(server.device(device_id=ANN)) as device:
            model.script(text("Once upon."))
            assert_spoken_at(880, await device.type_text("tell me a story"))
            assert role_of(server) == "storyteller"
            await server.app.registry.with_repository(lambda desk: desk.assign(ANN, "child", "t"))
            await until(lambda: role_of(server) == "", what="the operator's choice")


async def test_the_api_shows_a_role_and_ends_it(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(device_id=ANN)) as device,
    ):
        call = await api.client(Scope.PROFILES, Scope.DEVICES_READ)
        for name, content in (("child", CHILD), ("storyteller", {"instructions": "Tell."})):
            assert (await call("PUT", f"/profiles/{name}", {"content": content})).status == 200
        await call("PUT", f"/devices/{ANN}/profile", {"profile": "child"})
        await until(lambda: "take_role" in offered_to(api.server), what="the profile")
        assert (await call("GET", f"/devices/{ANN}")).body["role"] is None
        assert (await device.type_text("switch to the storyteller")).text.startswith("Okay")
        assert (await device.wait_for_reply()).text == "Hello, the storyteller here."
        shown = (await call("GET", f"/devices/{ANN}")).body
        assert (shown["profile"], shown["role"]) == ("child", "storyteller")
        assert (await call("DELETE", f"/devices/{ANN}/role")).status == 204
        assert (await call("GET", f"/devices/{ANN}")).body["role"] is None
        assert (await device.wait_for_reply()).text == "I am back."
        other = await api.client(Scope.DEVICES_READ)
        assert (await other("DELETE", f"/devices/{ANN}/role")).status == 403


def offered_to(server: RunningServer) -> set[str]:
    session = server.session(ANN)
    assert session is not None
    return {tool.name for tool in session.context.tools.definitions()}
