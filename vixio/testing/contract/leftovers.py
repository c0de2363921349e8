"""What a test has left running: threads, work in the loop's executor, child processes. By name."""

from __future__ import annotations

import asyncio
import functools
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from vixio.testing.contract.bounds import GRACE, place_of

T = TypeVar("T")

_HAS_PROC = Path("/proc/self/stat").exists()

_OF_MULTIPROCESSING = re.compile(r"multiprocessing\.(resource_tracker|forkserver)")
"""Processes that Python keeps until its end, and shares."""


@contextmanager
def nothing_left() -> Iterator[None]:
    """Fail if a thread or a child process that was not there before is there at the end."""
    threads, children = _threads(), _children().keys()
    yield
    # The last steps of a child that was waited for are taken by the kernel and by asyncio's thread.
    deadline = time.monotonic() + GRACE
    while (now := _children()).keys() - children or _ending(threads):
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    left = [*map(_describe_thread, _threads() - threads)]
    left += [
        f"child process {pid} ({command}): end it in close(), and wait for its end"
        for pid, command in now.items()
        if pid not in children
    ]
    if left:
        pytest.fail("left running after the test:\n  " + "\n  ".join(left), pytrace=False)


def _ending(before: set[threading.Thread]) -> bool:
    """Whether the threads that are left all wait for child processes, which may have ended."""
    left = _threads() - before
    return bool(left) and all(_child_of(thread) is not None for thread in left)


def _threads() -> set[threading.Thread]:
    """Every thread but those of the loop's own executor, which ends with the loop.

    LiteLLM has an executor for the whole process, for its logging.
    """
    module = sys.modules.get("litellm.litellm_core_utils.thread_pool_executor")
    foreign = getattr(module.executor, "_threads", ()) if module is not None else ()
    return {
        each
        for each in threading.enumerate()
        if not each.name.startswith("asyncio_") and each not in foreign
    }


def _describe_thread(thread: threading.Thread) -> str:
    pid = _child_of(thread)
    if pid is not None:
        return (
            f"thread {thread.name}: asyncio waits in it for the child process {pid} "
            f"({_command(pid)}), which has not ended: in close(), terminate it and await its wait()"
        )
    target = getattr(thread, "_target", None)
    where = place_of(sys._current_frames().get(thread.ident or 0))  # noqa: SLF001 - documented
    runs = f" (target {_name(target)})" if target is not None else ""
    return f"thread {thread.name}{runs}, now in {where}: end it in close(), and join it"


def _child_of(thread: threading.Thread) -> int | None:
    """Return the child that asyncio waits for in a thread (ThreadedChildWatcher); None: none."""
    if not thread.name.startswith(("asyncio-waitpid-", "waitpid-")):
        return None
    arguments = getattr(thread, "_args", ())
    return next((each for each in arguments if isinstance(each, int)), -1)


def _name(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    module = getattr(function, "__module__", "")
    name = getattr(function, "__qualname__", repr(function))
    return f"{module}.{name}" if module else name


def _children() -> dict[int, str]:
    """Return the child processes of this one with their commands; empty without /proc (Linux)."""
    own = os.getpid()
    found: dict[int, str] = {}
    # By the plain functions: pathlib takes milliseconds for some hundred processes, in every test.
    for pid in filter(str.isdigit, os.listdir("/proc") if _HAS_PROC else ()):  # noqa: PTH208
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
                # pid (name) state ppid …; the name may contain anything.
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue  # it has ended
        if parent == own:
            command = _command(int(pid))
            if not _OF_MULTIPROCESSING.search(command):
                found[int(pid)] = command
    return found


def _command(pid: int) -> str:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "ended"
    command = line.replace(b"\0", b" ").decode(errors="replace").strip()
    return command[:200] or "ended, but not waited for"


class NotedExecutor(ThreadPoolExecutor):
    """The executor of a loop (``asyncio.to_thread``), which knows what it runs."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="asyncio")
        self._running: dict[int, str] = {}
        """By thread."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:  # noqa: ANN401
        """Run ``fn`` in a thread."""
        name = _work_of(fn)

        def run() -> T:
            ident = threading.get_ident()
            self._running[ident] = name
            try:
                return fn(*args, **kwargs)
            finally:
                del self._running[ident]

        return super().submit(run)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more; never wait, which :meth:`rest` does within a limit."""
        super().shutdown(wait=False, cancel_futures=True)

    async def rest(self, limit: float) -> str:
        """Wait until nothing is run any more; return what still is after ``limit`` seconds."""
        deadline = time.monotonic() + limit
        while self._running and time.monotonic() < deadline:  # noqa: ASYNC110 - threads set no event
            await asyncio.sleep(0.01)
        frames = sys._current_frames()  # noqa: SLF001 - documented
        return "; ".join(
            f"{name}, now in {place_of(frames.get(ident))}"
            for ident, name in dict(self._running).items()
        )


def _work_of(function: object) -> str:
    """Return the name of what ``asyncio.to_thread`` runs: the argument of ``Context.run``."""
    if isinstance(function, functools.partial) and function.args:
        return _name(function.args[0])
    return _name(function)
