"""Calls that need the user's yes.

The first call of such a tool fails with the instruction to ask. The user's next utterance decides:
a yes allows the same call (same tool, same arguments) once, within that turn; anything else cancels
it. The words come from the turn itself, so a model cannot confirm for the user. The question is
withdrawn when the assistant says something else of its own accord, or a command asks something:
a yes that follows may be meant for that.
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
"""Seconds for which a yes belongs to the question."""

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
    """The pending call of a session, and the call that the user agreed to."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pending: _Pending | None = None
        self._agreed: tuple[str, int] | None = None

    @property
    def waiting(self) -> bool:
        """Whether a call waits for the user's yes, which would still count."""
        pending = self._pending
        return pending is not None and self._clock() - pending.at <= CONFIRM_WITHIN

    def hear(self, turn_id: int, text: str, *, asked: bool) -> bool | None:
        """Take the user's words at the beginning of a turn.

        Returns whether they allow the pending call; None if none was pending. ``asked``: the user
        heard the question, at least in part.
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

    def withdraw(self) -> bool:
        """Drop the pending question; return whether there was one."""
        pending, self._pending = self._pending, None
        return pending is not None

    def check(self, tool: ToolDefinition, arguments: JsonObject, turn_id: int) -> None:
        """Allow an agreed call, once. Raises ToolError (``confirmation_required``) for others."""
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
