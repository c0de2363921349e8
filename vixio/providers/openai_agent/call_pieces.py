"""Tool calls out of the pieces of a Chat Completions stream.

By the API a piece names its call by ``index``, and the id and the name come once. Servers do
otherwise: no index, or the same one for all calls (ollama/ollama#15457), or one of the list of
tools in the first piece (sgl-project/sglang#6310); the name in pieces; id and name again in each
piece (vllm-project/vllm#44098), also with a new id; one call under several indexes
(mudler/LocalAI#9722); arguments as an object (Ollama's own API).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vixio.providers.openai_agent.model import Item

Known = Callable[[str], bool]
"""Whether a name is that of an offered tool."""


class CallPieces:
    """Collects the calls of one answer. ``known`` tells a whole name from a piece of one."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._new_ids = False
        """Whether the server gives each piece of a call an id of its own."""

    @property
    def calls(self) -> Sequence[Item]:
        """The calls so far, in their order."""
        return [call.item for call in self._calls]

    def feed(self, piece: Mapping[str, Any]) -> None:
        """Take one entry of ``tool_calls``. Raises AttributeError or TypeError if it is none."""
        function = piece.get("function")
        if function is None:
            function = piece  # name and arguments without the level of the function
        name = function.get("name") or ""
        if not isinstance(name, str):
            raise TypeError(f"a name of type {type(name).__name__}")
        arguments = _text(function.get("arguments"))
        call_id = str(piece.get("id") or "")
        index = _index(piece.get("index"))
        call = self._of(index, call_id, name, arguments)
        if call is None:
            call = _Call(call_id)
            self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        call.item["call_id"] = call.item["call_id"] or call_id
        call.item["name"] = self._named(call, name)
        call.item["arguments"] += arguments
        if extra := piece.get("extra_content"):
            call.item["extra_content"] = extra

    def _of(self, index: int | None, call_id: str, name: str, arguments: str) -> _Call | None:
        """Return the call that a piece continues; None if it begins one."""
        if index is not None and index in self._by_index:
            call = self._by_index[index]
            return call if self._continues(call, call_id, name, arguments) else None
        same = next((call for call in self._calls if call_id and call.id == call_id), None)
        if same is not None:
            if index is None:
                return same
            # Some servers give one call several indexes, and others all calls one id.
            so_far = same.item["arguments"]
            more = arguments == so_far if same.closed else bool(so_far)
            return same if name in ("", same.name) and more else None
        last = self._calls[-1] if self._calls else None
        if last is None or (index is not None and (call_id or name)):
            return None
        return last if self._continues(last, call_id, name, arguments) else None

    def _continues(self, call: _Call, call_id: str, name: str, arguments: str) -> bool:
        """Whether a piece with the place of ``call``, or without one, belongs to it."""
        if not name or (call_id and call_id == call.id):
            return True
        other_id = bool(call_id and call.id)
        if name == call.name:
            if not call.closed or (not arguments and (self._new_ids or not other_id)):
                self._new_ids = self._new_ids or other_id
                return True
            return False
        # Another name: that of the next call, or more of one that is no tool's yet.
        return not call.closed and self._is_more(call.name, name)

    def _is_more(self, name: str, piece: str) -> bool:
        """Whether ``piece`` continues ``name``, or is the whole of it so far."""
        if self._known(name + piece):
            return True
        return not self._known(name) and (not self._known(piece) or piece.startswith(name))

    def _named(self, call: _Call, piece: str) -> str:
        """Return the name of ``call`` after a piece of it, which may be the whole name again."""
        name = call.name
        if not piece or piece == name:
            return name
        if piece.startswith(name) and not self._known(name + piece):
            return piece
        return name + piece if self._is_more(name, piece) else name


class _Call:
    """A call under way, read as far as :attr:`closed` has been asked for."""

    def __init__(self, call_id: str) -> None:
        self.item: Item = {
            "type": "function_call",
            "call_id": call_id,
            "name": "",
            "arguments": "",
        }
        self._read = 0
        self._depth = 0
        self._opened = self._quoted = self._escaped = False

    @property
    def id(self) -> str:
        """Its id; empty while there is none."""
        return str(self.item["call_id"])

    @property
    def name(self) -> str:
        """Its name so far."""
        return str(self.item["name"])

    @property
    def closed(self) -> bool:
        """Whether its arguments are a whole object by now; more of them cannot follow."""
        text: str = self.item["arguments"]
        for at in range(self._read, len(text)):
            char = text[at]
            if self._quoted:
                self._quoted = self._escaped or char != '"'
                self._escaped = char == "\\" and not self._escaped
            elif char == '"':
                self._quoted = True
            elif char == "{":
                self._depth += 1
                self._opened = True
            elif char == "}":
                self._depth -= 1
        self._read = len(text)
        return self._opened and self._depth <= 0 and not self._quoted


def _index(value: object) -> int | None:
    """Return a piece's index if it can be used as one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if isinstance(value, int) else None


def _text(arguments: object) -> str:
    """Return arguments as JSON; an object is what some servers send for it. Raises TypeError."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    if isinstance(arguments, dict | list):
        return json.dumps(arguments, ensure_ascii=False)
    raise TypeError(f"arguments of type {type(arguments).__name__}")
