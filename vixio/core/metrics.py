"""Counters, and the one record of a turn that logs, metrics, benchmark and console all read."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

PROVIDER_ERRORS: Final = "provider.errors."
"""Begins the counters of failed starts and uses of providers: then kind, provider and reason."""

MARKS = (
    "voice_end",
    "turn_end",
    "transcript",
    "filler",
    "first_token",
    "first_sentence",
    "first_audio",
    "speech_start",
    "first_frame",
    "playout_end",
)
"""The moments of a turn, in their order. ``voice_end``: the last voiced audio; ``turn_end``: the
decision that the user has finished; ``speech_start``: ``tts start`` is on the wire, which may be
before ``first_audio``; ``first_frame``: the first audio packet is on the wire, of the filler where
there is one: words while the model takes long, which ``first_token`` to ``first_audio`` leave
out."""


_CAUSE: Final = re.compile(r"[\w.-]{1,40}")
"""Why a turn was interrupted, as firmwares and this program state it (``wake_word_detected``)."""


def one_word(cause: str) -> str:
    """Return a cause as it may be shown; ``other`` for anything but a word, or none."""
    return cause if not cause or _CAUSE.fullmatch(cause) else "other"


@dataclass(frozen=True, slots=True)
class ToolTiming:
    """One tool call of a turn, in seconds.

    ``source``: where the tool comes from, empty if the model invented it. ``at``: when the result
    was read, on the loop's clock.
    """

    name: str
    seconds: float
    success: bool
    source: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelUse:
    """One answer of a language model, in the tokens of its service; 0 where it does not count.

    ``model``: the provider's name and the model's.
    """

    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    """Of the input, what the service had read before."""
    passed_over: tuple[str, ...] = ()
    """The models that should have answered first, and failed or were being left alone."""
    apology: str = ""
    """What the answer apologises for, if it is none: ``not_understood``, ``tool_failed``."""


@dataclass(slots=True)
class TurnTimeline:
    """When the stages of one turn were reached, on the loop's clock (seconds)."""

    turn_id: int
    marks: dict[str, float] = field(default_factory=dict)
    tools: list[ToolTiming] = field(default_factory=list)
    models: list[ModelUse] = field(default_factory=list)
    """The model's answers, one a round; one that was cut off is not among them."""
    held: float = 0.0
    """Seconds for which the first frame waited until the device could play it."""
    called_tools: bool = False
    """Whether a tool was called, even if the reply has not been read that far."""
    tool_failed: bool = False
    """Whether a call failed, and no other one came behind it."""
    heard_ms: int | None = None
    """How much of the reply was played, in milliseconds; None while it is being played."""
    sound_ms: int = 0
    """How much of what the user said is kept as sound."""
    outcome: str = ""
    """``answered``, ``not_understood``, ``tool_failed``, ``interrupted:…`` or ``failed:…``; empty
    while running. docs/data.md says what each means."""

    def mark(self, name: str, at: float) -> None:
        """Record the first time that ``name`` was reached.

        What an answer reached that was made ahead counts as reached at the end of the turn.
        """
        if name != "voice_end":
            at = max(at, self.marks.get("turn_end", at))
        self.marks.setdefault(name, at)

    @property
    def result(self) -> tuple[str, str]:
        """The outcome, ``unfinished`` if there is none, and its cause: empty, or a word.

        An abort's cause is what the device states: anything, also words. Then it is ``other``.
        """
        outcome, _, cause = self.outcome.partition(":")
        return outcome or "unfinished", one_word(cause)

    @property
    def answer(self) -> str:
        """The outcome of a turn whose answer was given: ``answered``, or what it lacks."""
        apology = self.models[-1].apology if self.models else ""
        return apology or ("tool_failed" if self.tool_failed else "answered")

    @property
    def was_answered(self) -> bool:
        """Whether an answer was given to its end, if only an apology of the phrase book's."""
        return self.result[0] not in {"interrupted", "failed", "unfinished"}

    @property
    def input_tokens(self) -> int:
        """What the models read in this turn, as far as their services say."""
        return sum(use.input_tokens for use in self.models)

    @property
    def output_tokens(self) -> int:
        """What the models wrote in this turn."""
        return sum(use.output_tokens for use in self.models)

    def log_fields(self) -> dict[str, object]:
        """Return the record as fields of a log line: numbers, and lists of names.

        Times are ``…_ms``, milliseconds after the end of the user's turn; what there was none of
        is left out. The words of the turn are not in it.
        """
        fields: dict[str, object] = {
            f"{name}_ms": after for name, after in self.since_turn_end().items()
        }
        if self.heard_ms is not None:
            fields["heard_ms"] = self.heard_ms
        if self.tools:
            fields["tools"] = [tool.name for tool in self.tools]
            fields["tools_ms"] = [round(tool.seconds * 1000) for tool in self.tools]
            if (zero := self.marks.get("turn_end")) is not None:
                begun = [max(tool.at - tool.seconds, zero) for tool in self.tools]
                fields["calls_ms"] = [round((at - zero) * 1000) for at in begun]
        if failed := [tool.name for tool in self.tools if not tool.success]:
            fields["tools_failed"] = failed
        return {**fields, **self.model_fields()}

    def model_fields(self) -> dict[str, object]:
        """Return the models and their tokens, as fields of a log line; empty without a model."""
        if not self.models:
            return {}
        fields: dict[str, object] = {
            "models": list(dict.fromkeys(use.model for use in self.models)),
            "rounds": len(self.models),
            "tokens_in": self.input_tokens,
            "tokens_out": self.output_tokens,
        }
        if cached := sum(use.cached_tokens for use in self.models):
            fields["tokens_cached"] = cached
        if passed := list(dict.fromkeys(name for use in self.models for name in use.passed_over)):
            fields["passed_over"] = passed
        return fields

    def since_turn_end(self) -> dict[str, int]:
        """Return the marks in milliseconds after the end of turn was decided."""
        zero = self.marks.get("turn_end")
        if zero is None:
            return {}
        return {
            name: round((self.marks[name] - zero) * 1000) for name in MARKS if name in self.marks
        }


class Counters:
    """Named counts of what happened. Names are dotted, from the general to the special."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, name: str, number: int = 1) -> None:
        """Count ``number`` more of ``name``."""
        self._counts[name] += number

    def get(self, name: str) -> int:
        """Return the count of ``name``, 0 if it never happened."""
        return self._counts[name]

    def snapshot(self) -> dict[str, int]:
        """Return all counts, sorted by name."""
        return dict(sorted(self._counts.items()))
