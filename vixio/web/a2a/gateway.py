"""Puts the A2A gateway of one process together. Importing this imports the A2A library."""

from __future__ import annotations

import logging
from typing import Final

from a2a.server.agent_execution import SimpleRequestContextBuilder
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from vixio.core.metrics import Counters
from vixio.settings.a2a import A2ASection
from vixio.transports.admission.admission import Admission
from vixio.web.a2a.callers import Scope as CallerScope
from vixio.web.a2a.card import card_of_assistant
from vixio.web.a2a.contexts import Context, Contexts
from vixio.web.a2a.devices import Devices
from vixio.web.a2a.endpoint import PASSED_ON, BaseUrl, Endpoint
from vixio.web.a2a.executor import Executor
from vixio.web.a2a.front import Front
from vixio.web.a2a.handlers import Handler, TaskIds
from vixio.web.a2a.mount import Ports
from vixio.web.a2a.places import Places, forwarding_server
from vixio.web.a2a.task_store import BoundedTaskStore

RELEASE_MARGIN_S = 60.0
"""The library lets go of a task that waits, so much later than its result is given up."""

DRAIN_S = 1.0
"""For streams to send their last events when the server stops."""


class PassedOn:
    """The application for requests that other processes pass on."""

    def __init__(self, router: Router) -> None:
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request here."""
        await self._router({**scope, PASSED_ON: True}, receive, send)


class Gateway:
    """The endpoint, its contexts and its tasks: an ASGI application."""

    def __init__(self, settings: A2ASection, ports: Ports, base_url: BaseUrl) -> None:
        counters = ports.counters
        self._log = SdkLog(counters)
        self._places = Places(ports.cluster, self._lost)
        self._store = BoundedTaskStore(settings.max_tasks, self._dropped)
        self._contexts = Contexts(
            ports.open_conversation,
            ports.forget,
            self._store.drop,
            counters,
            lifetime=settings.context_lifetime,
            max_contexts=settings.max_contexts,
            max_running=settings.max_running,
            result_timeout=settings.result_timeout,
        )
        devices = Devices(settings.devices, ports.command, counters)
        self._handler = Handler(
            Executor(self._contexts, counters, devices.run),
            self._store,
            card_of_assistant(settings, settings.public_url or "http://localhost"),
            request_context_builder=SimpleRequestContextBuilder(task_id_generator=TaskIds()),
            interrupted_task_timeout=settings.result_timeout + RELEASE_MARGIN_S,
        )
        self._front = Front(settings, self._contexts, self._places, devices, counters)
        endpoint = Endpoint(
            settings, self._handler, self._front, self._places, devices, counters, base_url
        )
        self._router = Router(endpoint.routes())
        self._ports = ports

    async def start(self) -> None:
        """Begin to answer, also what other processes pass on."""
        self._log.attach()
        self._contexts.start()
        if self._places.shared:
            self._ports.serve_keys(self._places.answer)
            admission = Admission(counters=self._ports.counters)
            await self._places.start(
                forwarding_server(PassedOn(self._router), self._places.host, admission)
            )

    async def close(self) -> None:
        """End all tasks, streams and conversations."""
        await self._contexts.close()
        await self._front.streams_over(DRAIN_S)
        await self._handler.aclose()
        await self._places.close()
        self._log.detach()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a client."""
        await self._router(scope, receive, send)

    def _lost(self, context: Context) -> None:
        self._contexts.lost(context)

    def _dropped(self, scope: CallerScope, task_id: str) -> None:
        self._contexts.disown(scope, task_id)

    def stats(self) -> dict[str, int]:
        """Return what the health page shows."""
        return {
            "contexts": len(self._contexts),
            "tasks": len(self._store),
            "running": self._contexts.running,
            "streams": self._front.streams,
        }


_log = logging.getLogger(__name__)

LOGGER: Final = "a2a.server", "a2a.compat", "a2a.utils"


class SdkLog(logging.Handler):
    """Counts what the library reports, and names the place of each error.

    Its own log quotes requests and prints tracebacks.
    """

    def __init__(self, counters: Counters) -> None:
        super().__init__(logging.WARNING)
        self._counters = counters

    def attach(self) -> None:
        """Take the library's records from now on."""
        for name in LOGGER:
            logger = logging.getLogger(name)
            logger.addHandler(self)
            logger.propagate = False

    def detach(self) -> None:
        """Leave the library's log as it was. Idempotent."""
        for name in LOGGER:
            logger = logging.getLogger(name)
            logger.removeHandler(self)
            logger.propagate = True

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record."""
        if record.levelno < logging.ERROR:
            self._counters.add("a2a.library.warnings")
            return
        self._counters.add("a2a.library.errors")
        error = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        place = f"{record.module}:{record.lineno}"
        _log.warning("A2A library reported an error", extra={"place": place, "error": error})
