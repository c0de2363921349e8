"""Settings that are read again while the server runs."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from vixio.core.errors import VixioError
from vixio.settings import Settings
from vixio.settings.layer import OF_TOOLS

_log = logging.getLogger(__name__)

RELOADED = ("assistant", "devices", "vad", "asr", "agent", "tts", "mcp_servers")
"""The sections that take effect without a restart; of ``tools`` also :data:`OF_TOOLS`."""


class Reloadable(Protocol):
    """A server whose settings can change."""

    def reload(self, settings: Settings) -> None: ...


class ReadSettings(Protocol):
    """Reads the settings. ``layer``: a file in the place of what was changed in the browser."""

    def __call__(self, layer: Path | None = None) -> Settings: ...


def reloaded(current: Settings, read: Settings) -> Settings:
    """Return ``current`` with the reloaded sections of ``read``; log which others differ."""
    own = {each: getattr(read.tools, each) for each in OF_TOOLS}
    tools = current.tools.model_copy(update=own)
    others = [
        key
        for key in Settings.model_fields
        if key not in RELOADED
        and (tools if key == "tools" else getattr(current, key)) != getattr(read, key)
    ]
    if others:
        _log.warning("changed settings need a restart", extra={"sections": ", ".join(others)})
    given = {key for key in current.model_fields_set if key not in RELOADED}
    merged = Settings.model_construct(
        given | {key for key in read.model_fields_set if key in RELOADED},
        **{key: getattr(read if key in RELOADED else current, key) for key in Settings.model_fields}
        | {"tools": tools},
    )
    return merged.of_origin(current.origin.renewed(read.origin, (*RELOADED, "tools")))


class Reloader:
    """Applies the settings that ``read`` returns to ``app``, on each call."""

    def __init__(
        self,
        app: Reloadable,
        read: ReadSettings,
        note: Callable[[Settings], None] = lambda _: None,
    ) -> None:
        """``note`` is called with settings that were applied."""
        self.read = read
        self._app = app
        self._note = note
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self) -> None:
        """Begin to reload; returns at once."""
        task = asyncio.create_task(self.reload())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def apply(
        self, layer: Path | None = None, keep: Callable[[], None] = lambda: None
    ) -> None:
        """Apply the settings, with another file below them if ``layer`` names one.

        ``keep`` puts that file in its place then. Raises VixioError: nothing has changed then.
        """
        async with self._lock:
            settings = await asyncio.to_thread(self.read, layer)
            self._app.reload(settings)
            try:
                await asyncio.to_thread(keep)
            except VixioError:
                self._app.reload(await asyncio.to_thread(self.read))
                raise
            self._note(settings)

    async def reload(self) -> None:
        """Reload. A mistake is one line in the log, and the old settings stay."""
        try:
            await self.apply()
        except VixioError as error:
            reason = " ".join(str(error).split())
            _log.error(
                "settings not reloaded, previous settings remain in use", extra={"reason": reason}
            )
        else:
            _log.info("settings reloaded")


def on_hangup(reload: Callable[[], None], stop: Callable[[], None]) -> None:
    """Have SIGHUP call ``reload``, or ``stop`` if it means that the terminal was closed.

    A process that ignores SIGHUP, as with ``nohup``, survives its terminal.
    """
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    in_terminal = not ignored and _has_terminal()

    def hung_up() -> None:
        if in_terminal and not _has_terminal():
            stop()
        else:
            reload()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hung_up)


def _has_terminal() -> bool:
    try:
        os.tcgetpgrp(0)
    except OSError:
        return False
    return True
