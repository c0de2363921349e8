"""An A2A client with tools of its own: an oven, which the assistant uses through the client.

It speaks protocol 1.0 by JSON-RPC, with nothing but an HTTP client (docs/a2a.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from vixio.core.errors import ConfigError
from vixio.web.a2a.mount import check_installed

if TYPE_CHECKING:
    import aiohttp

    from vixio.core.tools.types import JsonObject

REQUEST_S: Final = 30.0

_WAITS: Final = "TASK_STATE_INPUT_REQUIRED"
_DONE: Final = "TASK_STATE_COMPLETED"


class ClientError(Exception):
    """The server's answer is not the one that the protocol has here, in one line."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the client: the tool that has to be called, and the answer in the end."""

    say: str
    tool: str
    answer: str


TURNS: Sequence[Turn] = (
    Turn(
        "set the oven temperature to 180",
        "set_oven_temperature",
        "Okay, the oven temperature is now 180.",
    ),
    Turn(
        "what is the oven temperature",
        "get_oven_temperature",
        "The oven temperature is 180 degrees.",
    ),
)


@dataclass(slots=True)
class Oven:
    """The client's tools. ``temperature``: degrees."""

    temperature: int = 20

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Carry out a call. Raises ClientError for a tool that was not offered."""
        if name == "set_oven_temperature":
            self.temperature = int(arguments["temperature"])
        elif name != "get_oven_temperature":
            raise ClientError(f"there is no tool {name}")
        return f"{self.temperature} degrees"


def offer() -> JsonObject:
    """Return the data part that offers the tools."""
    degrees = {"temperature": {"type": "integer", "minimum": 20, "maximum": 250}}
    tools = [
        _tool("get_oven_temperature", "Get the temperature of the oven", {}),
        _tool("set_oven_temperature", "Set the temperature of the oven", degrees),
    ]
    metadata = {"type": "tool-definitions", "format": "langchain", "count": len(tools)}
    return {"data": {"tools": tools}, "metadata": metadata}


def _tool(name: str, description: str, properties: JsonObject) -> JsonObject:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


@dataclass(slots=True)
class OvenClient:
    """Holds :data:`TURNS` with a server, in one context."""

    token: str
    oven: Oven = field(default_factory=Oven)
    good: int = 0
    """Turns that went as expected."""
    lines: list[str] = field(default_factory=list)
    """What happened, for :meth:`show`."""

    async def converse(self, url: str, during: Callable[[], bool]) -> None:
        """Converse with the assistant at ``url``; a failed turn ends the conversation.

        ``during``: whether a device is being answered; each turn has to begin and end within that.
        """
        import aiohttp

        caught = (aiohttp.ClientError, TimeoutError, LookupError, ValueError, ClientError)
        headers = {"Authorization": f"Bearer {self.token}", "A2A-Version": "1.0"}
        timeout = aiohttp.ClientTimeout(total=REQUEST_S)
        context = ""
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
            for number, turn in enumerate(TURNS):
                self._note("client", f"{turn.say}{'' if number else '   (offers its oven)'}")
                parts = [{"text": turn.say}] if number else [{"text": turn.say}, offer()]
                try:
                    beside = during()
                    context = await self._turn(_Sender(session, url), turn, parts, context)
                    if not (beside and during()):
                        raise ClientError("no device was being answered meanwhile")
                except caught as error:
                    reason = " ".join(str(error).split()) or type(error).__name__
                    self._note("FAILED", f"{reason}\n")
                    return
                self.good += 1
                self._note("ok", f"expected: {turn.tool} is called, while the device talks\n")

    async def _turn(
        self, sender: _Sender, turn: Turn, parts: Sequence[JsonObject], context: str
    ) -> str:
        """Hold one turn; return its context. Raises ClientError if it is not as expected."""
        task = await sender.send(parts, **({"contextId": context} if context else {}))
        _expect(task, _WAITS)
        calls = _calls(task)
        if [call["name"] for call in calls] != [turn.tool]:
            raise ClientError(f"expected one call of {turn.tool}, found {len(calls)} calls")
        (call,) = calls
        self._note("called", f"{turn.tool} {call['arguments']}")
        content = self.oven.call(turn.tool, json.loads(call["arguments"]))
        self._note("result", content)
        task = await sender.send([_result(call, content)], taskId=task["id"])
        _expect(task, _DONE)
        said = "".join(
            part.get("text", "") for each in task.get("artifacts", ()) for part in each["parts"]
        )
        self._note("vixio", said)
        if said != turn.answer:
            raise ClientError(f"expected the answer: {turn.answer}")
        return str(task["contextId"])

    def show(self) -> int:
        """Print what happened; return how many turns were not as expected."""
        print("an A2A client with tools of its own, while the device talks:\n")
        for line in self.lines:
            print(line)
        print(f"{self.good} of {len(TURNS)} turns of the A2A client as expected")
        return len(TURNS) - self.good

    def _note(self, what: str, text: str) -> None:
        self.lines.append(f"  {what:<8}{text}")


@dataclass(frozen=True, slots=True)
class _Sender:
    session: aiohttp.ClientSession
    url: str

    async def send(self, parts: Sequence[JsonObject], **ids: str) -> JsonObject:
        """Send a message; return its task. Raises ClientError for an error of the protocol."""
        message = {"messageId": uuid4().hex, "role": "ROLE_USER", "parts": list(parts), **ids}
        params = {"message": message}
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
        async with self.session.post(self.url, json=body) as answer:
            found = await answer.json(content_type=None)
        if not isinstance(found, dict) or "result" not in found:
            raise ClientError(f"HTTP {answer.status}: {json.dumps(found)[:200]}")
        return dict(found["result"]["task"])


def _expect(task: JsonObject, state: str) -> None:
    found = task["status"]["state"]
    if found != state:
        raise ClientError(f"expected the task in {state}, found it in {found}")


def _calls(task: JsonObject) -> Sequence[JsonObject]:
    for part in task["status"].get("message", {}).get("parts", ()):
        if part.get("metadata", {}).get("type") == "tool-calls":
            return list(part["data"]["tool_calls"])
    return ()


def _result(call: JsonObject, content: str) -> JsonObject:
    result = {"tool_call_id": call["id"], "name": call["name"], "status": "success"}
    return {
        "data": {"tool_results": [{**result, "content": content}]},
        "metadata": {"type": "tool-results", "format": "langchain"},
    }


def lacking() -> str:
    """Return in one line what A2A lacks here; empty: nothing."""
    try:
        check_installed()
    except ConfigError as error:
        return str(error)
    return ""
