"""Follows a conversation and prints it: all of a server in this process, or what a device sees."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Final

from vixio.cli.talk.lines import Lines, Outcome, Turn
from vixio.core.metrics import TurnTimeline
from vixio.core.session.events import (
    EventBus,
    Failure,
    FinalTranscript,
    SpeechSentence,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)

if TYPE_CHECKING:
    from firmware_test_client import Reply, SimulatedDevice

Over = Callable[[Turn], None]
"""Called when a turn of the user is over."""

_JOINED: Final = {"superseded", "continued"}
"""Why a turn is interrupted whose words are answered by another one."""


async def watch_server(events: EventBus, device_id: str, lines: Lines, over: Over) -> None:
    """Follow the sessions of a device, until cancelled."""
    with events.subscribe() as subscription:
        async for event in subscription:
            if event.device_id != device_id:
                continue
            match event:
                case FinalTranscript(text=text, guess=guess):
                    lines.heard(text, guess)
                case ToolStarted(name=name, arguments=arguments):
                    lines.tool(name, arguments)
                case ToolEnded(output=output, seconds=seconds, success=success):
                    lines.result(output, seconds, success=success)
                case SpeechSentence(text=text):
                    lines.say("vixio", text)
                case Failure(stage=stage, detail=detail, partial=partial):
                    lines.say("failed", f"{stage}: {detail}{' (one sentence)' if partial else ''}")
                case TurnEnded(timeline=timeline):
                    if (turn := ended_turn(timeline)) is not None:
                        over(turn)
                case _:
                    pass


_OUTCOMES: Final = {
    "answered": Outcome.ANSWERED,
    "not_understood": Outcome.NOT_UNDERSTOOD,
    "tool_failed": Outcome.TOOL_FAILED,
    "interrupted": Outcome.INTERRUPTED,
}


def ended_turn(timeline: TurnTimeline) -> Turn | None:
    """Return what became of a turn; None: it was no turn of the user, or goes on in another."""
    result, cause = timeline.result
    if "turn_end" not in timeline.marks or (result == "interrupted" and cause in _JOINED):
        return None
    return Turn(_OUTCOMES.get(result, Outcome.FAILED), timeline.since_turn_end())


class DeviceWatch:
    """Follows what a device is sent."""

    def __init__(self, device: SimulatedDevice, lines: Lines, over: Over) -> None:
        self._device = device
        self._records = device.records
        self._lines = lines
        self._over = over
        self._seen: Counter[str] = Counter()
        """How many of each kind of record are printed."""

    async def run(self) -> None:
        """Print what comes, until cancelled."""
        failed = False
        while True:
            await self._device.wait_for(self._has_news, what="news", timeout=inf)
            failed = self._print() or failed  # the reason is shown before the apology has ended
            reply = self._next_reply()
            if reply is not None and reply.ended:
                self._seen["reply"] += 1
                if reply.stt is not None or reply.asked is not None:
                    self._over(Turn(_outcome(reply, failed), _seen(reply)))
                failed = False
            elif failed and reply is None:
                if self._lines.turn_is_open:  # it is shown, since it cannot be said
                    self._over(Turn(Outcome.FAILED))
                failed = False

    def _next_reply(self) -> Reply | None:
        at = self._seen["reply"]
        return self._records.replies[at] if at < len(self._records.replies) else None

    def _has_news(self) -> bool:
        reply = self._next_reply()
        return (reply is not None and reply.ended) or any(
            len(each) > self._seen[kind] for kind, each in self._lists().items()
        )

    def _lists(self) -> Mapping[str, Sequence[object]]:
        records = self._records
        return {
            "heard": records.stt_texts,
            "call": self._device.mcp.calls,
            "sentence": records.sentences,
            "alert": records.alerts,
            "notice": records.notices,
        }

    def _print(self) -> bool:
        """Print what is new; return whether the server has shown a failure."""
        records, seen = self._records, Counter(self._seen)
        self._seen.update({kind: len(each) - seen[kind] for kind, each in self._lists().items()})
        for text in records.stt_texts[seen["heard"] :]:
            self._lines.heard(text)
        for call in self._device.mcp.calls[seen["call"] :]:
            self._lines.tool(call.name, json.dumps(call.arguments, ensure_ascii=False))
        for sentence in records.sentences[seen["sentence"] :]:
            self._lines.say("vixio", sentence.text)
        for notice in records.notices[seen["notice"] :]:  # alerts, and the device's own
            self._lines.say("shown", f"{notice.status}: {notice.message}")
        return len(records.alerts) > seen["alert"]


def _outcome(reply: Reply, failed: bool) -> Outcome:
    if reply.aborted:
        return Outcome.INTERRUPTED
    if failed or reply.cut:
        return Outcome.FAILED
    if reply.stt is None:
        return Outcome.NOT_UNDERSTOOD
    return Outcome.ANSWERED if reply.text else Outcome.SILENT


def _seen(reply: Reply) -> dict[str, int]:
    """Return the marks of a turn that its device sees."""
    first = reply.sentences[0].time if reply.sentences else None
    marks = {
        "voice_end": reply.speech_end,
        "transcript": reply.stt_at,
        "first_sentence": first,
        "first_frame": reply.first_audio,
    }
    zero = reply.speech_end if reply.speech_end is not None else reply.tts_start
    return {name: round((at - zero) * 1000) for name, at in marks.items() if at is not None}
