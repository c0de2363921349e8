"""The source, with services in memory: what is offered, how calls go, what changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.support.waiting import until
from tests.unit.tools.broker.place import (
    ARGUMENTS,
    JOKE,
    LIMIT,
    TELL,
    Announced,
    Joke,
    Place,
    call,
    names,
)
from vixio.bus import ToolError, connect
from vixio.bus.announce import Announcement
from vixio.core.device import DeviceProfile, ToolAccess


@pytest.fixture
def place() -> Place:
    """Return a broker of the test's own."""
    return Place()


async def test_a_described_service_is_called(place: Place) -> None:
    joke = Joke()
    async with place.service(joke), place.runtime(services=[JOKE], tools=[TELL]) as (runtime, _):
        session = runtime.open("aa:bb", "s", DeviceProfile(user="alice"))
        result = await call(session, "tell-joke", topic="cats")
        assert (result.success, result.result) == (True, "A pun about cats.")
        assert joke.calls == [("alice", {"style": "pun"}, {"topic": "cats"})]
        assert place.counters.snapshot()["tool.broker.calls"] == 1
        await session.close()


async def test_arguments_are_validated_before_the_service_is_called(place: Place) -> None:
    joke = Joke()
    async with place.service(joke), place.runtime(services=[JOKE], tools=[TELL]) as (runtime, _):
        session = runtime.open("aa:bb", "s")
        assert (await call(session, "tell-joke")).error_type == "invalid_arguments"
        assert (await call(session, "tell-joke", topic=5)).error_type == "invalid_arguments"
        assert joke.calls == []


async def test_an_absent_service_is_a_structured_error(place: Place) -> None:
    async with place.runtime(services=[JOKE], tools=[TELL]) as (runtime, _):
        session = runtime.open("aa:bb", "s")
        result = await call(session, "tell-joke", topic="cats")
        assert result.error_type == "disconnected"
        assert result.error == "no service is connected to its queue"


async def test_only_an_idempotent_tool_is_retried(place: Place) -> None:
    joke = Joke()
    tools = [TELL, {**TELL, "name": "again", "idempotent": True}]
    async with place.service(joke), place.runtime(services=[JOKE], tools=tools) as (runtime, _):
        session = runtime.open("aa:bb", "s")
        for name, tries in (("tell-joke", 1), ("again", 2)):
            joke.calls.clear()
            joke.errors = [ToolError("failed", "not now", retryable=True)]
            result = await call(session, name, topic="cats")
            assert len(joke.calls) == tries
            assert result.success == (tries == 2)
            joke.errors.clear()


async def test_the_policy_holds_for_announced_tools(place: Place) -> None:
    async with place.service(Announced()), place.runtime() as (runtime, _):
        for access, offered in (
            (ToolAccess(), ["tell-joke"]),
            (ToolAccess(deny=("broker/tell-*",)), []),
            (ToolAccess(allow=("device/*",)), []),
        ):
            session = runtime.open("aa:bb", "s", DeviceProfile(tools=access))
            assert names(session) == offered
        session = runtime.open("aa:bb", "s", DeviceProfile(tools=ToolAccess(confirm=("tell-*",))))
        result = await call(session, "tell-joke", topic="cats")
        assert result.error_type == "confirmation_required"


async def test_services_come_and_go_while_it_runs(place: Place) -> None:
    async with place.runtime() as (runtime, _):
        session = runtime.open("aa:bb", "s")
        assert names(session) == []
        async with place.service(Announced()):
            await until(lambda: names(session) == ["tell-joke"], what="the service")
            result = await call(session, "tell-joke", topic="dogs")
            assert result.result == "A None about dogs."
        await until(lambda: names(session) == [], what="the farewell")


async def test_the_configuration_wins_over_an_announcement(place: Place) -> None:
    async with (
        place.service(Announced()),
        place.runtime(services=[JOKE], tools=[TELL]) as (runtime, _),
    ):
        session = runtime.open("aa:bb", "s")
        (tool,) = session.toolset.definitions()
        assert tool.description == "Tell a joke on a given topic"
        assert (await call(session, "tell-joke", topic="cats")).result == "A pun about cats."


async def test_announcements_can_be_off(place: Place) -> None:
    async with place.service(Announced()), place.runtime(announcements=False) as (runtime, _):
        assert runtime.listed() == {"broker": ()}


async def test_an_announced_mistake_costs_only_its_tool(place: Place) -> None:
    class Half(Announced):
        tools: ClassVar[Sequence[dict[str, Any]]] = (
            {"name": "nameless-arguments", "description": "x", "arguments": [{}]},
            {
                "name": "two-types",
                "description": "x",
                "arguments": [{"name": "a", "type": ["string", "null"]}],
            },
            {"name": "tell-joke", "description": "Good.", "arguments": ARGUMENTS},
            {"name": "too-long", "description": "x", "parameters": {"x": "y" * 30_000}},
        )

    async with place.service(Half()), place.runtime() as (runtime, source):
        assert [tool.name for tool in runtime.listed()["broker"]] == ["tell-joke"]
        assert [fault.reason.partition(":")[0] for fault in source.faults] == [
            "announced tool nameless-arguments",
            "announced tool two-types",
            "announced tool too-long",
        ]


async def test_definitions_that_stay_the_same_keep_their_identity(place: Place) -> None:
    async with place.service(Announced()), place.runtime() as (runtime, source):
        (before,) = source.tools()
        bus = connect(place.url)
        await bus.start()
        await bus.ready()
        other = {"id": "other", "request-queue": "request:tg:other"}
        tool = {"name": "another", "description": "x", "service": "other"}
        announcer = await bus.announce(Announcement("i", other, (tool,)), "vixio.tools")
        await until(lambda: len(source.tools()) == 2, what="the other service")
        assert any(tool is before for tool in source.tools())
        await announcer.stop()
        await bus.close()
        assert runtime.listed()["broker"]


async def test_an_interrupted_call_is_cancelled_at_the_service(place: Place) -> None:
    ended = asyncio.Event()

    class Slow(Announced):
        async def invoke(self, user: str, config: Any, arguments: Any) -> str:  # noqa: ANN401 - not looked at
            self.calls.append((user, config, arguments))
            try:
                await asyncio.sleep(600)
            finally:
                ended.set()
            return "late"

    slow = Slow()
    async with place.service(slow), place.runtime() as (runtime, _):
        session = runtime.open("aa:bb", "s")
        calling = asyncio.create_task(call(session, "tell-joke", topic="cats"))
        await until(lambda: slow.calls, what="the call")
        calling.cancel()
        async with asyncio.timeout(LIMIT):
            await ended.wait()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert place.counters.snapshot()["tool.broker.cancelled"] == 1


async def test_a_service_without_async_runs_in_a_thread(place: Place) -> None:
    class Plain(Announced):
        def invoke(self, user: str, config: Any, arguments: Any) -> Any:  # noqa: ANN401 - JSON
            asyncio.run(asyncio.sleep(0))  # impossible in the thread of an event loop
            return {"joke": arguments["topic"]}

    async with place.service(Plain()), place.runtime() as (runtime, _):
        session = runtime.open("aa:bb", "s")
        assert (await call(session, "tell-joke", topic="cats")).result == '{"joke":"cats"}'


async def test_descriptions_of_a_folder(place: Place, tmp_path: Path) -> None:
    (tmp_path / "joke.json").write_text(json.dumps(JOKE), encoding="utf-8")
    (tmp_path / "tell.json").write_text(json.dumps(TELL), encoding="utf-8")
    joke = Joke()
    async with place.service(joke), place.runtime(folder=str(tmp_path)) as (runtime, source):
        session = runtime.open("aa:bb", "s")
        assert (await call(session, "tell-joke", topic="cats")).success
        assert source.faults == []


async def test_a_mistake_in_a_folder_costs_only_its_tool(place: Place, tmp_path: Path) -> None:
    (tmp_path / "all.json").write_text(json.dumps({"services": [JOKE], "tools": [TELL]}))
    (tmp_path / "number.yaml").write_text("{name: a, description: b, service: joke-service, 5: c}")
    async with place.service(Joke()), place.runtime(folder=str(tmp_path)) as (runtime, source):
        assert [tool.name for tool in runtime.listed()["broker"]] == ["tell-joke"]
        (fault,) = source.faults
        assert fault.reason == "tool a: 5: the service joke-service has no such parameter"


async def test_vixio_check_says_who_answers(place: Place) -> None:
    other = {"id": "silent", "request-queue": "request:tg:silent"}
    async with place.service(Announced()), place.runtime(services=[other]) as (_, source):
        words = await source.look()
    assert words.startswith("silent: does not announce itself, not asked; joke-service: 1 instance")
    assert words.endswith(" ms")


async def test_vixio_check_waits_for_who_answers_late(place: Place) -> None:
    async with place.service(Announced()), place.runtime() as (_, source):
        looking = asyncio.create_task(source.look())
        await asyncio.sleep(0)
        async with place.service(Announced()):
            words = await looking
    assert words.startswith("joke-service: 2 instances, answers in ")


async def test_the_wire_carries_who_calls(place: Place) -> None:
    seen: list[Any] = []
    bus = connect(place.url)
    await bus.start()
    await bus.ready()

    async def invoke(request: Any) -> str:  # noqa: ANN401 - a Request
        seen.append(request)
        return "ok"

    running = await bus.serve(JOKE["request-queue"], invoke)
    async with place.runtime(services=[JOKE], tools=[{**TELL, "name": "说笑"}]) as (runtime, _):
        session = runtime.open("aa:bb", "s-1")
        await call(session, "说笑", topic="cats")
        await call(session, "说笑", topic="cats")
    await running.stop(0)
    await bus.close()
    headers = dict(seen[0].headers)
    assert (headers["tool"], headers["device"], headers["session"], headers["language"]) == (
        "说笑",
        "aa:bb",
        "s-1",
        "en",
    )
    first, second = (request.headers["traceparent"].split("-") for request in seen)
    assert first[0] == "00"
    assert [len(part) for part in first] == [2, 32, 16, 2]
    assert first[1] == second[1]  # one trace for a turn
    assert first[2] != second[2]


async def test_the_instance_that_came_last_defines_the_tools(place: Place) -> None:
    """One that was killed and started again with other tools is offered as it is now."""

    class Changed(Announced):
        tools: ClassVar[Sequence[dict[str, Any]]] = ({"name": "tell-pun", "description": "New."},)

    async with place.runtime() as (_, source), place.service(Announced()):
        await until(source.tools, what="the first instance")
        async with place.service(Changed()):
            await until(
                lambda: [tool.name for tool in source.tools()] == ["tell-pun"],
                what="the second instance",
            )
        await until(
            lambda: [tool.name for tool in source.tools()] == ["tell-joke"], what="the first again"
        )
