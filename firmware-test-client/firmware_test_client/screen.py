"""Messages that are only shown: text, faces, alerts. They do not change the state.

Follows the callback OnIncomingJson of Application::InitializeProtocol in main/application.cc.
"""

from __future__ import annotations

from typing import Any, Final

from firmware_test_client.records import Records
from firmware_test_client.tracker import ReplyTracker

_EMOTION_NAMES: Final = (
    "neutral happy laughing funny sad angry crying loving embarrassed surprised shocked thinking "
    "winking cool relaxed delicious kissy confident sleepy silly confused"
)
EMOTIONS: Final = frozenset(_EMOTION_NAMES.split())


class Screen:
    """Handles the messages that are only shown."""

    def __init__(self, records: Records, tracker: ReplyTracker) -> None:
        self._records = records
        self._tracker = tracker

    def show(self, kind: str, body: dict[str, Any]) -> bool:
        """Show a message; False if it is of another kind."""
        if kind == "stt":
            self._stt(body)
        elif kind == "llm":
            self._llm(body)
        elif kind == "alert":
            self._alert(body)
        elif kind == "custom":
            self._records.customs.append(body)
        else:
            return False
        return True

    def line(self, text: str) -> None:
        """Show a text of the device's own (SetChatMessage)."""
        self._records.screen.append(text)

    def notice(self, status: str, message: str, emotion: str, sound: str) -> None:
        """An alert of the device's own, with its sound (Application::Alert)."""
        self._records.screen.append(f"alert: {status}: {message} ({emotion})")
        self._records.sounds.append(sound)

    def _stt(self, body: dict[str, Any]) -> None:
        if isinstance(body.get("text"), str):
            self._tracker.stt(body["text"])
            self._records.screen.append(f"you: {body['text']}")
        else:
            self._records.violations.append("stt without text")

    def _llm(self, body: dict[str, Any]) -> None:
        emotion = body.get("emotion")
        if isinstance(emotion, str):
            self._tracker.emotion(emotion)
            self._records.screen.append(f"({emotion})")
        if emotion not in EMOTIONS:
            self._records.violations.append(f"unknown emotion {emotion!r}")

    def _alert(self, body: dict[str, Any]) -> None:
        """The firmware ignores an alert without all three fields."""
        if all(isinstance(body.get(key), str) for key in ("status", "message", "emotion")):
            self._records.alerts.append(body)
            self._records.screen.append("alert: {status}: {message} ({emotion})".format(**body))
        else:
            self._records.violations.append("alert without status, message and emotion")
