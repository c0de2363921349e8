"""The checks that each request passes before the A2A library sees it."""

from __future__ import annotations

import asyncio
from collections import Counter
from time import monotonic
from typing import Any, Final
from uuid import uuid4

from starlette.requests import ClientDisconnect, Request

from vixio.core.device import normalise_device_id
from vixio.core.errors import ToolError
from vixio.core.metrics import Counters
from vixio.core.tools.arguments import prepare
from vixio.core.tools.types import JsonObject, ToolDefinition
from vixio.settings.a2a import LOOPBACK_OWNER, A2ASection
from vixio.transports.admission.limits import KeyedBuckets
from vixio.web.a2a import refusals
from vixio.web.a2a.call_context import Admitted
from vixio.web.a2a.callers import Callers, Scope, is_program_here
from vixio.web.a2a.contexts import Context, Contexts, ContextsFull
from vixio.web.a2a.devices import ABSENT, Devices
from vixio.web.a2a.incoming import Incoming, NotTaken, OfferedTool, completed, read_message
from vixio.web.a2a.json_input import Invalid, Malformed, parse_json
from vixio.web.a2a.places import Places
from vixio.web.a2a.results import MAX_ID

IN_THREAD_BYTES: Final = 32 * 1024
"""Larger bodies are parsed in a thread: 10 ms a megabyte."""


class Front:
    """Admits requests. Whatever is wrong is a ``Refused``."""

    def __init__(
        self,
        settings: A2ASection,
        contexts: Contexts,
        places: Places,
        devices: Devices,
        counters: Counters,
    ) -> None:
        self._settings = settings
        self._contexts = contexts
        self._places = places
        self._devices = devices
        self._counters = counters
        self._callers = Callers(settings.tokens)
        self._buckets = KeyedBuckets(settings.requests_per_minute)
        self._streams: Counter[str] = Counter()
        self._no_streams = asyncio.Event()
        self._no_streams.set()

    def scope(self, request: Request, *, passed_on: bool = False) -> Scope:
        """Return whose request it is, and with which agent. Raises Refused."""
        authorization = request.headers.get("authorization", "")
        owner = self._callers.owner(authorization)
        if not authorization and self._settings.loopback_without_token:
            peer = request.client.host if request.client else ""
            owner = LOOPBACK_OWNER if is_program_here(peer, request.headers) else ""
        if not owner:
            raise refusals.unauthorized()
        wait = 0.0 if passed_on else self._buckets.take(owner, monotonic())
        if wait:
            raise refusals.too_many("too many requests, try again later", wait)
        device = normalise_device_id(request.path_params.get("device", ""))
        if device and not self._devices.permits(device):
            raise refusals.not_found(ABSENT)
        return Scope(owner, device)

    async def body(self, request: Request) -> bytes:
        """Return the body. Raises Refused."""
        limit = self._settings.max_body_bytes
        pieces: list[bytes] = []
        size = 0
        try:
            async for piece in request.stream():
                pieces.append(piece)
                size += len(piece)
                if size > limit:
                    raise refusals.too_large(limit)
        except ClientDisconnect:
            raise refusals.malformed("the client is gone") from None
        return b"".join(pieces)

    async def json(self, body: bytes) -> Any:  # noqa: ANN401 - any JSON value
        """Parse a body. Raises Refused."""
        try:
            if len(body) > IN_THREAD_BYTES:
                return await asyncio.to_thread(parse_json, body)
            return parse_json(body)
        except Malformed as error:
            raise refusals.malformed(str(error)) from None

    async def message(
        self,
        scope: Scope,
        message: Any,  # noqa: ANN401 - it is checked here
        body: bytes,
        *,
        old: bool = False,
    ) -> tuple[Admitted, JsonObject]:
        """Check the message of a request, and find its context and its task.

        ``old``: it has the form of 0.3. Return what is admitted, and the message for the A2A
        library. Raises Refused.
        """
        try:
            if len(body) > IN_THREAD_BYTES:
                incoming, passed_on = await asyncio.to_thread(read_message, message)
            else:
                incoming, passed_on = read_message(message)
            ids = {name: _id(message, name) for name in ("messageId", "contextId", "taskId")}
            passed_on = completed(passed_on, old=old)
        except NotTaken as error:
            raise refusals.not_taken(str(error)) from None
        except Invalid as error:
            raise refusals.invalid(str(error)) from None
        if incoming.offer is not None and (scope.device or not self._settings.client_tools):
            raise refusals.invalid("this agent takes no tools")
        addressed = bool(ids["contextId"] or ids["taskId"])
        context_id = ids["contextId"] if addressed else await self._context_of(scope, incoming)
        context, task_id = await self._place(scope, context_id, ids["taskId"])
        context.addressed = context.addressed or addressed
        if incoming.offer:
            await self._check_offer(context, incoming.offer)
        self._check_content(context, task_id, incoming)
        found = {"contextId": context.id} | ({"taskId": task_id} if task_id else {})
        return Admitted(scope, context, incoming), {**passed_on, **found}

    def open_stream(self, scope: Scope) -> None:
        """Count a stream that begins. Raises Refused."""
        if self._streams[scope.owner] >= self._settings.max_streams:
            raise refusals.too_many(f"{self._settings.max_streams} streams are open")
        self._streams[scope.owner] += 1
        self._no_streams.clear()

    def close_stream(self, scope: Scope) -> None:
        """Count a stream that is over."""
        self._streams[scope.owner] -= 1
        if not self._streams[scope.owner]:
            del self._streams[scope.owner]
        if not self._streams:
            self._no_streams.set()

    async def streams_over(self, seconds: float) -> None:
        """Wait until no stream is open, for a bounded time."""
        try:
            async with asyncio.timeout(seconds):
                await self._no_streams.wait()
        except TimeoutError:
            pass  # the library closes those that are left

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return self._streams.total()

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _context_of(self, scope: Scope, incoming: Incoming) -> str:
        """Return the context that waits for results which came without an id; empty: none does.

        Names of tools do not tell apart several tasks that wait for them. Those whose clients have
        never sent an id are ended at once: they would wait for nothing. Raises Refused.
        """
        found = self._contexts.waiting_for(scope, incoming.results or incoming.reported)
        if not incoming.results or not all(each.call_id for each in incoming.results):
            found = [each for each in found if not each.addressed]
        if len(found) < 2:
            return found[0].id if found else ""
        self._counters.add("a2a.results.ambiguous")
        for context in found:
            if not context.addressed:
                for run in tuple(context.runs.values()):
                    await run.cancel(run.output.ambiguous)
        raise refusals.invalid(
            f"{len(found)} tasks wait for such a result; send contextId or taskId with it"
        )

    async def _place(self, scope: Scope, context_id: str, task_id: str) -> tuple[Context, str]:
        """Return the context of a message, and the task that it continues, if any."""
        if task_id:
            known = self._contexts.of_task(scope, task_id)
            if known is None:
                raise refusals.task_not_found()
            context_id = context_id or known.id  # a wrong one the library refuses
        try:
            context = self._contexts.get(scope, context_id or str(uuid4()))
            await self._places.hold(context)
            task_id = task_id or context.waiting_task
            if task_id not in context.runs:
                self._contexts.check_room(context)
        except ContextsFull as error:
            raise refusals.too_many(str(error)) from None
        return context, task_id

    async def _check_offer(self, context: Context, offer: tuple[OfferedTool, ...]) -> None:
        if offer != context.offered:
            try:
                await asyncio.to_thread(_compile, offer)
            except Invalid as error:
                raise refusals.invalid(str(error)) from None
            self._counters.add("a2a.offers")

    def _check_content(self, context: Context, task_id: str, incoming: Incoming) -> None:
        run = context.runs.get(task_id)
        if run is not None or incoming.text or incoming.data:
            return
        if incoming.results:
            self._counters.add("a2a.results.unknown", len(incoming.results))
            raise refusals.invalid("no call waits for a result")
        if incoming.offer is None:
            raise refusals.invalid("the message has no text")


def _compile(offer: tuple[OfferedTool, ...]) -> None:
    for tool in offer:
        try:
            prepare(ToolDefinition(tool.name, tool.description, tool.parameters))
        except ToolError:  # in the words of a library
            raise Invalid(
                f"the parameters of {tool.name} are not a JSON Schema, or one too complex to check"
            ) from None


def _id(message: JsonObject, name: str) -> str:
    value = message.get(name)
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or len(value) > MAX_ID or not value.isprintable():
        raise Invalid(f"message.{name} must be a text of at most {MAX_ID} characters")
    return value
