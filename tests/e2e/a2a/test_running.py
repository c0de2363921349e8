"""Tasks and streams of a caller at a time are limited, however its messages come."""

from __future__ import annotations

import pytest

from tests.e2e.a2a.support import PARIS, gateway
from tests.support.a2a_client import (
    OTHER,
    WEATHER,
    RpcError,
    answer_of,
    calls_of,
    offered,
    result,
    results,
    rpc,
    state_of,
)
from tests.support.llm_server import LLMServer, Stall, calls, text
from tests.support.waiting import until


async def test_running_tasks_and_streams_are_limited() -> None:
    stall = Stall()
    limits = {"max_running": 2, "max_streams": 1}
    async with (
        LLMServer() as llm,
        gateway(llm, a2a=limits) as server,
        rpc(server.http_url) as client,
        rpc(server.http_url, token=OTHER) as other,
    ):
        llm.script(text("One, ", stall, "two."), calls(PARIS), text("Fine."), text("Sunny."))
        stream = client.stream("Count")
        await anext(stream)
        await stall.reached.wait()
        waiting = await client.send("Paris?", offered(WEATHER))
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}
        params = {"message": client.message("Hello")}
        status, answer, headers = await client.post({**body, "params": params})
        assert (status, answer["error"]["code"]) == (429, -32000)
        assert headers["Retry-After"] == "1"
        with pytest.raises(RpcError, match="streams"):
            await anext(client.subscribe(waiting["id"]))
        assert answer_of(await other.send("Hello")) == "Fine."
        # The answer to a call is no further task.
        (call,) = calls_of(waiting)
        done = await client.send(results(result(call["id"], "x")), taskId=waiting["id"])
        assert state_of(done) == "COMPLETED"
        stall.go.set()
        async for _ in stream:
            pass
        await until(lambda: server.app.health()["a2a"]["streams"] == 0)
