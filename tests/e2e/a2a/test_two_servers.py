"""One server asks the other: the caller's side of A2A meets the agent's."""

from __future__ import annotations

from tests.e2e.a2a.support import a2a_settings, gateway
from tests.support.a2a_client import TOKEN
from tests.support.llm_server import Call, LLMServer, calls, text
from tests.support.waiting import until
from vixio.server import Server


async def test_the_assistant_is_a_tool_of_another() -> None:
    """Its question comes back to the caller, whose next words answer it."""
    async with LLMServer() as theirs, LLMServer() as ours:
        confirm = {"confirm": ["builtin/get_time"]}
        async with gateway(theirs, tools=confirm) as remote:
            agent = {"url": remote.http_url, "name": "hal", "token": TOKEN, "allow_private": True}
            config = a2a_settings(ours, tools={"a2a": [agent], "builtin": False})
            async with (
                Server(config) as app,
                await app.conversation("terminal") as conversation,
            ):
                await until(lambda: conversation.tools.source("hal"))
                (tool,) = conversation.tools.source("hal")
                ask = Call("c1", "get_time", "{}")
                theirs.script(calls(ask), text("Shall I look?"), calls(ask), text("Noon."))
                ours.script(
                    calls(Call("c2", tool.alias or "talk", '{"message": "What time is it?"}')),
                    text(""),
                    calls(Call("c3", tool.alias or "talk", '{"message": "yes"}')),
                    text("There."),
                )
                first = await conversation.ask("What time is it at Hal's?")
                assert "Shall I look?" in first.text
                second = await conversation.ask("yes")
                assert "Noon." in second.text
        assert len(theirs.requests) == 4
        assert remote.count("a2a.tasks") == 2
