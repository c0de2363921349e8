"""A server with a list of models that fail for real: what is heard, shown and counted."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.request import urlopen

from firmware_test_client import SimulatedDevice
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import serving, settings
from tests.support import responses_api
from tests.support.llm_server import LLMServer, Stall, failure, text
from tests.support.waiting import until
from vixio.settings import Settings
from vixio.testing import ScriptedTTS

ID = "02:00:00:00:00:0c"


def _config(
    *servers: LLMServer, devices: dict[str, Any] | None = None, **assistant: object
) -> Settings:
    apis = ("chat_completions", "responses")
    models = [
        {"name": "openai", "model": f"m{number}", "base_url": server.base_url, "api": api}
        for number, (server, api) in enumerate(zip(servers, apis, strict=False))
    ]
    return settings(
        agent={"name": "fallback", "models": models, "pause": 100},
        assistant=dict(assistant),
        devices=devices or {},
    )


def _health(url: str) -> dict[str, object]:
    with urlopen(f"{url}/healthz", timeout=30) as page:  # noqa: S310 - the test's own server
        found: dict[str, object] = json.load(page)
    return found


async def test_the_second_model_answers_and_is_on_record() -> None:
    async with LLMServer() as first, LLMServer() as second:
        first.script(failure(401, "no"))
        second.script(responses_api.text("It is ", "noon."), responses_api.text("Still."))
        config = _config(
            first,
            second,
            time_zone="Asia/Tokyo",
            devices={ID.upper(): {"name": "Radio", "place": "the attic", "user": "Ann"}},
        )
        voice = ScriptedTTS(seconds_per_char=0.002)
        async with serving(config, asr=WaveformASR({}), tts=voice) as server:
            ended = server.ended_turns()
            async with SimulatedDevice(server.device(device_id=ID)) as device:
                await device.type_text("what time is it")
                await device.type_text("and now")
                await until(lambda: len(ended) == 2, what="both turns")
                uses = [use for turn in ended for use in turn.timeline.models]
            assert [(use.model, use.passed_over) for use in uses] == [
                ("openai/m1", ("openai/m0",)),
                ("openai/m1", ("openai/m0",)),
            ]
            page = await asyncio.to_thread(_health, server.http_url)
            assert server.count("model.tokens.input") == 26
        assert voice.spoken == ["It is noon.", "Still."]
        assert len(first.requests) == 1
    states = page["models"]
    assert isinstance(states, list)
    assert [(each["model"], each["state"]) for each in states] == [
        ("openai/m0", "open"),
        ("openai/m1", "ready"),
    ]
    assert states[0]["reason"] == "no_key"
    counters = page["counters"]
    assert isinstance(counters, dict)
    assert counters["model.answers.openai/m1"] == 2
    told = second.requests[0]["instructions"]
    assert "called Radio." in told
    assert "place: the attic." in told
    assert "name is Ann." in told
    assert "(Asia/Tokyo)" in told


async def test_when_all_fail_it_is_said_and_shown() -> None:
    async with LLMServer() as first, LLMServer() as second:
        first.script(failure(402, "pay"))
        second.script(failure(400, "no"))
        voice = ScriptedTTS(seconds_per_char=0.002)
        config = _config(first, second, language="zh")
        async with (
            serving(config, asr=WaveformASR({}), tts=voice) as server,
            SimulatedDevice(server.device(device_id=ID)) as device,
        ):
            await device.type_text("你好")
            alerts = device.alerts
        assert "".join(voice.spoken) == "抱歉，语言模型的额度用完了。"
        assert [(each["status"], each["message"]) for each in alerts] == [("错误", "额度已用完")]


async def test_models_that_hang_are_answered_for_in_time() -> None:
    async with LLMServer() as first, LLMServer() as second:
        stalls = Stall(), Stall()
        first.script(text(stalls[0]))
        second.script(responses_api.text(stalls[1]))
        voice = ScriptedTTS(seconds_per_char=0.002)
        models = [
            {"name": "openai", "base_url": first.base_url},
            {"name": "openai", "base_url": second.base_url, "api": "responses"},
        ]
        agent = {"name": "fallback", "models": models}
        # Each model has its share, in which the first use of the second one's SDK must fit too.
        config = settings(agent=agent, timeouts={"agent_first": 6.0})
        loop = asyncio.get_running_loop()
        async with (
            serving(config, asr=WaveformASR({}), tts=voice) as server,
            SimulatedDevice(server.device(device_id=ID)) as device,
        ):
            began = loop.time()
            await device.type_text("hello")
            took = loop.time() - began
            alerts = device.alerts
        assert all(stall.reached.is_set() for stall in stalls)
        assert took > 4.0
        assert " ".join(voice.spoken) == "Sorry, that took too long. Please try again."
        assert [each["message"] for each in alerts] == ["Took too long"]
