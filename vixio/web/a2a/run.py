"""The work on a task: begun by a message, it goes on when the message's request is over."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

from vixio.core.errors import ConnectionClosed, ProviderError, VixioError, describe
from vixio.core.messages import message
from vixio.core.messages.fault import Fault
from vixio.core.metrics import Counters
from vixio.core.tasks import cancel_and_wait
from vixio.web.a2a.incoming import Incoming
from vixio.web.a2a.output import Output

_log = logging.getLogger(__name__)


class TaskFailed(VixioError):
    """The task has failed; the message is for the client."""


class Run(ABC):
    """Work on one task. It is at rest when it is over, or waits for the client.

    ``over`` is called at the end, of whatever kind.
    """

    def __init__(
        self, task_id: str, output: Output, counters: Counters, over: Callable[[Run], None]
    ) -> None:
        self.task_id = task_id
        self.output = output
        self._counters = counters
        self._over = over
        self._rest = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._tell: Callable[[], Awaitable[None]] | None = None
        self.awaits_words = False
        """Whether it ended with a question, which the next message of the task answers."""

    @property
    def waiting(self) -> bool:
        """Whether it waits for the client."""
        return False

    @property
    def language(self) -> str:
        """Of the words for the client."""
        return "en"

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._main(), name=f"a2a {self.task_id}")

    async def at_rest(self) -> None:
        """Wait until it is over, or waits for the client. Bounded by the work itself."""
        await self._rest.wait()

    async def deliver(self, incoming: Incoming) -> None:  # noqa: B027 - few runs wait
        """Take a message of the client while it waits."""

    async def cancel(self, tell: Callable[[], Awaitable[None]]) -> None:
        """Stop, and wait for the end; ``tell`` tells the client. Idempotent."""
        if self._task is not None and not self._task.done():
            self._tell = tell
            await cancel_and_wait(self._task)

    @abstractmethod
    async def work(self) -> None:
        """Do it, and put the task into its last state."""

    def set_at_rest(self, *, at_rest: bool) -> None:
        """Let go, or hold, the requests that wait for a rest."""
        if at_rest:
            self._rest.set()
        else:
            self._rest.clear()

    async def _main(self) -> None:
        try:
            await self.work()
        except TaskFailed as error:
            await self._fail(str(error))
        except ConnectionClosed:
            await self.output.closed()
        except ProviderError as error:
            await self._fail(Fault.of(error).words(self.language))
        except Exception as error:  # noqa: BLE001 - a defect costs one task
            _log.error("A2A task failed", extra={"task": self.task_id, "error": describe(error)})
            self._counters.add("a2a.defects")
            await self._fail(message("failed", self.language))
        except asyncio.CancelledError:
            if self._tell is not None:  # before the requests that wait for a rest go on
                await self._tell()
        finally:
            self._over(self)
            self._rest.set()

    async def _fail(self, words: str) -> None:
        self._counters.add("a2a.tasks.failed")
        await self.output.fail(words)
