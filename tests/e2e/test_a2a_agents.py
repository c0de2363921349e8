"""A remote A2A agent in a spoken conversation: its words are heard as they come."""

from __future__ import annotations

import asyncio

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import serving, settings
from tests.support.a2a_agent import RemoteAgent, Spoken, Work
from tests.support.llm_server import Call, LLMServer, calls, text
from tests.support.waiting import until
from vixio.testing import ScriptedTTS
from vixio.tools.a2a.source import A2aSource

BOUND = 60.0


class Weatherman:
    """Streams a forecast whose second half waits for the test; books; takes long."""

    def __init__(self, spoken: Spoken) -> None:
        self.agent = RemoteAgent(spoken)
        self.go = asyncio.Event()
        self.agent.on("forecast", self._forecast)
        self.agent.on("book", self._book)
        self.agent.on("long", self._long)
        self.agent.on("*", self._booked)

    async def _forecast(self, work: Work) -> None:
        await work.artifact("It will ", "rain in ", "the morning. ")
        await asyncio.wait_for(self.go.wait(), BOUND)
        await work.artifact("The evening ", "is dry.", append=True)
        await work.updater.complete()

    async def _book(self, work: Work) -> None:
        await work.updater.requires_input(work.say("For which day?"))

    async def _booked(self, work: Work) -> None:
        await work.artifact(f"Booked for {work.text}.")
        await work.updater.complete()

    async def _long(self, work: Work) -> None:
        await asyncio.wait_for(self.go.wait(), BOUND)
        await self._booked(work)


def asking(message: str) -> Call:
    return Call(f"call_{message}", "forecast", f'{{"message": "{message}"}}')


@pytest.mark.parametrize("spoken", ["1.0", "0.3"])
async def test_a_streamed_answer_is_heard_while_it_comes_and_a_question_is_answered(
    spoken: Spoken,
) -> None:
    remote = Weatherman(spoken)
    agent = remote.agent
    agent.take_port()
    async with LLMServer() as llm:
        llm.script(
            calls(asking("forecast")),
            text("Anything else?"),
            calls(asking("book")),
            text(""),
            calls(asking("Monday")),
            text(""),
        )
        config = settings(
            agent={"name": "openai", "model": "m", "base_url": llm.base_url},
            tools={"a2a": [{"url": agent.url, "name": "weather", "allow_private": True}]},
        )
        voice = ScriptedTTS(seconds_per_char=0.01)
        async with (
            serving(config, asr=WaveformASR({}), tts=voice) as server,
            agent.serving(),  # it comes when the server runs already
        ):
            source = next(each for each in server.app.tools.sources if isinstance(each, A2aSource))
            await until(source.tools, what="the agent's card", seconds=BOUND)
            async with SimulatedDevice(server.device()) as device:
                turn = asyncio.create_task(device.type_text("will it rain?"))
                # The first sentence is spoken while the agent still works on the second.
                await until(lambda: voice.spoken, what="the first sentence", seconds=BOUND)
                assert not turn.done()
                assert voice.spoken == ["It will rain in the morning."]
                remote.go.set()
                said = (await turn).text
                assert said == ("It will rain in the morning. The evening is dry. Anything else?")
                assert (await device.type_text("a table, please")).text == "For which day?"
                assert (await device.type_text("on Monday")).text == "Booked for Monday."
                assert_nothing_wrong(device)
    first, second, third = agent.seen
    assert first.context_id == second.context_id == third.context_id
    assert second.task_id == third.task_id
    told = [str(request["messages"][-1]["content"]) for request in llm.requests[1::2]]
    assert told[0].startswith("[already spoken to the user] It will rain in the morning.")
    assert "call this tool again with their answer" in told[1]


async def test_an_answer_that_takes_long_is_heard_later() -> None:
    remote = Weatherman("1.0")
    agent = remote.agent
    agent.take_port()
    async with LLMServer() as llm:
        llm.script(calls(asking("long")), text("I will tell you."))
        config = settings(
            agent={"name": "openai", "model": "m", "base_url": llm.base_url},
            tools={"a2a": [{"url": agent.url, "allow_private": True, "later": 0.2}]},
        )
        voice = ScriptedTTS(seconds_per_char=0.01)
        async with (
            serving(config, asr=WaveformASR({}), tts=voice) as server,
            agent.serving(),  # it comes when the server runs already
        ):
            source = next(each for each in server.app.tools.sources if isinstance(each, A2aSource))
            await until(source.tools, what="the agent's card", seconds=BOUND)
            async with SimulatedDevice(server.device()) as device:
                assert (await device.type_text("a long one")).text == "I will tell you."
                remote.go.set()
                assert (await device.wait_for_reply(timeout=BOUND)).text == "Booked for long."
                assert_nothing_wrong(device)
