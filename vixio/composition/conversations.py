"""Makes the typed conversations of a server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from uuid import uuid4

from vixio.composition.engine import EngineBuilder
from vixio.core.device import Device, DeviceProfile, ProfileResolver, normalise_device_id
from vixio.core.errors import VixioError, describe
from vixio.core.history import History
from vixio.core.host import SessionHost
from vixio.core.session.conversation import Conversation, ConversationSettings
from vixio.core.session.events import Event, EventBus, SessionOpened
from vixio.core.timeouts import Timeouts
from vixio.core.tools.runtime import ToolRuntime
from vixio.providers.pool.pool import ProviderPool
from vixio.providers.pool.watched import WatchedAgent
from vixio.settings import Settings

_log = logging.getLogger(__name__)

START_S = 60.0
"""For which a new conversation waits for its agent; a framework takes seconds to import."""


class Conversations:
    """Opens conversations, and closes those that are left at the end.

    A history has one writer: a conversation is closed when the device of its key connects.
    """

    def __init__(
        self,
        settings: Settings,
        pool: ProviderPool,
        engines: EngineBuilder,
        tools: ToolRuntime,
        host: SessionHost,
        profile_of: ProfileResolver,
        started: Callable[[], Awaitable[None]],
    ) -> None:
        """``started`` returns when the tools and the memory of the server have been started."""
        self._settings = settings
        self.pool = pool
        self._engines = engines
        self._tools = tools
        self.host = host
        self._profile_of = profile_of
        self._started = started
        self._open: dict[str, Conversation | None] = {}
        """By key; None while it is being opened."""
        self._closing: set[asyncio.Task[None]] = set()
        host.events.attach(self._take_note)

    async def open(
        self,
        key: str,
        profile: DeviceProfile | None = None,
        timeouts: Timeouts | None = None,
        *,
        unrecorded: EventBus | None = None,
    ) -> Conversation:
        """Open the conversation of ``key``; see :meth:`vixio.server.Server.conversation`.

        ``timeouts`` None: those of the settings. ``unrecorded``: where its events go instead of to
        those of the server; its history is not kept then.
        """
        key = normalise_device_id(key)
        if not key:
            raise VixioError("a conversation needs a key")
        if key in self._open:
            raise VixioError(f"the conversation {key} is open already")
        self._refuse_if_connected(key)
        self._open[key] = None
        try:
            conversation = await self._make(
                key,
                profile or self._profile_of(Device(key)),
                timeouts or self._settings.time_limits(),
                unrecorded,
            )
        except BaseException:
            del self._open[key]
            raise
        self._open[key] = conversation
        try:
            self._refuse_if_connected(key)  # since then
        except VixioError:
            await conversation.close()
            raise
        return conversation

    async def close(self) -> None:
        """Close all conversations. Idempotent."""
        for conversation in tuple(self._open.values()):
            if conversation is not None:
                await conversation.close()
        if self._closing:
            await asyncio.wait(self._closing)

    def _refuse_if_connected(self, key: str) -> None:
        if self.host.sessions.find(key) is not None:
            raise VixioError(f"the device {key} is connected: use the ask() of its session")

    def _take_note(self, event: Event) -> None:
        if isinstance(event, SessionOpened):
            conversation = self._open.get(event.device_id)
            if conversation is not None:
                task = asyncio.get_running_loop().create_task(self._end(conversation))
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)

    async def _end(self, conversation: Conversation) -> None:
        reason = f"the device {conversation.key} has connected: use the ask() of its session"
        try:
            await conversation.close(reason)
        except Exception as error:  # noqa: BLE001 - third-party code of an agent or a tool
            fields = {"key": conversation.key, "error": describe(error)}
            _log.warning("conversation did not close", extra=fields)

    async def _make(
        self, key: str, profile: DeviceProfile, timeouts: Timeouts, unrecorded: EventBus | None
    ) -> Conversation:
        lease = self.pool.lease(self._engines.choices(profile).agent)
        try:
            await self._started()
            lease.loader.begin()
            backend = await lease.loader.within(START_S)
            agent = WatchedAgent(backend.create(), lease.loader.watched)
            await agent.initialize(system_prompt=self._engines.system_prompt(profile))
        except BaseException:
            lease.release()
            raise
        session_id = f"text-{uuid4().hex}"
        session_tools = self._tools.open(key, session_id, profile)

        async def release() -> None:
            self._open.pop(key, None)
            try:
                await agent.close()
                await session_tools.close()
            finally:
                lease.release()

        assistant = self._settings.assistant
        return Conversation(
            key,
            agent,
            self.host.histories.get(key)
            if unrecorded is None
            else History(assistant.history_turns, assistant.history_tokens),
            session_tools,
            session_id=session_id,
            counters=self.host.counters,
            events=unrecorded or self.host.events,
            settings=ConversationSettings(profile.language, timeouts),
            release=release,
        )
