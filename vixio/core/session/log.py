"""Logs and counters of conversations, made from their events.

:class:`SessionLog` writes no words of the user or of the assistant; :class:`WordsLog` writes
nothing else, and is attached only where the settings ask for it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from vixio.core.log_fields import DEVICE, PRIVATE, SESSION, TURN
from vixio.core.metrics import Counters
from vixio.core.session.events import (
    Event,
    Failure,
    FinalTranscript,
    SessionClosed,
    SessionOpened,
    SpeechInterrupted,
    SpeechPlayed,
    TurnEnded,
    TurnStarted,
)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Open:
    """A session that runs."""

    turns: int = 0
    failed_turn: int | None = None
    error: str = ""


class SessionLog:
    """A sink of the event bus: a line for each connection, each turn and each failure."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._open: dict[str, _Open] = {}

    def __call__(self, event: Event) -> None:
        """Count and log one event."""
        match event:
            case SessionOpened():
                self._counters.add("session.opened")
                self._open[event.session_id] = _Open()
                _log.info("device connected", extra={**_ids(event), **_of_device(event)})
            case SessionClosed():
                self._counters.add("session.closed")
                known = self._open.pop(event.session_id, _Open())
                fields = {
                    "reason": event.reason,
                    "seconds": round(event.seconds, 1),
                    "turns": known.turns,
                }
                _log.info("device disconnected", extra={**_ids(event), **fields})
            case TurnEnded():
                self._turn_ended(event)
            case Failure():
                self._failed(event)
            case _:
                pass

    def _failed(self, event: Failure) -> None:
        fields = {
            **_ids(event, event.turn_id),
            "stage": event.stage,
            "reason": event.reason,
            "detail": event.detail,
        }
        if event.partial:
            self._counters.add("turn.sentence_failed")
            _log.warning("sentence not spoken", extra=fields)
            return
        self._counters.add(f"turn.failed.{event.stage}")
        _log.warning("turn failed", extra=fields)
        if (known := self._open.get(event.session_id)) is not None:
            known.failed_turn, known.error = event.turn_id, event.detail or event.reason

    def _turn_ended(self, event: TurnEnded) -> None:
        timeline = event.timeline
        outcome, cause = timeline.result
        self._counters.add(f"turn.outcome.{outcome}")
        fields: dict[str, object] = {"outcome": outcome}
        if cause:
            fields["cause"] = cause
        if (known := self._open.get(event.session_id)) is not None:
            known.turns += 1
            if known.failed_turn == event.turn_id:
                fields["error"] = known.error
        fields |= timeline.log_fields()
        _log.info("turn ended", extra={**_ids(event, event.turn_id), **fields})


class WordsLog:
    """A sink of the event bus: what was said, on both sides. Private content."""

    def __call__(self, event: Event) -> None:
        """Log the words of one event, if it has any."""
        match event:
            case FinalTranscript(understood=False):
                _log.info("user not understood", extra=_ids(event, event.turn_id))
            case TurnStarted(text=text) if text:
                _log.info("user said", extra=_words(event, event.turn_id, text))
            case SpeechPlayed(text=text):
                _log.info("assistant said", extra=_words(event, event.turn_id, text))
            case SpeechInterrupted(heard=heard):
                fields = {**_words(event, event.turn_id, heard), "cut": True}
                _log.info("assistant said", extra=fields)
            case _:
                pass


def _ids(event: Event, turn_id: int | None = None) -> dict[str, object]:
    ids: dict[str, object] = {DEVICE: event.device_id, SESSION: event.session_id}
    return ids if turn_id is None else {**ids, TURN: turn_id}


def _words(event: Event, turn_id: int | None, text: str) -> dict[str, object]:
    return {**_ids(event, turn_id), "text": text, PRIVATE: True}


def _of_device(event: SessionOpened) -> dict[str, object]:
    """Return what is known of the device, as fields; nothing that it does not state."""
    device = event.device
    if device is None:
        return {}
    fields = {
        "address": device.address,
        "transport": device.transport,
        "protocol": device.protocol,
        "board": device.board,
        "firmware": device.firmware,
        "features": sorted(device.features),
    }
    return {name: value for name, value in fields.items() if value}
