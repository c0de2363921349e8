"""Calls, whatever the broker: matched, streamed, many at a time."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator

import pytest

from tests.brokers.parts import LIMIT, ask, echo, serving, where_absence_is_known
from vixio.bus import ToolBus
from vixio.bus.broker import Message
from vixio.bus.calls import Route
from vixio.bus.serving import ServingLimits
from vixio.bus.wire import Request, dump
from vixio.core.errors import ToolError


async def test_a_call_is_answered(caller: ToolBus, service: ToolBus, queue: str) -> None:
    async with serving(service, queue, echo):
        request = Request("爱丽丝", {"style": "pun"}, {"topic": "cats", "n": 2**60})
        answer = await caller.call(Route(queue), request, LIMIT)
    assert json.loads(answer) == ["爱丽丝", {"style": "pun"}, {"topic": "cats", "n": 2**60}]


async def test_both_spellings_are_one_queue(caller: ToolBus, service: ToolBus, queue: str) -> None:
    name = queue.rpartition("/")[2]
    async with serving(service, f"request:tg:{name}", echo):
        assert json.loads(await ask(caller, queue, a=1))[2] == {"a": 1}


async def test_an_answer_that_is_not_text_comes_as_json(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    async def invoke(request: Request) -> object:
        return {"temperature": 5}

    async with serving(service, queue, invoke):
        assert json.loads(await ask(caller, queue)) == {"temperature": 5}


async def test_a_service_may_answer_on_its_response_queue(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    """As those do that are written against the original: they know no ``reply_to``."""
    responses = queue.replace("request", "response")

    async def take(message: Message) -> None:
        body = json.loads(message.body)
        answer = {"error": None, "response": body["arguments"], "end_of_stream": True}
        await service.broker.publish(responses, dump(answer), {"id": message.headers["id"]})

    await caller.listen(responses)
    subscription = await service.broker.subscribe(queue, "shared", take)
    answer = await caller.call(Route(queue, responses), Request("", {}, {"a": 1}), LIMIT)
    assert json.loads(answer) == {"a": 1}
    await service.broker.unsubscribe(subscription)


async def test_a_request_without_reply_to_is_answered_on_the_response_queue(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    responses = queue.replace("request", "response")
    answers: asyncio.Queue[Message] = asyncio.Queue()
    async with serving(service, queue, echo, response_queue=responses):
        await caller.broker.subscribe(responses, "broadcast", answers.put)
        await caller.broker.publish(queue, Request("bob").encode(), {"id": "by-hand"})
        async with asyncio.timeout(LIMIT):
            message = await answers.get()
    assert message.headers["id"] == "by-hand"
    body = json.loads(message.body)
    assert body["end_of_stream"] is True
    assert json.loads(body["response"])[0] == "bob"


async def test_an_error_keeps_its_type(caller: ToolBus, service: ToolBus, queue: str) -> None:
    async def invoke(request: Request) -> str:
        raise ToolError("not_found", "no such city", retryable=False)

    async with serving(service, queue, invoke):
        with pytest.raises(ToolError, match="no such city") as caught:
            await ask(caller, queue)
    assert caught.value.type == "not_found"


async def test_a_crash_is_an_error(caller: ToolBus, service: ToolBus, queue: str) -> None:
    async def invoke(request: Request) -> str:
        raise RuntimeError("broken")

    async with serving(service, queue, invoke):
        with pytest.raises(ToolError, match="RuntimeError: broken") as caught:
            await ask(caller, queue)
        assert caught.value.type == "failed"
        assert not caught.value.retryable


async def test_an_absent_service_is_reported_at_once(caller: ToolBus, queue: str) -> None:
    route = Route(queue)
    if not caller.broker.knows_absence:
        with pytest.raises(ToolError) as caught:
            await caller.call(route, Request(), 0.2)
        assert caught.value.type == "timeout"
        return
    with pytest.raises(ToolError, match="no service is connected") as caught:
        await caller.call(route, Request(), LIMIT)
    assert caught.value.type == "disconnected"


@where_absence_is_known
async def test_a_service_that_has_gone_is_absent(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    async with serving(service, queue, echo):
        await ask(caller, queue)
    with pytest.raises(ToolError, match="no service is connected"):
        await ask(caller, queue)


async def test_a_stream_arrives_in_order_piece_by_piece(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    heard: list[str] = []
    first = asyncio.Event()

    async def invoke(request: Request) -> AsyncIterator[str]:
        yield "0 "
        await first.wait()  # the first piece is there before the second is made
        for number in range(1, 200):
            yield f"{number} "

    def on_piece(piece: str) -> None:
        heard.append(piece)
        first.set()

    async with serving(service, queue, invoke):
        try:
            answer = await caller.call(Route(queue), Request(), LIMIT, on_piece)
        except ToolError as error:
            pytest.fail(f"{error} behind {len(heard)} pieces, the first {first.is_set()}")
    assert heard == [f"{number} " for number in range(200)]
    assert answer == "".join(heard)


async def test_streams_of_several_calls_do_not_mix(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    async def invoke(request: Request) -> AsyncIterator[str]:
        for _ in range(20):
            yield f"{request.arguments['number']};"
            await asyncio.sleep(0)

    async with serving(service, queue, invoke, limits=ServingLimits(20)):
        answers = await asyncio.gather(*(ask(caller, queue, number=n) for n in range(20)))
    assert answers == [f"{number};" * 20 for number in range(20)]


async def test_an_error_ends_a_stream(caller: ToolBus, service: ToolBus, queue: str) -> None:
    heard: list[str] = []

    async def invoke(request: Request) -> AsyncIterator[str]:
        yield "one"
        raise ToolError("failed", "out of words")

    async with serving(service, queue, invoke):
        with pytest.raises(ToolError, match="out of words"):
            await caller.call(Route(queue), Request(), LIMIT, heard.append)
    assert heard == ["one"]


async def test_a_long_answer_comes_whole(caller: ToolBus, service: ToolBus, queue: str) -> None:
    async def invoke(request: Request) -> str:
        return "猫" * 400_000

    async with serving(service, queue, invoke):
        assert await ask(caller, queue) == "猫" * 400_000


async def test_a_caller_that_is_slow_to_read_loses_nothing(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    """Or the call fails: an answer with a hole is never taken for a whole one."""
    pieces = 3_000

    async def invoke(request: Request) -> AsyncIterator[str]:
        for number in range(pieces):
            yield f"{number:05d}" * 20

    async def blocks() -> None:
        for _ in range(20):
            await asyncio.sleep(0)
            signal.sigtimedwait(set(), 0.02)  # the event loop stands still

    async with serving(service, queue, invoke):
        blocking = asyncio.create_task(blocks())
        (answer,) = await asyncio.gather(ask(caller, queue), return_exceptions=True)
        await blocking
    if isinstance(answer, ToolError):
        assert answer.type == "disconnected"
    else:
        assert answer == "".join(f"{number:05d}" * 20 for number in range(pieces))
