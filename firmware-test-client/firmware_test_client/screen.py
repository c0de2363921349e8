"""Messages that are only shown: text, faces, alerts. They do not change the state.

Follows the callback OnIncomingJson of Application::InitializeProtocol in main/application.cc. An
alert is shown by the task that reads the socket, at once. What clears the screen is done by the
main task somewhat later: the states Idle and Connecting (HandleStateChangedEvent) and a closed
channel (OnAudioChannelClosed). So an alert in the same instant as either is gone at once.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from firmware_test_client.glyphs import TextFont, parse_glyphs
from firmware_test_client.records import Notice, Records
from firmware_test_client.state import DeviceState
from firmware_test_client.tracker import ReplyTracker

_EMOTION_NAMES: Final = (
    "neutral happy laughing funny sad angry crying loving embarrassed surprised shocked thinking "
    "winking cool relaxed delicious kissy confident sleepy silly confused"
)
EMOTIONS: Final = frozenset(_EMOTION_NAMES.split())


_CLEARING: Final = frozenset({DeviceState.STARTING, DeviceState.IDLE, DeviceState.CONNECTING})
_MAIN_TASK_DELAY: Final = 0.03  # seconds until the main task has handled an event


class Screen:
    """Handles the messages that are only shown."""

    def __init__(self, records: Records, tracker: ReplyTracker, font: TextFont | None) -> None:
        self._records = records
        self._font = font
        self._tracker = tracker
        self._loop = asyncio.get_running_loop()
        self.clearing = 0
        """How many events that clear it the main task has not got to yet."""

    def follow(self, state: DeviceState) -> None:
        """The state has changed."""
        if state in _CLEARING:
            self.clear()

    def clear(self) -> None:
        """Show no words any more, as soon as the main task gets to it."""
        self.clearing += 1
        self._loop.call_later(_MAIN_TASK_DELAY, self._cleared)

    def _cleared(self) -> None:
        self.clearing -= 1
        self._end_notice()
        self._records.changed()

    def _end_notice(self) -> None:
        if self._records.notices and self._records.notices[-1].cleared is None:
            self._records.notices[-1].cleared = self._loop.time()
            self._records.changed()

    def write(self, text: str) -> None:
        """Show words, in the place of others (SetChatMessage)."""
        self._end_notice()
        self._records.screen.append(text)

    def _show_notice(self, status: str, message: str, emotion: str) -> None:
        self.write(f"alert: {status}: {message} ({emotion})")
        self._records.notices.append(Notice(status, message, emotion, self._loop.time()))

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

    def take_glyphs(self, kind: str, body: dict[str, Any]) -> None:
        """TextGlyphPayload::Parse; the text is shown also without them."""
        if kind != "stt" and body.get("state") != "sentence_start":
            return
        try:
            glyphs = parse_glyphs(body, self._font)
        except ValueError as error:
            self._records.violations.append(f"rejected glyphs: {error}")
        else:
            self._records.glyphs += [glyphs] if glyphs else []

    def notice(self, status: str, message: str, emotion: str, sound: str) -> None:
        """An alert of the device's own, with its sound (Application::Alert)."""
        self._show_notice(status, message, emotion)
        self._records.sounds.append(sound)

    def _stt(self, body: dict[str, Any]) -> None:
        if isinstance(body.get("text"), str):
            self._tracker.stt(body["text"], self._loop.time())
            self.write(f"you: {body['text']}")
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
            self._show_notice(body["status"], body["message"], body["emotion"])
        else:
            self._records.violations.append("alert without status, message and emotion")
