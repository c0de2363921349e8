"""Installs what a recogniser or a voice of the guide needs: its extra, and its model."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import re
import signal
import sysconfig
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from time import monotonic
from typing import Any, Final

from vixio.cli.setup.choices import EARS, VOICES, Choice
from vixio.core.children import command, environment
from vixio.core.cluster import Presence
from vixio.core.extras import how_to_install, install_command
from vixio.core.tasks import cancel_and_wait
from vixio.core.wall_clock import now_ms
from vixio.settings.shown import without_passwords
from vixio.web.api.assistant_settings import Installation, Mistaken, NotNow

_log = logging.getLogger(__name__)

TOPIC: Final = "assistant install"

LIMIT_S: Final = 1_800.0
"""For all of it; some extras are hundreds of megabytes."""

KILL_S: Final = 5.0
"""After which a program that was asked to end is killed."""

OUTPUT_BYTES: Final = 4_096
"""Of a program's output that are kept: its last line comes in pieces."""

LINE_CHARS: Final = 200

_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f]")


class Installer:
    """One at a time, of all processes of a server: ``alone`` keeps the others out."""

    def __init__(
        self, presence: Presence, alone: Callable[[], AbstractAsyncContextManager[None]]
    ) -> None:
        self._presence = presence
        self._alone = alone
        self._state = Installation()
        self._output = b""
        self._began = 0.0
        self._changed_at = 0
        self._task: asyncio.Task[None] | None = None
        presence.publish(self._status, topic=TOPIC)

    async def begin(self, names: Sequence[str]) -> Installation:
        """Begin to install the choices of these keys. Raises Mistaken, NotNow."""
        known = {each.key: each for each in (*EARS, *VOICES)}
        if unknown := [name for name in names if name not in known]:
            raise Mistaken([("choices", f"there is no {', '.join(unknown)}")])
        chosen = [known[name] for name in dict.fromkeys(names)]
        for each in chosen:
            if todo := await asyncio.to_thread(remedy, each):
                raise NotNow(f"{each.name} cannot be installed from here: {todo}")
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(chosen, begun), name="install")
        await asyncio.wait((begun, task), return_when=asyncio.FIRST_COMPLETED)
        if not begun.done():
            task.result()  # another one is under way
        self._task = task
        return self._now()

    async def state(self) -> Installation:
        """Return how the last one is, of whichever process."""
        members = await self._presence.members(TOPIC)
        newest = max(members, key=lambda each: int(each.get("changed_at", 0)), default={})
        return Installation.model_validate(newest.get("state", {}))

    async def close(self) -> None:
        """End one that runs. Idempotent."""
        await cancel_and_wait(self._task)

    def _status(self) -> dict[str, Any]:
        return {"changed_at": self._changed_at, "state": self._now().model_dump()}

    def _now(self) -> Installation:
        if self._state.state != "running":
            return self._state
        return self._state.model_copy(update={"seconds": round(monotonic() - self._began, 1)})

    async def _run(self, chosen: Sequence[Choice], begun: asyncio.Future[None]) -> None:
        async with self._alone():
            self._state = Installation(state="running", names=[each.key for each in chosen])
            self._began, self._changed_at, self._output = monotonic(), now_ms(), b""
            begun.set_result(None)
            failed = "it was ended with the server"
            try:
                failed = await self._installed(chosen)
            finally:
                importlib.invalidate_caches()  # so that what is new is found by this process
                state = "failed" if failed else "done"
                self._state = self._now().model_copy(update={"state": state, "error": failed})
                self._changed_at = now_ms()
                _log.info("installation ended", extra={"state": state, "names": self._state.names})

    async def _installed(self, chosen: Sequence[Choice]) -> str:
        """Install; return what went wrong, empty if nothing did."""
        missing = [each for each in chosen if not await asyncio.to_thread(is_installed, each)]
        extras = [
            each.extra for each in missing if each.extra is not None and not each.is_installed()
        ]
        programs = [install_command(*extras)] if extras else []
        programs += [
            command("vixio", "models", "get", "--yes", each.model) for each in missing if each.model
        ]
        try:
            async with asyncio.timeout(LIMIT_S):
                for program in programs:
                    if program is None or await self._ran(program) != 0:
                        by_hand = f"; by itself: {how_to_install(*extras)}" if extras else ""
                        return f"{self._state.line or 'it failed'}{by_hand}"
        except TimeoutError:
            return f"it was not over after {LIMIT_S / 60:g} minutes"
        except OSError as error:
            return f"{error.filename}: {error.strerror}"
        return ""

    async def _ran(self, program: Sequence[str]) -> int:
        process = await asyncio.create_subprocess_exec(
            *program,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment(),
            start_new_session=True,
        )
        assert process.stdout is not None  # noqa: S101 - as it is started
        try:
            while piece := await process.stdout.read(65_536):
                self._note(piece)
            return await process.wait()
        finally:
            if process.returncode is None:
                await _end(process)

    def _note(self, piece: bytes) -> None:
        self._output = (self._output + piece)[-OUTPUT_BYTES:]
        for line in reversed(re.split(r"[\r\n]+", self._output.decode("utf-8", "replace"))):
            if words := _CONTROL.sub("", line).strip():
                shown = without_passwords(words)[:LINE_CHARS]
                self._state = self._state.model_copy(update={"line": shown})
                return


def is_installed(choice: Choice) -> bool:
    """Return whether all that a choice needs is there. Blocking, and imports what tries parts."""
    from vixio.cli.setup.trial import is_there

    return choice.is_installed() and (not choice.model or is_there(choice.model))


def remedy(choice: Choice) -> str:
    """Return what a person has to do to install a choice; empty: the server can."""
    if choice.extra is None or choice.is_installed():
        return ""
    writable = os.access(sysconfig.get_path("purelib"), os.W_OK)
    if install_command(choice.extra) is not None and writable:
        return ""
    return how_to_install(choice.extra)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a program and its children."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(KILL_S):
                await process.wait()
                return
