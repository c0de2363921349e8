"""Devices in conversation whose recogniser, model and voice are several servers each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from urllib.request import urlopen

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.llm_server import LLMServer, text
from tests.support.speech_server import Fault, SpeechServer
from tests.support.waiting import until
from vixio.settings import Settings

SAID = "is it raining"
DEVICES = 3


def _config(speech: list[SpeechServer], models: list[LLMServer]) -> Settings:
    audio = {"name": "openai", "base_url": [each.base_url for each in speech], "api_key": "k"}
    agent = {**audio, "base_url": [each.base_url for each in models]}
    return settings(asr=audio, tts=audio, agent=agent)


@asynccontextmanager
async def _servers(count: int) -> AsyncIterator[tuple[list[SpeechServer], list[LLMServer]]]:
    async with AsyncExitStack() as stack:
        speech = [await stack.enter_async_context(SpeechServer()) for _ in range(count)]
        models = [await stack.enter_async_context(LLMServer()) for _ in range(count)]
        for each in speech:
            each.always = "Is it raining?"
        for model in models:
            model.script(*(text("No, ", "the sun shines. ", "Take a hat.") for _ in range(50)))
        yield speech, models


def _page(server: RunningServer, path: str) -> str:
    with urlopen(f"{server.http_url}{path}", timeout=30) as page:  # noqa: S310 - the test's own
        return str(page.read(), "utf-8")


async def _converse(device: SimulatedDevice, turns: int) -> None:
    for _ in range(turns):
        reply = await device.ask(SAID)
        assert reply.stt == "Is it raining?"
        assert " ".join(reply.text.split()) == "No, the sun shines. Take a hat."
        assert_played_well(reply)


@dataclass
class House:
    """A server, its devices, and the servers that it uses."""

    server: RunningServer
    devices: list[SimulatedDevice]
    speech: list[SpeechServer]
    models: list[LLMServer]

    async def converse(self, turns: int = 1) -> None:
        """Have a conversation with all devices at once."""
        await asyncio.gather(*(_converse(device, turns) for device in self.devices))

    def state(self, kind: str, number: int) -> str:
        """Return the state of one server of ``kind``."""
        found = self.server.app.providers.fallbacks()[kind][number]["state"]
        return str(found)


@asynccontextmanager
async def _house(count: int) -> AsyncIterator[House]:
    async with AsyncExitStack() as stack:
        speech, models = await stack.enter_async_context(_servers(count))
        server = await stack.enter_async_context(serving(_config(speech, models)))
        ids = [f"02:00:00:00:01:{number:02x}" for number in range(DEVICES)]
        devices = [
            await stack.enter_async_context(SimulatedDevice(server.device(device_id=each)))
            for each in ids
        ]
        yield House(server, devices, speech, models)


async def test_all_take_part_one_dies_and_comes_back_and_no_turn_is_lost() -> None:
    async with _house(3) as house:
        server, speech, models = house.server, house.speech, house.models
        await house.converse()
        work = [len(each.requests) for each in speech] + [len(each.requests) for each in models]
        assert min(work) > 0, "a server had no part in it"
        conversing = asyncio.create_task(house.converse(2))
        before = len(speech[0].requests)
        await until(lambda: len(speech[0].requests) > before, what="work for the first one")
        await speech[0].__aexit__(None, None, None)  # whatever it was doing
        # Not in the middle of an answer: what was said of it cannot be said again by another.
        await until(lambda: not models[1].answering, what="the end of an answer")
        await models[1].__aexit__(None, None, None)
        await conversing
        await house.converse()
        assert server.count("asr.failed") == server.count("turn.outcome.failed") == 0
        health = json.loads(await asyncio.to_thread(_page, server, "/healthz"))
        voices = [each["state"] == "ready" for each in health["fallbacks"]["tts"]]
        assert voices == [False, True, True]
        assert [each["state"] == "ready" for each in health["models"]] == [True, False, True]
        metrics = await asyncio.to_thread(_page, server, "/metrics")
        host = speech[0].base_url.split("/")[2]
        assert f'server_up{{kind="tts",provider="openai",server="{host}"}} 0.0' in metrics
        # It is found to be back without anybody's turn.
        before = len(speech[0].requests)
        async with speech[0]:
            await until(
                lambda: house.state("tts", 0) in ("half_open", "ready"),
                what="its return",
                seconds=60,
            )
            assert len(speech[0].requests) == before
            await house.converse()
            assert len(speech[0].requests) > before
            assert house.state("tts", 0) == "ready"
        for device in house.devices:
            assert_nothing_wrong(device)


async def test_one_that_hangs_costs_time_and_no_turn() -> None:
    async with _house(2) as house:
        device, first = house.devices[0], house.speech[0]
        await _converse(device, 1)
        # From here on the first one takes requests, and says nothing more.
        first.fail(*(Fault(stall="head") for _ in range(20)))
        before = len(first.requests)
        await _converse(device, 2)  # the first of them is the other one's turn
        assert house.server.count("turn.outcome.failed") == 0
        assert 1 <= len(first.requests) - before <= 2  # for words, for a voice
        assert_nothing_wrong(device)
