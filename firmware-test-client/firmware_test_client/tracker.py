"""Collects the messages that belong to one reply."""

from __future__ import annotations

from dataclasses import dataclass, field

from firmware_test_client.records import Records
from firmware_test_client.replies import Reply, Sentence


@dataclass(slots=True)
class _Pending:
    """Details that arrived since the last reply began and belong to the next one."""

    asked: str | None = None
    speech_end: float | None = None
    stt: str | None = None
    stt_at: float | None = None
    emotions: list[str] = field(default_factory=list)
    tool_calls: list[str] = field(default_factory=list)
    too_early: int = 0
    too_early_ms: float = 0.0


class ReplyTracker:
    """Keeps the current reply and adds details to it."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._pending = _Pending()
        self.current: Reply | None = None

    def asked(self, text: str, speech_end: float) -> None:
        """Note what the user says or has typed; `speech_end` may be in the future."""
        self._pending.asked, self._pending.speech_end = text, speech_end

    def stt(self, text: str, now: float) -> None:
        """Note the recognised text. Some servers send it after `tts start`."""
        self._records.stt_texts.append(text)
        fresh = self._fresh
        its = fresh if fresh is not None and fresh.stt is None else self._pending
        its.stt, its.stt_at = text, now

    def emotion(self, emotion: str) -> None:
        """Note a face, for the current reply or the next one."""
        self._records.emotions.append(emotion)
        (self._fresh or self._pending).emotions.append(emotion)

    def tool_call(self, name: str) -> None:
        """Note a tool call, for the current reply or the next one."""
        (self._fresh or self._pending).tool_calls.append(name)

    def sentence(self, text: str, now: float) -> None:
        """Note a subtitle."""
        sentence = Sentence(text, now)
        self._records.sentences.append(sentence)
        if self._fresh is not None:
            self._fresh.sentences.append(sentence)

    def too_early(self, duration_ms: float) -> None:
        """Count a packet that was lost because the reply has not begun on the device."""
        self._pending.too_early += 1
        self._pending.too_early_ms += duration_ms

    def start(self, now: float) -> None:
        """Begin a reply."""
        if self.current is not None:
            self.current.ended = True  # its rest was flushed
        pending, self._pending = self._pending, _Pending()
        self.current = Reply(
            len(self._records.replies),
            now,
            pending.asked,
            pending.speech_end,
            pending.stt,
            pending.stt_at,
            emotions=pending.emotions,
            tool_calls=pending.tool_calls,
            too_early=pending.too_early,
            too_early_ms=pending.too_early_ms,
            clipped_ms=pending.too_early_ms,
        )
        self._records.replies.append(self.current)

    def stop(self, now: float) -> None:
        """Note `tts stop`, in any state."""
        if self.current is not None and self.current.tts_stop is None:
            self.current.tts_stop = now

    def silent(self) -> None:
        """End the reply: the device has stopped speaking, and nothing is left to play."""
        if self.current is not None:
            self.current.ended = True

    def cut(self) -> None:
        """End the reply because the connection is gone."""
        if self.current is not None and not self.current.ended:
            self.current.ended = self.current.cut = True

    @property
    def _fresh(self) -> Reply | None:
        """The reply that is still being spoken."""
        reply = self.current
        return reply if reply is not None and reply.tts_stop is None and not reply.ended else None
