"""Sends the MCP server's answers, with the configured faults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from firmware_test_client.config import McpFaults
from firmware_test_client.mcp.tool import dumps

_FORGED_ID: Final = 900_000_000  # no server uses such an id


class FaultyOutbox:
    """Between the MCP server and the socket. Without faults it sends at once.

    Args:
        faults: the configured faults.
        send: takes the JSON-RPC payload as text.
    """

    def __init__(self, faults: McpFaults, send: Callable[[str], None]) -> None:
        self._faults = faults
        self._send = send
        self._held: list[str] = []
        self._timers: set[asyncio.TimerHandle] = set()
        self._pages = 0

    def answer(self, number: int, what: str, body: str) -> None:
        """Send `{"jsonrpc":"2.0","id":number,body}` (McpServer::ReplyResult, ReplyError)."""
        faults = self._faults
        if what in faults.never_answer:
            return
        if what == "tools/list":
            body = self._paged(body)
        payload = self._envelope(number, body)
        if faults.forged_ids:
            self._later(self._envelope(_FORGED_ID + number, body))
        is_call = what not in ("initialize", "tools/list", "tools/call")
        if faults.reverse_order and is_call:
            self._held.append(payload)
            if len(self._held) >= faults.reverse_order:
                while self._held:
                    self._later(self._held.pop())
            return
        for _ in range(2 if faults.duplicate_answers else 1):
            self._later(payload)

    def close(self) -> None:
        """Drop answers that were not sent yet."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self._held.clear()

    def _envelope(self, number: int, body: str) -> str:
        id_text = f'"{number}"' if self._faults.string_ids else str(number)
        return f'{{"jsonrpc":"2.0","id":{id_text},{body}}}'

    def _paged(self, body: str) -> str:
        if not (self._faults.endless_paging or self._faults.repeat_cursor):
            return body
        self._pages += 1
        cursor = "again" if self._faults.repeat_cursor else f"page-{self._pages}"
        tools: list[Any] = [
            {
                "name": f"self.page.tool_{self._pages}",
                "description": "One of very many.",
                "inputSchema": {"type": "object", "properties": {}},
            }
        ]
        return f'"result":{dumps({"tools": tools, "nextCursor": cursor})}'

    def _later(self, payload: str) -> None:
        if self._faults.delay <= 0:
            self._send(payload)
            return

        def leave() -> None:
            self._timers.discard(timer)
            self._send(payload)

        timer = asyncio.get_running_loop().call_later(self._faults.delay, leave)
        self._timers.add(timer)
