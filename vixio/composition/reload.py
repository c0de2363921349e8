"""Settings that are read again while the server runs."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from typing import Protocol

from vixio.core.errors import VixioError
from vixio.settings import Settings

_log = logging.getLogger(__name__)

RELOADED = ("assistant", "devices", "vad", "asr", "agent", "tts")
"""The sections that take effect without a restart."""


class Reloadable(Protocol):
    """A server whose settings can change."""

    def reload(self, settings: Settings) -> None: ...


def reloaded(current: Settings, read: Settings) -> Settings:
    """Return ``current`` with the reloaded sections of ``read``; log which others differ."""
    others = [
        key
        for key in Settings.model_fields
        if key not in RELOADED and getattr(current, key) != getattr(read, key)
    ]
    if others:
        _log.warning("changed settings need a restart", extra={"sections": ", ".join(others)})
    merged = current.model_copy(update={key: getattr(read, key) for key in RELOADED})
    return merged.of_origin(current.origin.joined(read.origin))


class Reloader:
    """Applies the settings that ``load`` returns to ``app``, on each call."""

    def __init__(self, app: Reloadable, load: Callable[[], Settings]) -> None:
        self._app = app
        self._load = load
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self) -> None:
        """Begin to reload; returns at once."""
        task = asyncio.create_task(self.reload())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def reload(self) -> None:
        """Reload. A mistake is one line in the log, and the old settings stay."""
        async with self._lock:
            try:
                self._app.reload(await asyncio.to_thread(self._load))
            except VixioError as error:
                reason = " ".join(str(error).split())
                _log.error(
                    "settings not reloaded, previous settings remain in use",
                    extra={"reason": reason},
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
