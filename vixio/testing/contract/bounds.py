"""Time limits of the contract suites: a provider that hangs is a failure with a name.

A rule that waits for ever is cancelled. One that blocks the event loop is interrupted by SIGALRM,
where there is such a signal, unless somebody else's alarm (pytest-timeout's) rings first.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import signal
import sysconfig
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import pytest

LIMIT = 60.0
"""Seconds that one operation may take; a hang, not a speed, is what it catches."""

RULE_LIMIT = 2 * LIMIT
"""Seconds that a rule may take, unless its suite sets another ``limit``."""

GRACE = 5.0
"""Seconds to end after the cancellation."""

MAX_HUNG = 2
"""Rules of a suite that may hang; the others fail at once then, instead of each after its limit."""

T = TypeVar("T")
RuleT = TypeVar("RuleT", bound=Callable[..., Any])

_AT_ONCE = 0.001
"""Seconds. A timer of 0 would never ring."""

_STDLIB = sysconfig.get_path("stdlib")
_hung: WeakKeyDictionary[type, list[str]] = WeakKeyDictionary()


def bounded(rule: RuleT) -> RuleT:
    """Return the test ``rule`` of a suite with a time limit: the suite's ``limit``."""
    what = f"the rule “{rule.__name__.removeprefix('test_').replace('_', ' ')}”"

    @functools.wraps(rule)
    async def within(self: Any, *args: Any, **named: Any) -> None:  # noqa: ANN401 - any fixtures
        await within_limit(type(self), what, rule(self, *args, **named))

    return within  # type: ignore[return-value]  # with the signature of the rule, by wraps


async def within_limit(
    suite: type, what: str, work: Coroutine[Any, Any, T], *, always: bool = False
) -> T:
    """Return the result of ``work``. Fails the test if it takes longer than the suite's limit.

    After MAX_HUNG failures of that kind it is not tried any more, unless ``always``.
    """
    limit: float = getattr(suite, "limit", RULE_LIMIT)
    hung = _hung.setdefault(suite, [])
    if len(hung) >= MAX_HUNG and not always:
        work.close()
        pytest.fail(f"not tried, since the provider has hung before: {'; '.join(hung)}")
    blocked: list[str] = []
    waiting: list[str] = []
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    noting = loop.call_later(limit, lambda: waiting.append(_waiting_in(task)))
    try:
        with _alarm(limit + GRACE, blocked):
            async with asyncio.timeout(limit):
                return await work
    except BaseException as error:
        if not (blocked or waiting):
            if isinstance(error, TimeoutError):  # of one operation
                hung.append(what)
            raise
        fault = error
    finally:
        noting.cancel()
    hung.append(what)
    if blocked:
        pytest.fail(
            f"{what} hung: the event loop was blocked for {limit + GRACE:g} s in {blocked[0]}; "
            "run what blocks in a thread (asyncio.to_thread) or a process",
            pytrace=False,
        )
    after = "" if isinstance(fault, TimeoutError) else f"; it then raised {type(fault).__name__}"
    pytest.fail(
        f"{what} hung: not over after {limit:g} s, waiting in {waiting[0]}{after} "
        "(`limit` of the suite's class sets the seconds)",
        pytrace=False,
    )


def has_hung(suite: type, what: str) -> None:
    """Count ``what`` as hung."""
    _hung.setdefault(suite, []).append(what)


@contextmanager
def _alarm(seconds: float, blocked: list[str]) -> Iterator[None]:
    """Interrupt the main thread after ``seconds``; ``blocked`` then has the place.

    A later alarm that is set already, such as pytest-timeout's, goes on behind it.
    """
    if not (hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()):
        yield
        return
    later, _ = signal.getitimer(signal.ITIMER_REAL)
    if 0 < later <= seconds:
        yield
        return

    def rung(number: int, frame: FrameType | None) -> None:
        blocked.append(place_of(frame))
        # asyncio keeps it as the result of the task, or logs it if it was in a callback.
        pytest.fail("the event loop was blocked", pytrace=False)

    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, rung)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if later:
            rest = later - (time.monotonic() - began)
            signal.setitimer(signal.ITIMER_REAL, max(rest, _AT_ONCE))


def place_of(frame: FrameType | None) -> str:
    """Return file, line and function of the innermost frame that is not the standard library's."""
    inner = frame
    while frame is not None and frame.f_code.co_filename.startswith((_STDLIB, "<frozen")):
        frame = frame.f_back
    frame = frame or inner
    if frame is None:
        return "an unknown place"
    return _place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def _place(path: str, line: int, function: str) -> str:
    return f"{'/'.join(PurePath(path).parts[-2:])}:{line} ({function})"


def _waiting_in(task: asyncio.Task[Any] | None) -> str:
    """Return the innermost place in which a task waits, the standard library's left out."""
    place = ""
    step: Any = task.get_coro() if task is not None else None
    while step is not None:
        frame = next(
            (
                found
                for name in ("cr_frame", "ag_frame", "gi_frame")
                if (found := getattr(step, name, None)) is not None
            ),
            None,
        )
        if frame is not None and not frame.f_code.co_filename.startswith(_STDLIB):
            place = _place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        step = _awaited_by(step)
    return place or "an unknown place"


def _awaited_by(step: object) -> object | None:
    for name in ("cr_await", "ag_await", "gi_yieldfrom"):
        if hasattr(step, name):
            found: object | None = getattr(step, name)
            return found
    # What `async for` awaits of an asynchronous generator refers to it, but has no attribute.
    return next((each for each in gc.get_referents(step) if inspect.isasyncgen(each)), None)
