"""Typed conversations that try a profile before it is saved. Nothing of them is kept.

A trial belongs to the process that opened it, which holds a lease for it: so questions that come
to another process reach it as commands do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from vixio.composition.conversations import Conversations
from vixio.core.cluster import NOT_CONNECTED, Cluster, ClusterUnavailable, Lease, LossReason
from vixio.core.commands import Command, CommandResult, CommandStatus, Custom
from vixio.core.device import Device, DeviceProfile, ToolAccess
from vixio.core.session.conversation import Conversation
from vixio.core.session.events import Event, EventBus, TurnEnded
from vixio.core.session.written_reply import WrittenReply
from vixio.core.tasks import cancel_and_wait
from vixio.core.wall_clock import now_ms
from vixio.web.api.drafts import ASK, CLOSE, TooManyTrials, trial_key

MAX_TRIALS: Final = 8
"""At the same time in a process."""

IDLE_S: Final = 600.0
"""Without a question, after which a trial is closed."""

MAX_CHARS: Final = 8_000
"""Of the arguments, and of the output, of a tool call in an answer."""

MAX_TOOLS: Final = 12
"""Calls in an answer: a command's answer has 256 KB at most."""

KEEPS_NOTHING: Final = ("builtin/*fact*", "builtin/forget_everything", "reminders/*")
"""Tools that would keep something of the trial."""


@dataclass(slots=True)
class _Trial:
    conversation: Conversation
    lease: Lease
    stages: dict[str, int] = field(default_factory=dict)
    """Of the last turn, in milliseconds."""
    expiry: asyncio.TimerHandle | None = None
    asking: int = 0


class TextTrials:
    """The trials of this process. ``profile_of`` returns the profile of a device with a content.

    It raises ConfigError.
    """

    def __init__(
        self,
        conversations: Conversations,
        cluster: Cluster,
        profile_of: Callable[[Device, Mapping[str, Any]], DeviceProfile],
    ) -> None:
        self._conversations = conversations
        self._cluster = cluster
        self._profile_of = profile_of
        self._open: dict[str, _Trial] = {}
        self._opening = 0
        self._closed = False
        self._closing: set[asyncio.Task[None]] = set()

    async def open(self, content: Mapping[str, Any]) -> tuple[str, int]:
        """Open a trial; return its id, and when it is closed without a question (milliseconds).

        Raises ConfigError, ProviderError, ClusterUnavailable, TooManyTrials.
        """
        if len(self._open) + self._opening >= MAX_TRIALS:
            raise TooManyTrials
        self._opening += 1
        try:
            trial = uuid4().hex
            await self._begin(trial_key(trial), content)
        finally:
            self._opening -= 1
        return trial, now_ms() + round(IDLE_S * 1000)

    async def __call__(self, device_id: str, command: Command) -> CommandResult:
        """Carry out a command to a trial of this process."""
        trial = self._open.get(device_id)
        match command:
            case Custom(name=name, arguments={"text": str(text)}) if trial and name == ASK:
                return CommandResult(CommandStatus.DONE, await self._ask(device_id, trial, text))
            case Custom(name=name) if trial and name == CLOSE:
                await self._end(device_id)
                return CommandResult(CommandStatus.DONE)
        return NOT_CONNECTED

    async def close(self) -> None:
        """Close all trials; no other is opened. Idempotent."""
        self._closed = True
        for key in tuple(self._open):
            await self._end(key)
        await cancel_and_wait(*self._closing)

    async def _begin(self, key: str, content: Mapping[str, Any]) -> None:
        profile = await asyncio.to_thread(self._profile_of, Device(key), content)
        tools = profile.tools
        access = ToolAccess(tools.allow, (*tools.deny, *KEEPS_NOTHING), tools.confirm)
        events = EventBus()
        conversation = await self._conversations.open(
            key, replace(profile, tools=access), unrecorded=events
        )

        async def lost(reason: LossReason) -> None:
            await self._end(key)

        try:
            lease = await self._cluster.leases.acquire(key, lost)
        except BaseException:
            await conversation.close()
            raise
        if self._closed:
            await conversation.close()
            await lease.release()
            raise ClusterUnavailable("the server is stopping")
        trial = self._open[key] = _Trial(conversation, lease)

        def note(event: Event) -> None:
            if isinstance(event, TurnEnded):
                trial.stages = event.timeline.since_turn_end()

        events.attach(note)
        self._expire_later(key, trial)

    async def _ask(self, key: str, trial: _Trial, text: str) -> dict[str, Any]:
        trial.asking += 1
        if trial.expiry is not None:
            trial.expiry.cancel()
        try:
            reply = await trial.conversation.ask(text)
            return _answer(reply, trial.stages, now_ms() + round(IDLE_S * 1000))
        finally:
            trial.asking -= 1
            if not trial.asking and self._open.get(key) is trial:
                self._expire_later(key, trial)

    def _expire_later(self, key: str, trial: _Trial) -> None:
        loop = asyncio.get_running_loop()
        trial.expiry = loop.call_later(IDLE_S, self._expire, key)

    def _expire(self, key: str) -> None:
        task = asyncio.get_running_loop().create_task(self._end(key))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _end(self, key: str) -> None:
        trial = self._open.pop(key, None)
        if trial is None:
            return
        if trial.expiry is not None:
            trial.expiry.cancel()
        try:
            await trial.conversation.close("the trial is over")
        finally:
            await trial.lease.release()


def _answer(reply: WrittenReply, stages: dict[str, int], expires_at: int) -> dict[str, Any]:
    return {
        "text": reply.text[: 8 * MAX_CHARS],
        "tools": [
            {
                "name": run.name,
                "source": run.source,
                "arguments": run.arguments[:MAX_CHARS],
                "output": run.output[:MAX_CHARS],
                "success": run.success,
                "ms": round(run.seconds * 1000),
            }
            for run in reply.tools[:MAX_TOOLS]
        ],
        "models": [asdict(use) for use in reply.models],
        "stages": stages,
        "outcome": reply.outcome,
        "ended": reply.ended,
        "expires_at": expires_at,
    }
