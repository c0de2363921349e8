"""Fields of the log lines of a task: the device, the session and the turn that it works for.

They are a context variable: set in a task, they hold in the tasks and threads
(``asyncio.to_thread``) that are started from it, so code far from a session need not be given ids
to log them. ``vixio.telemetry.logging`` adds them to each record; a field of the same name in
``extra`` wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from types import MappingProxyType

DEVICE = "device"
"""The device's id."""
SESSION = "session"
"""The id of its connection."""
TURN = "turn"
"""The number of the turn within the device's conversation."""
PRIVATE = "vixio_private"
"""True in ``extra`` of a line with words of users, which settings may ask for. No field of the
line: it keeps the line out of what the API shows."""

_NONE: Mapping[str, object] = MappingProxyType({})

_fields: ContextVar[Mapping[str, object]] = ContextVar("vixio_log_fields", default=_NONE)


def log_fields() -> Mapping[str, object]:
    """Return the fields of what runs now; empty outside of a session."""
    return _fields.get()


@contextmanager
def logged_as(**fields: object) -> Iterator[None]:
    """Add fields to every line that is logged within, also by tasks that are started there."""
    token = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)


def shared_context() -> Context:
    """Return a context without fields, for a task that a session starts and others share.

    Its lines would otherwise name the device that happened to come first.
    """
    context = copy_context()
    context.run(_fields.set, _NONE)
    return context
