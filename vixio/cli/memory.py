"""The command ``vixio memory``: shows and erases what is remembered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from vixio.composition.registry import opened_memory
from vixio.core.device import normalise_device_id
from vixio.core.errors import ConfigError
from vixio.core.history import (
    AssistantMessage,
    HistoryItem,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.data.memory.former import former_file, kept_as
from vixio.data.memory.records import Remembered, device_key, owner_of, to_input_items
from vixio.data.memory.repository import Known
from vixio.settings import Settings

MAX_SHOWN = 200
"""Characters of a tool's arguments and answer."""


async def run(settings: Settings, device: str | None, *, erase: bool, as_json: bool) -> str:
    """Run the command, and return its output. Raises ConfigError, DatabaseFailed."""
    if settings.memory.store == "none":
        raise ConfigError("memory.store is none: nothing is kept that could be shown or erased")
    async with opened_memory(settings) as memory:
        if device is None:
            return _listed(await memory.known(), as_json=as_json)
        key = device_key(normalise_device_id(device))
        former = device_key(device)  # of a time before ids were normalised
        if former != key:
            await memory.move(former, key)
        if erase:
            there = await memory.clear(key)
            if former != key:
                there = await memory.clear(former) or there
            said = f"{device}: erased" if there else f"{device}: nothing was remembered"
            left = kept_as(former_file(settings.memory.path))
            if left.exists():
                said += f"\n{left}, of an earlier version, still has what was said then: delete it"
            return said
        remembered = await memory.load(key)
        facts = list(await memory.load_facts(key))
    if as_json:
        turns = [to_input_items(turn) for turn in remembered.turns]
        everything = {
            "device": device,
            "facts": facts,
            "summary": remembered.summary,
            "turns": turns,
        }
        return json.dumps(everything, ensure_ascii=False, indent=2)
    return _shown(device, remembered, facts)


def _listed(known: Sequence[Known], *, as_json: bool) -> str:
    seen = {owner_of(device.key): device.seen for device in known}
    if as_json:
        return json.dumps([{"device": owner, "seen": at} for owner, at in seen.items()])
    if not known:
        return "nothing is remembered of any device"
    return "\n".join(
        f"{owner}  last seen {datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
        for owner, at in seen.items()
    )


def _shown(device: str, remembered: Remembered, facts: list[str]) -> str:
    if not (remembered.turns or remembered.summary or facts):
        return f"{device}: nothing is remembered; `vixio memory` lists the devices that are known"
    lines = [device]
    if facts:
        lines += ["", "facts", *(f"  - {fact}" for fact in facts)]
    if remembered.summary:
        lines += ["", "summary of what was said before", f"  {remembered.summary}"]
    if remembered.turns:
        number = len(remembered.turns)
        lines += ["", f"conversation, the last {number} turns" if number > 1 else "conversation"]
        lines += [f"  {line}" for turn in remembered.turns for line in map(_line, turn)]
    return "\n".join(lines)


def _line(item: HistoryItem) -> str:
    match item:
        case UserMessage(text=text):
            return f"user       {text}"
        case AssistantMessage(text=text):
            return f"assistant  {text}"
        case ToolCallItem(name=name, arguments=arguments):
            return f"calls      {name} {arguments[:MAX_SHOWN]}"
        case ToolResultItem(output=output):
            return f"answer     {output[:MAX_SHOWN]}"
        case _:
            return item.text
