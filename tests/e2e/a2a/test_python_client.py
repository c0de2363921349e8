"""The Python client of the A2A project, in both versions and by both transports."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import get_data_parts, new_data_part, new_text_part
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import A2AError

from tests.e2e.a2a.support import gateway
from tests.e2e.harness import RunningServer
from tests.support.a2a_client import EXTENSION, TOKEN, WEATHER
from tests.support.llm_server import Call, LLMServer, Stall, calls, text
from tests.support.model_turns import outputs

KINDS = ("JSONRPC 1.0", "HTTP+JSON 1.0", "JSONRPC 0.3")
PARIS = Call("c1", "get_weather", '{"city": "Paris", "days": 5}')


@asynccontextmanager
async def connected(server: RunningServer, kind: str, *, streaming: bool) -> AsyncIterator[Client]:
    """Connect by one of the interfaces of the server's card."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        card = await A2ACardResolver(http, server.http_url).get_agent_card()
        binding, version = kind.split()
        chosen = [
            each
            for each in card.supported_interfaces
            if (each.protocol_binding, each.protocol_version) == (binding, version)
        ]
        own = AgentCard()
        own.CopyFrom(card)
        del own.supported_interfaces[:]
        own.supported_interfaces.extend(chosen)
        config = ClientConfig(
            httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding]
        )
        yield ClientFactory(config).create(own)


def message(*parts: Part, task: Task | None = None, context_id: str = "") -> SendMessageRequest:
    made = Message(
        message_id="m",
        role=Role.ROLE_USER,
        parts=parts,
        task_id=task.id if task is not None else "",
        context_id=task.context_id if task is not None else context_id,
    )
    return SendMessageRequest(message=made)


def data(value: Any, type: str) -> Part:  # noqa: ANN401 - any JSON value
    part = new_data_part(value)
    part.metadata.update({"type": type, "format": "langchain"})
    return part


OFFER = data({"tools": [WEATHER]}, "tool-definitions")


async def last_task(client: Client, request: SendMessageRequest) -> Task:
    """Send a message; return its task as the server has it afterwards."""
    task_id = ""
    async for event in client.send_message(request):
        if event.HasField("task"):
            task_id = event.task.id
    assert task_id
    return await client.get_task(GetTaskRequest(id=task_id))


def answer_of(task: Task) -> str:
    return "".join(part.text for each in task.artifacts for part in each.parts)


def calls_of(task: Task) -> Sequence[dict[str, Any]]:
    (found,) = get_data_parts(task.status.message.parts)
    return list(found["tool_calls"])


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("kind", KINDS)
async def test_tools_of_the_client(kind: str, streaming: bool) -> None:
    async with LLMServer() as llm, gateway(llm) as server:
        llm.script(calls(PARIS), text("It is ", "sunny."), text("You asked for Paris."))
        async with connected(server, kind, streaming=streaming) as client:
            task = await last_task(client, message(new_text_part("Paris?"), OFFER))
            assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
            (call,) = calls_of(task)
            assert json.loads(call["arguments"]) == {"city": "Paris", "days": 5}
            result = {"tool_call_id": call["id"], "content": {"sky": "clear", "days": 5}}
            part = data({"tool_results": [result]}, "tool-results")
            task = await last_task(client, message(part, task=task))
            assert task.status.state == TaskState.TASK_STATE_COMPLETED
            assert answer_of(task) == "It is sunny."
            context = task.context_id
            more = await last_task(client, message(new_text_part("What?"), context_id=context))
            assert answer_of(more) == "You asked for Paris."
    (read,) = outputs(llm, 1)
    assert sorted(json.loads(read).items()) == [("days", 5), ("sky", "clear")]
    assert "5.0" not in read


@pytest.mark.parametrize("kind", KINDS)
async def test_cancel_and_subscribe(kind: str) -> None:
    stall, second = Stall(), Stall()
    async with LLMServer() as llm, gateway(llm) as server:
        llm.script(text("One, ", stall), text("One, ", second, "two."))
        async with connected(server, kind, streaming=True) as client:
            events = client.send_message(message(new_text_part("Count")))
            task = (await anext(events)).task
            await stall.reached.wait()
            done = await client.cancel_task(CancelTaskRequest(id=task.id))
            assert done.status.state == TaskState.TASK_STATE_CANCELED
            with pytest.raises(A2AError):
                await client.cancel_task(CancelTaskRequest(id=task.id))
            await llm.hung_up.wait()
            events = client.send_message(message(new_text_part("Count")))
            task = (await anext(events)).task
            await second.reached.wait()
            states = []
            async for event in client.subscribe(SubscribeToTaskRequest(id=task.id)):
                second.go.set()
                if event.HasField("status_update"):
                    states.append(event.status_update.status.state)
            assert states == [TaskState.TASK_STATE_COMPLETED]
            assert answer_of(await client.get_task(GetTaskRequest(id=task.id))) == "One, two."


async def test_the_card() -> None:
    section = {"name": "Hal", "description": "Answers.", "public_url": "https://hal.example/"}
    async with LLMServer() as llm, gateway(llm, a2a=section) as server, httpx.AsyncClient() as http:
        for path in ("", "/a2a"):
            resolver = A2ACardResolver(http, server.http_url + path)
            card = await resolver.get_agent_card()
            assert (card.name, card.description) == ("Hal", "Answers.")
            interfaces = [
                (each.protocol_binding, each.protocol_version, each.url)
                for each in card.supported_interfaces
            ]
            assert interfaces == [
                ("JSONRPC", "1.0", "https://hal.example/a2a"),
                ("HTTP+JSON", "1.0", "https://hal.example/a2a/rest"),
                ("JSONRPC", "0.3", "https://hal.example/a2a"),
            ]
            assert card.capabilities.streaming
            assert [each.uri for each in card.capabilities.extensions] == [EXTENSION]
            assert not card.capabilities.extensions[0].required
            assert card.security_schemes["bearer"].http_auth_security_scheme.scheme == "bearer"
            assert list(card.security_requirements[0].schemes) == ["bearer"]
        raw = (await http.get(f"{server.http_url}/.well-known/agent-card.json")).json()
        assert (raw["url"], raw["protocolVersion"]) == ("https://hal.example/a2a", "0.3")
        assert TOKEN not in json.dumps(raw)


async def test_the_card_behind_a_proxy() -> None:
    forwarded = {"X-Forwarded-Host": "voice.example", "X-Forwarded-Proto": "https"}
    async with LLMServer() as llm, gateway(llm) as server, httpx.AsyncClient() as http:
        url = f"{server.http_url}/.well-known/agent-card.json"
        here = (await http.get(url)).json()
        assert here["url"] == f"{server.http_url}/a2a"
        assert (await http.get(url, headers=forwarded)).json()["url"] == "https://voice.example/a2a"


async def test_until_it_is_loaded_it_is_503() -> None:
    async with LLMServer() as llm, gateway(llm) as server, httpx.AsyncClient() as http:
        mount = server.app.a2a
        assert mount is not None
        loaded, mount._gateway = mount._gateway, None
        answer = await http.get(f"{server.http_url}/.well-known/agent-card.json")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        mount._gateway = loaded


async def test_many_clients_at_once() -> None:
    async with LLMServer() as llm, gateway(llm) as server:
        llm.script(*(text("Fine.") for _ in range(9)))
        async with (
            connected(server, KINDS[0], streaming=True) as one,
            connected(server, KINDS[1], streaming=True) as two,
            connected(server, KINDS[2], streaming=False) as three,
        ):
            done = await asyncio.gather(
                *(
                    last_task(client, message(new_text_part("Hello")))
                    for client in (one, two, three)
                    for _ in range(3)
                )
            )
        assert {answer_of(task) for task in done} == {"Fine."}
