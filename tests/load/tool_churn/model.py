"""The language model: picks one of the tools that it is offered, and checks what comes back.

Of a device's own tools and of those of the services on the broker.
"""

from __future__ import annotations

import asyncio
import json
import random
import re

from tests.load.tool_churn.notes import Notes, origin
from tests.load.tool_churn.offers import Offers, ServiceTool, service_tool
from tests.support.llm_server import Answer, Call, JsonObject, LLMServer, calls, text
from vixio.data.memory.summary import HEAD

_DEVICE = re.compile(r"device (\d+)")

DONE = "Done."
GONE = "Gone."


class ChoosingModel(LLMServer):
    """Answers words with a call of one or two of the device's tools, results with a word.

    It takes up to ``think`` seconds for each answer, so that tools change in mid-turn.
    """

    def __init__(self, notes: Notes, offers: Offers, think: float) -> None:
        super().__init__()
        self._notes = notes
        self._offers = offers
        self._calls = 0
        self._think = think
        self._random = random.Random(7)

    def _next(self, request: JsonObject) -> Answer:
        for record in (self.requests, self.keys, self.paths):
            record.clear()  # ten minutes of them would fill the memory
        messages = request["messages"]
        if "tools" not in request:  # the server has its own: this is no turn
            self._notes.counts["summaries"] += 1
            return text(f"{HEAD} They talked.")
        asked = max(at for at, message in enumerate(messages) if message["role"] == "user")
        device = _device_of(messages[asked])
        results = [message for message in messages[asked:] if message["role"] == "tool"]
        offered = [tool["function"]["name"] for tool in request.get("tools", ())]
        own = self._notes.offered(device, offered, first=not results)
        of_services = self._offers.offered(device, offered)
        if results:
            return self._judge(device, messages[asked:])
        if not own:
            self._notes.wrong(f"device {device}: no tool of it is offered")
            return text(DONE)
        count = self._random.choice((1, 1, 2))
        chosen = [each.name.replace(".", "_") for each in self._random.sample(own, count)]
        if of_services and self._random.random() < 0.7:
            chosen[0] = self._random.choice(of_services).name
        made = (
            Call(f"call_{number}", name, self._arguments(name))
            for number, name in enumerate(chosen)
        )
        return calls(*made, piece=20)

    def _arguments(self, name: str) -> str:
        if service_tool(name) is None:
            return "{}"
        self._calls += 1
        return json.dumps({"nonce": f"call {self._calls}"})

    async def _answer(
        self, answer: Answer, writer: asyncio.StreamWriter, gone: asyncio.Future[bytes]
    ) -> bool:
        await asyncio.sleep(self._random.uniform(0.0, self._think))
        return await super()._answer(answer, writer, gone)

    def _judge(self, device: int, messages: list[JsonObject]) -> Answer:
        """Check the results against the calls; say whether a tool was gone."""
        named = {
            call["id"]: call["function"]["name"]
            for message in messages
            for call in message.get("tool_calls") or ()
        }
        there = [
            self._judge_result(device, named[message["tool_call_id"]], message["content"])
            for message in messages
            if message["role"] == "tool"
        ]
        return text(DONE if all(there) else GONE)

    def _judge_result(self, device: int, name: str, result: object) -> bool:
        """Check the result of one call; whether its tool was there."""
        tool = origin(name) or service_tool(name)
        said = result if isinstance(result, str) else json.dumps(result)
        if tool is None:
            self._notes.wrong(f"device {device}: a result of an unknown tool")
            return True
        of_service = isinstance(tool, ServiceTool)
        if (said == tool.answer) if of_service else (tool.answer in said):
            self._notes.counts[f"calls answered{' by services' if of_service else ''}"] += 1
            return True
        if "answer " in said:
            self._notes.wrong(f"device {device}: {tool.name} gave {said[:60]!r}")
            return True
        kind = _error_type(said)
        if isinstance(tool, ServiceTool) and not self._offers.may_fail(tool, kind):
            self._notes.wrong(f"device {device}: {tool.name} failed with {said[:100]!r}")
        what = f"calls of a service: {kind}" if of_service else "calls of a tool that had gone"
        self._notes.counts[what] += 1
        return False


def _error_type(said: str) -> str:
    """Return the type of a structured error; empty if it is none."""
    try:
        kind: str = json.loads(said)["error"]["type"]
    except (ValueError, KeyError, TypeError):
        return ""
    return kind


def _device_of(message: JsonObject) -> int:
    found = _DEVICE.search(json.dumps(message["content"]))
    assert found is not None, "the words name no device"
    return int(found[1])
