"""Settings of the browser that are used once, or started, before they are saved."""

from __future__ import annotations

import asyncio
import wave
from base64 import b64decode
from io import BytesIO
from pathlib import Path

from tests.e2e.test_assistant_settings import KEY, ODD_KEY, agent, mistakes, site
from tests.support.llm_server import LLMServer, failure, listing, text
from tests.support.servers import free_ports


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
