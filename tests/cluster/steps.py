"""Steps of a node that a test holds back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest


class Step:
    """A step of a node, which is held back: ``there`` once it is reached, until :meth:`go_on`."""

    def __init__(self, of: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._work: Callable[..., Awaitable[Any]] = getattr(of, name)
        self.there = asyncio.Event()
        self._open = asyncio.Event()
        monkeypatch.setattr(of, name, self._held)

    async def _held(self, *arguments: object) -> Any:  # noqa: ANN401 - of any step
        self.there.set()
        await self._open.wait()
        return await self._work(*arguments)

    def go_on(self) -> None:
        self._open.set()


async def turns_of_the_loop() -> None:
    """Let everything run that waits for nothing from outside."""
    for _ in range(50):
        await asyncio.sleep(0)
