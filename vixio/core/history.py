"""What one device and its assistant said to each other, bounded, framework-free.

A history outlives the session: a device that reconnects goes on where it was. What was interrupted
is cut to what was heard, and a tool call that never got its answer is closed, since model APIs
refuse a history with a call left open.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, replace

INTERRUPTED = "[interrupted before it finished]"


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user said."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the assistant said, as far as it was heard."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallItem:
    """A call that the model made; ``arguments`` is its JSON text."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResultItem:
    """The answer to the call of the same id."""

    call_id: str
    output: str


HistoryItem = UserMessage | AssistantMessage | ToolCallItem | ToolResultItem

_KINDS: dict[str, type[HistoryItem]] = {
    "user": UserMessage,
    "assistant": AssistantMessage,
    "call": ToolCallItem,
    "result": ToolResultItem,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


@dataclass(slots=True)
class _Turn:
    turn_id: int
    items: list[HistoryItem] = field(default_factory=list)
    closed: bool = False


class History:
    """The last ``max_turns`` turns, oldest first."""

    def __init__(self, max_turns: int = 20) -> None:
        self._turns: deque[_Turn] = deque(maxlen=max_turns)
        self._last_id = 0
        self.changed: Callable[[], None] | None = None
        """Called when a turn has ended or was taken back."""

    def __len__(self) -> int:
        return len(self._turns)

    def items(self) -> Sequence[HistoryItem]:
        """Return everything, oldest first, in a form that a model API accepts."""
        return [item for turn in self._turns for item in turn.items]

    def next_turn_id(self) -> int:
        """Return a turn id that this device never had before, whatever session asks."""
        self._last_id += 1
        return self._last_id

    def begin(self, turn_id: int, text: str) -> None:
        """Open a turn with what the user said."""
        self._turns.append(_Turn(turn_id, [UserMessage(text)]))

    def append(self, turn_id: int, item: HistoryItem) -> None:
        """Add to the turn ``turn_id``; ignored if it was cut or is no longer the last one."""
        turn = self._last(turn_id)
        if turn is None or turn.closed:
            return
        if isinstance(item, AssistantMessage) and isinstance(turn.items[-1], AssistantMessage):
            turn.items[-1] = AssistantMessage(turn.items[-1].text + item.text)
        else:
            turn.items.append(item)

    def close(self, turn_id: int) -> None:
        """End the turn: it was heard to its end, and nothing can be added any more."""
        self._close(turn_id, None)

    def cut(self, turn_id: int, heard: str) -> None:
        """Leave of the turn's assistant text only what was ``heard``, and end the turn."""
        self._close(turn_id, heard)

    def _close(self, turn_id: int, heard: str | None) -> None:
        turn = self._last(turn_id)
        if turn is None or turn.closed:
            return
        turn.closed = True
        kept: list[HistoryItem] = []
        left = heard or ""
        for item in turn.items:
            if isinstance(item, AssistantMessage) and heard is not None:
                text = item.text if len(item.text) <= len(left) else left
                left = left[len(text) :]
                if text.strip():
                    kept.append(replace(item, text=text))
            else:
                kept.append(item)
        answered = {item.call_id for item in kept if isinstance(item, ToolResultItem)}
        open_calls = [
            item for item in kept if isinstance(item, ToolCallItem) and item.call_id not in answered
        ]
        kept.extend(ToolResultItem(call.call_id, INTERRUPTED) for call in open_calls)
        turn.items = kept
        self._tell()

    def forget(self, turn_id: int) -> str:
        """Take the last turn back, as if it had not been said, and return its user text."""
        turn = self._last(turn_id)
        if turn is None:
            return ""
        self._turns.pop()
        self._tell()
        first = turn.items[0]
        return first.text if isinstance(first, UserMessage) else ""

    def clear(self) -> None:
        """Forget everything."""
        self._turns.clear()
        self._tell()

    # ── for another process ──────────────────────────────────────────────────────────────────

    def dump(self, max_bytes: int) -> str:
        """Return the turns that have ended as text; the oldest are left out above ``max_bytes``."""
        kept: list[str] = []
        size = 0
        for turn in reversed(self._turns):
            if turn.closed:
                items = [(_NAMES[type(item)], *astuple(item)) for item in turn.items]
                text = json.dumps([turn.turn_id, items])  # ASCII: its characters are its bytes
                size += len(text)
                if size > max_bytes:
                    break
                kept.append(text)
        return f'{{"last_id":{self._last_id},"turns":[{",".join(reversed(kept))}]}}'

    def restore(self, text: str) -> None:
        """Take the place of another process's history. Raises ValueError if that is none."""
        try:
            found = json.loads(text)
            turns = [
                _Turn(turn_id, [_KINDS[name](*values) for name, *values in items], closed=True)
                for turn_id, items in found["turns"]
            ]
            last_id = int(found["last_id"])
        except (KeyError, TypeError) as error:
            raise ValueError("this is no history") from error
        self._turns.clear()
        self._turns.extend(turns)
        self._last_id = max(self._last_id, last_id)

    def _tell(self) -> None:
        if self.changed is not None:
            self.changed()

    def _last(self, turn_id: int) -> _Turn | None:
        if self._turns and self._turns[-1].turn_id == turn_id:
            return self._turns[-1]
        return None
