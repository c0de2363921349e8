"""The last tool list of each device, for the time until it has sent a new one.

Kept in memory only, compressed and bounded: a list of sixty tools has about 20 KB as JSON and 3 KB
compressed.
"""

from __future__ import annotations

import json
import zlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from vixio.core.tools.types import ToolCaller, ToolDefinition, ToolOptions

MAX_BYTES = 8_000_000
"""Of all lists together; the devices seen longest ago are forgotten beyond it."""

MAX_LIST_BYTES = 200_000
"""Of one list as JSON. A longer one is not remembered."""


@dataclass(frozen=True, slots=True)
class _Kept:
    checksum: int
    """Of the list before compression: most reconnects bring the same list."""
    data: bytes


class RememberedTools:
    """The lists of the devices seen last."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, device_id: str, tools: Iterable[ToolDefinition]) -> None:
        """Replace what is kept of a device. An empty or overlong list leaves nothing."""
        entries = [
            [tool.name, tool.description, tool.parameters, asdict(tool.options)] for tool in tools
        ]
        text = json.dumps(entries).encode()
        checksum = zlib.crc32(text)
        known = self._kept.get(device_id)
        if known is not None and known.checksum == checksum:
            self._kept.move_to_end(device_id)
            return
        self._forget(device_id)
        if not entries or len(text) > MAX_LIST_BYTES:
            return
        kept = _Kept(checksum, zlib.compress(text, 1))
        self._kept[device_id] = kept
        self._bytes += len(kept.data)
        while self._bytes > self._max_bytes:
            self._forget(next(iter(self._kept)))

    def recall(self, device_id: str, caller: ToolCaller) -> list[ToolDefinition]:
        """Return the last list of a device, to be executed by ``caller``; empty if unknown."""
        kept = self._kept.get(device_id)
        if kept is None:
            return []
        return [
            ToolDefinition(
                name, description, parameters, "device", ToolOptions(**options), caller=caller
            )
            for name, description, parameters, options in json.loads(zlib.decompress(kept.data))
        ]

    def _forget(self, device_id: str) -> None:
        kept = self._kept.pop(device_id, None)
        if kept is not None:
            self._bytes -= len(kept.data)
