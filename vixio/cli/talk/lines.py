"""What ``vixio talk`` prints: the words of both sides, tools, failures, and each turn's times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median

import click

from vixio.cli.turn_times import chart, response

_SHOWN_CHARS = 200
"""Of a tool's arguments or answer."""


class Outcome(StrEnum):
    """What became of a turn of the user."""

    ANSWERED = "answered"
    NOT_UNDERSTOOD = "not understood"
    TOOL_FAILED = "tool failed"
    FAILED = "failed"
    SILENT = "no answer"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of the user that is over. ``stages``: its marks, in milliseconds."""

    outcome: Outcome
    stages: Mapping[str, int] = field(default_factory=dict)


class Lines:
    """Prints the conversation on standard output, and counts its turns."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.turn_is_open = False
        """Whether the user was heard, and the turn is not over."""

    @property
    def all_answered(self) -> bool:
        """Whether no turn was left without an answer; one that the user interrupted was not."""
        return all(turn.outcome in (Outcome.ANSWERED, Outcome.INTERRUPTED) for turn in self.turns)

    def say(self, label: str, text: str) -> None:
        """Print a line."""
        click.echo(f"  {label:<7} {' '.join(text.split())}")

    def heard(self, text: str, guess: str = "") -> None:
        """Print the words of the user as the server understood them, or what they may be."""
        self.turn_is_open = True
        perhaps = f"; perhaps: {guess}" if guess else ""
        self.say("heard", text or f"(nothing that it understood{perhaps})")

    def tool(self, name: str, arguments: str) -> None:
        """Print the call of a tool."""
        self.say("tool", _short(f"{name} {arguments}"))

    def result(self, output: str, seconds: float, *, success: bool) -> None:
        """Print a tool's answer."""
        self.say("", f"{'→' if success else '✗'} {_short(output)}  ({seconds * 1000:.0f} ms)")

    def over(self, turn: Turn) -> None:
        """Count a turn, and draw where its time went."""
        self.turns.append(turn)
        self.turn_is_open = False
        if turn.outcome is not Outcome.ANSWERED:
            self.say("", f"({turn.outcome})")
        for label, line in zip(("ms", *[""] * len(turn.stages)), chart(turn.stages), strict=False):
            click.echo(f"  {label:<7} {line}")
        click.echo()

    def total(self) -> None:
        """Print what it was in all."""
        answered = [turn for turn in self.turns if turn.outcome is Outcome.ANSWERED]
        times = [ms for turn in answered if (ms := response(turn.stages)) is not None]
        line = f"{len(answered)} of {len(self.turns)} turns answered"
        if stopped := sum(turn.outcome is Outcome.INTERRUPTED for turn in self.turns):
            line += f", {stopped} interrupted"
        if times:
            line += f"; end of speech to first sound: {median(times):.0f} ms in the median"
        click.echo(line)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _SHOWN_CHARS else f"{words[:_SHOWN_CHARS]}…"
