"""The language model: picks one of the tools that it is offered, and checks what comes back."""

from __future__ import annotations

import asyncio
import json
import random
import re

from tests.load.tool_churn.notes import Notes, origin
from tests.support.llm_server import Answer, Call, JsonObject, LLMServer, calls, text, whole

_DEVICE = re.compile(r"device (\d+)")

DONE = "Done."
GONE = "Gone."


class ChoosingModel(LLMServer):
    """Answers words with a call of one or two of the device's tools, results with a word.

    It takes up to ``think`` seconds for each answer, so that tools change in mid-turn.
    """

    def __init__(self, notes: Notes, think: float) -> None:
        super().__init__()
        self._notes = notes
        self._think = think
        self._random = random.Random(7)

    def _next(self, request: JsonObject) -> Answer:
        for record in (self.requests, self.keys, self.paths):
            record.clear()  # ten minutes of them would fill the memory
        messages = request["messages"]
        if "tools" not in request:  # the server has its own: this is no turn
            self._notes.counts["summaries"] += 1
            return whole("They talked.")
        asked = max(at for at, message in enumerate(messages) if message["role"] == "user")
        device = _device_of(messages[asked])
        results = [message for message in messages[asked:] if message["role"] == "tool"]
        offered = [tool["function"]["name"] for tool in request.get("tools", ())]
        own = self._notes.offered(device, offered, first=not results)
        if results:
            return self._judge(device, messages[asked:])
        if not own:
            self._notes.wrong(f"device {device}: no tool of it is offered")
            return text(DONE)
        chosen = self._random.sample(own, self._random.choice((1, 1, 2)))
        return calls(
            *(
                Call(f"call_{number}", each.name.replace(".", "_"), "{}")
                for number, each in enumerate(chosen)
            ),
            piece=20,
        )

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
        gone = False
        for message in messages:
            if message["role"] != "tool":
                continue
            tool = origin(named[message["tool_call_id"]])
            result = message["content"]
            said = result if isinstance(result, str) else json.dumps(result)
            if tool is None:
                self._notes.wrong(f"device {device}: a result of an unknown tool")
            elif tool.answer in said:
                self._notes.counts["calls answered"] += 1
            elif "answer " in said:
                self._notes.wrong(f"device {device}: {tool.name} gave {said[:60]!r}")
            else:
                self._notes.counts["calls of a tool that had gone"] += 1
                gone = True
        return text(GONE if gone else DONE)


def _device_of(message: JsonObject) -> int:
    found = _DEVICE.search(json.dumps(message["content"]))
    assert found is not None, "the words name no device"
    return int(found[1])
