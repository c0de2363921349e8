"""The base class of tool services."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from vixio.bus.announce import Announcement, Announcer
from vixio.bus.bus import ToolBus
from vixio.bus.queues import canonical
from vixio.bus.serving import Serving, ServingLimits
from vixio.bus.wire import Request
from vixio.core.errors import ConfigError
from vixio.core.tools.types import JsonObject

ANNOUNCE_PREFIX = "vixio.tools"
"""The first part of the queues on which services announce themselves."""


class DynamicToolService(ABC):
    """A tool service. Subclass it and write :meth:`invoke`.

    The class attributes describe it as the tool-service description does; with ``tools`` it needs
    no configuration on the side of the assistant, because it announces them.
    """

    id: ClassVar[str] = ""
    """Names the service; unset: the name of the class."""
    request_queue: ClassVar[str] = ""
    """Unset: ``request:tg:ID``."""
    response_queue: ClassVar[str] = ""
    """For callers that do not say where to answer. Unset: ``response:tg:ID``."""
    config_params: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """What a tool may configure: ``{"name": …, "required": …}``."""
    tools: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Tools to announce: ``{"name", "description", "arguments": […], …}``."""

    @abstractmethod
    def invoke(self, user: str, config: JsonObject, arguments: JsonObject) -> Any:  # noqa: ANN401 - see below
        """Answer a call.

        ``user``: whom the assistant talks to, empty if unknown. ``config``: what the tool
        configures. ``arguments``: from the model; they are not validated here.

        Returns text, a JSON value, or an async iterator of text for an answer in pieces. May be
        ``async``, an async generator, or a plain function, which runs in a thread. Raises
        :class:`~vixio.core.errors.ToolError` for a failure that the model should understand.
        """

    async def start(self) -> None:  # noqa: B027 - most services have nothing to prepare
        """Prepare what calls need, before the first one."""

    async def close(self) -> None:  # noqa: B027 - most services hold nothing
        """Release it, after the last one."""

    @property
    def service_id(self) -> str:
        """The id of the service."""
        return self.id or type(self).__name__

    def descriptor(self) -> dict[str, Any]:
        """Return the service's description: the upper of the two levels."""
        return {
            "id": self.service_id,
            "request-queue": self.request_queue or f"request:tg:{self.service_id}",
            "response-queue": self.response_queue or f"response:tg:{self.service_id}",
            "config-params": [dict(each) for each in self.config_params],
        }

    def tool_descriptors(self) -> list[dict[str, Any]]:
        """Return the descriptions of its tools: the lower of the two levels."""
        given = {"type": "tool-service", "service": self.service_id}
        return [{**given, **tool} for tool in self.tools]


class ServiceInstance:
    """A service on a bus: serves its queue and announces its tools, until it is stopped."""

    def __init__(
        self,
        service: DynamicToolService,
        bus: ToolBus,
        *,
        limits: ServingLimits | None = None,
        announce: str = ANNOUNCE_PREFIX,
    ) -> None:
        """``announce``: the prefix of the queues for that; empty: not announced."""
        self.service = service
        self.serving: Serving | None = None
        self._bus = bus
        self._limits = limits
        self._announce = announce
        self._announcer: Announcer | None = None
        self._threaded = not (
            inspect.iscoroutinefunction(service.invoke)
            or inspect.isasyncgenfunction(service.invoke)
        )

    async def start(self) -> None:
        """Begin to serve. Raises ConfigError if a queue of the service has no valid name."""
        await self.service.start()
        described = self.service.descriptor()
        for key in ("request-queue", "response-queue"):
            try:
                canonical(described[key])
            except ValueError as error:
                raise ConfigError(f"{self.service.service_id}: {key}: {error}") from error
        self.serving = await self._bus.serve(
            described["request-queue"],
            self._invoke,
            response_queue=described["response-queue"],
            limits=self._limits,
        )
        tools = self.service.tool_descriptors()
        if self._announce:
            announcement = Announcement(self.serving.instance, described, tools)
            self._announcer = await self._bus.announce(announcement, self._announce)

    async def stop(self, grace: float = 10.0) -> None:
        """Take no more calls, and give those at work ``grace`` seconds to end. Idempotent."""
        announcer, self._announcer = self._announcer, None
        if announcer is not None:
            await announcer.stop()
        if self.serving is not None:
            await self.serving.stop(grace)
        await self.service.close()

    def _invoke(self, request: Request) -> Any:  # noqa: ANN401 - what the service returns
        given = (request.user, request.config, request.arguments)
        if self._threaded:
            return asyncio.to_thread(self.service.invoke, *given)
        return self.service.invoke(*given)
