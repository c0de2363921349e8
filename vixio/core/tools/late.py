"""Tools whose result comes later than their turn ends.

A tool that takes long returns a :class:`Deferred`. Its call succeeds at once with an
acknowledgement, so the turn goes on and ends; the work runs beside the conversation. When it is
done, its result is spoken in the next pause of the same session, exactly as it is written: it does
not pass through the model, costs no tokens and works with every agent. The history gets it as the
result of a tool call of its own, and what was heard of it as the assistant's words.

The work is cancelled when the session ends. It is never delivered to another session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vixio.core.history import HistoryItem
    from vixio.core.session.speech import Sound, SpeechHandle

LATE_CALL = "late_"
"""Prefix of the call ids under which late results stand in the history."""

DEFAULT_TIMEOUT = 600.0


@dataclass(frozen=True, slots=True, eq=False)
class Deferred:
    """Returned by a tool in place of its result.

    ``work``: awaited beside the conversation; gives what a tool returns, or raises as a tool does.
    Text is spoken as it is, so write it for people; data (JSON) and None are spoken as a short
    "done" in the user's language.
    ``acknowledgement``: the result that the model reads now; empty: that the work goes on and will
    be reported. ``timeout``: seconds until the work is cancelled and reported as failed.
    """

    work: Awaitable[Any]
    acknowledgement: str = ""
    timeout: float = DEFAULT_TIMEOUT


LateDelivery = Callable[[str, "Sequence[HistoryItem]"], "SpeechHandle"]
"""Speaks a text in the next pause of one session; the items stand before it in the history."""

Play = Callable[["Sound"], "SpeechHandle"]
"""Plays a sound in one session, behind the reply under way."""
