"""Logs and counters of conversations, made from their events. They contain no words of the user."""

from __future__ import annotations

import logging

from vixio.core.metrics import Counters
from vixio.core.session.events import (
    Event,
    Failure,
    SessionClosed,
    SessionOpened,
    TurnEnded,
)

_log = logging.getLogger(__name__)


class SessionLog:
    """A sink of the event bus."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    def __call__(self, event: Event) -> None:
        """Count and log one event."""
        match event:
            case SessionOpened():
                self._counters.add("session.opened")
            case SessionClosed():
                self._counters.add("session.closed")
            case TurnEnded():
                self._turn_ended(event)
            case Failure():
                if event.partial:
                    self._counters.add("turn.sentence_failed")
                else:
                    self._counters.add(f"turn.failed.{event.stage}")
                _log.warning(
                    "sentence not spoken" if event.partial else "turn failed",
                    extra={
                        "device_id": event.device_id,
                        "turn_id": event.turn_id,
                        "stage": event.stage,
                        "reason": event.reason,
                        "detail": event.detail,
                    },
                )
            case _:
                pass

    def _turn_ended(self, event: TurnEnded) -> None:
        timeline = event.timeline
        self._counters.add(f"turn.outcome.{timeline.outcome.partition(':')[0] or 'none'}")
        _log.info(
            "turn ended",
            extra={
                "device_id": event.device_id,
                "turn_id": event.turn_id,
                "outcome": timeline.outcome or "unfinished",
                **timeline.since_turn_end(),
                **timeline.model_fields(),
            },
        )
