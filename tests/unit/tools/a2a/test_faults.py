"""Agents that are away, go away, refuse, or answer with what is not of the protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.a2a_agent import RemoteAgent, Spoken, Work, echoing_agent
from tests.support.waiting import until
from tests.unit.tools.a2a.talk import BOUND, Talk, sourced, talking
from tests.unit.tools.rest.service import Seen, Service, respond, running, saying
from vixio.core.tools.runtime import ToolRuntime
from vixio.tools.a2a.source import A2aSource

CARD = "/.well-known/agent-card.json"
SKILL = {"id": "forecast", "name": "Forecast", "description": "Tells the weather."}


def card(url: str, *, streaming: bool = True, **more: object) -> str:
    interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    own = {
        "name": "Weather man",
        "capabilities": {"streaming": streaming},
        "supportedInterfaces": [interface],
        "skills": [SKILL],
    }
    return json.dumps({**own, **more})


@asynccontextmanager
async def answering(
    body: bytes | str,
    *,
    kind: str = "application/json",
    streaming: bool = True,
    status: int = 200,
) -> AsyncIterator[tuple[Service, A2aSource]]:
    """Yield a source whose agent answers every message with ``body``."""
    async with running() as service:
        service.on(CARD, saying(card(f"{service.url}/rpc", streaming=streaming)))
        service.on("/rpc", saying(body, kind=kind, status=status))
        async with sourced(service.url) as source:
            yield service, source


def rpc(result: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": "1", "result": result})


def event(result: object) -> str:
    return f"data: {rpc(result)}\n\n"


# ── away ─────────────────────────────────────────────────────────────────────────────────────


async def test_an_agent_that_is_away_has_no_tools_until_it_comes() -> None:
    agent = echoing_agent()
    agent.take_port()
    async with sourced(agent.url) as source:
        assert source.tools() == ()
        (fault,) = source.faults
        assert (fault.place, fault.reason) == ("tools.a2a", "the connection to the service failed")
        runtime = ToolRuntime([source])
        session = runtime.open("aa:bb", "1")
        async with agent.serving():
            await until(lambda: session.toolset.find("forecast"), what="the tools", seconds=BOUND)
            assert source.faults == []
            assert (await Talk(session, source).ask("Hi.")).result == "You said: Hi."
        await session.close()


@pytest.mark.slow
async def test_an_agent_that_leaves_takes_its_tools_along_until_it_is_back() -> None:
    agent = echoing_agent()
    agent.take_port()
    async with sourced(agent.url, refresh=0.01) as source:
        async with agent.serving():
            await until(source.tools, what="the tools", seconds=BOUND)
        await until(lambda: not source.tools(), what="the loss", seconds=BOUND)
        assert (await source.call_tool("forecast", {"message": "x"})).error_type == "disconnected"
        async with agent.serving():
            await until(source.tools, what="the return", seconds=BOUND)
            assert (await source.call_tool("forecast", {"message": "x"})).success


@pytest.mark.slow
async def test_a_call_to_an_agent_that_has_just_gone_is_disconnected_and_noticed() -> None:
    agent = echoing_agent()
    agent.take_port()
    async with sourced(agent.url, refresh=0.0) as source:
        async with agent.serving():
            await until(source.tools, what="the tools", seconds=BOUND)
        result = await source.call_tool("forecast", {"message": "x"})
        assert (result.error_type, result.retryable) == ("disconnected", True)
        await until(lambda: not source.tools(), what="the loss, without a refresh", seconds=BOUND)


def task(state: str, *texts: str) -> dict[str, object]:
    parts = [{"text": text} for text in texts]
    artifacts = [{"artifactId": "1", "parts": parts}] if texts else []
    return {"id": "t", "contextId": "c", "status": {"state": state}, "artifacts": artifacts}


@pytest.mark.slow
async def test_a_stream_that_breaks_is_followed_by_asking_for_the_task() -> None:
    """The connection ends in mid-answer; the task at the agent goes on."""
    begun = event({"task": task("TASK_STATE_WORKING", "It is ")}).encode()
    states = [task("TASK_STATE_WORKING", "It is "), task("TASK_STATE_COMPLETED", "It is raining.")]
    methods: list[str] = []

    async def breaking(seen: Seen, writer: asyncio.StreamWriter) -> None:
        methods.append(json.loads(seen.body)["method"])
        if methods[-1] == "GetTask":
            respond(writer, rpc(states.pop(0)))
            return
        head = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ncontent-length: 99999\r\n\r\n"
        writer.write(head.encode() + begun)
        await writer.drain()
        writer.close()

    async with answering("") as (service, source):
        service.on("/rpc", breaking)
        session = ToolRuntime([source]).open("aa:bb", "1")
        talk = Talk(session, source)
        result = await talk.ask("weather?")
        await session.close()
    assert talk.words == result.result == "It is raining."
    assert methods == ["SendStreamingMessage", "GetTask", "GetTask"]


# ── refusals ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("spoken", ["1.0", "0.3", "rest"])
@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("failed", "the agent failed: No rain gauge."),
        ("reject", "the agent declined: No rain gauge."),
        ("cancel", "the task was cancelled at the agent: No rain gauge."),
        ("requires_auth", "the agent needs an authorization that is not set up"),
    ],
)
async def test_a_task_that_fails_is_an_error_in_the_agents_words(
    spoken: Spoken, how: str, error: str
) -> None:
    async def fail(work: Work) -> None:
        await getattr(work.updater, how)(work.say("No rain gauge."))

    agent = RemoteAgent(spoken)
    agent.on("*", fail)
    async with talking(agent) as talk:
        result = await talk.ask("weather?")
        assert not result.success
        assert (result.error_type, result.error) == ("failed", error)
        assert talk.heard == []
        if how == "requires_auth":
            await until(lambda: agent.cancelled, what="the end of a task that cannot go on")


async def test_an_agent_that_raises_is_an_error() -> None:
    async def crash(work: Work) -> None:
        raise RuntimeError("oops")

    agent = RemoteAgent()
    agent.on("*", crash)
    async with talking(agent) as talk:
        assert not (await talk.ask("weather?")).success


# ── what is not of the protocol ──────────────────────────────────────────────────────────────


DEEP = '{"a":' * 50_000 + "1" + "}" * 50_000

MALFORMED: dict[str, str | bytes] = {
    "nothing": "",
    "no JSON": "<html>",
    "NaN": '{"jsonrpc":"2.0","result":{"message":{"messageId":"1","parts":[{"data":NaN}]}}}',
    "infinite number": '{"jsonrpc":"2.0","result":{"message":{"parts":[{"data":1e999}]}}}',
    "huge number": '{"jsonrpc":"2.0","result":' + "9" * 5_000 + "}",
    "deep": DEEP,
    "a list": "[]",
    "null": "null",
    "no result": '{"jsonrpc":"2.0","id":"1"}',
    "a string": rpc("hello"),
    "unknown": rpc({"kind": "surprise"}),
    "half a task": rpc({"task": {"id": 7, "status": "done"}}),
    "not UTF-8": b"\xff\xfe\xfd",
}


@pytest.mark.parametrize("name", sorted(MALFORMED))
@pytest.mark.parametrize("streaming", [True, False])
async def test_a_malformed_answer_is_an_error(name: str, streaming: bool) -> None:
    body = MALFORMED[name]
    async with answering(body, streaming=streaming) as (_, source):
        result = await source.call_tool("forecast", {"message": "x"}, timeout=BOUND)
    assert not result.success
    assert (result.error_type, result.retryable) == ("failed", False)
    assert "\n" not in str(result.error)


@pytest.mark.parametrize("name", sorted(MALFORMED))
async def test_a_malformed_event_is_an_error(name: str) -> None:
    body = MALFORMED[name]
    data = body if isinstance(body, bytes) else body.encode()
    async with answering(b"data: " + data + b"\n\n", kind="text/event-stream") as (_, source):
        result = await source.call_tool("forecast", {"message": "x"}, timeout=BOUND)
    assert (result.success, result.error_type) == (False, "failed")


async def test_values_that_json_cannot_hold_never_reach_the_model() -> None:
    message = {"messageId": "1", "role": "ROLE_AGENT", "parts": [{"text": "a\ud800b"}]}
    async with answering(rpc({"message": message})) as (_, source):
        result = await source.call_tool("forecast", {"message": "x"}, timeout=BOUND)
        assert result.result == "a\ufffdb"


async def test_an_answer_without_end_is_refused() -> None:
    async def flood(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\ndata: ")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    async with answering("") as (service, source):
        service.on("/rpc", flood)
        result = await source.call_tool("forecast", {"message": "x"}, timeout=BOUND)
    assert result.error == "the agent's answer is too long"


async def test_a_long_answer_is_cut_and_its_task_cancelled_only_when_it_still_works() -> None:
    piece = {"artifactId": "1", "parts": [{"text": "word " * 100}]}
    more = event({"artifactUpdate": {"taskId": "t", "artifact": piece, "append": True}})
    end = event({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_COMPLETED"}}})
    async with answering(more * 200 + end, kind="text/event-stream") as (service, source):
        result = await source.call_tool("forecast", {"message": "x"}, timeout=BOUND)
        assert result.success
        assert len(str(result.result)) <= 20_000
        posted = [json.loads(seen.body)["method"] for seen in service.seen if seen.body]
        assert posted == ["SendStreamingMessage"]


async def test_a_task_whose_stream_is_malformed_is_cancelled() -> None:
    begun = event(
        {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}
    )
    async with answering(begun + "data: [\n\n", kind="text/event-stream") as (service, source):
        result = await source.call_tool("forecast", {"message": "x"}, timeout=BOUND)
        assert result.error_type == "failed"

        def cancelled() -> bool:
            return any(b'"CancelTask"' in seen.body for seen in service.seen)

        await until(cancelled, what="the cancellation", seconds=BOUND)


async def test_a_cancellation_under_way_is_awaited_at_the_end_whatever_its_answer() -> None:
    begun = event({"task": task("TASK_STATE_WORKING")})
    answers = [
        saying(begun + "data: [\n\n", kind="text/event-stream"),
        saying("no gzip", content_encoding="gzip"),
    ]

    async def in_turn(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await answers.pop(0)(seen, writer)

    async with answering("") as (service, source):
        service.on("/rpc", in_turn)
        result = await source.call_tool("forecast", {"message": "x"}, timeout=BOUND)
        (exchange,) = (task for task in asyncio.all_tasks() if task.get_name() == "a2a exchange")
    assert result.error == "the agent's answer is not JSON"
    assert answers == []
    assert exchange.done()
    assert exchange.exception() is None


async def test_an_error_of_the_protocol_is_one_line() -> None:
    error = {"code": -32000, "message": "no\nway " * 500, "data": [{"x": 1}]}
    async with answering(json.dumps({"jsonrpc": "2.0", "error": error})) as (_, source):
        result = await source.call_tool("forecast", {"message": "x"}, timeout=BOUND)
    assert str(result.error).startswith("the agent reports an error: no way no way")
    assert len(str(result.error)) < 400


@pytest.mark.parametrize(
    ("status", "retryable"), [(401, False), (403, False), (404, False), (429, True), (503, True)]
)
async def test_an_http_error_quotes_nothing(status: int, retryable: bool) -> None:
    async with answering("Bearer secret", status=status, kind="text/plain") as (_, source):
        result = await source.call_tool("forecast", {"message": "x"}, timeout=BOUND)
    assert result.retryable is retryable
    assert str(status) in str(result.error)
    assert "secret" not in str(result.error)


async def test_a_redirect_to_another_host_is_refused() -> None:
    async with running() as elsewhere, answering("") as (service, source):
        service.on("/rpc", saying("", status=307, location=f"{elsewhere.url}/rpc"))
        result = await source.call_tool("forecast", {"message": "x"}, timeout=BOUND)
        assert result.error_type == "denied"
        assert elsewhere.seen == []


# ── cards ────────────────────────────────────────────────────────────────────────────────────


async def faults_of(body: str, status: int = 200) -> list[str]:
    async with running() as service:
        service.on(CARD, saying(body.replace("HERE", service.url), status=status))
        async with sourced(service.url) as source:
            assert source.tools() == ()
            return [fault.reason for fault in source.faults]


async def test_a_card_that_cannot_be_used_is_one_line() -> None:
    assert await faults_of("{}", status=404) == ["there is no agent card at its URL (404)"]
    assert await faults_of("no") == ["the agent's answer is not JSON"]
    assert await faults_of("[]") == ["its card is not a JSON object"]
    (reason,) = await faults_of(card("https://other.example.org/rpc"))
    assert reason.startswith("its card names another host (other.example.org)")
    grpc = [{"url": "HERE", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]
    (reason,) = await faults_of(card("HERE", supportedInterfaces=grpc))
    assert reason.endswith("(has: GRPC 1.0)")
    assert await faults_of(" " * 1_100_000) == ["the answer has more than 1048576 bytes"]
    (reason,) = await faults_of(card("http://[::1"))
    assert reason.endswith("(has: none)")


async def test_a_private_address_needs_permission() -> None:
    async with running() as service:
        service.on(CARD, saying(card(f"{service.url}/rpc")))
        async with sourced(service.url, allow_private=False) as source:
            (fault,) = source.faults
            assert "not on the public internet" in fault.reason
        assert service.seen == []


async def test_a_card_that_changes_changes_the_tools() -> None:
    agent = echoing_agent()
    async with agent.serving(), sourced(agent.url, refresh=0.01) as source:
        assert [tool.name for tool in source.tools()] == ["forecast"]
        agent.skills = [{**SKILL, "id": "tide"}]
        await until(
            lambda: [tool.name for tool in source.tools()] == ["tide"],
            what="the other skill",
            seconds=BOUND,
        )


async def test_closing_the_source_ends_calls_and_tasks() -> None:
    agent = RemoteAgent()

    async def hang(work: Work) -> None:
        await work.artifact("Well, ")
        await asyncio.Event().wait()

    agent.on("*", hang)
    async with talking(agent) as talk:
        asking = asyncio.create_task(talk.ask("weather?"))
        async with asyncio.timeout(BOUND):
            await talk.heard_more.wait()
            await talk.source.close()
            result = await asking
        assert result.error_type == "disconnected"
        assert agent.cancelled == [agent.seen[0].task_id]


async def test_an_agent_that_does_not_answer_is_given_up() -> None:
    async def silent(_: Seen, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with answering("") as (service, source):
        service.on("/rpc", silent)
        result = await source.call_tool("forecast", {"message": "x"}, timeout=0.2)
        assert result.error_type == "timeout"
