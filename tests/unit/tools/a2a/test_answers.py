"""What an agent answers: spoken as it comes, in both versions of the protocol."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.a2a_agent import FORECAST, RemoteAgent, Spoken, Work
from tests.unit.tools.a2a.talk import BOUND, sourced, talking
from vixio.core.tools.context import ToolContext
from vixio.core.tools.execute import execute
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.types import ToolCallResult

ALL: tuple[Spoken, ...] = ("1.0", "0.3", "rest")

RAIN = ("It ", "is ", "raining. ", "Take a coat.")


@pytest.fixture(params=ALL)
def agent(request: pytest.FixtureRequest) -> RemoteAgent:
    return RemoteAgent(request.param)


async def rain(work: Work) -> None:
    await work.updater.start_work(work.say("Let me look."))
    await work.artifact(*RAIN)
    await work.updater.complete()


async def test_a_skill_is_a_tool(agent: RemoteAgent) -> None:
    async with talking(agent) as talk:
        (tool,) = talk.source.tools()
        assert tool.name == "forecast"
        assert tool.description.startswith("Forecast: Tells the weather. Examples: Will it rain")
        assert "Asks the agent Weather man." in tool.description
        assert list(tool.parameters["properties"]) == ["message"]
        assert talk.session.toolset.find("forecast") is not None


async def test_words_are_spoken_as_they_come(agent: RemoteAgent) -> None:
    async def slowly(work: Work) -> None:
        await work.artifact(*RAIN[:3])
        await asyncio.wait_for(talk.heard_more.wait(), BOUND)  # heard before the answer is whole
        await work.artifact(RAIN[3], append=True)
        await work.updater.complete()

    agent.on("*", slowly)
    async with talking(agent) as talk:
        result = await talk.ask("weather?")
    assert talk.words == "It is raining. Take a coat."
    assert result.success
    assert result.spoken
    assert result.result == "It is raining. Take a coat."


@pytest.mark.parametrize("streaming", [True, False])
async def test_the_model_can_have_the_whole_answer(agent: RemoteAgent, streaming: bool) -> None:
    agent.streaming = streaming
    agent.on("*", rain)
    async with talking(agent, stream="result") as talk:
        result = await talk.ask("weather?")
    assert talk.heard == []
    assert result == ToolCallResult("", success=True, result="It is raining. Take a coat.")


async def test_an_agent_that_does_not_stream_is_spoken_too(agent: RemoteAgent) -> None:
    agent.streaming = False
    agent.on("*", rain)
    async with talking(agent) as talk:
        result = await talk.ask("weather?")
    assert talk.words == result.result == "It is raining. Take a coat."


async def test_a_message_in_place_of_a_task_is_the_answer(agent: RemoteAgent) -> None:
    agent.on("reply", lambda work: work.reply("Hello."))
    async with talking(agent) as talk:
        assert (await talk.ask("reply now")).result == "Hello."
        assert talk.words == "Hello."


async def test_progress_is_spoken_but_is_no_part_of_the_answer(agent: RemoteAgent) -> None:
    agent.on("*", rain)
    async with talking(agent) as talk:
        result = await talk.ask("weather?")
    assert talk.words == "Let me look.\nIt is raining. Take a coat."
    assert result.result == "It is raining. Take a coat."


async def test_what_was_reported_is_not_repeated_as_the_answer(agent: RemoteAgent) -> None:
    async def twice(work: Work) -> None:
        await work.updater.start_work(work.say("It is "))
        await work.updater.start_work(work.say("raining."))
        await work.artifact("It is raining.")
        await work.updater.complete(work.say("It is raining."))

    agent.on("*", twice)
    async with talking(agent) as talk:
        result = await talk.ask("weather?")
    assert talk.words.split() == ["It", "is", "raining."]
    assert result.result == "It is raining."


async def test_data_reaches_the_model_and_not_the_ear(agent: RemoteAgent) -> None:
    async def measured(work: Work) -> None:
        await work.artifact("It is cold.")
        await work.data({"celsius": 5})
        await work.updater.complete()

    agent.on("*", measured)
    async with talking(agent) as talk:
        result = await talk.ask("weather?")
    assert talk.words == "It is cold."
    assert str(result.result).startswith("It is cold.\n[data, not spoken: ")
    assert '"celsius": 5' in str(result.result)


async def test_the_agent_remembers_one_session_and_no_other(agent: RemoteAgent) -> None:
    async def recall(work: Work) -> None:
        await work.artifact(" / ".join(work.earlier) or "nothing")
        await work.updater.complete()

    agent.on("*", recall)
    async with talking(agent) as talk:
        assert (await talk.ask("I am Ann")).result == "nothing"
        assert (await talk.ask("who am I")).result == "I am Ann"
        other = type(talk)(talk.session.runtime.open("cc:dd", "2"), talk.source)
        assert (await other.ask("who am I")).result == "nothing"
        assert (await talk.ask("and now")).result == "I am Ann / who am I"
        await other.session.close()
    assert len({work.context_id for work in agent.seen}) == 2


async def test_another_user_of_the_device_begins_anew(agent: RemoteAgent) -> None:
    async def recall(work: Work) -> None:
        await work.artifact(" / ".join(work.earlier) or "nothing")
        await work.updater.complete()

    agent.on("*", recall)
    async with talking(agent) as talk:
        await talk.ask("I am Ann")
        talk.session.user = "Bob"
        assert (await talk.ask("who am I")).result == "nothing"


async def test_first_calls_at_the_same_time_share_one_context(agent: RemoteAgent) -> None:
    agent.on("*", rain)
    async with talking(agent) as talk:
        results = await asyncio.gather(*(talk.ask(f"{n}") for n in range(4)))
    assert all(result.success for result in results)
    assert len({work.context_id for work in agent.seen}) == 1


async def test_without_a_session_a_call_is_answered_too(agent: RemoteAgent) -> None:
    agent.on("*", rain)
    async with agent.serving(), sourced(agent.url) as source:
        (tool,) = source.tools()
        result, _ = await execute(tool, {"message": "weather?"}, ToolContext())
    assert result == ToolCallResult("", success=True, result="It is raining. Take a coat.")


async def test_skills_are_filtered_bounded_and_named_to_the_agent() -> None:
    skills: list[dict[str, Any]] = [
        {"id": f"skill {n}", "name": f"Skill {n}", "description": "x" * 5_000, "tags": []}
        for n in range(100)
    ]
    agent = RemoteAgent(skills=[FORECAST, {**FORECAST, "id": "secret"}, FORECAST, *skills])
    agent.on("*", rain)
    async with talking(agent, deny=("secret",)) as talk:
        tools = talk.source.tools()
        assert len(tools) == 64
        assert [tool.name for tool in tools[:2]] == ["forecast", "skill_0"]
        assert all(len(tool.description) <= 2_000 for tool in tools)
        reasons = [fault.reason for fault in talk.source.faults]
        assert reasons == ["two skills have this id", "the agent has more than 64 skills"]
        await talk.ask("weather?", "skill_0")
        assert agent.seen[-1].skill == "skill 0"


async def test_an_agent_without_skills_is_one_tool() -> None:
    agent = RemoteAgent(skills=())
    agent.on("*", rain)
    async with talking(agent) as talk:
        (tool,) = talk.source.tools()
        assert tool.name == "weather"
        assert tool.description.startswith("Weather man: Knows the weather.")
        assert (await talk.ask("weather?", "weather")).success


async def test_credentials_reach_the_agent_and_wrong_ones_are_one_line() -> None:
    agent = RemoteAgent(token="secret", card={"name": "Closed"})
    agent.on("*", rain)
    headers = {"Authorization": "Bearer secret"}
    async with talking(agent, headers=headers) as talk:
        assert (await talk.ask("weather?")).success
        agent.token = "another"
        result = await talk.ask("weather?")
        assert result.error == "the agent refuses the access (401): check its token"
        assert not result.retryable
    async with agent.serving(), sourced(agent.url, headers=headers) as source:
        (fault,) = source.faults
        assert fault.reason == "the agent refuses the access (401): check its token"


async def test_a_tool_that_needs_a_yes_is_not_run_before() -> None:
    agent = RemoteAgent()
    agent.on("*", rain)
    async with agent.serving(), sourced(agent.url, confirm=True) as source:
        runtime = ToolRuntime([source])
        session = runtime.open("aa:bb", "1")
        turn = session.begin_turn(1, "en")
        (tool,) = source.tools()
        result = await turn.run(tool, '{"message": "x"}')
        assert result.error_type == "confirmation_required"
        assert agent.seen == []
        await session.close()
