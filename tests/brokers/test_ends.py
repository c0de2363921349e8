"""How calls end: cancelled, too late, silent, stopped."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.brokers.parts import LIMIT, Held, ask, serving
from tests.support.waiting import until
from vixio.bus import ToolBus
from vixio.bus.broker import Message
from vixio.bus.calls import Route
from vixio.bus.wire import Request, deadline_after
from vixio.core.errors import ToolError


async def test_a_cancelled_call_is_cancelled_at_the_service(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    held = Held()
    async with serving(service, queue, held):
        call = asyncio.create_task(ask(caller, queue, number=1))
        await until(lambda: held.begun, what="the call to begin", seconds=LIMIT)
        call.cancel()
        await until(lambda: held.cancelled, what="the cancellation", seconds=LIMIT)
        assert service.counters.snapshot()["service.cancelled"] == 1
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(caller.calls) == 0


async def test_a_call_that_times_out_is_cancelled_at_the_service(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    held = Held()
    async with serving(service, queue, held):
        await ask_quickly(caller, queue, held)
        await until(lambda: held.cancelled, what="the cancellation", seconds=LIMIT)


async def ask_quickly(caller: ToolBus, queue: str, held: Held) -> None:
    """Call with a short limit until a call has begun before it ended."""
    for number in range(50):
        # The service ends it at its deadline by itself, or when it is cancelled.
        with pytest.raises(ToolError) as caught:
            await caller.call(Route(queue), Request("", {}, {"number": number}), 0.3)
        assert caught.value.type == "timeout"
        if held.begun:
            return
    pytest.fail("no call has begun")


async def test_a_request_after_its_deadline_is_not_executed(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    held = Held()
    async with serving(service, queue, held):
        headers = {"id": "late", "deadline": deadline_after(-1)}
        await caller.broker.publish(queue, Request().encode(), headers)
        expired = "service.expired"
        counters = service.counters
        await until(lambda: expired in counters.snapshot(), what="the refusal", seconds=LIMIT)
    assert not held.begun


async def test_the_same_request_twice_is_executed_once(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    held = Held()
    held.go.set()
    async with serving(service, queue, held):
        for _ in range(2):
            await caller.broker.publish(queue, Request().encode(), {"id": "twice"})
        counters = service.counters
        await until(lambda: "service.duplicates" in counters.snapshot(), what="both", seconds=LIMIT)
    assert len(held.begun) == 1


async def test_a_service_that_falls_silent_is_given_up(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    async def takes(message: Message) -> None:
        pass  # and never answers

    subscription = await service.broker.subscribe(queue, "shared", takes)
    with pytest.raises(ToolError, match="no sign of life") as caught:
        await caller.call(Route(queue, idle_timeout=0.3, lively=True), Request(), LIMIT)
    assert caught.value.type == "disconnected"
    assert caught.value.retryable
    await service.broker.unsubscribe(subscription)


async def test_signs_of_life_keep_a_slow_service_alive(
    caller: ToolBus, service: ToolBus, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vixio.bus.serving.SIGN_OF_LIFE_S", 0.1)
    held = Held()
    async with serving(service, queue, held):
        route = Route(queue, idle_timeout=20)
        call = asyncio.create_task(caller.call(route, Request("", {}, {"number": 1}), LIMIT))
        heard = asyncio.create_task(signs(caller))
        async with asyncio.timeout(LIMIT):
            await heard
        held.go.set()
        assert await call == "done 1"


async def test_callers_of_the_original_wire_get_no_signs_of_life(
    caller: ToolBus, service: ToolBus, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would take the first one for an empty answer."""
    monkeypatch.setattr("vixio.bus.serving.SIGN_OF_LIFE_S", 0.1)
    responses = queue.replace("request", "response")
    answers: asyncio.Queue[Message] = asyncio.Queue()
    held = Held()
    async with serving(service, queue, held, response_queue=responses):
        await caller.broker.subscribe(responses, "broadcast", answers.put)
        by_hand = Request("", {}, {"number": 0}).encode()
        await caller.broker.publish(queue, by_hand, {"id": "by-hand"})
        await until(lambda: held.begun, what="the call by hand", seconds=LIMIT)
        call = asyncio.create_task(ask(caller, queue, number=1))
        async with asyncio.timeout(LIMIT):
            await signs(caller)
        held.go.set()
        async with asyncio.timeout(LIMIT):
            first = await answers.get()
        assert json.loads(first.body)["response"] == "done 0"
        assert await call == "done 1"


async def signs(caller: ToolBus) -> None:
    """Wait until three messages have come for the one call that waits."""
    await until(lambda: len(caller.calls), what="the call", seconds=LIMIT)
    (waiting,) = caller.calls._waiting.values()
    for _ in range(3):
        before = waiting.heard
        await until(lambda before=before: waiting.heard != before, seconds=LIMIT)  # type: ignore[misc]


async def test_stopping_lets_calls_end(caller: ToolBus, service: ToolBus, queue: str) -> None:
    held = Held()
    running = await service.serve(queue, held)
    call = asyncio.create_task(ask(caller, queue, number=1))
    await until(lambda: held.begun, what="the call to begin", seconds=LIMIT)
    stopping = asyncio.create_task(running.stop(LIMIT))
    await asyncio.sleep(0)
    held.go.set()
    assert await call == "done 1"
    await stopping


async def test_a_call_that_outlasts_the_grace_is_an_error(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    held = Held()
    running = await service.serve(queue, held)
    call = asyncio.create_task(ask(caller, queue, number=1))
    await until(lambda: held.begun, what="the call to begin", seconds=LIMIT)
    await running.stop(0)
    with pytest.raises(ToolError, match="was stopped") as caught:
        await call
    assert caught.value.type == "disconnected"
