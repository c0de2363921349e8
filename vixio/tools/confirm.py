"""Calls that need the user's yes.

A call of such a tool is not run at first: the model is told to ask. The user's next utterance
decides: a yes lets the same call (same tool, same arguments) through once, within that turn;
anything else cancels it. The words come from the turn itself, so no model can confirm for the user.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass

from vixio.core.consent import is_yes
from vixio.core.errors import ToolError
from vixio.core.tools.types import JsonObject, ToolDefinition

CONFIRM_WITHIN = 120.0
"""Seconds after which a yes no longer belongs to the question."""

ASK = (
    "not done: this needs the user's own yes. Say in one short question what exactly would be done "
    "and ask whether to do it, then stop. Call it again with the same arguments only after they "
    "have agreed; if they do not, leave it."
)
ONE_AT_A_TIME = (
    "not done: this needs the user's own yes, and they are about to be asked for something else. "
    "Ask for one thing at a time; call this again afterwards."
)


@dataclass(frozen=True, slots=True)
class _Pending:
    key: str
    turn_id: int
    at: float


class Confirmations:
    """The one call of a session that waits for an answer, and the one that was agreed to."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pending: _Pending | None = None
        self._agreed: tuple[str, int] | None = None

    def hear(self, turn_id: int, text: str, *, asked: bool) -> bool | None:
        """Take what the user says at the beginning of a turn.

        Returns whether it let the pending call through; None: none was pending. ``asked``: they
        heard (at least some of) the question.
        """
        pending, self._pending = self._pending, None
        self._agreed = None
        if pending is None:
            return None
        in_time = self._clock() - pending.at <= CONFIRM_WITHIN
        agreed = asked and in_time and pending.turn_id != turn_id and is_yes(text)
        if agreed:
            self._agreed = (pending.key, turn_id)
        return agreed

    def withdraw(self) -> None:
        """Drop the pending question: something else was said since, so a yes may mean that."""
        self._pending = None

    def check(self, tool: ToolDefinition, arguments: JsonObject, turn_id: int) -> None:
        """Let an agreed call through, once. Raises ToolError (``confirmation_required``)."""
        key = _key(tool, arguments)
        if self._agreed == (key, turn_id):
            self._agreed = None
            return
        pending = self._pending
        if pending is not None and pending.turn_id == turn_id and pending.key != key:
            raise ToolError("confirmation_required", ONE_AT_A_TIME)
        self._pending = _Pending(key, turn_id, self._clock())
        raise ToolError("confirmation_required", ASK)


def _key(tool: ToolDefinition, arguments: JsonObject) -> str:
    return json.dumps([tool.source, tool.name, arguments], sort_keys=True, ensure_ascii=False)
