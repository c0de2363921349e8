"""Typed conversations of a server: without a device, and beside devices."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.harness import serving, settings
from tests.support.llm_server import Call, LLMServer, Stall, calls, text
from tests.support.waiting import until
from vixio.core.device import DeviceProfile, ToolAccess
from vixio.core.errors import ConnectionClosed, ProviderError, ProviderUnavailable, VixioError
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.session.events import TurnEnded
from vixio.server import Providers, Server
from vixio.testing import ScriptedAgentBackend, ScriptedTTS
from vixio.testing.providers import ToolUse

LIMIT = 50.0


async def test_it_needs_no_port_and_no_device(tmp_path: Path) -> None:
    config = settings(memory={"store": "database"}, data={"folder": str(tmp_path), "database": ""})
    async with asyncio.timeout(LIMIT), Server(config) as server:
        async with await server.conversation("Kitchen-Test") as conversation:
            reply = await conversation.ask("what time is it")
            assert reply.text.startswith("It is ")
            assert [tool.name for tool in reply.tools] == ["get_time"]
        assert server.http is None
        assert server.counters.get("turn.outcome.answered") == 1
    async with asyncio.timeout(LIMIT), Server(config) as server:
        conversation = await server.conversation("kitchen-test")
        await conversation.ask("hello")
        earlier = UserMessage("what time is it")
        # A turn waits for it for a limited time: on a busy machine it may come later.
        await until(
            lambda: conversation.history.items()[0] == earlier, what="what was said earlier"
        )


async def test_a_language_model_with_tools_answers_in_pieces() -> None:
    async with LLMServer() as model:
        agent = {"name": "openai", "base_url": model.base_url}
        stall = Stall()
        async with asyncio.timeout(LIMIT), Server(settings(agent=agent)) as server:
            conversation = await server.conversation("kitchen-test")
            model.script(calls(Call("1", "get_date", "{}")), text("It is ", stall, "Sunday."))
            pieces = conversation.stream("what day is it")
            seen = [type(await anext(pieces)).__name__ for _ in range(3)]
            assert seen == ["ToolCalled", "ToolReturned", "TextDelta"]
            stall.go.set()
            assert [getattr(piece, "text", "") async for piece in pieces] == ["Sunday."]
            model.script(text("You are welcome."))
            reply = await conversation.ask("thanks")
            assert (reply.text, reply.input_tokens) == ("You are welcome.", 3)
        messages = model.requests[-1]["messages"]
        said = [each["content"] for each in messages if each["role"] in ("user", "assistant")]
        assert [words for words in said if words] == ["what day is it", "It is Sunday.", "thanks"]


async def test_the_profile_chooses_the_tools() -> None:
    backend = ScriptedAgentBackend(lambda words: ["Okay."])
    providers = Providers(agent=backend)
    profile = DeviceProfile(language="zh", tools=ToolAccess(allow=("get_time",)))
    async with asyncio.timeout(LIMIT), Server(settings(), providers) as server:
        conversation = await server.conversation("a", profile)
        await conversation.ask("hello")
    (agent,) = backend.agents
    assert [tool.name for tool in agent.tools] == ["get_time"]
    assert agent.closed, "with the server"
    assert agent.requests[0].language == "zh"


async def test_conversations_run_side_by_side_and_a_key_is_used_once() -> None:
    backend = ScriptedAgentBackend(lambda words: [0.05, f"{words}!"])
    async with asyncio.timeout(LIMIT), Server(settings(), Providers(agent=backend)) as server:
        first, second = await asyncio.gather(server.conversation("a"), server.conversation("b"))
        both = await asyncio.gather(first.ask("one"), second.ask("two"))
        assert [reply.text for reply in both] == ["one!", "two!"]
        with pytest.raises(VixioError, match="open already"):
            await server.conversation("A")
        await first.close()
        async with await server.conversation("a") as again:
            assert len(again.history) == 1
    assert all(agent.closed for agent in backend.agents)


async def test_an_agent_that_does_not_start_is_an_error_and_the_key_stays_free() -> None:
    class Broken(ScriptedAgentBackend):
        async def start(self) -> None:
            raise ProviderUnavailable("scripted", "no licence")

    async with asyncio.timeout(LIMIT), Server(settings(), Providers(agent=Broken())) as server:
        for _ in range(2):
            with pytest.raises(ProviderError, match="no licence"):
                await server.conversation("a")


async def test_beside_devices() -> None:
    backend = ScriptedAgentBackend(lambda words: [ToolUse("get_time", {}), "Noon."])
    async with asyncio.timeout(LIMIT), serving(agent=backend) as running:
        ended: list[TurnEnded] = running.ended_turns()
        async with await running.app.conversation("kitchen-test") as conversation:
            assert (await conversation.ask("what time is it")).text == "Noon."
        assert [(turn.device_id, turn.timeline.outcome) for turn in ended] == [
            ("kitchen-test", "answered")
        ]


async def test_a_device_that_connects_closes_the_conversation_of_its_key() -> None:
    backend = ScriptedAgentBackend(
        lambda words: ["Wait ", LIMIT, "never"] if words == "slow" else [f"{words}!"]
    )
    async with asyncio.timeout(LIMIT), serving(agent=backend, tts=ScriptedTTS()) as running:
        config = running.device()
        conversation = await running.app.conversation(config.device_id)
        slow = conversation.stream("slow")
        assert getattr(await anext(slow), "text", "") == "Wait "
        async with SimulatedDevice(config) as device:
            with pytest.raises(ConnectionClosed, match="has connected"):
                await anext(slow)
            assert (await device.type_text("hello")).text == "hello!"
            with pytest.raises(ConnectionClosed, match="has connected"):
                await conversation.ask("and now")
            with pytest.raises(VixioError, match="is connected"):
                await running.app.conversation(config.device_id)
        await until(lambda: running.session(config.device_id) is None)
        async with await running.app.conversation(config.device_id) as again:
            assert again.history.items() == [
                UserMessage("slow"),
                AssistantMessage("Wait "),
                UserMessage("hello"),
                AssistantMessage("hello!"),
            ]


async def test_a_device_that_connects_while_its_conversation_is_opened_goes_first() -> None:
    loading = asyncio.Event()

    class Slow(ScriptedAgentBackend):
        async def start(self) -> None:
            await loading.wait()

    async with (
        asyncio.timeout(LIMIT),
        serving(agent=Slow(), tts=ScriptedTTS(), loaded=False) as running,
    ):
        config = running.device()
        opening = asyncio.create_task(running.app.conversation(config.device_id))
        async with SimulatedDevice(config):
            await until(lambda: running.session(config.device_id))
            loading.set()
            with pytest.raises(VixioError, match="is connected"):
                await opening
