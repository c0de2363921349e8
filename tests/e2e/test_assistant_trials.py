"""Settings of the browser that are used once, or started, before they are saved."""

from __future__ import annotations

import asyncio
import json
import wave
from base64 import b64decode
from io import BytesIO
from pathlib import Path

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.test_assistant_settings import KEY, ODD_KEY, agent, mistakes, site
from tests.support.llm_server import LLMServer, failure, listing, text
from tests.support.servers import free_ports
from vixio_bench.vendors.ready.service import ReadyService, calendar


async def test_services_are_asked_before_anything_is_saved(tmp_path: Path) -> None:
    light = "asr: {name: nothing}\nassistant: {filler_after: 0}\n"
    async with LLMServer() as llm, site(tmp_path, light, OPENAI_API_KEY="") as server:
        llm.models = listing("m", "n")
        body = {"base_url": llm.base_url, "api_key": KEY}
        found = await server("POST", "/models", body)
        assert found.body["models"] == ["m", "n"], found.body
        llm.models = failure(401, f"Incorrect API key provided: {KEY}")
        found = await server("POST", "/models", body)
        assert (found.status, found.body["reason"]) == (422, "no_key")
        llm.models = failure(500, f"out of order, {KEY}")
        found = await server("POST", "/models", body)
        assert found.body["models"] is None, "it answers, and does not say"
        (port,) = free_ports(1)
        nobody = {"base_url": f"http://127.0.0.1:{port}/v1", "api_key": KEY}
        found = await server("POST", "/models", nobody)
        assert (found.status, found.body["reason"]) == (422, "unreachable")
        found = await server("POST", "/models", {"base_url": "nowhere", "api_key": KEY})
        assert found.status == 422
        unknown = {"base_url": llm.base_url, "api_key": "***"}
        assert (await server("POST", "/models", unknown)).body["reason"] == "no_key"

        content = {"agent": agent(llm)}
        llm.script(failure(400, f"your key {ODD_KEY} is odd"))
        odd = {"agent": agent(llm, api_key=ODD_KEY)}
        tried = (await server("POST", "/try", {"part": "agent", "content": odd})).body
        assert not tried["ok"]
        assert "is odd" in tried["detail"], tried
        assert ODD_KEY not in tried["detail"]
        llm.script(text("Good day to you."))
        tried = (await server("POST", "/try", {"part": "agent", "content": content})).body
        assert tried["ok"], tried
        assert "Good day to you." in tried["detail"]
        assert tried["first_ms"] <= tried["ms"]
        voice = {"part": "tts", "content": {"tts": {"name": "espeak"}}}
        one, other = await asyncio.gather(*(server("POST", "/try", voice) for _ in range(2)))
        assert sorted((one.status, other.status)) == [200, 409]
        tried = one.body if one.status == 200 else other.body
        assert tried["ok"], tried
        with wave.open(BytesIO(b64decode(tried["sound"]))) as sound:
            assert sound.getnframes() > sound.getframerate() / 2, "what it has said"
        assert not server.file.exists()

        assert (await server.save(**content)).status == 200
        llm.models = listing("m")
        assert (await server("POST", "/models", unknown)).body["models"] == ["m"]


async def test_a_part_that_does_not_start_is_saved_only_all_the_same(tmp_path: Path) -> None:
    light = "asr: {name: nothing}\nassistant: {filler_after: 0}\n"
    async with LLMServer() as llm, site(tmp_path, light) as server:
        assert (await server.save(agent=agent(llm))).status == 200
        before = (await server("GET")).body
        llm.models = failure(401, f"Incorrect API key provided: {KEY}")
        voice = agent(llm, api_key="***", voice="alloy")
        content = {"agent": agent(llm, api_key="***"), "tts": voice}
        refused = await server.save(**content)
        found = mistakes(refused)
        assert set(found) == {"tts"}, "the model has not changed, and is not started again"
        assert "refuses the api_key (401)" in found["tts"]
        assert refused.body["reason"] == "not_started"
        assert (await server("GET")).body == before
        llm.models = listing("m")
        assert (await server.save(**content)).status == 200, "what has failed is started anew"
        assert (await server("POST", "/undo")).body["content"] == before["content"]

        llm.models = failure(401, "Incorrect API key provided")
        content["tts"]["voice"] = "echo"
        saved = await server("PUT", "", {"content": content, "anyway": True})
        assert saved.status == 200, saved.body
        assert saved.body["in_force"]["tts"]["voice"] == "echo"


LIGHT = "asr: {name: nothing}\nassistant: {filler_after: 0}\n"
PROGRAMS = f"{LIGHT}api: {{programs: true}}\n"
WEATHER = "what is the weather"


async def test_ready_tools_are_tried_saved_and_there_in_a_running_conversation(
    tmp_path: Path,
) -> None:
    async with ReadyService() as service, site(tmp_path, PROGRAMS, workers=2) as server:
        service.calendars[ODD_KEY] = calendar("DTSTART:20260101T100000Z\nSUMMARY:Tea")
        given = service.settings()
        ready = {
            "weather": {"place": "Berlin", **given["weather"]},
            "news": given["news"],
            "dates": {},
            "calendar": {"addresses": [f"{service.http}/calendars/{ODD_KEY}"]},
        }

        async def tried(name: str, **options: object) -> dict[str, object]:
            content = {"tools": {"ready": {**ready, name: {**ready.get(name, {}), **options}}}}
            body = {"part": f"tools.ready.{name}", "content": content}
            answer = await server("POST", "/try", body)
            assert answer.status == 200, answer.body
            found: dict[str, object] = answer.body
            return found

        works = await tried("weather")
        assert works["ok"], works
        assert works["tools"] == ["get_weather"]
        assert set(service.requests) == {"geocode", "forecast"}, "no other is asked"
        assert "no place is called 'Nowhere'" in str(await tried("weather", place="Nowhere"))
        for name in ("news", "calendar", "dates"):
            assert (await tried(name))["ok"], name
        lost = await tried("calendar", addresses=[f"{service.http}/nothing/{ODD_KEY}"])
        assert not lost["ok"]
        assert ODD_KEY not in str(lost)
        odd = {"tools": {"ready": {"search": {"service": "searxng"}}}}
        refused = await server("POST", "/try", {"part": "tools.ready.search", "content": odd})
        assert "base_url" in str(mistakes(refused))

        config = DeviceConfig(ota_url=server.ota, mode="manual")
        async with SimulatedDevice(config) as device:
            assert "Berlin" not in (await device.type_text(WEATHER)).text
            saved = await server.save(tools={"ready": ready})
            assert saved.status == 200, saved.body
            assert (await device.type_text(WEATHER)).text.startswith("Berlin: rain, 12 degrees.")
            assert saved.body["in_force"]["tools"]["ready"]["weather"]["place"] == "Berlin"
            shown = saved.body["content"]["tools"]["ready"]
            assert shown["calendar"] == {"addresses": ["***"]}
            shown["weather"]["units"] = "imperial"
            again = await server.save(tools={"ready": shown})
            assert again.status == 200, again.body
            assert ODD_KEY in server.file.read_text(), "the address is kept"
            assert "Berlin: rain" in (await device.type_text(WEATHER)).text
            assert (await server("POST", "/undo")).status == 200
            assert (await server.save()).status == 200
            assert "Berlin" not in (await device.type_text(WEATHER)).text
            assert (await server("POST", "/undo")).status == 200
            for _ in range(2):  # whichever process answers
                assert (await server.reply(WEATHER)).startswith("Berlin: rain")


async def test_who_is_not_the_operator_reaches_the_internet_alone(tmp_path: Path) -> None:
    async with ReadyService() as service, site(tmp_path, LIGHT) as server:
        ready = {"weather": {"place": "Berlin", **service.settings()["weather"]}}
        content = {"tools": {"ready": ready}}
        found = await server("POST", "/try", {"part": "tools.ready.weather", "content": content})
        assert "not on the public internet" in found.body["detail"], found.body
        assert "api.programs" in found.body["detail"]
        assert (await server.save(**content)).status == 200
        assert "rain" not in await server.reply(WEATHER)
        radio = {"stations": {"Jazz": f"{service.http}/jazz"}}
        body = {"part": "tools.media", "content": {"tools": {"media": radio}}}
        found = await server("POST", "/try", body)
        assert found.body["detail"].startswith("stations: Jazz: "), found.body
        assert not service.requests
        for media in ({"folders": ["/"]}, {"stories": ["/"]}, {"allow_private": True}):
            key = f"tools.media.{next(iter(media))}"
            assert "api.programs" in mistakes(await server.save(tools={"media": media}))[key]
        others = mistakes(await server.save(tools={"modules": ["os:system"]}))
        assert "only ready, media" in others["tools.modules"]


async def test_music_is_tried_and_saved_and_what_the_file_has_wins(tmp_path: Path) -> None:
    music = tmp_path / "music"
    music.mkdir()
    with wave.open(str(music / "Blue Danube.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(bytes(64_000))
    config = f"{PROGRAMS}tools: {{ready: [calculator]}}\n"
    async with site(tmp_path, config) as server:
        assert json.dumps((await server("GET")).body["fixed"]).count("tools.ready") == 1
        media = {"folders": [str(music)], "rescan": 60}
        body = {"part": "tools.media", "content": {"tools": {"media": media}}}
        found = (await server("POST", "/try", body)).body
        assert (found["ok"], found["detail"]) == (True, "1 music"), found
        body["content"] = {"tools": {"media": {"folders": [str(music / "none")]}}}
        found = (await server("POST", "/try", body)).body
        assert found["detail"] == f"{music / 'none'} is no folder that can be read"
        device = DeviceConfig(ota_url=server.ota, mode="manual")
        async with SimulatedDevice(device) as kitchen:
            assert (await server.save(tools={"media": media})).status == 200
            assert "Blue Danube" in (await kitchen.type_text("play blue danube")).text
            assert (await server("POST", "/undo")).status == 200
            assert "Blue Danube" not in (await kitchen.type_text("play blue danube")).text
        refused = await server.save(tools={"ready": {"dates": {}}})
        assert "which wins" in mistakes(refused)["tools.ready"]
