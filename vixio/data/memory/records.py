"""The records of the memory: their keys and their form.

The items of turns are the input items that the agent SDK itself would write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from vixio.core.device import PERSON_PREFIX
from vixio.core.history import (
    AssistantMessage,
    HistoryItem,
    Summary,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.core.well_formed import well_formed

InputItem = dict[str, Any]

_MAC = re.compile(r"[0-9a-f]{2}([:-]?)[0-9a-f]{2}(?:\1[0-9a-f]{2}){4}")
_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")

_PERSON = re.compile(rf"{PERSON_PREFIX}([0-9a-f]{{1,64}})")

PERSON_KEY = "person:"
"""Before a person's id. No device's key begins with it: one has colons in a MAC address alone."""


def device_key(device_id: str) -> str:
    """Return the key of a device, or of the owner of a person's facts, in a store.

    A MAC address stays readable, in lower case with colons: a hash would hide nothing, since all
    addresses of one maker can be tried in seconds. An id that is neither a MAC address nor a plain
    word is hashed, so that no invented id can reach another device's sessions through a separator,
    or through a database that ignores case.

    Ids are normalised at admission. Older stores have keys of other spellings, so the results of
    this function must not change for those.
    """
    if person := _PERSON.fullmatch(device_id):
        return f"{PERSON_KEY}{person[1]}"
    lower = device_id.strip().lower()
    if _MAC.fullmatch(lower):
        digits = re.sub("[:-]", "", lower)
        return ":".join(digits[start : start + 2] for start in range(0, 12, 2))
    if _PLAIN.fullmatch(device_id):
        return device_id
    return f"sha256-{sha256(device_id.encode('utf-8', 'surrogatepass')).hexdigest()}"


def owner_of(key: str) -> str:
    """Return what :func:`device_key` makes this key of: a device's id, the owner of a person's
    facts. A hash is returned as it is."""
    return re.sub(f"^{PERSON_KEY}", PERSON_PREFIX, key)


@dataclass(frozen=True, slots=True)
class Remembered:
    """The stored conversation with one device."""

    turns: Sequence[Sequence[HistoryItem]] = ()
    summary: str = ""


def to_input_items(items: Iterable[HistoryItem]) -> list[InputItem]:
    """Return the items of a turn as the SDK's input items."""
    made: list[InputItem] = []
    for item in items:
        match item:
            case UserMessage(text=text):
                made.append({"role": "user", "content": well_formed(text)})
            case AssistantMessage(text=text):
                made.append({"role": "assistant", "content": well_formed(text)})
            case ToolCallItem(call_id=call_id, name=name, arguments=arguments):
                call = {"call_id": call_id, "name": name, "arguments": arguments}
                made.append({"type": "function_call", **_well_formed(call)})
            case ToolResultItem(call_id=call_id, output=output):
                answer = {"call_id": call_id, "output": output}
                made.append({"type": "function_call_output", **_well_formed(answer)})
            case Summary():
                pass  # it is stored by itself
    return made


def _well_formed(texts: dict[str, str]) -> dict[str, str]:
    return {name: well_formed(text) for name, text in texts.items()}


def to_turns(items: Iterable[Mapping[str, Any]]) -> list[list[HistoryItem]]:
    """Split ``items`` into turns, each starting with its user message.

    Items before the first user message are the rest of a turn that was removed. Items of an unknown
    form, for example of another program, are left out.
    """
    turns: list[list[HistoryItem]] = []
    for raw in items:
        item = _history_item(raw)
        if isinstance(item, UserMessage):
            turns.append([item])
        elif item is not None and turns:
            turns[-1].append(item)
    return turns


def _history_item(raw: Mapping[str, Any]) -> HistoryItem | None:
    match raw:
        case {"role": "user", "content": content}:
            return UserMessage(text_of(content))
        case {"role": "assistant", "content": content}:
            return AssistantMessage(text_of(content))
        case {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}:
            return ToolCallItem(str(call_id), str(name), str(arguments))
        case {"type": "function_call_output", "call_id": call_id, "output": output}:
            return ToolResultItem(str(call_id), text_of(output))
        case _:
            return None


def text_of(content: object) -> str:
    """Return the words of an item's content: a text, or a list of parts."""
    if isinstance(content, list):
        parts = (part.get("text", "") for part in content if isinstance(part, dict))
        return "\n".join(filter(None, map(str, parts)))
    return str(content)
