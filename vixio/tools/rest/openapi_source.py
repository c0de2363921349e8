"""A service described by an OpenAPI document, as a source; loads in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from vixio.core.backoff import Backoff
from vixio.core.errors import ConfigError, ToolError
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.source import Fault, ToolSource
from vixio.core.tools.types import ToolDefinition
from vixio.tools.rest.client import RestClient
from vixio.tools.rest.config import RestToolConfig
from vixio.tools.rest.openapi import OpenApiConfig, parse_document, to_configs
from vixio.tools.rest.request import RestRequest
from vixio.tools.rest.source import to_definition

RETRY = Backoff(first=1.0, longest=300.0)
"""Delays between attempts to load a document."""

_log = logging.getLogger(__name__)


class OpenApiSource(ToolSource):
    """The chosen operations of one document."""

    def __init__(self, config: OpenApiConfig, *, backoff: Backoff = RETRY) -> None:
        super().__init__(config.name)
        self.config = config
        self._client = RestClient()
        self._backoff = backoff
        self._tools: tuple[ToolDefinition, ...] = ()
        self._task: asyncio.Task[None] | None = None
        self._known = asyncio.Event()

    def tools(self) -> Sequence[ToolDefinition]:
        """Return the operations; none until the document is loaded."""
        return self._tools

    @property
    def pending(self) -> bool:
        """Whether the first attempt is not over."""
        return not self._known.is_set()

    async def start(self) -> None:
        """Begin to load the document in the background."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"openapi {self.name}")

    async def ready(self) -> None:
        """Wait until the first attempt has succeeded or failed."""
        await self._known.wait()

    async def close(self) -> None:
        """Stop loading and close all connections."""
        await cancel_and_wait(self._task)
        await self._client.close()

    async def _run(self) -> None:
        failures = 0
        while not await self._load():
            failures += 1
            await asyncio.sleep(self._backoff.delay(failures))

    async def _load(self) -> bool:
        """Load the document; return false if a later try may succeed."""
        try:
            await asyncio.to_thread(import_module, "httpx2")
            data = await self._fetch()
            document = await asyncio.to_thread(parse_document, data)
        except ToolError as error:
            self._fault(str(error))
            return not error.retryable
        except (ConfigError, OSError) as error:
            self._fault(str(error) if isinstance(error, ConfigError) else _why(error))
            return True
        else:
            self._offer(*to_configs(document, self.config))
            return True
        finally:
            self._known.set()

    async def _fetch(self) -> bytes:
        place = self.config.document
        if not place.startswith(("http://", "https://")):
            return await asyncio.to_thread(Path(place).read_bytes)
        headers = {"Accept": "application/json, application/yaml", **self.config.headers}
        answer = await self._client.send(
            RestRequest("GET", place, headers, None),
            timeout=self.config.timeout,
            private=self.config.allow_private,
        )
        if answer.status != 200:
            message = f"the document cannot be loaded: the service answers {answer.status}"
            raise ToolError("failed", message, retryable=True)
        return answer.body

    def _offer(self, configs: Sequence[RestToolConfig], faults: dict[str, str]) -> None:
        tools: dict[str, ToolDefinition] = {}
        for config in configs:
            try:
                tools.setdefault(config.name, to_definition(config, self._client, self.name))
            except ConfigError as error:
                faults[config.name] = str(error)
        self.faults = [
            Fault(f"{self.config.place}.operations.{operation}", reason)
            for operation, reason in faults.items()
        ]
        for fault in self.faults:
            fields = {"location": fault.place, "reason": fault.reason}
            _log.warning("tools left out", extra=fields)
        self._tools = tuple(tools.values())
        _log.info("OpenAPI document loaded", extra={"source": self.name, "tool_count": len(tools)})
        self.changed()

    def _fault(self, reason: str) -> None:
        place = f"{self.config.place}.document"
        level = logging.DEBUG if self._known.is_set() else logging.WARNING
        _log.log(level, "OpenAPI document not loaded", extra={"location": place, "reason": reason})
        self.faults = [Fault(place, reason)]


def _why(error: OSError) -> str:
    why = error.strerror or type(error).__name__
    where = f" {error.filename} (in the folder {Path.cwd()})" if error.filename else ""
    return f"the document{where} cannot be read: {why}"
