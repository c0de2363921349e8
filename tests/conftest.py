"""What holds for every test."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator

import pytest

from vixio.logging.intercept import CHATTY

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell has its background jobs ignore it, and every process that a test starts would inherit
    # that: the ones that are to end on it never would.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # the same of nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command that a test runs in this process sets levels and handlers for all later tests."""
    root = logging.getLogger()
    touched = [root, *map(logging.getLogger, ("vixio", *CHATTY))]
    before = [(log, log.level, log.handlers[:]) for log in touched]
    yield
    for log, level, handlers in before:
        log.setLevel(level)
        log.handlers = handlers


@pytest.fixture(autouse=True, scope="session")
def no_memory_around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests do not read or write the memory of the user who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield
