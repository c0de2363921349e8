"""The records of a store: their session ids and their form.

A device has up to three sessions in the format of the agent SDK: its turns, as the input items that
the SDK itself would write; the latest summary; the latest list of facts.
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

SUMMARY = "/summary"
FACTS = "/facts"
"""Added to a device's key. A key never contains a slash."""


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


def key_of(session_id: str) -> str:
    """Return the device key of a session."""
    return session_id.partition("/")[0]


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
                pass  # it is stored in a session of its own
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
            return UserMessage(_text(content))
        case {"role": "assistant", "content": content}:
            return AssistantMessage(_text(content))
        case {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}:
            return ToolCallItem(str(call_id), str(name), str(arguments))
        case {"type": "function_call_output", "call_id": call_id, "output": output}:
            return ToolResultItem(str(call_id), _text(output))
        case _:
            return None


def _text(content: object) -> str:
    if isinstance(content, list):
        parts = (part.get("text", "") for part in content if isinstance(part, dict))
        return "\n".join(filter(None, map(str, parts)))
    return str(content)


def summary_item(summary: str) -> InputItem:
    """Return the items of the session of a summary."""
    return {"role": "user", "content": well_formed(summary)}


def facts_item(facts: Iterable[str]) -> InputItem:
    """Return the whole list of facts as one item, so that a write replaces it at once."""
    return {
        "role": "user",
        "content": [{"type": "input_text", "text": well_formed(fact)} for fact in facts],
    }


def to_summary(items: Sequence[Mapping[str, Any]]) -> str:
    """Return the newest summary in a session of summaries."""
    return _text(items[-1].get("content", "")) if items else ""


def to_facts(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the newest list of facts in a session of facts."""
    content = items[-1].get("content") if items else None
    parts = content if isinstance(content, list) else []
    return [str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part]
