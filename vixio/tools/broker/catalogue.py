"""The tools of a broker: what the configuration describes, and what services announce."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vixio.bus.announce import Announcement
from vixio.core.tools.source import Fault
from vixio.core.tools.types import ToolOptions
from vixio.tools.bounds import MAX_NAME_CHARS, MAX_TOOLS
from vixio.tools.broker.descriptors import (
    DescriptorError,
    ServiceDescriptor,
    ToolDescriptor,
    read_service,
    read_tool,
    service_id_of,
)
from vixio.tools.broker.files import Described, Descriptions

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Announced:
    """What an instance announces, as it was read. ``service``: None if its description is wrong."""

    announcement: Announcement
    service: ServiceDescriptor | None
    tools: dict[str, ToolDescriptor] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


class Catalogue:
    """Services and tools. The configuration wins over announcements, of a service and of a tool."""

    def __init__(self, place: str, defaults: ToolOptions, retries: int) -> None:
        """``place``: the key path of the options. ``retries``: of idempotent tools."""
        self.services: dict[str, ServiceDescriptor] = {}
        """Of the configuration."""
        self.faults: list[Fault] = []
        """Of the configuration."""
        self.announced_faults: list[Fault] = []
        self._place = place
        self._defaults = defaults
        self._retries = retries
        self._configured: dict[str, ToolDescriptor] = {}
        self._announced: dict[str, _Announced] = {}

    def configure(
        self, services: Iterable[Mapping[str, Any]], tools: Iterable[Mapping[str, Any]]
    ) -> None:
        """Take the descriptions of the settings."""
        self.configure_from(
            Descriptions(
                tuple(
                    Described(f"{self._place}.services[{index}]", each)
                    for index, each in enumerate(services)
                ),
                tuple(
                    Described(f"{self._place}.tools[{index}]", each)
                    for index, each in enumerate(tools)
                ),
            )
        )

    def configure_from(self, found: Descriptions) -> None:
        """Take further descriptions; what is wrong is left out, with one line."""
        faults = list(found.faults)
        for each in found.services:
            self._add_service(each, faults)
        for each in found.tools:
            self._add_tool(each, faults)
        for fault in faults:
            _log.warning("tools left out", extra={"location": fault.place, "reason": fault.reason})
        self.faults.extend(faults)

    def tools(
        self, announced: Mapping[str, list[Announcement]]
    ) -> list[tuple[ToolDescriptor, ServiceDescriptor]]:
        """Return all tools with their services, of the configuration first."""
        listed = {
            name: (tool, self.services[tool.service]) for name, tool in self._configured.items()
        }
        faults: list[Fault] = []
        self._announced = {
            name: self._read(name, instances[-1]) for name, instances in announced.items()
        }
        for service_id, read in self._announced.items():
            faults.extend(read.faults)
            if read.service is None:
                continue
            for name, tool in read.tools.items():
                if len(listed) == MAX_TOOLS:
                    faults.append(Fault(service_id, f"the broker has more than {MAX_TOOLS} tools"))
                    break
                listed.setdefault(name, (tool, read.service))
        self._report(faults)
        return list(listed.values())

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _add_service(self, described: Described, faults: list[Fault]) -> None:
        try:
            service = read_service(described.value)
            if service.id in self.services:
                raise DescriptorError(f"id: two services are named {service.id}")
        except DescriptorError as error:
            faults.append(Fault(described.place, f"service {_named(described, 'id')}: {error}"))
            return
        self.services[service.id] = service

    def _add_tool(self, described: Described, faults: list[Fault]) -> None:
        try:
            used = service_id_of(described.value)
            service = self.services.get(used)
            if service is None:
                known = ", ".join(sorted(self.services)) or "none"
                raise DescriptorError(f"service: {used} is not described; known are {known}")
            tool = read_tool(described.value, service, self._defaults, self._retries)
            name = tool.definition.name
            if name in self._configured:
                raise DescriptorError(f"name: two tools are named {name}")
            if len(self._configured) == MAX_TOOLS:
                raise DescriptorError(f"there are more than {MAX_TOOLS} tools")
        except DescriptorError as error:
            faults.append(Fault(described.place, f"tool {_named(described, 'name')}: {error}"))
            return
        self._configured[name] = tool

    def _read(self, id: str, announcement: Announcement) -> _Announced:
        """Return what an instance announces; read once for each announcement."""
        known = self._announced.get(id)
        if known is not None and known.announcement == announcement:
            return known
        place = id[:MAX_NAME_CHARS]
        try:
            service = self.services.get(id) or read_service(announcement.service)
        except DescriptorError as error:
            fault = Fault(place, f"announced service: {error}")
            return _Announced(announcement, None, faults=[fault])
        read = _Announced(announcement, service)
        for value in announcement.tools:
            try:
                tool = read_tool(value, service, self._defaults, self._retries)
            except DescriptorError as error:
                name = str(value.get("name", "?"))[:MAX_NAME_CHARS]
                read.faults.append(Fault(place, f"announced tool {name}: {error}"))
            else:
                read.tools.setdefault(tool.definition.name, tool)
        return read

    def _report(self, faults: list[Fault]) -> None:
        for fault in faults:
            if fault not in self.announced_faults:
                fields = {"location": fault.place, "reason": fault.reason}
                _log.warning("tools left out", extra=fields)
        self.announced_faults = faults


def _named(described: Described, key: str) -> str:
    return str(described.value.get(key, "without a name"))[:MAX_NAME_CHARS]
