"""Talking to the assistant over A2A, in both versions of the protocol."""

from __future__ import annotations

import pytest

from tests.e2e.a2a.support import VERSIONS, gateway
from tests.support.a2a_client import answer_of, rpc, state_of
from tests.support.llm_server import LLMServer, text


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_answer_and_its_context(version: str) -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        llm.script(text("Nice to ", "meet you."), text("You are Ann."))
        first = await client.send("I am Ann")
        assert (state_of(first), answer_of(first)) == ("COMPLETED", "Nice to meet you.")
        second = await client.send("Who am I", contextId=first["contextId"])
        assert answer_of(second) == "You are Ann."
        assert second["id"] != first["id"]
        said = [each["content"] for each in llm.requests[-1]["messages"][1:]]
        assert said == ["I am Ann", "Nice to meet you.", "Who am I"]
        assert answer_of(await client.get(first["id"])) == "Nice to meet you."
