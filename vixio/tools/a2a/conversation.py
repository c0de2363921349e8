"""What one session has with one agent: a context, and perhaps a task that waits for the user."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from vixio.core.waiters import Waiters
from vixio.tools.a2a.protocol import Endpoint

WAIT_S = 600.0
"""For which a task waits for the user's answer; what they say later is a new matter."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A task that waits for the user, since ``at`` (the loop's time)."""

    endpoint: Endpoint
    task_id: str
    at: float


class Conversation:
    """The agent names the context in its first answer; until then one exchange runs at a time, so
    that there is only one. ``cancel``: cancels a task at the agent, in the background.
    """

    def __init__(self, cancel: Callable[[Endpoint, str], None]) -> None:
        self.context_id = ""
        self._cancel = cancel
        self._user = ""
        self._waiting: Waiting | None = None
        self._opener: object = None
        self._opened = Waiters()

    def belongs_to(self, user: str) -> None:
        """Begin anew if ``user`` is another one than before: contexts are not shared."""
        if user != self._user:
            self._user = user
            self.drop()

    async def begin(self, exchange: object) -> tuple[str, str]:
        """Return the context and the task that waits, as far as there are any."""
        while not self.context_id and self._opener is not None:
            await self._opened.wait()
        if not self.context_id:
            self._opener = exchange
        return self.context_id, self._continued()

    def learned(self, exchange: object, context_id: str) -> None:
        """Remember the context that the agent has named."""
        self.context_id = context_id
        self.end(exchange)

    def wait_for_answer(self, endpoint: Endpoint, task_id: str) -> None:
        """Remember the task for the next call; an older one is cancelled."""
        if self._waiting is not None and self._waiting.task_id != task_id:
            self._give_up_waiting()
        self._waiting = Waiting(endpoint, task_id, asyncio.get_running_loop().time())

    def forget(self) -> None:
        """Begin a new context with the next message."""
        self.context_id = ""
        self._waiting = None

    def end(self, exchange: object) -> None:
        """Let the next exchange begin, if this one was the first."""
        if self._opener is exchange:
            self._opener = None
            self._opened.wake()

    def drop(self) -> None:
        """Cancel the task that waits, and begin a new context."""
        self._give_up_waiting()
        self.forget()

    async def close(self) -> None:
        """End it with its session."""
        self.drop()

    def _continued(self) -> str:
        """Return the task that the next message goes to, empty for a new one."""
        waiting = self._waiting
        if waiting is None:
            return ""
        if asyncio.get_running_loop().time() - waiting.at > WAIT_S:
            self._give_up_waiting()
            return ""
        self._waiting = None
        return waiting.task_id

    def _give_up_waiting(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._cancel(waiting.endpoint, waiting.task_id)
