"""What one device and its assistant said to each other, bounded, framework-free.

A history outlives the session: a device that reconnects goes on where it was. What was interrupted
is cut to what was heard, and a tool call that never got its answer is closed, since model APIs
refuse a history with a call left open. What falls out of the bounds may live on as a summary.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

INTERRUPTED = "[interrupted before it finished]"

SHORTENED = " […]"
"""Stands where an item was cut to ``MAX_ITEM_CHARS``."""

MAX_ITEM_CHARS = 8_000
"""What is kept of one item once its turn is over: a tool may answer with a whole web page."""

ITEM_TOKENS = 4
"""What an item costs besides its text: role, separators, ids."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What was said before the oldest turn that is kept, in short."""

    text: str


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


HistoryItem = Summary | UserMessage | AssistantMessage | ToolCallItem | ToolResultItem


def approximate_tokens(items: Iterable[HistoryItem]) -> int:
    """Return about how many tokens ``items`` are for a model, rather too many than too few.

    Four ASCII characters count as one token, any other character as one, which is right for
    English and a third too much for Chinese; each item costs ``ITEM_TOKENS`` besides. The true
    number hangs on the model, whose tokenizer may not be at hand.
    """
    total = 0
    for item in items:
        match item:
            case ToolCallItem(name=name, arguments=arguments):
                text = name + arguments
            case ToolResultItem(output=output):
                text = output
            case _:
                text = item.text
        ascii_only = len(text.encode("ascii", "ignore"))
        total += ITEM_TOKENS + (ascii_only + 3) // 4 + len(text) - ascii_only
    return total


@dataclass(slots=True, eq=False)
class Turn:
    """What was said and done from one utterance of the user to the next."""

    turn_id: int
    """0: it was read from a store."""
    items: list[HistoryItem] = field(default_factory=list)
    closed: bool = False
    tokens: int = 0
    """Approximate; known once the turn is closed."""
    stored: bool = False
    """Whether it is in a store and survives a restart."""


class HistoryListener(Protocol):
    """Called with every change that has to be stored. Must return at once."""

    def turn_closed(self, turn: Turn) -> None:
        """The turn is complete; its items do not change any more."""

    def turn_forgotten(self, turn: Turn) -> None:
        """A turn that had been closed is taken back."""


class History:
    """The last turns, oldest first: at most ``max_turns``, and about ``max_tokens``.

    The newest turn is kept whatever its size. ``listener`` is called with each
    change; ``recall``, if set, loads earlier turns and is awaited before a turn begins.
    """

    def __init__(self, max_turns: int = 20, max_tokens: int = 6_000) -> None:
        self.max_turns = max_turns
        self.max_tokens = max_tokens
        self.summary = ""
        self.listener: HistoryListener | None = None
        self.recall: Callable[[], Awaitable[None]] | None = None
        self._turns: deque[Turn] = deque()
        self._last_id = 0

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def turns(self) -> Sequence[Turn]:
        """The turns, oldest first. Read only."""
        return tuple(self._turns)

    @property
    def tokens(self) -> int:
        """About how many tokens the closed turns are."""
        return sum(turn.tokens for turn in self._turns)

    async def ready(self) -> None:
        """Wait, for a bounded time, until what was said earlier is there."""
        if self.recall is not None:
            await self.recall()

    def items(self) -> Sequence[HistoryItem]:
        """Return everything, oldest first, in a form that a model API accepts."""
        said = [item for turn in self._turns for item in turn.items]
        return [Summary(self.summary), *said] if self.summary else said

    def next_turn_id(self) -> int:
        """Return a turn id that this device never had before, whatever session asks."""
        self._last_id += 1
        return self._last_id

    def begin(self, turn_id: int, text: str | None = None) -> None:
        """Open a turn with what the user said; a turn that is still open is closed.

        ``text`` None: the assistant speaks unasked.
        """
        if self._turns and not self._turns[-1].closed:
            self._close(self._turns[-1].turn_id, None)
        self._turns.append(Turn(turn_id, [] if text is None else [UserMessage(text)]))
        self._bound()

    def said(self, turn_id: int, text: str) -> None:
        """Put the user's words into a turn that was begun without them; ignored if it is over.

        A speech-to-speech model answers before it has transcribed what it hears.
        """
        turn = self._last(turn_id)
        if turn is None or turn.closed:
            return
        if turn.items and isinstance(turn.items[0], UserMessage):
            turn.items[0] = UserMessage(text)
        else:
            turn.items.insert(0, UserMessage(text))

    def append(self, turn_id: int, item: HistoryItem) -> None:
        """Add to the turn ``turn_id``; ignored if it was cut or is no longer the last one."""
        turn = self._last(turn_id)
        if turn is None or turn.closed:
            return
        last = turn.items[-1] if turn.items else None
        if isinstance(item, AssistantMessage) and isinstance(last, AssistantMessage):
            turn.items[-1] = AssistantMessage(last.text + item.text)
        else:
            turn.items.append(item)

    def unsaid(self, turn_id: int, sentence: str) -> bool:
        """Take back what the assistant has not said; false if the turn's text has no such words.

        ``sentence`` is as it was shown: Markdown and spaces of the turn's text do not count.
        """
        turn = self._last(turn_id)
        if turn is None or turn.closed:
            return False
        for number, item in reversed(list(enumerate(turn.items))):
            if isinstance(item, AssistantMessage) and (found := _find(sentence, item.text)):
                text = item.text[: found.start()] + item.text[found.end() :]
                turn.items[number] = replace(item, text=text)
                return True
        return False

    def close(self, turn_id: int) -> None:
        """End the turn: it was heard to its end, and nothing can be added any more."""
        self._close(turn_id, None)

    def cut(self, turn_id: int, heard: str) -> None:
        """Leave of the turn's assistant text only what was ``heard``, and end the turn."""
        self._close(turn_id, heard)

    def forget(self, turn_id: int) -> str:
        """Take the last turn back, as if it had not been said, and return its user text."""
        turn = self._last(turn_id)
        if turn is None:
            return ""
        self._turns.pop()
        if turn.closed and self.listener is not None:
            self.listener.turn_forgotten(turn)
        first = turn.items[0] if turn.items else None
        return first.text if isinstance(first, UserMessage) else ""

    def clear(self) -> None:
        """Forget everything but a turn that is under way."""
        under_way = [turn for turn in self._turns if not turn.closed]
        self._turns.clear()
        self._turns.extend(under_way)
        self.summary = ""

    # ── earlier turns ────────────────────────────────────────────────────────────────────────

    def restore(self, turns: Iterable[Sequence[HistoryItem]], summary: str) -> None:
        """Replace the stored turns; keep unsaved ones after them."""
        since = [turn for turn in self._turns if not turn.stored]
        self._turns.clear()
        for items in turns:
            turn = Turn(0, list(items), closed=True, stored=True)
            turn.tokens = approximate_tokens(turn.items)
            self._turns.append(turn)
        self._turns.extend(since)
        self.summary = summary
        self._bound()

    def to_fold(self) -> Sequence[Turn]:
        """Return the oldest turns to sum up, when three quarters of a bound are in use.

        What stays is at most half of both bounds, so that a summary is due only once in a while.
        """
        closed = [turn for turn in self._turns if turn.closed]
        tokens = sum(turn.tokens for turn in closed)
        if 4 * len(closed) <= 3 * self.max_turns and 4 * tokens <= 3 * self.max_tokens:
            return ()
        kept = len(closed)
        for turn in closed:
            if kept <= 1 or (2 * kept <= self.max_turns and 2 * tokens <= self.max_tokens):
                break
            kept -= 1
            tokens -= turn.tokens
        return closed[: len(closed) - kept]

    def fold(self, turns: Iterable[Turn], summary: str) -> None:
        """Put ``summary`` in the place of the summary so far and of ``turns``."""
        folded = set(turns)
        kept = [turn for turn in self._turns if turn not in folded]
        self._turns.clear()
        self._turns.extend(kept)
        self.summary = summary

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _close(self, turn_id: int, heard: str | None) -> None:
        turn = self._last(turn_id)
        if turn is None or turn.closed:
            return
        turn.closed = True
        kept: list[HistoryItem] = []
        left = heard or ""
        for item in turn.items:
            if isinstance(item, AssistantMessage):
                text = item.text
                if heard is not None:
                    text = text if len(text) <= len(left) else left
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
        turn.items = [_shortened(item) for item in kept]
        if not turn.items:  # an unasked speech of which nothing was heard
            self._turns.pop()
            return
        turn.tokens = approximate_tokens(turn.items)
        self._bound()
        if self.listener is not None:
            self.listener.turn_closed(turn)

    def _bound(self) -> None:
        tokens = self.tokens
        while len(self._turns) > 1 and (
            len(self._turns) > self.max_turns or tokens > self.max_tokens
        ):
            tokens -= self._turns.popleft().tokens

    def _last(self, turn_id: int) -> Turn | None:
        if self._turns and self._turns[-1].turn_id == turn_id:
            return self._turns[-1]
        return None


def _find(sentence: str, text: str) -> re.Match[str] | None:
    """Return where ``sentence`` stands in ``text``, with the marks around it and the space behind.

    Only letters and digits are compared, and the address of a link at its end is skipped.
    """
    letters = [re.escape(each) for each in sentence if each.isalnum()]
    if not letters:
        return None
    before = r"(?:(?<!\S)(?:[^\w\s]|_)+)?(?<![^\W_])"
    behind = r"(?![^\W_])(?:\]\([^)\s]*\))?(?:[^\w\s]|_)*\s*"
    return re.search(before + r"[\W_]*".join(letters) + behind, text)


def _shortened(item: HistoryItem) -> HistoryItem:
    match item:
        case ToolCallItem(arguments=arguments) if len(arguments) > MAX_ITEM_CHARS:
            return replace(item, arguments="{}")  # a part of a JSON text is none
        case ToolResultItem(output=output) if len(output) > MAX_ITEM_CHARS:
            return replace(item, output=output[:MAX_ITEM_CHARS] + SHORTENED)
        case UserMessage(text=text) | AssistantMessage(text=text) if len(text) > MAX_ITEM_CHARS:
            return replace(item, text=text[:MAX_ITEM_CHARS] + SHORTENED)
        case _:
            return item
