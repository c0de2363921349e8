"""Profiles over the HTTP API before they are saved: checked, heard and tried; and their history."""

from __future__ import annotations

import asyncio
import io
import wave
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import Answer, ApiServer, Client, api_server
from tests.e2e.house import House
from tests.support.llm_server import Call, LLMServer, calls, failure, text
from tests.support.registry_databases import postgres_url
from tests.support.tone_voice import ToneVoice, tones
from tests.support.waiting import until
from vixio.composition.text_trials import MAX_TRIALS
from vixio.web.api.drafts import trial_key
from vixio.web.api.scopes import Scope

__all__ = ["postgres_url"]

SECRET = "do_not_show_this"


KEEP_SOMETHING = {
    "remember_fact",
    "recall_facts",
    "forget_fact",
    "forget_everything",
    "set_timer",
    "set_reminder",
    "set_alarm",
    "list_timers",
    "cancel_timer",
    "tell_device",
    "announce",
}
"""Tools that a trial has not."""


def refused(answer: Answer, status: int, words: str = "") -> None:
    """Check that a request was refused, for this reason."""
    assert answer.status == status, answer.body
    assert words in answer.body["detail"]


@pytest.fixture
def voices(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ToneVoice]]:
    with tones(monkeypatch) as made:
        yield made


@pytest.fixture
async def model() -> AsyncIterator[LLMServer]:
    async with LLMServer() as server:
        yield server


def agent(model: LLMServer) -> dict[str, Any]:
    """Return the section of an agent."""
    return {"name": "openai", "api_key": SECRET, "base_url": model.base_url, "model": "small"}


async def test_what_is_typed_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIDDEN_VALUE", SECRET)
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        call = await api.client(Scope.PROFILES)
        mac = device.config.device_id
        stored = {"language": "de", "tts": {"name": "espeak", "voice": "de"}, "place": "Ulm"}
        await call("PUT", "/profiles/child", {"content": stored})
        await call("PUT", f"/devices/{mac}/profile", {"profile": "child"})

        written = {"language": "fr", "tts": {"name": "espeak", "voice": "fr"}, "user": "${ME:Ann}"}
        checked = await call("POST", "/profiles/check", {"name": "child", "content": written})
        assert checked.body == {
            "valid": True,
            "errors": [],
            "devices": [{"id": mac, "name": "", "online": True}],
            "devices_total": 1,
            "changes": [
                {"path": "language", "before": "de", "after": "fr"},
                {"path": "place", "before": "Ulm", "after": None},
                {"path": "tts.voice", "before": "de", "after": "fr"},
                {"path": "user", "before": None, "after": "${ME:Ann}"},
            ],
        }
        assert (await call("GET", "/profiles/child")).body["content"] == stored, "not written"

        wrong = {
            "langage": "de",
            "language": "${HIDDEN_VALUE}",
            "idle_timeout": "${HIDDEN_VALUE}",
            "asr": {"name": "nonesuch"},
            "tts": {"name": "espeak", "speed": "fast"},
            "place": "${NOT_SET_AT_ALL}",
        }
        checked = await call("POST", "/profiles/check", {"name": "new", "content": wrong})
        found = {each["path"]: each["message"] for each in checked.body["errors"]}
        assert not checked.body["valid"]
        assert (checked.body["devices"], checked.body["devices_total"]) == ([], 0)
        assert set(found) == {
            "langage",
            "language",
            "idle_timeout",
            "asr.name",
            "tts.speed",
            "place",
        }
        assert "did you mean 'language'" in found["langage"]
        assert "there is no asr provider 'nonesuch'" in found["asr.name"]
        assert "NOT_SET_AT_ALL is not set" in found["place"]
        assert SECRET not in str(checked.body)
        refusal = await call("PUT", "/profiles/new", {"content": {"language": "${HIDDEN_VALUE}"}})
        refused(refusal, 422, "profile: language: the value of its environment variable")
        assert SECRET not in str(refusal.body)

        for name in ("a/b", "schema"):
            checked = await call("POST", "/profiles/check", {"name": name, "content": {}})
            assert [each["path"] for each in checked.body["errors"]] == [""]
        refused(await call("PUT", "/profiles/schema", {"content": {}}), 409, "not free")
        other = await api.client(Scope.CONTROL)
        refused(await other("POST", "/profiles/check", {"content": {}}), 403, "profiles")


async def test_a_form_has_all_that_can_be_chosen(tmp_path: Path, model: LLMServer) -> None:
    async with api_server(tmp_path, agent=agent(model), assistant={"wake_reply": ["Hm?"]}) as api:
        call = await api.client(Scope.PROFILES)
        form = (await call("GET", "/profiles/schema")).body
        properties = form["schema"]["properties"]
        assert {"language", "instructions", "tts", "asr", "agent", "tools"} <= set(properties)
        assert form["schema"]["additionalProperties"] is False
        assert "espeak" in str(properties["tts"])
        known = {each["name"]: each for each in form["providers"]["tts"]}
        assert known["espeak"]["installed"]
        assert known["espeak"]["lists_voices"]
        assert "voice" in known["espeak"]["options"]["properties"]
        (openai,) = (each for each in form["providers"]["agent"] if each["name"] == "openai")
        assert openai["options"]["properties"]["api_key"]["writeOnly"] is True
        for kind in form["providers"].values():
            for each in kind:
                assert each["installed"] or each["remedy"], each
        defaults = form["defaults"]
        assert defaults["agent"]["model"] == "small"
        assert defaults["agent"]["api_key"] == "***"
        assert (defaults["language"], defaults["wake_reply"]) == ("en", {"*": ["Hm?"]})
        assert {"tag": "de", "name": "German"} in form["languages"]
        assert "device" in {each["name"] for each in form["names"]}
        assert SECRET not in str(form)


async def test_a_profile_returns_as_it_was(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        call = await api.client(Scope.PROFILES, Scope.ADMIN)
        first, second = {"language": "de"}, {"language": "fr", "user": "${ANN:Ann}"}
        for content in (first, second):
            await call("PUT", "/profiles/child", {"content": content})
        assert (await call("DELETE", "/profiles/child")).status == 204
        assert (await call("GET", "/profiles")).body == {"profiles": [], "removed": ["child"]}
        shown = (await call("GET", "/profiles/child/versions")).body["versions"]
        assert [(each["version"], each["removed"], each["content"]) for each in shown] == [
            (3, True, second),
            (2, False, second),
            (1, False, first),
        ]
        assert {each["actor"] for each in shown} == {"api:test"}

        restored = await call("POST", "/profiles/child/restore", {"version": 1})
        assert (restored.status, restored.body["content"]) == (200, first)
        assert (await call("GET", "/profiles/child")).body["content"] == first
        shown = (await call("GET", "/profiles/child/versions")).body["versions"]
        assert (shown[0]["version"], shown[0]["content"]) == (4, first)
        audit = (await call("GET", "/audit")).body
        assert "profile restored" in str(audit)
        refused(await call("POST", "/profiles/child/restore", {"version": 9}), 404, "version 9")
        refused(await call("GET", "/profiles/none/versions"), 404, "none")


def heard(data: bytes) -> tuple[int, int, int, int]:
    """Return rate, channels, bytes a sample, and samples of a WAV file."""
    with wave.open(io.BytesIO(data)) as wav:
        return wav.getframerate(), wav.getnchannels(), wav.getsampwidth(), wav.getnframes()


async def sample(api: ApiServer, call: Client, body: dict[str, Any]) -> tuple[int, str, bytes]:
    """Ask for a sample; return the status, the type, and the bytes."""
    url = f"{api.server.http_url}/api/v1/voices/sample"
    headers = {"Authorization": f"Bearer {call.token}"}
    async with api.http.post(url, json=body, headers=headers) as answer:
        return answer.status, answer.content_type, await answer.read()


async def test_a_voice_is_heard(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        call = await api.client(Scope.PROFILES)
        listed = (await call("GET", "/voices?type=espeak&language=de")).body["voices"]
        assert listed
        assert {each["type"] for each in listed} == {"espeak"}
        assert (await call("GET", "/voices?type=openai")).body == {"voices": []}
        refused(await call("GET", "/voices?type=nonesuch"), 422, "nonesuch")

        voice = {"name": "espeak", **listed[0]["options"]}
        body = {"tts": voice, "language": "de", "text": "Guten Tag."}
        status, kind, data = await sample(api, call, body)
        assert (status, kind) == (200, "audio/wav"), data
        rate, channels, width, samples = heard(data)
        assert (channels, width) == (1, 2)
        assert 0.3 < samples / rate < 5
        longer = await sample(api, call, {"tts": voice, "language": "de"})
        assert heard(longer[2])[3] > samples, "a greeting"

        for wrong, status, words in (
            ({"tts": {"name": "espeak", "speed": "fast"}}, 422, "tts.speed"),
            ({"tts": {"name": "nonesuch"}}, 422, "nonesuch"),
            ({"tts": voice, "text": "…"}, 422, "nothing in the text"),
            ({"tts": voice, "text": "x" * 201}, 422, "text"),
            ({"tts": voice, "language": "klingon!"}, 422, "language"),
        ):
            refused(await call("POST", "/voices/sample", wrong), status, words)


async def test_samples_are_one_at_a_time_and_bounded(
    tmp_path: Path, voices: list[ToneVoice], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with api_server(tmp_path, tts={"name": "tone", "hertz": 440}) as api:
        call = await api.client(Scope.PROFILES)
        slow = {"tts": {"name": "tone", "slow": True, "hertz": 880}, "text": "one"}
        first = asyncio.create_task(sample(api, call, slow))
        await until(lambda: any(each.starts for each in voices if each.hertz == 880), what="start")
        refused(await call("POST", "/voices/sample", slow), 429, "another sample")
        (made,) = (each for each in voices if each.hertz == 880)
        made.loads.set()
        status, _, data = await first
        assert (status, heard(data)[0]) == (200, 24_000)

        monkeypatch.setattr("vixio.composition.voice_samples.SAMPLE_S", 0.1)
        late = {"tts": {"name": "tone", "slow": True, "hertz": 220}, "text": "one"}
        refused(await call("POST", "/voices/sample", late), 504, "try again")
        monkeypatch.setattr("vixio.composition.voice_samples.MAX_BYTES", 1_000)
        monkeypatch.setattr("vixio.composition.voice_samples.SAMPLE_S", 60)
        large = {"tts": {"name": "tone"}, "text": "one"}
        refused(await call("POST", "/voices/sample", large), 409, "shorter text")
        leases = [
            each["sessions"]
            for each in api.server.app.providers.pool.stats()
            if each["provider"] == "tone"
        ]
        assert sorted(leases) == [0, 0, 1], "all but the server's own are given back"


async def test_a_device_tries_a_profile(
    tmp_path: Path, voices: list[ToneVoice], model: LLMServer
) -> None:
    async with (
        api_server(tmp_path, agent=agent(model), tts={"name": "tone", "hertz": 440}) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        mac = device.config.device_id
        one = f"/devices/{mac}/trial"
        call = await api.client(Scope.PROFILES, Scope.CONTROL)
        assert (await call("GET", one)).body == {"device": mac, "content": None}

        async def wake() -> str:
            await device.send_json({"type": "listen", "state": "detect", "text": "Jarvis"})
            return (await device.wait_for_reply()).text

        async def greets(words: str) -> None:
            session = api.server.session(mac)
            assert session is not None
            await until(lambda: session.profile.wake_greeting == words, what=words)

        content = {"wake_reply": "Trying.", "agent": {"model": "large"}, "user": "${NOBODY:Ann}"}
        tried = await call("POST", one, {"content": content})
        assert (tried.status, tried.body) == (200, {"device": mac, "content": content})
        assert (await call("GET", one)).body["content"] == content
        await greets("Trying.")
        assert await wake() == "Trying."
        model.script(text("One."))
        assert (await device.type_text("first")).text == "One."
        assert model.requests[-1]["model"] == "large"

        # What is saved meanwhile does not end the trial, and applies after it.
        await call("PUT", "/profiles/butler", {"content": {"wake_reply": "At your service."}})
        await call("PUT", f"/devices/{mac}/profile", {"profile": "butler"})
        session = api.server.session(mac)
        assert session is not None
        resolved = api.server.app.profiles(session.device)
        assert resolved.wake_greeting == "At your service."
        assert session.next_profile.wake_greeting == "Trying."
        assert await wake() == "Trying."
        assert (await call("DELETE", one)).status == 204
        await greets("At your service.")
        assert await wake() == "At your service."
        assert (await call("GET", one)).body["content"] is None
        assert (await call("DELETE", one)).status == 204

        refused(await call("POST", one, {"content": {"langage": "de"}}), 422, "langage")
        refused(await call("POST", "/devices/02:00:00:00:00:77/trial", {"content": {}}), 404)
        weak = await api.client(Scope.PROFILES)
        refused(await weak("POST", one, {"content": {}}), 403, "control")
        refused(await weak("DELETE", one), 403, "control")


async def test_a_profile_answers_in_writing(tmp_path: Path, model: LLMServer) -> None:
    async with api_server(tmp_path, agent=agent(model)) as api:
        call = await api.client(Scope.PROFILES, Scope.CONVERSATIONS_READ)
        content = {"agent": {"model": "large"}, "instructions": "Speak {language}."}
        opened = await call("POST", "/trials", {"content": content, "language": "de"})
        assert opened.status == 201, opened.body
        one = f"/trials/{opened.body['trial']}"
        model.script(calls(Call("c1", "get_time", "{}")), text("Zehn Uhr."), text("Gern."))
        answer = await call("POST", one, {"text": "Wie spät ist es?"})
        assert (answer.status, answer.body["text"]) == (200, "Zehn Uhr."), answer.body
        (tool,) = answer.body["tools"]
        assert (tool["name"], tool["source"], tool["success"]) == ("get_time", "builtin", True)
        assert len(answer.body["models"]) == 2
        stages = answer.body["stages"]
        assert 0 <= stages["turn_end"] <= stages["first_token"] <= max(stages.values())
        assert max(stages.values()) > 0  # the model was asked twice over HTTP
        assert answer.body["expires_at"] >= opened.body["expires_at"]
        request = model.requests[-1]
        assert request["model"] == "large"
        assert request["messages"][0]["content"].startswith("Speak German.")
        offered = {each["function"]["name"] for each in model.requests[0]["tools"]}
        assert "get_time" in offered
        async with await api.server.app.conversation("kitchen-test") as other:
            usual = {each.name for each in other.tools.definitions()}
        assert usual - offered == KEEP_SOMETHING, "others are offered"
        await call("POST", one, {"text": "Danke."})
        assert "Zehn Uhr." in str(model.requests[-1]["messages"]), "one conversation"
        assert (await call("GET", "/conversations")).body["conversations"] == []

        model.script()
        assert (await call("DELETE", one)).status == 204
        refused(await call("POST", one, {"text": "Noch da?"}), 404, "open another")
        refused(await call("DELETE", one), 404)
        refused(await call("POST", "/trials", {"content": {"langage": "de"}}), 422, "langage")
        for _ in range(MAX_TRIALS):
            assert (await call("POST", "/trials", {"content": {}})).status == 201
        refused(await call("POST", "/trials", {"content": {}}), 429, "too many trials")


async def test_a_trial_that_nobody_asks_ends(
    tmp_path: Path, model: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vixio.composition.text_trials.IDLE_S", 0.05)
    async with api_server(tmp_path, agent=agent(model)) as api:
        call = await api.client(Scope.PROFILES)
        trial = (await call("POST", "/trials", {"content": {}})).body["trial"]
        presence = api.server.app.admission.cluster.presence
        await until(lambda: not presence.where(trial_key(trial)), what="its end")
        refused(await call("POST", f"/trials/{trial}", {"text": "Hello?"}), 404, "has ended")
        assert [
            each["sessions"]
            for each in api.server.app.providers.pool.stats()
            if each["kind"] == "agent"
        ] == [1], "the agent is given back"


async def test_a_failure_of_the_agent_is_said(tmp_path: Path, model: LLMServer) -> None:
    async with api_server(tmp_path, agent={**agent(model), "retries": 0}) as api:
        call = await api.client(Scope.PROFILES)
        opened = await call("POST", "/trials", {"content": {}})
        model.script(failure(400, "no such model"), text("Better."))
        one = f"/trials/{opened.body['trial']}"
        answer = await call("POST", one, {"text": "Hello?"})
        refused(answer, 409, "the assistant could not answer")
        assert SECRET not in str(answer.body)
        assert (await call("POST", one, {"text": "Hello?"})).body["text"] == "Better."


async def test_a_trial_is_reached_through_any_process(house: House) -> None:
    house.write("activation", workers=2)
    url = f"http://127.0.0.1:{house.http_port}"
    connector = aiohttp.TCPConnector(force_close=True)  # each request comes to either process
    async with house.serving(), aiohttp.ClientSession(connector=connector) as http:
        said = await house.command("api-tokens", "create", "--name", "wall", "--scope", "profiles")
        token = next(line for line in said.splitlines() if line.startswith("vixio_"))
        call = Client(http, url, token)
        opened = await call("POST", "/trials", {"content": {"language": "en"}})
        assert opened.status == 201, opened.body
        one = f"/trials/{opened.body['trial']}"
        for _ in range(8):
            answer = await call("POST", one, {"text": "what time is it"})
            assert answer.status == 200, answer.body
            assert answer.body["text"]
        assert (await call("DELETE", one)).status == 204
        for _ in range(4):
            refused(await call("POST", one, {"text": "what time is it"}), 404, "has ended")
