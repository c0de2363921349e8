"""What the stream says of events and changes; vixio.web.api.routes.events documents the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from vixio.core.device import Device
from vixio.core.metrics import one_word
from vixio.core.session import events
from vixio.data.database.audit import Change
from vixio.web.feed.entry import DEVICE, Entry

CHANGES: Final = "changes"
"""The source of the entries of the audit trail; their numbers are its ids."""

CHANGED: Final = "changed"

MAX_WORDS: Final = 2_000
"""Characters of a text in the stream; the conversation on record has more of it."""


class Content(NamedTuple):
    """See :class:`~vixio.web.feed.entry.Entry`."""

    type: str
    fields: Mapping[str, Any]
    words: Mapping[str, Any] = {}
    about: str = DEVICE


def content(event: events.Event) -> Content | None:
    """Return what the stream says of an event of a session; None: nothing."""
    match event:
        case events.SessionOpened(device=device):
            stated = _stated(device) if device is not None else {}
            return Content("session.opened", {**stated, "awake": event.awake})
        case events.ConversationOpened(device=device):
            return Content("conversation.opened", _stated(device))
        case events.ConversationEnded():
            return Content("conversation.ended", {})
        case events.SessionClosed(seconds=seconds, reason=reason):
            return Content("session.closed", {"seconds": round(seconds, 1), "reason": reason})
        case events.DeviceToolsListed(names=names):
            return Content("device.tools", {"tools": list(names)})
        case events.StateChanged(before=before, after=after):
            return Content("state", {"before": before, "after": after})
        case events.Failure():
            fields = {"stage": event.stage, "reason": event.reason, "detail": event.detail}
            return Content("failure", {"turn": event.turn_id, **fields, "partial": event.partial})
    return _of_turn(event) or _of_speech(event) or _of_tool(event)


def _stated(device: Device) -> dict[str, Any]:
    """Return what a device says of itself; not from where it comes."""
    return {
        "board": device.board,
        "firmware": device.firmware,
        "transport": device.transport,
        "features": sorted(device.features),
    }


def _of_turn(event: events.Event) -> Content | None:
    match event:
        case events.PartialTranscript(turn_id=turn, text=text):
            return Content("transcript.partial", {"turn": turn}, {"text": _clip(text)})
        case events.FinalTranscript(turn_id=turn, text=text, understood=understood):
            fields = {"turn": turn, "understood": understood}
            words = {"text": _clip(text), "guess": _clip(event.guess)}
            return Content("transcript", fields, words)
        case events.TurnStarted(turn_id=turn, text=text):
            return Content("turn.started", {"turn": turn}, {"text": _clip(text)})
        case events.TurnEnded(turn_id=turn, timeline=timeline):
            outcome = ":".join(filter(None, timeline.result))
            ended = {"turn": turn, "outcome": outcome, "stages": timeline.since_turn_end()}
            models = [asdict(use) for use in timeline.models]
            more = {"models": models, "sound_ms": timeline.sound_ms}
            return Content("turn.ended", {**ended, **more})
    return None


def _of_speech(event: events.Event) -> Content | None:
    match event:
        case events.SpeechStarted(turn_id=turn):
            return Content("speech.started", {"turn": turn})
        case events.SpeechSentence(turn_id=turn, text=text, filler=filler):
            begun = {"turn": turn, "filler": filler}
            return Content("speech.sentence", begun, {"text": _clip(text)})
        case events.SpeechPlayed(turn_id=turn, text=text):
            return Content("speech.played", {"turn": turn}, {"text": _clip(text)})
        case events.SpeechInterrupted(turn_id=turn, heard=heard, cause=cause):
            cut = {"turn": turn, "cause": one_word(cause)}
            return Content("speech.interrupted", cut, {"text": _clip(heard)})
    return None


def _of_tool(event: events.Event) -> Content | None:
    match event:
        case events.ToolStarted(turn_id=turn, call_id=call, name=name, arguments=arguments):
            fields = {"turn": turn, "call": call, "tool": name}
            return Content("tool.started", fields, {"arguments": _clip(arguments)})
        case events.ToolEnded(turn_id=turn, call_id=call, name=name, output=output):
            fields = {"turn": turn, "call": call, "tool": name, "success": event.success}
            fields |= {"error": event.error_type, "ms": round(event.seconds * 1000)}
            return Content("tool.ended", fields, {"output": _clip(output)})
    return None


def change_entry(change: Change) -> Entry:
    """Return the entry for a change that stands in the audit trail."""
    about, _, key = change.target.partition(":")
    detail = json.loads(change.detail)
    fields = {
        "about": about,
        "key": key,
        "action": change.action,
        "actor": change.actor,
        "detail": detail,
    }
    device_id = key if about == DEVICE else detail.get("device", "")
    return Entry(CHANGES, change.id, change.at, CHANGED, about, device_id, fields, {})


def _clip(text: str) -> str:
    return text if len(text) <= MAX_WORDS else f"{text[: MAX_WORDS - 1]}…"
